"""Arrays of other libraries: the same numbers, in kind, on the same device.

`array-api-strict` has nothing but the standard and, beside its CPU, devices whose arrays NumPy cannot read:
whatever moves data silently, or leans on NumPy, fails on them.

Tests of `iokr._array.factorizations`, `iokr._array.namespaces` and `iokr._array.products`.
"""

import numpy as np
import pytest
from sklearn.base import clone

from iokr import IOKR, IOKRCV, CandidateSets, LinkPredictor, LinkPredictorCV
from iokr.decoders import Threshold
from iokr.embeddings import Eigen, Implicit
from iokr.kernels import (
    RBF,
    Aligned,
    Centered,
    Cosine,
    Delta,
    FromFunction,
    Hamming,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
    Precomputed,
    Tanimoto,
)
from iokr.manifolds import Given, Heat, IteratedLaplacian
from iokr.manifolds import Laplacian as Manifold
from iokr.operator_kernels import Decomposable
from iokr.solvers import Cholesky
from iokr.solvers import Eigen as EigenSolver
from libraries import Data, M, N, U, problem


def agree(found, expected, rtol=1e-10):
    assert found.shape == expected.shape
    np.testing.assert_allclose(found, expected, rtol=0, atol=rtol * max(np.abs(expected).max(), 1e-300))


A = np.array([[2.0, 1.0], [1.0, 1.0]])
WEIGHT = np.random.default_rng(5).uniform(0.0, 2.0, size=N) * (np.arange(N) != 3)


def gap(Y):
    """Y with missing entries, in kind."""
    mask = np.zeros((N, 2), dtype=bool)
    mask[[1, 4, 9], [0, 1, 1]] = True
    if isinstance(Y, np.ndarray):
        return np.where(mask, np.nan, Y)
    return mask


KERNELS = {
    "linear": Linear(),
    "polynomial": Polynomial(2, 0.5, 1.0),
    "rbf": RBF(0.5),
    "median": RBF(),
    "laplacian": Laplacian(0.5),
    "cosine": Cosine(),
    "tanimoto": Tanimoto(),
    "sum": RBF(0.5) + 2.0 * Linear(),
    "product": RBF(0.5) * Linear(),
    "normalized": Normalized(Polynomial(2, 0.5, 1.0)),
    "centered": Centered(RBF(0.5)),
}


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_kernels(library, kernel):
    data = problem()
    other = data.moved(library)
    expected = kernel.fit(data.X)(data.new, data.X)
    agree(library.numpy(kernel.fit(other.X)(other.new, other.X)), expected)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_every_kernel_in_a_model(library, kernel):
    data = problem()
    other = data.moved(library)
    expected = IOKR(kernel, alpha=0.1).fit(data.X, data.Y)
    found = IOKR(kernel, alpha=0.1).fit(other.X, other.Y)
    agree(library.numpy(found.decision_function(other.new)), expected.decision_function(data.new))


# Models, and how to fit them: `to` moves arrays, `d` holds the data in kind.
MODELS = {
    "ridge": lambda to: IOKR(RBF(0.5), alpha=0.1),
    "cholesky": lambda to: IOKR(RBF(0.5), alpha=0.1, solver=Cholesky()),
    "eigen": lambda to: IOKR(RBF(0.5), alpha=0.1, solver=EigenSolver()),
    "centred": lambda to: IOKR(RBF(0.5), alpha=0.1, intercept=True),
    "operator": lambda to: IOKR(Decomposable(RBF(0.5), to(A)), alpha=0.1),
    "operator from NumPy": lambda to: IOKR(Decomposable(RBF(0.5), A), alpha=0.1),
    "singular operator": lambda to: IOKR(Decomposable(RBF(0.5), to(np.ones((2, 2)))), alpha=0.1),
    "path": lambda to: IOKRCV(RBF(0.5), alphas=np.logspace(-3, 1, 7)),
    "few alphas": lambda to: IOKRCV(RBF(0.5), alphas=(0.1, 1.0)),
    "kernels": lambda to: IOKRCV([RBF(0.5), Linear()], alphas=(0.01, 0.1, 1.0)),
    "operator path": lambda to: IOKRCV(Decomposable(RBF(0.5), to(A)), alphas=(0.01, 0.1)),
    "folds": lambda to: IOKRCV(RBF(0.5), alphas=(0.01, 0.1), cv=3),
}
SEMI_SUPERVISED = {
    "full graph": lambda to: IOKR(RBF(0.5), alpha=0.1, manifold=Manifold(0.3)),
    "neighbours": lambda to: IOKR(RBF(0.5), alpha=0.1, manifold=Manifold(0.3, 3)),
    "iterated": lambda to: IOKR(RBF(0.5), alpha=0.1, manifold=IteratedLaplacian(0.3, 2)),
    "heat": lambda to: IOKR(RBF(0.5), alpha=0.1, manifold=Heat(0.3, 1.0)),
    "given": lambda to: IOKR(RBF(0.5), alpha=0.1, manifold=Given(0.3, to(np.eye(N + U)))),
    "stiff": lambda to: IOKR(RBF(0.5), alpha=1e-7, manifold=Manifold(3.0)),
    "operator": lambda to: IOKR(Decomposable(RBF(0.5), to(A)), alpha=0.1, manifold=Manifold(0.3)),
    "path": lambda to: IOKRCV(
        RBF(0.5), alphas=(0.01, 0.1, 1.0), manifold=Manifold(1.0), manifold_weights=(0.0, 0.1, 1.0)
    ),
}
FITS = {
    "plain": lambda model, d, to: model.fit(d.X, d.Y),
    "NumPy targets": lambda model, d, to: model.fit(d.X, problem().Y),
    "weights": lambda model, d, to: model.fit(d.X, d.Y, sample_weight=to(WEIGHT)),
    "NumPy weights": lambda model, d, to: model.fit(d.X, d.Y, sample_weight=WEIGHT),
    "mask": lambda model, d, to: model.fit(d.X, to(gap(problem().Y))),
    "mask and weights": lambda model, d, to: model.fit(d.X, to(gap(problem().Y)), sample_weight=to(WEIGHT)),
}


