"""With few features h(x) = A Dᵀφ(x) + b, and the features of the training inputs are not kept.

Tests of `iokr.estimators.regression.posing` and `iokr.estimators.regression.base`.
"""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse
from sklearn.base import clone

from iokr import IOKR, IOKRCV, Stream, load, save
from iokr.data.objects import as_objects
from iokr.kernels import RBF, Fourier, Linear, Nystroem, Sketch, Spectrum, Standardized
from iokr.losses import Huber
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Covariance, Decomposable
from iokr.solvers import ReducedRank

rng = np.random.default_rng(0)
N, RANK = 300, 40
X = rng.normal(size=(N, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2]) + 0.1 * rng.normal(size=(N, 2))
X_NEW = rng.normal(size=(7, 3))
WEIGHT = rng.uniform(0.5, 2.0, size=N)
A = np.array([[2.0, 0.5], [0.5, 1.0]])
WORDS = ["".join(word) for word in rng.choice(list("abc"), size=(N, 6))]
LOW = Nystroem(RBF(0.3), RANK)
KERNELS = {
    "nystroem": LOW,
    "sketch": Sketch(RBF(0.3), RANK),
    "fourier": Fourier(RBF(0.3), RANK),
    "scaled": 2.0 * LOW,
    "sum": LOW + Fourier(RBF(0.1), RANK),
    "standardized": Standardized(LOW),
}
MODELS = {
    **{name: IOKR(kernel) for name, kernel in KERNELS.items()},
    "no intercept": IOKR(LOW, intercept=False),
    "operator": IOKR(Decomposable(LOW, A)),
    "covariance operator": IOKR(Covariance(LOW)),
    "implicit outputs": IOKR(LOW, output_kernel=RBF(0.5)),
    "another loss": IOKR(LOW, loss=Huber(0.5)),
    "manifold": IOKR(LOW, manifold=Laplacian(0.1, n_neighbors=5)),
    "search": IOKRCV([LOW, Fourier(RBF(0.3), RANK)], alphas=(0.1, 1.0)),
}
SLACK = 20_000  # bytes: parameters, options


def weighted_sums(model, X_new):
    """A Cᵀ k_x + b from the coefficients and the points."""
    H = model.kernel_.gram(model.kernel_.represent(X_new), model.inputs_.points) @ model.solution_.C
    b = model.solution_.intercept
    return H if b is None else H + b


