"""Curves and quantiles answer in the library of the data: `iokr.estimators.functional.model`, `...quantiles.model`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.base import clone

from iokr import Functional, FunctionalCV, QuantileCurves
from iokr._array import to_numpy
from iokr.embeddings import Basis
from iokr.kernels import RBF
from iokr.losses import Huber
from iokr.solvers import ADMM

rng = np.random.default_rng(0)
X, NEW = rng.normal(size=(20, 2)), rng.normal(size=(4, 2))
POINTS = np.linspace(0, 1, 8)
Y = np.sin(6 * POINTS + X[:, :1])
GAPS = np.where(rng.random(Y.shape) < 0.2, np.nan, Y)


@pytest.fixture(params=["torch", "array_api_strict"])
def xp(request):
    return pytest.importorskip(request.param)


def same(ours, theirs, xp):
    assert type(theirs).__module__.split(".")[0] == xp.__name__
    assert_allclose(to_numpy(theirs), ours, rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize(
    ("model", "curves"),
    [
        (Functional(alpha=0.1), Y),
        (Functional(alpha=0.1), GAPS),
        (Functional(alpha=0.1, basis=Basis.bsplines(5)), Y),
        (Functional(alpha=0.1, loss=Huber(0.3), solver=ADMM(1e-12)), Y),
        (FunctionalCV(alphas=(0.1, 1.0)), Y),
    ],
    ids=["complete", "gaps", "basis", "robust", "selected"],
)
def test_curves(xp, model, curves):
    ours, theirs = (type(model)(**model.get_params(deep=False)) for _ in range(2))
    ours.fit(X, curves)
    theirs.fit(xp.asarray(X), xp.asarray(curves))
    new = xp.asarray(NEW)
    same(ours.predict(NEW), theirs.predict(new), xp)
    same(ours.predict(NEW, at=[0.3]), theirs.predict(new, at=[0.3]), xp)
    if model.loss is None:
        same(ours.loo_decision_function(), theirs.loo_decision_function(), xp)


def test_curves_go_where_the_inputs_are(xp):
    """As the outputs of every other model, curves of another library are taken beside the inputs."""
    ours, new = Functional(alpha=0.1).fit(X, Y), xp.asarray(NEW)
    same(ours.predict(NEW), Functional(alpha=0.1).fit(xp.asarray(X), Y).predict(new), xp)
    for inputs in (X, csr_array(X)):
        found = Functional(alpha=0.1).fit(inputs, xp.asarray(Y)).predict(NEW)
        assert_allclose(found, ours.predict(NEW), rtol=1e-8, atol=1e-10)


def test_variances_are_those_at_the_nodes(xp):
    """k(x, x)L − …, (m, T): that of a Gaussian process with noise α/w_t at node t, in the basis and without."""
    K, k = RBF(0.5)(X), RBF(0.5)(NEW, X)
    for options, L in (
        ({"curve_kernel": RBF(3.0)}, RBF(3.0)(POINTS[:, None])),
        ({"basis": Basis(POINTS[:, None] ** [0, 1])}, 1 + POINTS[:, None] * POINTS),
    ):
        model = Functional(RBF(0.5), alpha=0.3, intercept=False, **options)
        ours = Functional(**model.get_params(deep=False)).fit(X, Y)
        noise = 0.3 * np.kron(np.eye(len(X)), np.diag(1 / ours.quadrature_))
        joint = np.linalg.inv(np.kron(K, L) + noise)
        expected = [L - (c := np.kron(row[None], L)) @ joint @ c.T for row in k]
        assert_allclose(ours.variance(NEW, full=True), expected, rtol=1e-8, atol=1e-10)
        assert_allclose(ours.variance(NEW), [np.diag(S) for S in expected], rtol=1e-8, atol=1e-10)
        theirs = model.fit(xp.asarray(X), xp.asarray(Y))
        same(ours.variance(NEW), theirs.variance(xp.asarray(NEW)), xp)
        ours, theirs = clone(model).set_params(intercept=True), clone(model).set_params(intercept=True)
        ours, theirs = ours.fit(X, Y), theirs.fit(xp.asarray(X), xp.asarray(Y))
        same(ours.variance(NEW), theirs.variance(xp.asarray(NEW)), xp)


def test_quantiles(xp):
    model = QuantileCurves(levels=(0.2, 0.5, 0.8), alpha=0.1, solver=ADMM(1e-9))
    ours = QuantileCurves(**model.get_params(deep=False)).fit(X, Y[:, 3])
    theirs = model.fit(xp.asarray(X), xp.asarray(Y[:, 3]))
    new = xp.asarray(NEW)
    assert type(theirs.predict(new)).__module__ == type(theirs.interval(new)).__module__ == type(new).__module__
    assert_allclose(to_numpy(theirs.predict(new)), ours.predict(NEW), atol=1e-4)
    assert_allclose(to_numpy(theirs.interval(new)), ours.interval(NEW), atol=1e-4)
