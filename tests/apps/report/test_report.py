"""Reports: what is printed, what machines read, and one page that needs nothing from outside.

Tests of `iokr.apps.report.figures`, `iokr.apps.report.networks`, `iokr.apps.report.page`, `iokr.apps.report.run` and
`iokr.apps.report.tables`.
"""

import hashlib
import json
import math
import os
import re
import shutil
import subprocess
import sys
from html import escape
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from iokr.apps.report import (
    OURS,
    Pictures,
    Report,
    Spread,
    Table,
    Text,
    check_folder,
    draw_network,
    layout,
    plot,
    run_info,
    text_of,
    to_cytoscape,
    to_graphml,
    write_run,
)

VOID = {"meta", "img", "br"}


class Outline(HTMLParser):
    """Fails on tags that do not close; keeps addresses, ids and the words of the page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open, self.addresses, self.ids, self.words = [], [], [], []
        self.feed(page)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        if tag not in VOID:
            self.open.append(tag)
        attributes = dict(attrs)
        self.addresses += [attributes[name] for name in ("src", "href", "xlink:href") if name in attributes]
        self.ids += [attributes["id"]] if "id" in attributes else []

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def lines(canvas) -> None:
    canvas.subplots().semilogx([1, 10, 100], [3, 1, 2], color=OURS)


@pytest.fixture
def report() -> Report:
    first = Table(
        "Errors <b>",
        [
            {"method": "IOKR", "published": Spread(1.0423, 0.0996), "ours": Spread.of([0.5, 0.7])},
            {"method": "mean", "published": None, "ours": Spread.of([0.9])},
        ],
        note="Set `alpha` & go.",
        ours=("ours",),
    )
    second = Table("Sizes", [{"n": 3, "whole": True}])
    pictures = Pictures({"true": [np.eye(4), np.full((4, 4), np.nan)]}, "Two images.", low=0, high=1)
    figures = (plot(lines, caption='A "line".'), plot(lambda c: c.subplots().plot([1, 2]), caption="Another."))
    return Report(
        "A title",
        "A summary.",
        (Text("Part", ("Words.",)), first, *figures, pictures, second),
        ("Mind.",),
        run_info(seed=3),
    )


def test_spread_is_mean_and_sample_deviation():
    spread = Spread.of([1.0, 2.0, 4.0])
    assert spread.mean == pytest.approx(7 / 3)
    assert spread.std == pytest.approx(np.std([1.0, 2.0, 4.0], ddof=1))
    assert spread.n == 3


def test_one_measurement_has_no_deviation():
    assert str(Spread.of([0.25], digits=2)) == "0.25"
    assert math.isnan(Spread.of([0.25]).std)


@pytest.mark.parametrize(
    ("cell", "text"),
    [(None, "–"), (math.nan, "–"), (True, "yes"), (False, "no"), (3, "3"), (0.123456, "0.1235"), (1e-7, "1e-07")],
)
def test_cells_as_printed(cell, text):
    assert text_of(cell) == text


def test_table_columns_follow_first_use_and_gaps_stay_empty():
    table = Table("t", [{"a": 1}, {"b": "x", "a": 2}])
    assert table.columns == ["a", "b"]
    assert table.texts() == [["1", "–"], ["2", "x"]]
    assert table.numeric("a") and not table.numeric("b")


def test_columns_have_names():
    with pytest.raises(ValueError, match=r"Every column of the table 'Sizes' must have a name, got \['n', ''\]"):
        Table("Sizes", [{"n": 3, "": "whole"}])


def test_numbers_of_a_column_line_up():
    table = Table("t", [{"a": 3.86}, {"a": 12.3456}, {"a": None}, {"a": 0.5}])
    assert table.texts() == [["3.86"], ["12.35"], ["–"], ["0.50"]]
    assert Table("t", [{"a": 1e-6}, {"a": 0.5}]).texts() == [["1e-06"], ["0.5"]]
    assert Table("t", []).texts() == []


def test_tsv_has_every_row_of_every_table(report):
    header, *rows = [line.split("\t") for line in report.table_text("tsv").splitlines()]
    assert header == ["table", "method", "published", "published (sd)", "ours", "ours (sd)", "n", "whole"]
    assert [row[0] for row in rows] == ["Errors <b>", "Errors <b>", "Sizes"]
    assert float(rows[0][header.index("ours")]) == pytest.approx(0.6)
    assert rows[1][header.index("ours (sd)")] == ""


def test_csv_and_json_say_the_same(report):
    rows = json.loads(report.table_text("json"))
    assert rows[0]["published"] == 1.0423
    assert report.table_text("csv").splitlines()[1].startswith("Errors <b>,IOKR,1.0423,0.0996")


def test_page_is_well_formed_and_offline(report):
    page = Outline(report.html())
    assert page.addresses, "the pictures and figures have addresses"
    assert all(address.startswith(("data:", "#")) for address in page.addresses)
    assert len(page.ids) == len(set(page.ids)), "ids of two figures collide"
    for inner in re.findall(r"url\(#([^)]+)\)", report.html()):
        assert inner in page.ids
    assert "@import" not in report.html() and "<script" not in report.html()


def test_page_shows_all_parts_escaped(report):
    words = " ".join(Outline(report.html()).words)
    for part in ("A title", "A summary.", "Part", "Words.", "Errors <b>", "1.0423 ± 0.0996", "Another.", "Mind."):
        assert part in words
    assert "<code>alpha</code> &amp; go." in report.html()


def test_indices_are_set_below_but_not_in_code():
    page = Report("t", "σ_k < `σ_l`").html()
    assert "σ<sub>k</sub> &lt; <code>σ_l</code>" in page
    assert "K<sub>Y</sub> of IOKR_DATA" in Report("t", "K_Y of IOKR_DATA").html()


def test_rows_of_ours_are_stressed():
    table = Table("t", [{"method": "a"}, {"method": "b"}], our_rows=(1,))
    page = Report("t", "s", (table,)).html()
    assert page.count('<tr class="ours">') == 1 and page.index('<tr class="ours">') > page.index(">a<")


CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


@pytest.mark.skipif(CHROMIUM is None, reason="needs chromium")
@pytest.mark.parametrize("width", [400, 1280])
def test_no_page_scrolls_sideways(width, tmp_path):
    """No table is cut at its right; those of many columns become cards on a telephone; long words and hashes break."""
    wide = [{"method of a long name": "m" * 20, **{f"column number {j}, percent": Spread(50, 1) for j in range(12)}}]
    long = [{"what": "word " * 20, "count": 1, "note": "filled with the mean of the column"}]
    report = Report("A title", "S" * 30, (Table("Wide", wide), Table("Long", long), Table("Folded", wide, folded=True)))
    page = report.with_info({"command": "iokr " + "x" * 200, "data": {"file": "0123456789abcdef" * 4}}).html()
    frame = f'<iframe width="{width}" height="900" style="border: 0" srcdoc="{escape(page)}"></iframe>'
    script = """<script>onload = () => {
        const page = document.querySelector("iframe").contentDocument;
        page.querySelectorAll("details").forEach(part => part.open = true);
        const parts = [page.documentElement, ...page.querySelectorAll(".table")];
        document.title = "too wide by " + Math.max(...parts.map(part => part.scrollWidth - part.clientWidth));
    }</script>"""
    (tmp_path / "frame.html").write_text(f"<!doctype html><meta charset=utf-8>{frame}{script}", encoding="utf-8")
    options = ("--headless=new", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}")
    command = [CHROMIUM, *options, "--dump-dom", (tmp_path / "frame.html").as_uri()]
    found = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout
    assert re.search(r"<title>too wide by (\d+)", found)[1] == "0"


def test_percent_signs_stay_with_their_numbers():
    assert "5\u00a0% of" in Report("t", "5 % of").html()


def test_figures_take_their_colours_from_the_page():
    figure = plot(lines, caption="c")
    assert "var(--ours)" in figure.svg and OURS not in figure.svg
    assert figure.svg == plot(lines, caption="c").svg, "the same drawing gives the same bytes"


def test_pictures_are_png(report):
    [pictures] = [item for item in report.items if isinstance(item, Pictures)]
    encoded = pictures.encoded()["true"]
    assert len(encoded) == 2 and all(image.startswith("data:image/png;base64,iVBOR") for image in encoded)


def test_run_folder(report, tmp_path):
    folder = tmp_path / "a" / "run"
    names = [path.name for path in write_run(report, folder)]
    assert names == ["table.tsv", "table-2.tsv", "metrics.json", "run.json", "report.html"], "one file a table"
    assert (folder / "table-2.tsv").read_text() == "n\twhole\n3\tTrue\n"
    metrics = json.loads((folder / "metrics.json").read_text())
    assert metrics["tables"][0]["rows"][0]["ours"] == {"mean": 0.6, "std": pytest.approx(0.1414213562), "n": 2}
    assert metrics["tables"][0]["rows"][1]["ours"]["std"] is None
    assert json.loads((folder / "run.json").read_text())["seed"] == 3


def test_nothing_is_overwritten_without_force(report, tmp_path):
    (tmp_path / "report.html").write_text("precious")
    with pytest.raises(FileExistsError, match=r"already contains report\.html, which was not written by a run"):
        write_run(report, tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]
    write_run(report, tmp_path / "run")
    with pytest.raises(FileExistsError, match=r"already contains table\.tsv; overwrite it with `force`"):
        write_run(report, tmp_path / "run")
    (tmp_path / "run" / "report.html").write_text("changed")
    write_run(report, tmp_path / "run", force=True)
    assert "A title" in (tmp_path / "run" / "report.html").read_text()


@pytest.mark.parametrize("after", [True, False], ids=["after a run", "without one"])
def test_what_no_run_has_written_is_not_written_over(report, tmp_path, after):
    """As the user's edges.tsv is, with `-o . --force`."""
    if after:
        write_run(report, tmp_path)
    (tmp_path / "edges.tsv").write_text("mine")
    own = Report("t", "s", files={"edges.tsv": "a\tb\n"})
    with pytest.raises(FileExistsError, match=r"already contains edges\.tsv, which was not written by a run; move it"):
        write_run(own, tmp_path, force=True)
    assert (tmp_path / "edges.tsv").read_text() == "mine"