def compare(library, make, fit, loo=True):
    data = problem()
    other = data.moved(library)
    expected = fit(make(np.asarray), data, np.asarray)
    found = fit(make(library), other, library)
    agree(library.numpy(found.decision_function(other.new)), expected.decision_function(data.new))
    agree(library.numpy(found.predict(other.new)), expected.predict(data.new))
    if loo:
        agree(library.numpy(found.loo_decision_function()), expected.loo_decision_function())
    assert float(found.score(other.X, other.Y)) == pytest.approx(expected.score(data.X, data.Y), rel=1e-9)
    if isinstance(expected, IOKRCV):
        name = "loo_errors_" if expected.cv is None else "cv_errors_"
        errors = getattr(found, name)
        errors = errors if isinstance(errors, np.ndarray) else library.numpy(errors)
        np.testing.assert_allclose(errors, getattr(expected, name), rtol=1e-9)
        assert found.alpha_ == expected.alpha_
        assert tuple(np.atleast_1d(found.best_index_)) == tuple(np.atleast_1d(expected.best_index_))


@pytest.mark.parametrize("fit", FITS.values(), ids=FITS)
@pytest.mark.parametrize("make", MODELS.values(), ids=MODELS)
def test_supervised_models(library, make, fit):
    compare(library, make, fit)


@pytest.mark.parametrize("how", ["plain", "weights", "mask", "mask and weights"])
@pytest.mark.parametrize("make", SEMI_SUPERVISED.values(), ids=SEMI_SUPERVISED)
def test_semi_supervised_models(library, make, how):
    def fit(model, d, to):
        Y = to(gap(problem().Y)) if "mask" in how else d.Y
        weight = to(WEIGHT) if "weights" in how else None
        return model.fit(d.X, Y, sample_weight=weight, X_unlabeled=d.unlabeled)

    compare(library, make, fit)


def test_gram_matrices(library):
    data = problem()
    other = data.moved(library)
    K = RBF(0.5)(np.concatenate([data.X, data.new]))
    expected = IOKR(RBF(0.5), alpha=0.1).fit(data.X, data.Y).decision_function(data.new)
    rows = IOKR(Precomputed(), alpha=0.1).fit(library(K[:N, :N]), other.Y)
    agree(library.numpy(rows.decision_function(library(K[N:, :N]))), expected)
    indices = IOKR(Precomputed(library(K)), alpha=0.1).fit(library(np.arange(N)), other.Y)
    agree(library.numpy(indices.decision_function(library(np.arange(N, N + M)))), expected)


