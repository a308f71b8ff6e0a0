"""One number too large for its square: a right answer, or a refusal by name with the row, never NaN, never a warning.

Tests of `iokr.kernels.base`, every kernel on numbers that the tables of members hold.
"""

import warnings

import numpy as np
import pytest
from sklearn.base import clone

import members
import reference
from iokr import IOKR, IOKRCV, LinkPredictor, OutputKernelTree, PairModel
from iokr.data.objects import BadObject, as_objects
from iokr.kernels import (
    RBF,
    Cosine,
    Features,
    FromFunction,
    Hamming,
    Laplacian,
    Linear,
    Polynomial,
    Precomputed,
    Tanimoto,
)
from libraries import library_of

KINDS = ("vectors", "sparse vectors", "fingerprints", "matrices", "series", "bags", "rankings")
KERNELS = [
    (kernel, kind)
    for rows in members.KERNELS.values()
    for kernel, kind in rows
    if kind in KINDS and not isinstance(kernel, Features)  # a transformer of the user warns itself
]
BAD = 2  # the object with the large number


def spoiled(X, value):
    """The objects with one large number."""
    if hasattr(X, "tocsr"):
        dense = X.toarray()
        dense[BAD, 1] = value
        return type(X)(dense)
    if isinstance(X, np.ndarray) and X.dtype != object:
        X = X.astype(float)
        X[BAD, 1] = value
        return X
    parts = [np.array(x, dtype=float) for x in X]
    parts[BAD].flat[0] = value
    return as_objects(parts)