@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_values_by_features_are_the_sums_over_training_inputs(model):
    fitted = clone(model).fit(X, Y)
    expected = weighted_sums(fitted, X_NEW)
    assert fitted.solution_.D.shape[1] == expected.shape[1]
    assert_allclose(fitted._values(X_NEW), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("more", [X_NEW, None], ids=["unlabelled inputs", "one array"])
def test_a_manifold_has_all_its_points(more):
    model = IOKR(LOW, manifold=Laplacian(0.1, n_neighbors=5)).fit(X, Y, X_unlabeled=more)
    assert model.inputs_.points.shape[0] == N + (0 if more is None else len(more))
    assert_allclose(model.decision_function(X_NEW), weighted_sums(model, X_NEW), rtol=1e-9, atol=1e-9)
    assert np.isfinite(model.loo_decision_function()).all()


@pytest.mark.parametrize("solver", [None, ReducedRank(1)], ids=str)
def test_distances_of_candidates(solver):
    model = IOKR(LOW, output_kernel=Linear(), solver=solver).fit(X, Y)
    found = model.distances(X_NEW, Y)
    model.solution_ = replace(model.solution_, D=None)
    assert_allclose(found, model.distances(X_NEW, Y), rtol=1e-8, atol=1e-8)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_what_needs_the_rows_computes_their_features_again(kernel):
    """As the linear kernel on the features, which keeps its rows as they are."""
    few = IOKR(kernel, alpha=0.1).fit(X, Y, sample_weight=WEIGHT)

    def features(Z):
        return few.kernel_.thin_features(few.kernel_.represent(Z))

    linear = IOKR(Linear(), alpha=0.1).fit(features(X), Y, sample_weight=WEIGHT)
    assert_allclose(few.predict(X_NEW), linear.predict(features(X_NEW)), rtol=1e-7, atol=1e-7)
    assert_allclose(few.loo_decision_function(), linear.loo_decision_function(), rtol=1e-7, atol=1e-7)
    assert_allclose(few.variance(X_NEW), linear.variance(features(X_NEW)), rtol=1e-7, atol=1e-7)
    assert_allclose(few.weights(X_NEW), linear.weights(features(X_NEW)), rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_a_fitted_model_is_small(kernel, tmp_path):
    n = 4000
    many = rng.normal(size=(n, 3))
    y = np.sin(many[:, 0])
    model = IOKR(kernel, alpha=0.1).fit(many, y)
    model.loo_decision_function()
    model.variance(X_NEW)
    rows = many.nbytes + 3 * y.nbytes  # X, y, C, and the ones of the intercept
    kept = rows + model.solution_.D.nbytes + len(pickle.dumps(model.kernel_))
    Phi = 8 * n * RANK
    assert kept + SLACK < Phi / 2
    assert len(pickle.dumps(model)) < kept + SLACK
    save(model, tmp_path / "model.safetensors")
    assert (tmp_path / "model.safetensors").stat().st_size < kept + SLACK
    for again in (pickle.loads(pickle.dumps(model)), load(tmp_path / "model.safetensors")):
        assert_array_equal(again.predict(X_NEW), model.predict(X_NEW))
        assert_array_equal(again.loo_decision_function(), model.loo_decision_function())


def test_inputs_larger_than_their_features_are_not_kept():
    """φ is all that the kernel needs of a training input."""
    wide = rng.normal(size=(N, 200))
    model = IOKR(Fourier(RBF(0.01), RANK), alpha=0.1).fit(wide, Y)
    assert len(pickle.dumps(model.inputs_.kept)) < wide.nbytes / 2
    assert_allclose(model.predict(wide[:5]), weighted_sums(model, wide[:5]), atol=1e-10)


@pytest.mark.parametrize("kind", [list, tuple, as_objects], ids=["list", "tuple", "array"])
def test_objects_are_represented_again(kind, tmp_path):
    words = kind(WORDS)
    model = IOKR(Nystroem(Spectrum(2), 5), alpha=0.1).fit(words, Y)
    before = model.loo_decision_function()
    if kind is list:
        words.reverse()  # what is done to the list later does not matter
    assert_array_equal(model.loo_decision_function(), before)
    assert_allclose(model.predict(WORDS[:4]), weighted_sums(model, WORDS[:4]), atol=1e-10)
    save(model, tmp_path / "words.safetensors")
    assert_array_equal(load(tmp_path / "words.safetensors").loo_decision_function(), before)


def test_sparse_rows():
    rows = sparse.random(N, 30, 0.05, random_state=0, format="csr")
    model = IOKR(Nystroem(Linear(), 20), alpha=0.1).fit(rows, Y)
    assert sparse.issparse(model.inputs_.kept)
    assert_allclose(model.predict(rows[:5]), weighted_sums(model, rows[:5]), atol=1e-10)


def test_a_stream_keeps_what_it_did():
    streamed = IOKR(LOW, alpha=0.1).fit(Stream((X, Y)))
    assert streamed.solution_.D is None
    assert_allclose(streamed.predict(X_NEW), weighted_sums(streamed, X_NEW), atol=1e-12)
    with pytest.raises(ValueError, match="training rows"):
        streamed.loo_decision_function()


def test_an_exact_kernel_keeps_its_points():
    model = IOKR(RBF(0.3)).fit(X, Y)
    assert model.solution_.D is None
    assert model.inputs_.points is model.inputs_.kept
