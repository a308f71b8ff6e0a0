"""The intercept of every estimator: leave-one-out equals refits that estimate it anew, a constant of y is one of h.

Tests of the intercept in `iokr.estimators`; `tests/solvers/test_intercept.py` has that of the solvers.
"""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import iokr
from iokr import (
    IOKR,
    IOKRCV,
    Conformal,
    Functional,
    FunctionalCV,
    IOKRClassifier,
    IOKRRegressor,
    MultiTask,
    MultiTaskCV,
    QuantileCurves,
    Stream,
)
from iokr.embeddings import Basis, Eigen
from iokr.kernels import RBF, Centered, FromFunction, Linear, Nystroem
from iokr.losses import EpsilonSquare, Expectile, Huber, MaxMargin, Pinball
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Covariance, Decomposable
from iokr.solvers import ADMM, LBFGS
from reference import assert_close

RNG = np.random.default_rng(0)
N, Q, ALPHA = 14, 3, 0.2
X, NEW = RNG.normal(size=(N, 2)), RNG.normal(size=(5, 2))
Y = np.sin(X @ RNG.normal(size=(2, Q))) + 0.1 * RNG.normal(size=(N, Q)) + np.array([5.0, -3.0, 100.0])
A = np.array([[1.0, 0.6, 0.2], [0.6, 1.0, 0.1], [0.2, 0.1, 0.5]])
WEIGHT = np.where(np.arange(N) == 4, 0.0, RNG.uniform(0.5, 2.0, size=N))
GROUPS = np.arange(N) % 5
K = RBF(0.5)
HOLES = np.where(RNG.random((N, Q)) < 0.25, np.nan, Y)
HOLES[:, 0] = Y[:, 0]

MODELS = {
    "IOKR": IOKR(K, alpha=ALPHA),
    "operator": IOKR(Decomposable(K, A), alpha=ALPHA),
    "singular operator": IOKR(Decomposable(K, np.diag([1.0, 2.0, 0.0])), alpha=ALPHA),
    "two terms": IOKR(Decomposable(K, A) + Decomposable(Linear(), np.eye(3)), alpha=ALPHA),
    "few features": IOKR(Linear(), alpha=ALPHA),
    "output kernel": IOKR(K, output_kernel=Linear(), alpha=ALPHA, intercept=True),
    "output coordinates": IOKR(K, output_kernel=Linear(), embedding=Eigen(), alpha=ALPHA, intercept=True),
    "MultiTask": MultiTask(K, tasks=np.abs(A), alpha=ALPHA),
    "MultiTask, outputs": MultiTask(K, tasks=A, coupling="output", task_weight=0.3, alpha=ALPHA),
}


def refits(model, X, Y, groups, weight=None):
    """h(x) of each row by the model without its group; kernels of `model` have fixed parameters."""
    w = np.ones(len(X)) if weight is None else weight
    parts = {}
    for group in np.unique(groups):
        rest = groups != group
        fitted = clone(model).fit(X[rest], Y[rest], sample_weight=w[rest])
        parts |= dict(zip(np.flatnonzero(~rest), fitted.decision_function(X[~rest]), strict=True))
    return np.stack([parts[i] for i in range(len(X))])


@pytest.mark.parametrize("together", ["rows", "groups"])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["", "weights"])
@pytest.mark.parametrize("name", [name for name in MODELS if "output" not in name])
def test_leave_one_out_equals_refits(name, weight, together):
    groups = np.arange(N) if together == "rows" else GROUPS
    model = clone(MODELS[name]).fit(X, Y, sample_weight=weight)
    left_out = model.loo_decision_function(None if together == "rows" else GROUPS)
    assert_close(left_out, refits(MODELS[name], X, Y, groups, weight), 1e-8)


@pytest.mark.parametrize("model", [IOKR(K, alpha=ALPHA), IOKR(Decomposable(K, A), alpha=ALPHA)], ids=["", "operator"])
def test_missing_entries(model):
    fitted = clone(model).fit(X, HOLES)
    expected = np.vstack(
        [clone(model).fit(np.delete(X, i, 0), np.delete(HOLES, i, 0)).decision_function(X[i : i + 1]) for i in range(N)]
    )
    assert_close(fitted.loo_decision_function(), expected, 1e-8)


