"""J(ĥ) − J* ≤ gap for every projection; unbiased from some rows; the rank from leave-one-out."""

from itertools import pairwise

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr import IOKR, IOKRCV
from iokr.embeddings import Nystroem as FewOutputs
from iokr.estimators.regression.base import fitted_problem
from iokr.kernels import RBF, Fourier, Nystroem, Sketch
from iokr.losses import EpsilonInsensitive, Huber, MaxMargin
from iokr.manifolds import Given
from iokr.model_selection import certify, select_rank
from iokr.operator_kernels import Decomposable
from iokr.solvers.constants import typical_constants

rng = np.random.default_rng(0)
n = 40
X, Y = rng.normal(size=(n, 3)), rng.normal(size=(n, 2))
W = rng.uniform(0.5, 2.0, size=n)
K, A = RBF(0.5), np.array([[1.0, 0.4], [0.4, 0.5]])
SKETCHES = [
    Nystroem(K, 12),
    Nystroem(K, 12, pivots="greedy"),
    Nystroem(K, 12, pivots="uniform"),
    Sketch(K, 12, 0.4),
    Sketch(K, 12, 1.0, "normal"),
]


def objective(model):
    b = model.solution_.intercept
    return fitted_problem(model).objective(model.solution_.C, None if b is None else b[None, :])


def at_constant(model):
    """J at h = 0 and, with an intercept, its best constant."""
    problem = fitted_problem(model)
    if problem.constants is None:
        return problem.objective(0 * model.solution_.C)
    return problem.objective(0 * model.solution_.C, typical_constants(problem))


@pytest.mark.parametrize("weight", [None, W], ids=["plain", "weighted"])
@pytest.mark.parametrize("operator", [lambda k: k, lambda k: Decomposable(k, A)], ids=["identity", "full"])
@pytest.mark.parametrize("kernel", SKETCHES, ids=repr)
@pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])
def test_bounds_the_distance_to_the_exact_fit(intercept, kernel, operator, weight):
    low = IOKR(operator(kernel), alpha=0.3, intercept=intercept).fit(X, Y, weight)
    exact = IOKR(operator(K), alpha=0.3, intercept=intercept).fit(X, Y, weight)
    w = np.ones(n) if weight is None else weight
    middle = np.average(Y, axis=0, weights=w) if intercept else 0.0
    at_zero = np.sum(w[:, None] * (Y - middle) ** 2) / 2
    excess = objective(low) - objective(exact)
    assert 0 < excess <= certify(low) * at_zero
    # the exact identity: the gap is the difference of dual values at λĈ, and K̂ has none there
    dual = w[:, None] * (Y - low.predict(X))
    operator_matrix = A if isinstance(low.kernel_, Decomposable) else np.eye(2)
    value = np.sum(dual * Y) - np.sum(dual**2 / w[:, None]) / 2 - np.sum(dual * (K(X) @ dual @ operator_matrix)) / 0.6
    assert certify(low) * at_zero == pytest.approx(objective(low) - value, rel=1e-8)


@pytest.mark.parametrize(
    ("loss", "targets"),
    [(Huber(0.5), Y), (EpsilonInsensitive(0.3), Y), (MaxMargin(), np.sign(Y))],
    ids=["huber", "insensitive", "margin"],
)
def test_other_losses(loss, targets):
    low, exact = (IOKR(k, loss=loss, alpha=0.3).fit(X, targets) for k in (Nystroem(K, 12), K))
    at_zero = at_constant(exact)
    assert objective(low) - objective(exact) <= certify(low) * at_zero
    assert certify(low) < 1


def test_outputs_known_through_a_kernel():
    implicit = IOKR(Nystroem(K, 12), output_kernel=RBF(0.3), alpha=0.3).fit(X, Y)
    coordinates = IOKR(Nystroem(K, 12), output_kernel=RBF(0.3), embedding=FewOutputs(n), alpha=0.3).fit(X, Y)
    assert certify(implicit) == pytest.approx(certify(coordinates), rel=1e-6)


def test_some_rows_are_unbiased_and_all_rows_exact():
    model = IOKRCV(Nystroem(K, 12), alphas=(0.3,)).fit(X, Y)
    assert certify(model, rows=n) == certify(model)
    assert certify(model, rows=1000) == certify(model)
    assert 0.2 < certify(model, rows=20) / certify(model) < 5


def test_nothing_left_out_is_no_gap():
    assert certify(IOKR(Nystroem(K, n), alpha=0.3).fit(X, Y)) < 1e-10
    assert certify(IOKR(Nystroem(K, 5), alpha=0.3).fit(X, 0 * Y)) == 0


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (IOKR(K), "solution_.gap"),
        (IOKR(Fourier(K, 10)), "not a projection"),
        (IOKR(Nystroem(K, 5), manifold=Given(0.1, np.eye(n))), "no manifold"),
    ],
)
def test_refuses_in_words(model, words):
    with pytest.raises(ValueError, match=words):
        certify(model.fit(X, Y))


def test_refuses_other_models():
    from sklearn.linear_model import Ridge

    with pytest.raises(ValueError, match="`model` must be an `IOKR`"):
        certify(Ridge().fit(X, Y))
    with pytest.raises(ValueError, match="`rows`"):
        certify(IOKR(Nystroem(K, 5)).fit(X, Y), rows=0)


def test_the_rank_is_the_last_that_helped():
    model, errors = select_rank(IOKRCV(Nystroem(RBF(0.1), 32)), X, X, ranks=(2, 8, 16, 32), fall=0.05)
    tried = list(errors)
    alone = IOKRCV(Nystroem(RBF(0.1), 8)).fit(X, X)
    assert errors[8] == pytest.approx(alone.loo_errors_.min(), rel=1e-12)
    assert model.kernel.n_components == min(errors, key=errors.get)
    assert all(errors[b] < 0.95 * errors[a] for a, b in pairwise(tried[:-1]))
    assert_allclose(model.loo_errors_.min(), errors[model.kernel.n_components])


@pytest.mark.parametrize(
    ("model", "options", "words"),
    [
        (IOKR(Nystroem(K, 5)), {}, "`model` must be an `IOKRCV`"),
        (IOKRCV(K), {}, "has `n_components`"),
        (IOKRCV(Nystroem(K, 5), cv=3), {}, "cv=None"),
        (IOKRCV(Nystroem(K, 5)), {"ranks": (8, 4)}, "must ascend"),
        (IOKRCV(Nystroem(K, 5)), {"fall": -1.0}, "`fall`"),
    ],
)
def test_select_rank_refuses(model, options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        select_rank(model, X, Y, **options)
