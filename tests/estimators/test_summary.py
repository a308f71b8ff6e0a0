"""Fitted models in notebooks."""

import re

import numpy as np
import pytest
from sklearn import config_context

from iokr import IOKR, IOKRCV, Conformal, LinkPredictor, MultiTask, OutputKernelTree, PairModel
from iokr.kernels import RBF, FromFunction

X = np.random.default_rng(0).normal(size=(12, 2))
Y = np.column_stack([X[:, 0], X[:, 1] ** 2])


def html(model):
    """As notebooks ask for it, both ways."""
    page = model._repr_html_()
    assert model._repr_mimebundle_()["text/html"].startswith(page[:200])
    return page


def test_formula_and_choice_of_a_fitted_model():
    page = html(IOKRCV([RBF(0.1), RBF(1.0)], alphas=(0.1, 1.0)).fit(X, Y))
    assert "argmin over kernel" in page and "iokr-summary" in page
    assert re.search(r"<th[^>]*>alpha</th><td[^>]*>(0.1|1)</td>", page)
    assert "RBF(gamma=" in page and "gamma_ = " in page and "leave-one-out" in page
    assert "sk-top-container" in page  # scikit-learn's diagram is still there


@pytest.mark.parametrize("model", [IOKR(), IOKRCV(), MultiTask(), OutputKernelTree(), Conformal(IOKR(RBF(1.0)))])
def test_every_model_has_one_when_it_is_fitted(model):
    assert "iokr-summary" not in html(model)
    assert "iokr-summary" in html(model.fit(X, Y))


def test_links_and_pairs_and_guarantees():
    W = np.ones((12, 12)) - np.eye(12)
    assert "κ̂(u, v)" in html(LinkPredictor().fit(X, W))
    assert "sk-top-container" in html(PairModel().fit(X, [[0, 1], [1, 2], [2, 3]], [0, 1, 1]))
    assert "12 rows" in html(Conformal(IOKR(RBF(1.0))).fit(X, Y))


class Named:
    """A function whose name is hostile."""

    def __call__(self, a, b):
        return float(a == b)

    def __repr__(self):
        return "<script>alert(1)</script>"


def test_everything_is_escaped():
    page = html(IOKR(FromFunction(Named())).fit(list("abc"), [0.0, 1.0, 2.0]))
    assert "<script>alert" not in page.split("sk-top-container")[0]
    assert "&lt;script&gt;" in page


def test_text_where_diagrams_are_switched_off():
    model = IOKR().fit(X, Y)
    with config_context(display="text"):
        assert list(model._repr_mimebundle_()) == ["text/plain"]
        assert not hasattr(model, "_repr_html_")
