"""Parameters of a wrong kind or value.

Tests of `iokr._validation.arguments`.
"""

import numpy as np
import pytest

import iokr.decoders
import iokr.embeddings
import iokr.kernels
import iokr.losses
import iokr.manifolds
import iokr.solvers
from iokr import IOKR, IOKRCV
from iokr.decoders import Candidates
from iokr.embeddings import Eigen
from iokr.kernels import RBF, Delta, Laplacian, Linear, Normalized, Polynomial, Precomputed
from iokr.manifolds import Heat, IteratedLaplacian

COMPONENTS = ["kernel", "output_kernel", "embedding", "loss", "manifold", "decoder", "solver"]


@pytest.mark.parametrize("alpha", [0, 0.0, -1.0, np.nan, np.inf, -np.inf])
def test_alpha_must_be_positive(data, refuses, alpha):
    with refuses(ValueError, "alpha", str(alpha)):
        IOKR(alpha=alpha).fit(*data)


@pytest.mark.parametrize("alpha", ["1.0", None, [1.0], (1.0, 2.0), 1j, np.array([1.0, 2.0])], ids=repr)
def test_alpha_must_be_a_number(data, refuses, alpha):
    with refuses((TypeError, ValueError), "alpha"):
        IOKR(alpha=alpha).fit(*data)


@pytest.mark.parametrize("alpha", [1, np.float32(0.5), np.int64(2)], ids=repr)
def test_alpha_may_be_any_number(data, alpha):
    expected = IOKR(alpha=float(alpha)).fit(*data).predict(data[0])
    np.testing.assert_allclose(IOKR(alpha=alpha).fit(*data).predict(data[0]), expected, rtol=1e-12)


@pytest.mark.parametrize("alphas", [(0.0, 1.0), (-1.0,), (np.nan, 1.0), (1.0, np.inf)])
def test_alphas_must_be_positive(data, refuses, alphas):
    with refuses(ValueError, "alpha"):
        IOKRCV(alphas=alphas).fit(*data)


@pytest.mark.parametrize("alphas", [(), [], np.array([])], ids=repr)
def test_alphas_must_not_be_empty(data, refuses, alphas):
    with refuses(ValueError, "alphas"):
        IOKRCV(alphas=alphas).fit(*data)


@pytest.mark.parametrize("alphas", ["1.0", None, ("a", "b"), object(), np.ones((2, 2))], ids=lambda v: type(v).__name__)
def test_alphas_must_be_numbers(data, refuses, alphas):
    with refuses((TypeError, ValueError), "alphas"):
        IOKRCV(alphas=alphas).fit(*data)


@pytest.mark.parametrize("manifold_weights", [(-1.0, 1.0), (np.nan,), (np.inf,), ()])
def test_strengths_must_not_be_negative(data, refuses, manifold_weights):
    X, Y = data
    model = IOKRCV(manifold=iokr.manifolds.Laplacian(1.0), manifold_weights=manifold_weights)
    with refuses(ValueError, "manifold_weight"):
        model.fit(X, Y, X_unlabeled=X[:5] + 0.1)


@pytest.mark.parametrize("manifold_weights", ["1.0", ("a",), 1.0, object()], ids=lambda v: type(v).__name__)
def test_strengths_must_be_numbers(data, refuses, manifold_weights):
    X, Y = data
    model = IOKRCV(manifold=iokr.manifolds.Laplacian(1.0), manifold_weights=manifold_weights)
    with refuses((TypeError, ValueError), "manifold_weights"):
        model.fit(X, Y, X_unlabeled=X[:5] + 0.1)


def test_strengths_need_a_manifold(data, refuses):
    with refuses(ValueError, "manifold_weights", "manifold"):
        IOKRCV(manifold_weights=(0.1, 1.0)).fit(*data)


@pytest.mark.parametrize("kernel", [[], [RBF(), "rbf"], [RBF, RBF]], ids=repr)
def test_lists_of_kernels(data, refuses, kernel):
    with refuses((TypeError, ValueError), "kernel"):
        IOKRCV(kernel).fit(*data)