def test_with_force_files_of_others_stay_and_unchanged_ones_of_the_earlier_run_go(report, tmp_path):
    folder = tmp_path / "run"
    own = Report("t", "s", files={"edges.tsv": "a\n", "curves.tsv": "b\n"})
    write_run(own, folder, format="csv")
    (folder / "notes.txt").write_text("mine")
    (folder / "curves.tsv").write_text("changed by me")
    write_run(report, folder, force=True)
    names = ["curves.tsv", "metrics.json", "notes.txt", "report.html", "run.json", "table-2.tsv", "table.tsv"]
    assert sorted(path.name for path in folder.iterdir()) == names
    assert (folder / "notes.txt").read_text() == "mine" and (folder / "curves.tsv").read_text() == "changed by me"
    listed = json.loads((folder / "run.json").read_text())["files"]
    assert set(listed) == {"metrics.json", "report.html", "table.tsv", "table-2.tsv"}
    assert listed["table.tsv"] == hashlib.sha256((folder / "table.tsv").read_bytes()).hexdigest()


@pytest.mark.parametrize("damaged", ["", "[]", "null", '{"files": 3}', '{"files": {"../x": "y"}}', "\xff"])
def test_a_damaged_run_json_is_no_obstacle(report, tmp_path, damaged):
    (tmp_path / "run.json").write_text(damaged, encoding="latin-1")
    write_run(report, tmp_path, force=True)
    assert json.loads((tmp_path / "run.json").read_text())["seed"] == 3


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("force", [True, False])
def test_a_link_out_of_the_folder_is_refused(report, tmp_path, there, force):
    folder, outside = tmp_path / "run", tmp_path / "outside"
    folder.mkdir()
    (folder / "table.tsv").symlink_to(outside)
    if there:
        outside.write_text("mine")
    with pytest.raises(FileExistsError, match=r"table\.tsv is a symbolic link out of the folder, to .*outside"):
        write_run(report, folder, force=force)
    assert [path.name for path in folder.iterdir()] == ["table.tsv"]
    assert outside.read_text() == "mine" if there else not outside.exists()


