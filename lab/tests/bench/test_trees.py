"""Contenders of `trees` agree on small data; the baselines' R² is that of the estimator."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr import OutputKernelForest
from iokr.kernels import RBF
from iokr_lab.bench import base, trees


@pytest.mark.parametrize("name", ["yeast", "bibtex", "fewer_coordinates"])
def test_all_contenders_agree(name):
    question = getattr(trees, name)(seed=1, **trees.SMALL[name])
    table, verdicts = base.ask(question, 1, lambda what: None)
    assert len(table.rows) == len(question.contenders)
    assert len(verdicts) == len(question.targets)


def test_the_floor_grows_our_trees():
    question = trees.yeast(seed=2, **trees.SMALL["yeast"])
    floor = question.contenders[2]
    ours, theirs = question.ours.answers(question.ours.run()), floor.answers(floor.run())
    assert_allclose(ours["⟨h(x), ψ(y_i)⟩"], theirs["⟨h(x), ψ(y_i)⟩"], atol=1e-12)


@pytest.mark.parametrize("coordinates", [trees.eigen_coordinates, trees.shared_coordinates])
def test_coordinates_and_the_rivals_r2(coordinates):
    X, Y, X_new, Y_new = trees._data("yeast", 60, 30, 0, drawn=True)
    Z = coordinates(Y)
    assert_allclose(Z @ Z.T, RBF()(Y), atol=1e-12)
    model = OutputKernelForest(RBF(), n_estimators=3, random_state=0).fit(X, Y)
    H = model.weights(X_new) @ Z
    assert_allclose(trees._r2(H, Z, Y, Y_new), model.score(X_new, Y_new), rtol=1e-9)


def test_new_rows_are_not_training_rows():
    X, Y, X_new, Y_new = trees._data("yeast", 40, 10, 0, drawn=True)
    assert X.shape[0] == Y.shape[0] == 40
    assert X_new.shape[0] == Y_new.shape[0] == 10
    assert not np.isin(X_new[:, 0], X[:, 0]).any()