def test_lists_do_not_mix_gram_matrices_and_vectors(data, refuses):
    # The rows of a Gram matrix would pass for vectors.
    K = RBF(0.5)(data[0])
    for kernels in [Precomputed(), RBF(0.5)], [RBF(0.5), Precomputed()]:
        with refuses((TypeError, ValueError), "kernel", "Precomputed"):
            IOKRCV(kernels).fit(K, data[1])


def test_iokr_takes_one_kernel(data, refuses):
    with refuses(TypeError, "kernel", "IOKRCV"):
        IOKR([RBF(), Linear()]).fit(*data)


@pytest.mark.parametrize("cv", [1, 0, -3, 13, 2.5, "loo", object()], ids=lambda v: type(v).__name__)
def test_cv_must_be_a_number_of_folds(data, refuses, cv):
    with refuses((TypeError, ValueError), f"n_splits={cv}" if isinstance(cv, int) else "cv"):
        IOKRCV(cv=cv).fit(*data)


@pytest.mark.parametrize("name", COMPONENTS)
@pytest.mark.parametrize("value", ["auto", 0.5, object(), np.eye(12)], ids=["text", "number", "object", "array"])
def test_components_must_be_components(estimator, data, refuses, name, value):
    with refuses(TypeError, f"`{name}`"):
        estimator(**{name: value}).fit(*data)


@pytest.mark.parametrize(
    ("name", "cls"),
    [
        ("kernel", RBF),
        ("output_kernel", RBF),
        ("embedding", iokr.embeddings.Identity),
        ("loss", iokr.losses.Square),
        ("manifold", iokr.manifolds.Laplacian),
        ("decoder", Candidates),
        ("solver", iokr.solvers.Eigen),
    ],
)
def test_classes_are_not_components(estimator, data, refuses, name, cls):
    with refuses(TypeError, f"`{name}`", cls.__name__, f"`{'.'.join(cls.__module__.split('.')[:2])}`"):
        estimator(**{name: cls}).fit(*data)


@pytest.mark.parametrize(
    ("name", "other"),
    [
        ("kernel", iokr.manifolds.Laplacian(0.1)),
        ("manifold", iokr.kernels.Laplacian(0.1)),
        ("embedding", iokr.solvers.Eigen()),
        ("embedding", iokr.decoders.Identity()),
        ("decoder", iokr.embeddings.Identity()),
        ("solver", iokr.embeddings.Eigen()),
        ("output_kernel", iokr.manifolds.Laplacian(0.1)),
        ("loss", iokr.solvers.Eigen()),
    ],
)
def test_namesakes_of_another_kind(estimator, data, refuses, name, other):
    with refuses(TypeError, f"`{name}`"):
        estimator(**{name: other}).fit(*data)


def test_a_function_is_not_a_kernel_but_nearly(estimator, data, refuses):
    with refuses(TypeError, "kernel", "FromFunction"):
        estimator(lambda x, z: float(x @ z)).fit(*data)


@pytest.mark.parametrize(
    ("kernel", "name"),
    [
        (RBF(-1.0), "gamma"),
        (RBF(0.0), "gamma"),
        (RBF(np.nan), "gamma"),
        (RBF("scale"), "gamma"),
        (Laplacian(-1.0), "gamma"),
        (Polynomial(0), "degree"),
        (Polynomial(-2), "degree"),
        (Polynomial(1.5), "degree"),
        (Polynomial(2, -1.0), "gamma"),
        (Polynomial(2, 1.0, -1.0), "coef0"),
        (-1.0 * RBF(1.0), "factor"),
        (np.nan * RBF(1.0), "factor"),
    ],
    ids=repr,
)
def test_kernel_parameters(data, refuses, kernel, name):
    X, Y = data
    with refuses((TypeError, ValueError), name):
        IOKR(kernel).fit(X, Y)
    with refuses((TypeError, ValueError), name):
        IOKR(RBF(1.0), output_kernel=kernel).fit(X, Y)