@pytest.mark.skipif(os.name != "posix", reason="symbolic links")
def test_a_link_within_the_folder_is_replaced_and_its_target_stays(report, tmp_path):
    folder = tmp_path / "run"
    folder.mkdir()
    (folder / "mine.tsv").write_text("mine")
    (folder / "table.tsv").symlink_to("mine.tsv")
    (folder / "run.json").write_text('{"files": {"table.tsv": ""}}')
    with pytest.raises(FileExistsError, match="already contains table"):
        write_run(report, folder)
    write_run(report, folder, force=True)
    assert not (folder / "table.tsv").is_symlink() and (folder / "mine.tsv").read_text() == "mine"


@pytest.mark.skipif(os.name != "posix", reason="a file-size limit")
def test_a_full_disk_at_every_write_leaves_the_old_result_whole(tmp_path):
    """The system refuses to write more than so many bytes to a file, for as many as there are."""
    folder = tmp_path / "run"
    write_run(Report("Old", "Old."), folder)
    before = {path.name: path.read_bytes() for path in folder.iterdir()}
    code = """
import resource, signal, sys
from pathlib import Path
from iokr.apps.report import Report, Table, write_run
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
table = Table("Rows", [{"a": "x" * 300}])
report = Report("New", "New." * 300, (table,), files={"edges.tsv": "y" * 9000})
for limit in (0, 100, 500, 1000, 8000, 9100):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    try:
        write_run(report, Path(sys.argv[1]), force=True)
        print("done")
    except OSError as error:
        print(error.filename, error.strerror)
"""
    run = subprocess.run([sys.executable, "-c", code, str(folder)], capture_output=True, text=True, check=False)
    assert run.stderr == ""
    *refused, last = run.stdout.splitlines()
    assert len(refused) >= 5 and all(line.endswith(" File too large") for line in refused)
    assert all(line.startswith(str(folder)) and ".iokr-" not in line for line in refused)
    after = {path.name: path.read_bytes() for path in folder.iterdir()}
    assert last == "done" or after == before
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_a_folder_with_other_files_is_no_obstacle_but_a_file_is(tmp_path):
    (tmp_path / "notes.txt").write_text("mine")
    check_folder(tmp_path)
    with pytest.raises(FileExistsError, match="is a file"):
        check_folder(tmp_path / "notes.txt", force=True)