@pytest.mark.parametrize("embedding", [None, Implicit(), Eigen()], ids=repr)
@pytest.mark.parametrize("output_kernel", [RBF(0.5), Linear(), RBF()], ids=repr)
def test_output_kernels_and_ranking(library, output_kernel, embedding):
    data = problem()
    other = data.moved(library)
    model = IOKR(RBF(0.5), output_kernel=output_kernel, embedding=embedding, alpha=0.1)
    expected = model.fit(data.X, data.Y)
    results = {
        "scores": expected.scores(data.new, data.candidates),
        "distances": expected.distances(data.new, data.candidates),
        "weights": expected.weights(data.new),
        "predict": expected.predict(data.new),
        "chosen": expected.predict(data.new, data.candidates),
    }
    indices, values = expected.rank(data.new, data.candidates, k=3)
    sets = [data.candidates[: 1 + i % 4] for i in range(M)]
    by_set = expected.scores(data.new, CandidateSets(sets))
    score = expected.score(data.new, data.candidates[[0, 1, 2, 3, 4, 0, 1]])

    found = model.fit(other.X, other.Y)
    agree(library.numpy(found.scores(other.new, other.candidates)), results["scores"])
    agree(library.numpy(found.distances(other.new, other.candidates)), results["distances"])
    agree(library.numpy(found.weights(other.new)), results["weights"])
    agree(library.numpy(found.predict(other.new)), results["predict"])
    agree(library.numpy(found.predict(other.new, other.candidates)), results["chosen"])
    found_indices, found_values = found.rank(other.new, other.candidates, k=3)
    np.testing.assert_array_equal(library.numpy(found_indices), indices)
    agree(library.numpy(found_values), values)
    found_by_set = found.scores(other.new, CandidateSets([library(s) for s in sets]))
    for one, two in zip(found_by_set, by_set, strict=True):
        agree(library.numpy(one), two)
    rows = library(data.candidates[[0, 1, 2, 3, 4, 0, 1]])
    assert float(found.score(other.new, rows)) == pytest.approx(score, rel=1e-9)


@pytest.mark.parametrize("where", ["candidates", "targets", "both"])
@pytest.mark.parametrize("output_kernel", [RBF(0.5), None], ids=repr)
def test_outputs_from_numpy_follow_x(library, output_kernel, where):
    data = problem()
    other = data.moved(library)
    model = IOKR(RBF(0.5), output_kernel=output_kernel, alpha=0.1)
    expected = model.fit(data.X, data.Y).scores(data.new, data.candidates)
    ranked, _ = model.rank(data.new, data.candidates)
    Y = other.Y if where == "candidates" else data.Y
    candidates = other.candidates if where == "targets" else data.candidates
    found = model.fit(other.X, Y)
    agree(library.numpy(found.scores(other.new, candidates)), expected)
    np.testing.assert_array_equal(library.numpy(found.rank(other.new, candidates)[0]), ranked)


def test_leave_one_out_from_the_output_kernel_alone(library):
    data = problem()
    other = data.moved(library)
    make = IOKRCV(RBF(0.5), output_kernel=RBF(0.5), alphas=np.logspace(-3, 1, 6))
    expected = make.fit(data.X, data.Y)
    errors, alpha, loo = expected.loo_errors_, expected.alpha_, expected.loo_decision_function()
    found = make.fit(other.X, other.Y)
    found_errors = found.loo_errors_
    found_errors = found_errors if isinstance(found_errors, np.ndarray) else library.numpy(found_errors)
    np.testing.assert_allclose(found_errors, errors, rtol=1e-9)
    assert found.alpha_ == alpha
    agree(library.numpy(found.loo_decision_function()), loo)


def shared_letters(y, z):
    return float(len(set(y) & set(z)))