def test_algebra_takes_kernels_and_numbers_only():
    for wrong in ("rbf", None, [1.0]):
        with pytest.raises(TypeError):
            RBF() + wrong
        with pytest.raises(TypeError):
            wrong * RBF()


def test_wrapped_kernels_must_be_kernels(data, refuses):
    with refuses((TypeError, ValueError), "base"):
        IOKR(Normalized("rbf")).fit(*data)


@pytest.mark.parametrize(
    ("manifold", "name"),
    [
        (iokr.manifolds.Laplacian(-0.1), "manifold_weight"),
        (iokr.manifolds.Laplacian(np.nan), "manifold_weight"),
        (iokr.manifolds.Laplacian(np.inf), "manifold_weight"),
        (iokr.manifolds.Laplacian("much"), "manifold_weight"),
        (iokr.manifolds.Laplacian(0.1, 0), "n_neighbors"),
        (iokr.manifolds.Laplacian(0.1, -1), "n_neighbors"),
        (iokr.manifolds.Laplacian(0.1, 2.5), "n_neighbors"),
        (IteratedLaplacian(0.1, 0), "power"),
        (IteratedLaplacian(0.1, -1), "power"),
        (IteratedLaplacian(-0.1, 1), "manifold_weight"),
        (Heat(0.1, -1.0), "beta"),
        (Heat(0.1, 0.0), "beta"),
        (Heat(-0.1, 1.0), "manifold_weight"),
        (iokr.manifolds.Given(-0.1, np.eye(17)), "manifold_weight"),
    ],
    ids=repr,
)
def test_manifold_parameters(estimator, data, refuses, manifold, name):
    X, Y = data
    with refuses((TypeError, ValueError), f"`{name}`"):
        estimator(manifold=manifold).fit(X, Y, X_unlabeled=X[:5] + 0.1)


@pytest.mark.parametrize(
    ("embedding", "name"),
    [
        (Eigen(n_components=0), "n_components"),
        (Eigen(n_components=-1), "n_components"),
        (Eigen(n_components=1.5), "n_components"),
        (Eigen(tol=-1.0), "tol"),
    ],
    ids=repr,
)
def test_embedding_parameters(data, refuses, embedding, name):
    X, Y = data
    with refuses((TypeError, ValueError), f"`{name}`"):
        IOKR(output_kernel=RBF(0.5), embedding=embedding).fit(X, Y)


@pytest.mark.parametrize("by", ["nearness", 1, True])
def test_candidates_by(data, refuses, by):
    X, Y = data
    with refuses((TypeError, ValueError), "`by`", "distance", "score"):
        IOKR(output_kernel=RBF(0.5), decoder=Candidates(by=by)).fit(X, Y).predict(X)


@pytest.mark.parametrize("first", [-1.0, np.nan, np.inf, 0.0])
def test_weights_must_be_usable(estimator, data, refuses, first):
    X, Y = data
    weight = [first] + [float(first != 0.0)] * 11
    with refuses(ValueError, "sample_weight"):
        estimator().fit(X, Y, sample_weight=weight)
    model = estimator().fit(X, Y)
    with refuses(ValueError, "sample_weight"):
        model.score(X, Y, sample_weight=weight)


@pytest.mark.parametrize("weight", [np.ones(11), np.ones((12, 2)), ["a"] * 12], ids=["length", "shape", "kind"])
def test_weights_must_pair_up(estimator, data, refuses, weight):
    X, Y = data
    with refuses((TypeError, ValueError), "sample_weight" if len(weight) == 11 else "weight"):
        estimator().fit(X, Y, sample_weight=weight)
    model = estimator().fit(X, Y)
    with refuses((TypeError, ValueError), "weight"):
        model.score(X, Y, sample_weight=weight)


def test_unknown_parameters_are_refused(estimator):
    with pytest.raises(TypeError, match="lam"):
        estimator(lam=1.0)
    with pytest.raises(ValueError, match="gama"):
        estimator(RBF(1.0)).set_params(kernel__gama=1.0)


def test_delta_has_no_gamma(estimator):
    with pytest.raises(TypeError):
        Delta(0.5)
