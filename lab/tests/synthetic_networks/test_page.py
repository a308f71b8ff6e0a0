"""The page on small networks; tests of `iokr_lab.synthetic_networks.synthetic_networks`, too."""

from iokr_lab.study import run
from iokr_lab.synthetic_networks import protocol, synthetic_networks


def test_the_report_on_small_networks(monkeypatch):
    """All tables are there, and the summary counts what they say."""
    graph, mixture = protocol.random_graph, protocol.mixture
    monkeypatch.setattr(synthetic_networks, "random_graph", lambda d, rng: graph(10 * d, rng, n=60))
    monkeypatch.setattr(synthetic_networks, "mixture", lambda a, b, rng: mixture(10 * a, 10 * b, rng, n=60))
    monkeypatch.setattr(synthetic_networks, "calibrate", lambda W, count: protocol.calibrate(W, 40))
    study = synthetic_networks.STUDY
    report = run(study, study.plan("short"))
    assert [len(table.rows) for table in report.tables] == [9, 9, 9, 22, 9, 9, 9, 9, 36, 36, 9, 9, 12, 48, 48, 24]
    assert report.info["cells"] == 3 * (3 * 4 + 3 * 3 + 4 * 4) + 3 * 4 + 1
    rules = report.tables[3].rows
    assert rules[0]["cells within 1.5 and 3"] in report.summary
    within = sum("✗" not in row["single setting"] for row in report.tables[0].rows)
    assert rules[0]["cells within 1.5 and 3"] == f"{within} of 9"
    page = report.html()
    assert all(f"B16, Figure {number}" in page for number in (3, 4, 8)) and "B11, Figure 1" in page
    assert "Table 8b" in page