@pytest.mark.parametrize("output_kernel", [FromFunction(shared_letters), Delta()], ids=["function", "delta"])
def test_objects_as_outputs(library, output_kernel):
    data = problem()
    other = data.moved(library)
    y = ["axe", "bit", "cog", "elk"] * (N // 4)
    model = IOKR(RBF(0.5), output_kernel=output_kernel, alpha=0.1)
    expected = model.fit(data.X, y)
    words, scores = expected.predict(data.new), expected.scores(data.new, ["bit", "ant"])
    found = model.fit(other.X, y)
    assert list(found.predict(other.new)) == list(words)
    agree(library.numpy(found.scores(other.new, ["bit", "ant"])), scores)


@pytest.mark.parametrize(
    "make",
    [*list(MODELS.values())[:5], MODELS["path"], SEMI_SUPERVISED["full graph"]],
    ids=[*list(MODELS)[:5], "path", "full graph"],
)
def test_single_precision_is_factored_in_double(library, make):
    double = problem()
    double = Data(*(array.astype(np.float32).astype(np.float64) for array in vars(double).values()))
    single = double.moved(library, np.float32)
    expected, found = make(np.asarray), make(library)
    if hasattr(found, "alpha"):  # a condition number of about 1e5: single precision would leave two digits
        expected.set_params(alpha=1e-4)
        found.set_params(alpha=1e-4)
    more = {} if found.manifold is None else {"X_unlabeled": "unlabeled"}
    expected.fit(double.X, double.Y, **{key: getattr(double, name) for key, name in more.items()})
    found.fit(single.X, single.Y, **{key: getattr(single, name) for key, name in more.items()})
    for answer, wanted in [
        (found.decision_function(single.new), expected.decision_function(double.new)),
        (found.predict(single.new), expected.predict(double.new)),
        (found.loo_decision_function(), expected.loo_decision_function()),
    ]:
        numbers = library.numpy(answer)
        assert numbers.dtype == np.float32
        agree(numbers, wanted, rtol=1e-6)


def test_single_precision_in_numpy():
    data = problem()
    X, Y, new = (array.astype(np.float32) for array in (data.X, data.Y, data.new))
    model = IOKR(RBF(0.5), alpha=1e-6).fit(X, Y)
    exact = IOKR(RBF(0.5), alpha=1e-6).fit(X.astype(float), Y.astype(float))
    for answer, wanted in [
        (model.decision_function(new), exact.decision_function(new.astype(float))),
        (model.predict(new), exact.predict(new.astype(float))),
        (model.loo_decision_function(), exact.loo_decision_function()),
    ]:
        assert answer.dtype == np.float32
        agree(answer, wanted, rtol=1e-6)


def test_single_precision_of_scores(library):
    data = problem()
    single = data.moved(library, np.float32)
    model = IOKR(RBF(0.5), output_kernel=RBF(0.5), alpha=0.1).fit(single.X, single.Y)
    assert library.numpy(model.scores(single.new, single.candidates)).dtype == np.float32
    assert library.numpy(model.rank(single.new, single.candidates)[1]).dtype == np.float32


def test_arrays_of_two_libraries_are_not_mixed_silently():
    torch = pytest.importorskip("torch")
    data = problem()
    model = IOKR(RBF(0.5)).fit(torch.asarray(data.X), torch.asarray(data.Y))
    try:
        answer = model.decision_function(data.new)
    except (TypeError, ValueError) as error:
        assert "X" in str(error)
    else:  # or it follows the new X
        assert isinstance(answer, np.ndarray)
        agree(answer, IOKR(RBF(0.5)).fit(data.X, data.Y).decision_function(data.new))


def test_torch_tensors_that_require_gradients():
    torch = pytest.importorskip("torch")
    data = problem()
    X = torch.asarray(data.X).requires_grad_()
    try:
        answer = IOKR(RBF(0.5)).fit(X, torch.asarray(data.Y)).decision_function(X)
    except (TypeError, ValueError) as error:
        assert "detach" in str(error)
    else:
        agree(answer.detach().numpy(), IOKR(RBF(0.5)).fit(data.X, data.Y).decision_function(data.X))


@pytest.mark.parametrize("manifold", [None, Manifold(0.3, 4)], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("kernel", [RBF(0.5), Aligned([RBF(0.5), Linear()])], ids=["one kernel", "aligned"])
def test_link_prediction_agrees(kernel, manifold, library):
    d = problem()
    near = ((d.X[:, None] - d.X[None]) ** 2).sum(axis=2)
    W, labeled = (near < 1.0) * (1.0 - np.eye(N)), np.arange(N)[::2]
    kernel = kernel if manifold is None else RBF(0.5)
    model = LinkPredictor(kernel, alpha=0.1, manifold=manifold)
    expected = clone(model).fit(d.X, W, labeled)
    for adjacency in (W, library(W)):
        fitted = clone(model).fit(library(d.X), adjacency, labeled)
        agree(library.numpy(fitted.decision_function()), expected.decision_function())
        agree(library.numpy(fitted.decision_function(library(d.new))), expected.decision_function(d.new))
        agree(library.numpy(fitted.loo_decision_function()), expected.loo_decision_function(), 1e-9)
        pairs, scores = fitted.predict_links(top=20)
        best, values = expected.predict_links(top=20)
        np.testing.assert_array_equal(library.numpy(pairs), best)
        agree(library.numpy(scores), values)
        agree(np.array([fitted.best_threshold()]), np.array([expected.best_threshold()]))
    grid = LinkPredictorCV(kernel, alphas=(0.01, 1.0), manifold=manifold)
    agree(clone(grid).fit(library(d.X), W, labeled).scores_, clone(grid).fit(d.X, W, labeled).scores_)


@pytest.mark.parametrize("output_kernel", [None, Linear(), Hamming()], ids=repr)
def test_label_sets_of_certain_sizes(library, output_kernel):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(N, 3)), (rng.normal(size=(N, 4)) > 0).astype(float)
    model = IOKR(RBF(1.0), output_kernel=output_kernel, alpha=0.3, decoder=Threshold(1, 2))
    expected = model.fit(X, Y).predict(X)
    found = library.numpy(model.fit(library(X), library(Y)).predict(library(X)))
    np.testing.assert_array_equal(found, expected)
    assert set(found.sum(axis=1)) <= {1.0, 2.0}