def test_implicit_outputs_and_their_coordinates_are_the_vectors():
    plain = clone(MODELS["IOKR"]).fit(X, Y)
    candidates = RNG.normal(size=(7, Q)) + Y.mean(axis=0)
    expected = plain.distances(NEW, candidates)
    for name in ("output kernel", "output coordinates"):
        model = clone(MODELS[name]).fit(X, Y)
        assert_close(model.distances(NEW, candidates), expected, 1e-8)
        assert_close(model.embedding_.vectors(model.decision_function(NEW)), plain.predict(NEW), 1e-9)


@pytest.mark.parametrize(
    "name", [name for name in MODELS if name not in ("two terms", "operator", "singular operator")]
)
def test_weights_sum_to_one_and_give_h(name):
    if name.startswith("MultiTask"):
        return
    model = clone(MODELS[name]).fit(X, Y, sample_weight=WEIGHT)
    beta = model.weights(NEW)
    assert_close(beta.sum(axis=1), np.ones(5), 1e-9)
    expected = model.embedding_.vectors(model.decision_function(NEW))
    assert_close(beta @ Y, expected, 1e-8)


def test_weights_under_another_loss_sum_to_one():
    model = IOKR(K, alpha=ALPHA, loss=Huber(0.3)).fit(X, Y)
    beta = model.weights(NEW)
    assert_close(beta.sum(axis=1), np.ones(5), 1e-8)
    assert_close(beta @ Y, model.predict(NEW), 1e-7)


SHIFTED = {
    "IOKR": IOKR(K, alpha=ALPHA),
    "IOKRCV": IOKRCV(K),
    "folds": IOKRCV(K, cv=3),
    "operator": IOKR(Decomposable(K, A), alpha=ALPHA),
    "manifold": IOKR(K, alpha=ALPHA, manifold=Laplacian(0.5)),
    "low rank": IOKR(Nystroem(K, n_components=5), alpha=ALPHA),
    "covariance": IOKR(Covariance(K, centered=True), alpha=ALPHA),
    "IOKRRegressor": IOKRRegressor(K),
    "MultiTask": MultiTask(K, alpha=ALPHA),
    "MultiTaskCV": MultiTaskCV(K),
    "learned tasks": MultiTask(K, alpha=ALPHA, learn_tasks=True, tol=1e-10),
    "Functional": Functional(K, alpha=ALPHA),
    "FunctionalCV": FunctionalCV(K),
    "basis": Functional(K, alpha=ALPHA, basis=Basis.fourier(1)),
    "principal": Functional(K, alpha=ALPHA, basis=Basis.principal(2)),
}


@pytest.mark.parametrize("constant", [1.0, 1e6])
@pytest.mark.parametrize("name", SHIFTED)
def test_a_constant_of_y_is_one_of_the_prediction(name, constant):
    """To 1e-8 of the constant, as rounding of y itself is relative to it."""
    before = np.asarray(clone(SHIFTED[name]).fit(X, Y).predict(NEW))
    after = np.asarray(clone(SHIFTED[name]).fit(X, Y + constant).predict(NEW))
    assert np.abs(after - before - constant).max() <= 1e-8 * max(constant, np.abs(Y).max())


@pytest.mark.parametrize("constant", [1.0, 1e6])
@pytest.mark.parametrize(
    "loss", [Huber(0.3), EpsilonSquare(0.1), Pinball(0.3), Expectile(0.7)], ids=lambda loss: type(loss).__name__
)
def test_a_constant_of_y_under_other_losses(loss, constant):
    """J is strongly convex in h: at a relative gap g predictions are within √(2 g J₀ k/α) of the minimiser's."""
    tol = 1e-9
    models = [IOKR(K, alpha=ALPHA, loss=loss, solver=ADMM(tol)).fit(X, Y + c) for c in (0.0, constant)]
    spread = np.sum(loss.value(np.zeros_like(Y), Y - np.median(Y, axis=0)))
    bound = 4 * np.sqrt(2 * tol * spread / ALPHA) + 1e-8 * constant
    assert np.abs(models[1].predict(NEW) - models[0].predict(NEW) - constant).max() <= bound


def test_quantiles_move_with_the_outputs():
    y = Y[:, 0]
    model = QuantileCurves(K, alpha=0.05, levels=(0.25, 0.5, 0.75), solver=ADMM(1e-9))
    for constant in (10.0, 1e5):
        before, after = (clone(model).fit(X, y + c).predict(NEW) for c in (0.0, constant))
        assert np.abs(after - before - constant).max() <= 1e-3


