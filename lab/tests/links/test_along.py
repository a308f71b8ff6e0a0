"""Along λ₂: the deformed kernel is the penalty, and the figures have what they say.

Tests of `iokr_lab.links.along` and of `iokr_lab.links.nips_along`.
"""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr.estimators.links.predictor import LinkPredictor
from iokr.kernels import RBF
from iokr.manifolds import Heat
from iokr_lab.links import along, nips_along
from iokr_lab.links.few import labeled_draw
from iokr_lab.lookup import Lookup
from iokr_lab.study import Results
from link_samples import W, X

K = RBF(0.5)(X)


@pytest.mark.parametrize("ratio", [0.1, 10.0])
def test_learning_with_the_deformed_kernel_is_learning_with_the_penalty(ratio):
    labeled, alpha, nodes = np.arange(0, len(W), 2), 0.3, np.arange(len(W))
    kernel = Lookup(along.deformed(K, along.heat_penalty(K), ratio))
    ours = LinkPredictor(kernel, alpha=alpha).fit(nodes, W, labeled=labeled).decision_function()
    manifold = Heat(ratio * alpha, literal=True)
    theirs = LinkPredictor(Lookup(K), alpha=alpha, manifold=manifold).fit(nodes, W, labeled=labeled).decision_function()
    assert_allclose(ours, theirs, atol=1e-9 * np.abs(theirs).max())


def test_conversions():
    assert along.second_lambda("ridge", 1.0, 0.02) == 0.01
    assert along.second_lambda("margin", 1.0, 10.0) == 2.5
    assert along.deformed(K, along.heat_penalty(K), 0.0) is K


def test_figure_5_has_both_models_and_all_shares():
    kernels = along.deformed_kernels(K)
    cells = {
        nips_along.Along(fraction, draw): nips_along.work_along(kernels, W, labeled_draw(W, 0, 0.5, (0, draw)))
        for fraction in nips_along.SHARES
        for draw in range(2)
    }
    text, roc, pr, table = nips_along.items(Results(cells))
    assert "increases along λ₂ by up to" in text.paragraphs[0] and "14 and 11" in text.paragraphs[0]
    for figure, name in ((roc, "AUC-ROC"), (pr, "AUC-PR")):
        assert name in figure.caption and "2.5 % labelled" in figure.svg and "margin" in figure.svg
    assert len(table.rows) == 2 * len(nips_along.SHARES)
    first = cells[nips_along.Along(0.05, 0)]["ridge"][0]
    model = LinkPredictor(Lookup(K), alpha=nips_along.ALPHAS["ridge"])
    draw = labeled_draw(W, 0, 0.5, (0, 0))
    model.fit(draw.nodes, W[np.ix_(draw.labeled, draw.labeled)], labeled=np.arange(len(draw.labeled)))
    assert first == nips_along.evaluate(model.decision_function(), W, draw)[nips_along.ONE_NEW]
