"""Bands of outputs whose coordinates are not those of h(x), against refits: `iokr.estimators.conformal.answers`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.linear_model import LogisticRegression, Ridge

from iokr import IOKR, Conformal, Functional, MultiTask, MultiTaskCV
from iokr.embeddings import Basis
from iokr.kernels import RBF
from iokr.solvers import ReducedRank
from tolerance import ridge_condition, rounding

rng = np.random.default_rng(0)
N, M, T, ALPHA = 14, 4, 9, 0.1
t = np.linspace(0, 1, T)
X, NEW = rng.normal(size=(N, 2)), rng.normal(size=(M, 2))
Y = 3 + np.sin(3 * t + X[:, :1]) + 0.1 * rng.normal(size=(N, T)) * (1 + 5 * t)
w = np.full(T, 1 / (T - 1)) * np.where((t == 0) | (t == 1), 0.5, 1.0)
PHI = Basis.bsplines(5).fitted(t)(t, 0)
KINDS = {
    "values": ({"curve_kernel": RBF(3.0)}, RBF(3.0)(t[:, None])),
    "basis": ({"basis": Basis.bsplines(5)}, PHI @ PHI.T),
}
ATOL = 100 * rounding(N * T, max(ridge_condition(RBF(0.5)(X), ALPHA, L) for _, L in KINDS.values()))


def curves(kind, **options):
    return Functional(RBF(0.5), alpha=ALPHA, grid=t, intercept=False, **KINDS[kind][0], **options)


def refit(kind, rows, new):
    """Curves at `new` from one dense system over the values of all curves in `rows`."""
    K, L = RBF(0.5)(X[rows]), KINDS[kind][1]
    noise = ALPHA * np.kron(np.eye(len(rows)), np.diag(1 / w))
    c = np.linalg.solve(np.kron(K, L) + noise, Y[rows].ravel()).reshape(len(rows), T)
    return RBF(0.5)(new, X[rows]) @ c @ L


@pytest.fixture(params=KINDS)
def kind(request):
    return request.param


def left_out(kind, new):
    """h₋ᵢ at new inputs, (N, m, T)."""
    return np.array([refit(kind, np.delete(np.arange(N), i), new) for i in range(N)])


@pytest.mark.parametrize("method", ["jackknife", "jackknife+"])
def test_bands_and_balls_of_curves_are_those_of_refits(kind, method):
    sure = Conformal(curves(kind), method=method).fit(X, Y)
    own = Y - np.array([left_out(kind, X[i : i + 1])[i, 0] for i in range(N)])
    answers, without = refit(kind, np.arange(N), NEW), left_out(kind, NEW)
    sigma, k = np.sqrt((own**2).mean(axis=0)), int(np.ceil(0.8 * (N + 1)))
    scores = np.abs(own / sigma).max(axis=1)
    if method == "jackknife":
        half = np.sort(scores)[k - 1] * sigma
        expected = answers - half, answers + half
    else:
        half = scores[:, None, None] * sigma
        expected = -np.sort(half - without, axis=0)[k - 1], np.sort(without + half, axis=0)[k - 1]
    assert_allclose(sure.band(NEW, 0.8), np.stack(expected, axis=-1), rtol=0, atol=ATOL)
    lengths, target = np.sqrt(own**2 @ w), answers + 0.2
    others = answers[None] if method == "jackknife" else without
    far = np.sqrt((target - others) ** 2 @ w)
    assert_allclose(sure.p_values(NEW, target), (1 + (lengths[:, None] >= far).sum(axis=0)) / (N + 1), rtol=1e-12)


def test_split_bands_are_around_the_predicted_curves(kind):
    sure = Conformal(curves(kind), method="split", random_state=0).fit(X, Y)
    model = sure.model_
    band, answers = sure.band(NEW, 0.7), model.predict(NEW)
    residuals = model.curves_ - model.loo_decision_function()
    half = np.diff(band)[..., 0] / 2
    assert_allclose(band.mean(axis=-1), answers, rtol=0, atol=ATOL)
    times = half / np.sqrt((residuals**2).mean(axis=0))
    assert_allclose(times, np.full((M, T), times[0, 0]), rtol=1e-9)
    radius = sure.radius(NEW, 0.7)[0]
    for scale, inside in ((0.99, True), (1.01, False)):  # w sums to one: the L² norm of a constant is its size
        assert sure.contains(NEW[:1], answers[:1] + scale * radius, 0.7)[0] == inside


@pytest.mark.parametrize("method", ["jackknife", "jackknife+", "split"])
def test_coupling_through_the_outputs_leaves_bands_where_they_are(method):
    """ŷ does not depend on the metric of `coupling="output"`, and neither do its residuals."""
    coupled = MultiTask(RBF(0.5), tasks=[[1.0, 0.6], [0.6, 1.0]], coupling="output", alpha=ALPHA)
    bands = [
        Conformal(model, method=method, random_state=0).fit(X, Y[:, :2]).band(NEW, 0.6)
        for model in (coupled, IOKR(RBF(0.5), alpha=ALPHA))
    ]
    assert_allclose(*bands, rtol=0, atol=ATOL)


@pytest.mark.parametrize("method", ["full", "jackknife", "split"])
def test_curves_as_pairs(method):
    pairs = [(t, y) for y in Y]
    given, listed = (
        Conformal(Functional(RBF(0.5), alpha=ALPHA, grid=grid), method=method, random_state=0).fit(X, y)
        for grid, y in ((t, Y), (None, pairs))
    )
    assert_allclose(listed.radius(NEW, 0.6), given.radius(NEW, 0.6), rtol=0, atol=ATOL)
    assert_array_equal(listed.contains(X, pairs, 0.6), given.contains(X, Y, 0.6))
    gaps = [(t[:5], Y[0, :5]), *pairs[1:]]
    with pytest.raises(ValueError, match="incomplete rows"):
        Conformal(Functional(RBF(0.5)), method=method, random_state=0).fit(X, gaps)


def test_what_curves_took_from_the_rows_is_said():
    for intercept in (False, True):  # at each node it is part of the fit
        model = curves("values").set_params(intercept=intercept)
        assert "at least the requested level" in Conformal(model).fit(X, Y).guarantee_
    for changed, name in (
        ({"intercept": True, "curve_kernel": None, "basis": Basis.bsplines(5)}, "Curves.mean_"),
        ({"kernel": RBF()}, "RBF.gamma_"),
        ({"curve_kernel": None, "basis": Basis.principal(2)}, "Curves.functions_"),
    ):
        words = Conformal(curves("values").set_params(**changed)).fit(X, Y).guarantee_
        assert words.startswith(f"no guarantee: {name}") and "split" in words


@pytest.mark.parametrize(
    ("sure", "error", "words"),
    [
        (Conformal(curves("values"), method="split", conformity="scaled"), ValueError, "are not balls"),
        (Conformal(Ridge(), method="split", conformity="scaled"), TypeError, "no `variance`"),
        (Conformal(LogisticRegression(), method="split"), TypeError, "Delta"),
        (Conformal(IOKR(RBF(0.5), solver=ReducedRank(rank=1))), ValueError, "selects directions by all labels"),
        (Conformal(curves("values"), selected="separately"), TypeError, "parameters of `IOKR` and `IOKRCV`, got"),
        (Conformal(MultiTaskCV(RBF(0.5)), selected="separately"), TypeError, "parameters of `IOKR` and `IOKRCV`, got"),
    ],
    ids=str,
)
def test_refused_in_words(sure, error, words):
    labels = np.where(np.arange(N) % 2, "a", "b")
    with pytest.raises(error, match=words):
        sure.fit(X, labels if isinstance(sure.model, LogisticRegression) else Y)


@pytest.mark.parametrize("method", ["full", "jackknife", "split"])
def test_answers_have_the_precision_of_the_data(method):
    X32, y32, new32 = (a.astype(np.float32) for a in (X, Y[:, 0], NEW))
    sure = Conformal(IOKR(RBF(0.5), alpha=ALPHA), method=method, random_state=0).fit(X32, y32)
    exact = Conformal(IOKR(RBF(0.5), alpha=ALPHA), method=method, random_state=0).fit(X, Y[:, 0])
    for found, expected in (
        (sure.band(new32, 0.6), exact.band(NEW, 0.6)),
        (sure.radius(new32, 0.6), exact.radius(NEW, 0.6)),
    ):
        assert found.dtype == np.float32
        assert_allclose(found, expected, rtol=1e-4, atol=1e-4)