def test_the_default():
    assert IOKR(K).fit(X, Y).solution_.intercept is not None
    assert IOKR(K, output_kernel=Linear()).fit(X, Y).solution_.intercept is None
    assert IOKR(K, intercept=False).fit(X, Y).solution_.intercept is None
    labels = (X[:, 0] > 0).astype(int)
    assert IOKRClassifier(K).fit(X, labels).model_.solution_.intercept is not None
    assert IOKR(K, loss=MaxMargin()).fit(X, 2.0 * labels - 1).solution_.intercept is None
    with pytest.raises(ValueError, match="an intercept could follow the classes alone"):
        IOKR(K, loss=MaxMargin(), intercept=True).fit(X, 2.0 * labels - 1)
    with pytest.raises(ValueError, match="`intercept` must be"):
        IOKR(K, intercept="yes").fit(X, Y)
    with pytest.raises(ValueError, match="covariance operator needs outputs in coordinates"):
        IOKR(Covariance(K), output_kernel=Linear(), intercept=True).fit(X, Y)


def test_far_from_all_inputs_h_is_a_mean_of_the_outputs():
    far = IOKR(K, alpha=ALPHA).fit(X, Y).predict([[1e3, 1e3]])[0]
    assert np.all((far > Y.min(axis=0)) & (far < Y.max(axis=0)))


def flat_prior(kernel, X, new, alpha, weight, scale):
    """Variances under the kernel k + c, in the limit of large c, from the bordered system."""
    K, k, own = kernel(X, X), kernel(X, new), np.diag(kernel(new, new))
    n = len(X)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = scale * K + alpha * np.diag(1 / weight)
    system[:n, n] = system[n, :n] = 1.0
    right = np.vstack([scale * k, np.ones((1, len(new)))])
    return scale * own - np.sum(right * np.linalg.solve(system, right), axis=0)


@pytest.mark.parametrize("weighted", [False, True])
def test_the_variance_counts_what_is_not_known_of_the_intercept(weighted):
    used = WEIGHT > 0
    weight = WEIGHT if weighted else np.ones(N)
    X_used, w = (X[used], weight[used]) if weighted else (X, weight)
    model = IOKR(K, alpha=ALPHA).fit(X, Y, sample_weight=WEIGHT if weighted else None)
    assert_close(model.variance(NEW), flat_prior(K, X_used, NEW, ALPHA, w, 1.0), 1e-9)
    diagonal = IOKR(Decomposable(K, np.diag([1.0, 2.0, 0.0])), alpha=ALPHA)
    found = diagonal.fit(X, Y, sample_weight=WEIGHT if weighted else None).variance(NEW)
    for j, scale in enumerate((1.0, 2.0, 0.0)):
        assert_close(found[:, j], flat_prior(K, X_used, NEW, ALPHA, w, scale), 1e-9)
    rows = IOKR(Nystroem(K, n_components=N), alpha=ALPHA).fit(X, Y)
    assert_close(rows.variance(NEW), flat_prior(rows.kernel_, X, NEW, ALPHA, np.ones(N), 1.0), 1e-6)


def test_covariances_with_coupled_missing_entries():
    """The flat constant of every output, by its limit: a kernel with a large constant for each output."""
    model = IOKR(Decomposable(K, A), alpha=ALPHA).fit(X, HOLES)
    large = 1e6
    constant = FromFunction(lambda x, z: large)
    coupled = Decomposable(K, A) + Decomposable(constant, np.eye(Q))
    limit = IOKR(coupled, alpha=ALPHA, intercept=False).fit(X, HOLES)
    assert_close(model.variance(NEW, full=True), limit.variance(NEW, full=True), 1e-4)


@pytest.mark.parametrize("method", ["full", "jackknife+", "jackknife"])
@pytest.mark.parametrize("model", [IOKR(K, alpha=ALPHA), IOKR(Decomposable(K, A), alpha=ALPHA)], ids=["", "operator"])
def test_conformal_sets_are_those_of_refits(model, method):
    sure = Conformal(clone(model), method=method).fit(X, Y)
    y = Y[:5] + 0.1
    found = sure.p_values(NEW, y)
    for i in range(5):
        if method == "full":
            every = clone(model).fit(np.vstack([X, NEW[i]]), np.vstack([Y, y[i]]))
            scores = np.linalg.norm(np.vstack([Y, y[i]]) - every.loo_decision_function(), axis=1)
            larger = np.sum(scores[:N] >= scores[N] * (1 - 1e-9))
        else:
            fits = [clone(model).fit(np.delete(X, j, 0), np.delete(Y, j, 0)) for j in range(N)]
            own = np.array([np.linalg.norm(Y[j] - fit.predict(X[j : j + 1])) for j, fit in enumerate(fits)])
            whole = clone(model).fit(X, Y).predict(NEW[i : i + 1])
            new = [
                np.linalg.norm(y[i] - (fit.predict(NEW[i : i + 1]) if method == "jackknife+" else whole))
                for fit in fits
            ]
            larger = np.sum(own >= np.array(new) * (1 - 1e-9))
        assert found[i] == pytest.approx((1 + larger) / (N + 1))


