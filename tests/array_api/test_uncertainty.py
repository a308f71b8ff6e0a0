"""Variances, probabilities and conformal sets answer in the library of the data: `iokr.estimators.conformal.model`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from iokr import IOKR, Conformal, Functional, IOKRRegressor
from iokr._array import to_numpy
from iokr.embeddings import Basis
from iokr.kernels import RBF
from iokr.operator_kernels import Decomposable

rng = np.random.default_rng(0)
X, Y, NEW = rng.normal(size=(20, 2)), rng.normal(size=(20, 2)), rng.normal(size=(4, 2))
A = np.array([[2.0, 0.5], [0.5, 1.0]])


@pytest.fixture(params=["torch", "array_api_strict"])
def xp(request):
    return pytest.importorskip(request.param)


def same(ours, theirs, xp):
    assert type(theirs).__module__.split(".")[0] == xp.__name__
    assert_allclose(to_numpy(theirs), ours, rtol=1e-9, atol=1e-12)


def test_variance_and_probabilities(xp):
    for kernel, operator in ((RBF(0.5), RBF(0.5)), (Decomposable(RBF(0.5), A), Decomposable(RBF(0.5), xp.asarray(A)))):
        ours = IOKR(kernel, alpha=0.3).fit(X, Y)
        theirs = IOKR(operator, alpha=0.3).fit(xp.asarray(X), xp.asarray(Y))
        same(ours.variance(NEW), theirs.variance(xp.asarray(NEW)), xp)
        same(ours.variance(NEW, full=True), theirs.variance(xp.asarray(NEW), full=True), xp)
    ours = IOKR(RBF(0.5), output_kernel=RBF(0.3), alpha=0.3).fit(X, Y)
    theirs = IOKR(RBF(0.5), output_kernel=RBF(0.3), alpha=0.3).fit(xp.asarray(X), xp.asarray(Y))
    same(ours.predict_proba(NEW, Y[:5]), theirs.predict_proba(xp.asarray(NEW), xp.asarray(Y[:5])), xp)


def single(ours, theirs):
    """float32, and as near as that is."""
    assert "float32" in str(theirs.dtype)
    assert_allclose(to_numpy(theirs), ours, rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict"])
def test_single_precision_is_rounded_at_the_end_alone(library):
    """Leave-one-out values are compared in float64: y_i is found among the candidates and counts once."""
    xp = pytest.importorskip(library)
    given = [xp.asarray(a.astype(np.float32)) for a in (X, Y, NEW)]
    model = IOKR(RBF(0.5), output_kernel=RBF(0.3), alpha=0.3)
    ours, theirs = (model.fit(x, y).predict_proba(new, y) for x, y, new in ((X, Y, NEW), given))
    single(ours, theirs)
    for vectors in (IOKRRegressor(RBF(0.5), alpha=0.3), IOKRRegressor(Decomposable(RBF(0.5), A), alpha=0.3)):
        single(*(vectors.fit(x, y).predict(new, return_std=True)[1] for x, y, new in ((X, Y, NEW), given)))
    curves = Functional(RBF(0.5), alpha=0.3, basis=Basis([lambda t: 1 + t]))
    single(*(curves.fit(x, y).loo_decision_function() for x, y, _ in ((X, Y, NEW), given)))


@pytest.mark.parametrize("method", ["full", "jackknife+", "jackknife", "split"])
def test_conformal_sets(xp, method):
    sets = Conformal(IOKR(RBF(0.5), alpha=0.3), method=method, random_state=0)
    ours, theirs = sets.fit(X, Y), Conformal(**sets.get_params(deep=False)).fit(xp.asarray(X), xp.asarray(Y))
    new, outputs = xp.asarray(NEW), xp.asarray(Y[:4])
    same(ours.radius(NEW, 0.8), theirs.radius(new, 0.8), xp)
    same(ours.p_values(NEW, Y[:4]), theirs.p_values(new, outputs), xp)
    if method != "full":
        same(ours.band(NEW, 0.8), theirs.band(new, 0.8), xp)
    for one, other in zip(ours.predict_set(NEW, Y, 0.7), theirs.predict_set(new, xp.asarray(Y), 0.7), strict=True):
        assert list(one) == list(other)
