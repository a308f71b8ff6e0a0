"""The demo on a smaller network: its numbers are those of the models, and the page shows both networks."""

import numpy as np
import pytest

from iokr.apps import demo
from iokr.apps.report import Figure
from iokr.datasets import make_communities


@pytest.fixture(scope="module")
def report():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(demo, "make_communities", lambda seed: make_communities(250, 4, seed=seed))
        patch.setattr(demo, "FRACTION", 0.2)
        return demo.run(seed=0, repeat=2)


def test_learning_beats_similarity(report):
    roc = {row["method"]: row["AUC-ROC %"].mean for row in report.tables[0].rows}
    assert list(roc) == list(demo.STYLES)
    assert min(roc[demo.SEMI], roc[demo.SUPERVISED]) > max(roc[demo.GAUSSIAN], roc[demo.COSINE])
    assert all(row["AUC-ROC %"].n == 2 for row in report.tables[0].rows)


def test_precision_stands_beside_the_prevalence(report):
    prevalence = float(report.tables[0].title.split("; ")[1].split(" %")[0])
    for row in report.tables[0].rows:
        assert row["times prevalence"] == pytest.approx(row["AUC-PR %"].mean / prevalence, rel=0.05)


def test_the_path_shows_the_choice(report):
    path = report.tables[-1].rows
    [chosen] = [row for row in path if row["chosen"]]
    best = max(row["leave-one-out AUC-ROC %"] for row in path)  # the choice is a mean over the good ones
    assert best - 1.0 < chosen["leave-one-out AUC-ROC %"] <= best


def test_both_networks_are_drawn_in_the_same_places(report):
    true, predicted, *others = [item for item in report.items if isinstance(item, Figure)]
    assert len(others) == 3
    assert "true network" in true.caption and "predicted network" in predicted.caption
    places = [
        sorted(part.split('"')[0] for part in figure.svg.split('<use xlink:href="')[1:]) for figure in (true, predicted)
    ]
    assert len(places[0]) == len(places[1]) > 0
    page = report.html()
    assert page.count("<svg") == 5 and "://" not in page.split("<svg")[0]


def test_cosines_of_inner_products():
    H = np.random.default_rng(0).normal(size=(5, 3))
    U = H / np.linalg.norm(H, axis=1, keepdims=True)
    np.testing.assert_allclose(demo._cosines(H @ H.T), U @ U.T)