def answers_or_refuses(call):
    """A finite array, or None for a refusal that names the object; NumPy's warnings are errors."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", message="Aligned")
        try:
            values = call()
        except BadObject as error:
            assert error.index == BAD or (isinstance(error.index, str) and str(BAD) in error.index)
            return None
        except ValueError as error:
            assert "`f` returned inf" in str(error)
            return None
    assert np.all(np.isfinite(values))
    return values


@pytest.mark.parametrize("value", [1e200, 1e308])
@pytest.mark.parametrize(("kernel", "kind"), KERNELS, ids=[members.label(kernel) for kernel, _ in KERNELS])
def test_every_use_of_every_kernel(kernel, kind, value):
    rng = np.random.default_rng(0)
    X, Y = members.objects(kind, 8), rng.normal(size=(8, 2))
    bad = spoiled(X, value)

    def fitted(**parts):
        return IOKR(alpha=0.1, **parts)

    answers_or_refuses(lambda: clone(kernel)(bad))
    answers_or_refuses(lambda: clone(kernel).fit(X)(X, bad))
    answers_or_refuses(lambda: fitted(kernel=kernel).fit(bad, Y).decision_function(X))
    answers_or_refuses(lambda: fitted(kernel=kernel).fit(X, Y).decision_function(bad))
    answers_or_refuses(lambda: fitted(output_kernel=kernel).fit(Y, bad).decision_function(Y))
    answers_or_refuses(lambda: fitted(output_kernel=kernel).fit(Y, X).distances(Y, bad))


@pytest.mark.parametrize("kernel", [RBF(0.3), RBF(), Linear(), Polynomial(), 2.0 * Linear()], ids=str)
def test_the_row_is_named(refuses, kernel):
    X = np.random.default_rng(0).normal(size=(8, 3))
    bad = spoiled(X, 1e200)
    Y = X[:, :2]
    for model, data in ((IOKR(kernel), (bad, Y)), (IOKR(output_kernel=kernel), (Y, bad)), (IOKRCV(kernel), (bad, Y))):
        with refuses(BadObject, "2", "overflows", "divide"):
            model.fit(*data)
    with refuses(BadObject, "X", "2", "overflows"):
        kernel(bad)
    with refuses(BadObject, "candidates", "2", "overflows"):
        IOKR(output_kernel=kernel).fit(Y, X).predict(Y, candidates=bad)


@pytest.mark.parametrize("library", [("torch", "cpu"), ("array_api_strict", "CPU_DEVICE")], ids=str)
@pytest.mark.parametrize("kernel", [RBF(0.3), Tanimoto(), Linear(), Polynomial(), Laplacian(0.3), Cosine()], ids=str)
def test_in_every_library(library, kernel):
    to = library_of(*library)
    bad = to(np.abs(spoiled(np.random.default_rng(0).normal(size=(6, 4)), 1e200)))
    answers_or_refuses(lambda: to.numpy(kernel(bad)))
    answers_or_refuses(lambda: to.numpy(IOKR(kernel).fit(bad, bad * 1e-200).decision_function(bad * 1e-200)))


@pytest.mark.parametrize("scale", [1e150, 1e-140])
def test_directions_do_not_depend_on_length(scale):
    X = np.array([[1.0, 2.0, 3.0], [2.0, -1.0, 0.0], [0.0, 0.0, 0.0], [4.0, 4.0, 1.0]])
    far = X.copy()
    far[1] = far[1] * scale
    from scipy.sparse import csr_array

    for form in (np.asarray, csr_array):
        np.testing.assert_allclose(Cosine()(form(far)), reference.gram(reference.cosine, X), atol=1e-15)


def test_what_is_right_is_not_refused():
    X = np.random.default_rng(0).normal(size=(8, 3))
    model = IOKR(Linear(), alpha=0.1, intercept=False).fit(X, X[:, :2])
    np.testing.assert_allclose(model.predict(X * 1e200), model.predict(X) * 1e200, rtol=1e-12)
    assert Hamming()(np.eye(3)).shape == (3, 3)


class TestOutputs:
    def test_vectors_whose_squares_overflow(self, refuses):
        rng = np.random.default_rng(0)
        X, Y = rng.normal(size=(8, 3)), rng.normal(size=(8, 2))
        for model in (IOKR(), IOKRCV(), OutputKernelTree()):
            with refuses(BadObject, "y", "2", "overflows"):
                model.fit(X, spoiled(Y, 1e200))
        with refuses(BadObject, "y", "overflows"):
            IOKRCV().fit(X, np.full(8, 1e154))  # each square is finite, their sum is not
        IOKR().fit(X, Y * 1e150)

    def test_candidates_whose_squares_overflow(self, refuses):
        from iokr.decoders import Candidates

        rng = np.random.default_rng(0)
        X, Y = rng.normal(size=(8, 3)), rng.normal(size=(8, 2))
        with refuses(BadObject, "candidates", "2", "overflows"):
            IOKR(decoder=Candidates()).fit(X, Y).predict(X, candidates=spoiled(Y, 1e200))


def test_weights_whose_sum_overflows(refuses):
    X = np.random.default_rng(0).normal(size=(8, 3))
    with refuses(ValueError, "sample_weight", "overflows"):
        IOKR().fit(X, X, sample_weight=np.full(8, 1e308))


@pytest.mark.filterwarnings("error")
def test_links_and_pairs(refuses):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(8, 3))
    W = np.triu(rng.uniform(size=(8, 8)) < 0.4, k=1)
    W = (W | W.T).astype(float)
    pairs = np.array([[0, 1], [2, 3], [4, 5], [1, 6], [2, 7]])
    for kernel in (RBF(0.3), Linear()):
        with refuses(BadObject, "2", "overflows"):
            LinkPredictor(kernel).fit(spoiled(X, 1e200), W)
        with refuses(BadObject, "2", "overflows"):
            PairModel(kernel).fit(spoiled(X, 1e200), pairs, np.arange(5.0))
    with refuses(BadObject, "2", "overflows"):
        LinkPredictor(Linear()).fit(X, W).decision_function(spoiled(X, 1e200), spoiled(X, 1e200))


def test_distances_too_small_for_a_bandwidth(refuses):
    X = np.random.default_rng(0).normal(size=(8, 3))
    with refuses(ValueError, "gamma", "multiply"):
        RBF().fit(X * 1e-170)
    assert RBF().fit(X * 1e-140).gamma_ > 1e270


@pytest.mark.parametrize("scale", [1e200, 1e300, 1e-200])
@pytest.mark.filterwarnings("error")
def test_given_matrices_of_any_scale(refuses, scale):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(8, 3)), rng.normal(size=(8, 2))
    expected = IOKR(Precomputed(), alpha=0.1).fit(X @ X.T, Y).predict(X @ X.T)
    found = IOKR(Precomputed(), alpha=0.1 * scale).fit(scale * (X @ X.T), Y).predict(scale * (X @ X.T))
    np.testing.assert_allclose(found, expected, rtol=1e-10)
    with refuses(ValueError, "positive semi-definite"):
        IOKR(Precomputed(), alpha=scale).fit(scale * (X @ X.T - 0.1 * np.eye(8)), Y)


@pytest.mark.filterwarnings("error")
def test_trees_refuse_what_is_beyond_their_precision(refuses):
    X = np.random.default_rng(0).normal(size=(8, 3))
    with refuses(ValueError, "X", "too large"):
        OutputKernelTree().fit(X * 1e200, X)


def test_a_function_of_the_user_does_not_warn(refuses):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with refuses(ValueError, "f", "inf"):
            FromFunction(reference.linear)(np.array([[1e200], [1.0]]))