def curves(n=16, T=21):
    t = np.linspace(0, 1, T)
    values = 20 + 5 * np.sin(4 * t) + np.sin(3 * t + X[:n, :1][: len(X)]) if n <= N else None
    return t, values + 0.1 * np.random.default_rng(3).normal(size=(n, T))


@pytest.mark.parametrize("together", ["rows", "groups"])
@pytest.mark.parametrize(
    "options",
    [{}, {"basis": Basis.bsplines(6)}, {"basis": Basis.fourier(3)}, {"basis": Basis.bsplines(6, residual=False)}],
    ids=["values", "splines", "fourier", "no residual"],
)
def test_curves_left_out_are_those_of_refits(options, together):
    t, values = curves(N)
    groups = np.arange(N) if together == "rows" else GROUPS
    model = Functional(K, alpha=0.05, grid=t, **options)
    fitted = clone(model).fit(X, values)
    expected = np.empty(values.shape)
    for group in np.unique(groups):
        own = groups == group
        expected[own] = clone(model).fit(X[~own], values[~own]).predict(X[own])
    left_out = fitted.loo_decision_function(None if together == "rows" else GROUPS)
    assert_close(left_out, expected, 1e-8)
    search = FunctionalCV(K, grid=t, alphas=(0.05, 1.0), basis=options.get("basis"))
    search.fit(X, values, groups=None if together == "rows" else GROUPS)
    if "residual" not in repr(options) or "False" not in repr(options):
        w = fitted.quadrature_
        assert search.loo_errors_[0] == pytest.approx(float(np.mean(((values - expected) ** 2) @ w)), rel=1e-8)


@pytest.mark.parametrize("share", [0.25, 0.9], ids=["few points", "most points"])
def test_curves_with_gaps(share):
    """The intercept is free at every node where these are in most curves, else a combination of few splines."""
    t, values = curves(N)
    seen = np.random.default_rng(5).random(values.shape) < share
    seen[:, [0, -1]] = True
    gaps = np.where(seen, values, np.nan)
    model = Functional(K, alpha=0.05, grid=t)
    fitted = clone(model).fit(X, gaps)
    assert (fitted.inputs_.shapes is None) == (share > 0.5)
    moved = clone(model).fit(X, gaps + 100.0)
    assert_close(moved.predict(NEW), fitted.predict(NEW) + 100.0, 1e-8)
    at = np.linspace(0, 1, 37)
    assert_close(moved.predict(NEW, at=at), fitted.predict(NEW, at=at) + 100.0, 1e-6)
    truth = 20 + 5 * np.sin(4 * t) + np.sin(3 * t + NEW[:, :1])
    assert np.sqrt(np.mean((fitted.predict(NEW) - truth) ** 2)) < 0.6
    if share > 0.5:
        expected = np.vstack(
            [clone(model).fit(np.delete(X, i, 0), np.delete(gaps, i, 0)).predict(X[i : i + 1]) for i in range(N)]
        )
        assert_close(fitted.loo_decision_function(), expected, 1e-8)


def test_curves_under_a_robust_loss_move_with_the_outputs():
    t, values = curves(N)
    for options in ({}, {"basis": Basis.bsplines(6)}):
        model = Functional(K, alpha=0.05, grid=t, loss=Huber(0.2), solver=ADMM(1e-9), **options)
        before, after = (clone(model).fit(X, values + c).predict(NEW) for c in (0.0, 50.0))
        assert np.abs(after - before - 50.0).max() <= 1e-3