def test_a_folder_that_cannot_be_written_is_refused_before_the_work(tmp_path):
    (tmp_path / "taken").write_text("mine")
    with pytest.raises(NotADirectoryError, match=r"cannot be created, as .*taken is a file"):
        check_folder(tmp_path / "taken" / "below")
    check_folder(tmp_path / "a" / "b")
    assert [path.name for path in tmp_path.iterdir()] == ["taken"]


def test_a_folder_without_permission_is_refused_before_the_work(tmp_path, monkeypatch):
    def refuse(*args, **options):
        raise PermissionError(13, "Permission denied", str(tmp_path))

    monkeypatch.setattr("tempfile.mkdtemp", refuse)
    with pytest.raises(PermissionError, match="out cannot be written to: Permission denied; choose another folder"):
        check_folder(tmp_path / "out")


def test_run_info_hashes_files(tmp_path):
    path = tmp_path / "x.bin"
    path.write_bytes(b"abc")
    info = run_info(seed=1, seconds=1.234, files=[path])
    assert list(info["data"].values()) == ["ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"]
    assert info["seconds"] == 1.23 and "python" in info["versions"]


def test_run_info_tells_files_of_one_name_apart(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    files = [Path("n.tsv"), tmp_path / "a" / "x" / "n.tsv", tmp_path / "b" / "x" / "n.tsv"]
    for i, file in enumerate(files):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(str(i))
    assert list(run_info(files=files[:2])["data"]) == ["n.tsv", "x/n.tsv"]
    assert len(set(run_info(files=files)["data"].values())) == 3


def test_without_the_packages_the_page_says_what_to_install(report, monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(ImportError, match=r"pip install 'iokr\[report\]'"):
        report.html()


# ------------------------------------------------------------------------------------------------------------ networks


@pytest.fixture
def network():
    nx = pytest.importorskip("networkx")
    graph = nx.Graph()
    nodes = {"a & b": {"size": 3, "known": True}, "<c>": {"size": np.float64(0.5)}, "é": {"note": "x"}}
    graph.add_nodes_from(nodes.items())
    graph.add_edges_from([("a & b", "<c>", {"score": 0.1 + 0.2, "rank": np.int64(1)}), ("<c>", "é", {"kind": "known"})])
    return graph


def test_networkx_reads_graphml_back_equal(network, tmp_path):
    nx = pytest.importorskip("networkx")
    (tmp_path / "n.graphml").write_text(to_graphml(network), encoding="utf-8")
    found = nx.read_graphml(tmp_path / "n.graphml")
    assert dict(found.nodes(data=True)) == dict(network.nodes(data=True))
    assert found.adj == network.adj
    assert type(found.edges["a & b", "<c>"]["rank"]) is int and found.nodes["a & b"]["known"] is True


def test_networkx_reads_cytoscape_json(network):
    nx = pytest.importorskip("networkx")
    found = nx.cytoscape_graph(json.loads(to_cytoscape(network)))
    assert set(found.nodes) == set(network.nodes)
    assert {frozenset(edge) for edge in found.edges} == {frozenset(edge) for edge in network.edges}
    assert found.edges["a & b", "<c>"]["score"] == 0.1 + 0.2


def test_graphml_refuses_what_it_cannot_hold():
    nx = pytest.importorskip("networkx")
    graph = nx.Graph()
    graph.add_node("a\x00")
    with pytest.raises(ValueError, match="GraphML cannot hold"):
        to_graphml(graph)


def test_linked_nodes_are_drawn_close():
    pairs = np.array([(i, j) for start in (0, 10) for i in range(start, start + 10) for j in range(i + 1, start + 10)])
    places = layout(20, pairs, seed=1)
    assert places.shape == (20, 2) and places.min() >= 0 and places.max() <= 1
    distance = np.linalg.norm(places[:, None] - places[None], axis=2)
    assert distance[:10, :10].mean() < 0.5 * distance[:10, 10:].mean()
    assert np.array_equal(places, layout(20, pairs, seed=1))
    assert layout(1, []).shape == (1, 2) and layout(0, []).shape == (0, 2)


def test_network_figure_is_small_and_takes_the_colours_of_the_page():
    rng = np.random.default_rng(0)
    pairs = rng.integers(0, 200, size=(3000, 2))
    names = {"right": "found", "wrong": "not so", "stressed": "labelled"}
    links = {"right": pairs[:2000], "wrong": pairs[2000:], "plain": np.empty((0, 2))}
    figure = draw_network(
        rng.random((200, 2)), links, caption="c", names=names, classes=np.arange(200) % 9, stressed=np.arange(200) < 9
    )
    assert "var(--ours)" in figure.svg and "var(--theirs)" in figure.svg and len(figure.svg) < 400_000
    assert all(word in figure.svg for word in names.values())


def test_a_report_brings_files_of_its_own(report, tmp_path):
    own = Report("t", "s", files={"edges.tsv": "a\tb\n"})
    assert [path.name for path in write_run(own, tmp_path)][-2:] == ["edges.tsv", "report.html"]
    assert (tmp_path / "edges.tsv").read_text() == "a\tb\n"
    with pytest.raises(FileExistsError, match=r"already contains mine\.txt"):
        (tmp_path / "other").mkdir()
        (tmp_path / "other" / "mine.txt").write_text("x")
        check_folder(tmp_path / "other", more=("mine.txt",))