@pytest.mark.parametrize(("n", "p"), [(60, 100), (50, 500)])
def test_noise_is_not_learned_from_standardised_columns(n, p):
    """With p ≥ n standardised columns and centred y each row is minus the sum of the others: K1 = 0 and 1ᵀy = 0."""
    alphas, scores, inside = [], [], {"full": 0, "jackknife+": 0}
    for draw in range(10):
        rng = np.random.default_rng(draw)
        Z = rng.normal(size=(n + 10, p))
        Z = (Z - Z[:n].mean(axis=0)) / Z[:n].std(axis=0)
        y = rng.normal(size=n + 10)
        y = y - y[:n].mean()
        model = IOKRCV(Linear()).fit(Z[:n], y[:n])
        alphas.append(model.alpha_)
        scores.append(1 - np.mean((y[n:] - model.predict(Z[n:])) ** 2) / np.mean(y[n:] ** 2))
        for method in inside:
            chosen = IOKR(Linear(), alpha=model.alpha_)
            band = Conformal(chosen, method=method).fit(Z[:n], y[:n]).band(Z[n:], 0.9)
            inside[method] += int(np.sum((band[..., 0].ravel() <= y[n:]) & (y[n:] <= band[..., 1].ravel())))
    assert np.median(alphas) >= max(iokr.IOKRCV().alphas) / 10
    assert np.median(scores) >= -0.1
    for method, count in inside.items():  # of 100; the binomial 0.01 quantile at 0.9 is 82
        assert count >= 82, method


def test_centring_done_outside_warns_without_an_intercept():
    rng = np.random.default_rng(0)
    Z, y = rng.normal(size=(20, 30)), rng.normal(size=20)
    Z, y = Z - Z.mean(axis=0), y - y.mean()
    for model, given in (
        (IOKRCV(Linear(), intercept=False), Z),
        (IOKRCV(Centered(RBF(0.1)), intercept=False), Z + 1.0),
    ):
        with pytest.warns(UserWarning, match="Inputs and outputs are both centred"):
            model.fit(given, y)
    with warnings.catch_warnings():
        warnings.filterwarnings("error", message="Inputs and outputs are both centred")
        IOKRCV(Linear()).fit(Z, y)
        IOKRCV(Linear(), intercept=False).fit(Z, y + 1.0)
        IOKRCV(RBF(0.1), intercept=False).fit(Z, y)


def test_rows_in_chunks():
    """Chunks, and all rows in memory, far from zero: rounding is that of k(x, x) ≈ 3e6."""
    rng = np.random.default_rng(1)
    Z = rng.normal(size=(300, 3)) + 1e3
    T = np.column_stack([Z.sum(axis=1), Z[:, 0] ** 2 / 1e3]) + rng.normal(size=(300, 2))
    kernel = Linear()
    stream = Stream(lambda: ((Z[i : i + 50], T[i : i + 50]) for i in range(0, 300, 50)))
    chunked, whole = IOKR(kernel, alpha=0.5).fit(stream), IOKR(kernel, alpha=0.5).fit(Z, T)
    assert_close(chunked.predict(Z[:9]), whole.predict(Z[:9]), 1e-8)  # rounding of K ≈ 3e6 over alpha
    assert_close(chunked.variance(Z[:9]), whole.variance(Z[:9]), 1e-6)
    search = IOKRCV(kernel, alphas=(0.1, 10.0)).fit(stream)
    assert_close(search.loo_errors_, IOKRCV(kernel, alphas=(0.1, 10.0)).fit(Z, T).loo_errors_, 1e-7)
    folded = IOKRCV(kernel, alphas=(0.1, 10.0), cv=3).fit(stream)
    assert np.all(np.isfinite(folded.cv_errors_))
    part = IOKR(kernel, alpha=0.5)
    for i in range(0, 300, 50):
        part.partial_fit(Z[i : i + 50], T[i : i + 50])
    assert_close(part.predict(Z[:9]), whole.predict(Z[:9]), 1e-8)


def test_a_smooth_loss_of_ones_own():
    """Value and gradient only: the intercept is found in every step."""
    one = IOKR(K, alpha=ALPHA, loss=Huber(0.3), solver=LBFGS(1e-9)).fit(X, Y)
    other = IOKR(K, alpha=ALPHA, loss=Huber(0.3), solver=ADMM(1e-9)).fit(X, Y)
    assert_close(one.predict(NEW), other.predict(NEW), 1e-5)


def test_files_keep_it(tmp_path):
    for name, model in {"IOKR": IOKR(K), "chunks": IOKR(Linear())}.items():
        fitted = model.fit(X, Y) if name == "IOKR" else model.partial_fit(X, Y)
        iokr.save(fitted, tmp_path / name)
        again = iokr.load(tmp_path / name)
        np.testing.assert_array_equal(again.predict(NEW), fitted.predict(NEW))
        if name == "IOKR":
            np.testing.assert_array_equal(again.loo_decision_function(), fitted.loo_decision_function())
        else:
            assert_close(again.partial_fit(X + 1, Y).predict(NEW), fitted.partial_fit(X + 1, Y).predict(NEW), 1e-12)
