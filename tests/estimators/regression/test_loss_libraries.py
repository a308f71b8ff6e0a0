"""Every loss with arrays of other libraries: the same numbers, in kind, on the same device."""

import warnings

import numpy as np
import pytest

from iokr import IOKR, IOKRCV
from iokr.kernels import RBF
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import ADMM, IRLS, Auto, CoordinateDescent
from loss_samples import PAIRS, case, each_loss, each_norm
from members import LOSSES
from reference import assert_close
from samples import GAMMA, operator

TIGHT = Auto(tol=1e-12)
A = operator("full", 3)


class Library:
    """NumPy arrays there and back."""

    def __init__(self, name, device):
        self.name, self.xp = name, pytest.importorskip(name)
        self.device = self.xp.Device(device) if name == "array_api_strict" else device

    def __call__(self, array):
        return self.xp.asarray(array, device=self.device)

    def numpy(self, array):
        if self.name == "torch":
            assert type(array) is self.xp.Tensor
            return array.numpy()
        assert type(array) is type(self.xp.asarray(0.0))
        assert array.device == self.device
        return np.asarray(array.to_device(self.xp.Device("CPU_DEVICE")))


@pytest.fixture(params=[("array_api_strict", "device1"), ("torch", "cpu")], ids="-".join)
def library(request):
    return Library(*request.param)


def compare(library, model, s, weight=None, Y=None, unlabeled=False, rtol=1e-6):
    Y = s.Y if Y is None else Y
    U = {"X_unlabeled": s.U} if unlabeled else {}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        expected = model.fit(s.X, Y, sample_weight=weight, **U).decision_function(s.X_new)
        gap, score = model.solution_.gap, model.score(s.X, s.Y)
        found = model.fit(
            library(s.X),
            library(Y),
            sample_weight=None if weight is None else library(weight),
            **{key: library(value) for key, value in U.items()},
        )
    assert_close(library.numpy(found.decision_function(library(s.X_new))), expected, rtol)
    assert isinstance(found.solution_.gap, float)
    assert isinstance(found.solution_.converged, bool)
    assert -1e-14 <= found.solution_.gap <= 1e-12 >= gap
    library.numpy(found.solution_.C)
    assert float(found.score(library(s.X), library(s.Y))) == pytest.approx(score, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("how", ["plain", "operator", "weights", "semi-supervised", "semi-supervised operator"])
@each_loss
def test_models(library, name, how):
    s = case(name, u=6, weighted="zeros", seed=3)
    kernel = Decomposable(RBF(GAMMA), A) if "operator" in how else RBF(GAMMA)
    semi = "semi" in how
    model = IOKR(kernel, loss=s.loss, alpha=s.alpha, manifold=Laplacian(0.5) if semi else None, solver=TIGHT)
    compare(library, model, s, s.w if how == "weights" else None, unlabeled=semi)


@pytest.mark.parametrize("kernel", [RBF(GAMMA), Decomposable(RBF(GAMMA), A)], ids=["plain", "operator"])
@each_norm
def test_holes_and_intercept(library, name, kernel):
    s, holes = case(name, seed=4), case(name, holes="entries", seed=4)
    compare(library, IOKR(kernel, loss=s.loss, alpha=0.1, solver=TIGHT), s, Y=holes.Y)
    centred = IOKR(kernel, intercept=True, loss=s.loss, alpha=0.1, solver=TIGHT)
    compare(library, centred, s)


@pytest.mark.parametrize(
    ("name", "solver"),
    [
        ("margin", CoordinateDescent(tol=1e-12)),
        ("margin", ADMM(tol=1e-12)),
        ("huber", IRLS(tol=1e-12)),
        ("huber", ADMM(tol=1e-12)),
        ("epsilon insensitive", ADMM(tol=1e-12)),
    ],
    ids=str,
)
def test_solvers(library, name, solver):
    s = case(name, seed=5)
    compare(library, IOKR(RBF(GAMMA), loss=s.loss, alpha=s.alpha, solver=solver), s)


@each_loss
def test_loose_tolerances(library, name):
    """The default tolerance takes another route (a Cholesky factor) than a tight one."""
    s = case(name, u=5, seed=6)
    for manifold, U in ((None, None), (Laplacian(0.5), s.U)):
        model = IOKR(RBF(GAMMA), loss=s.loss, alpha=s.alpha, manifold=manifold)
        expected = model.fit(s.X, s.Y, X_unlabeled=U).decision_function(s.X_new)
        model.fit(library(s.X), library(s.Y), X_unlabeled=None if U is None else library(U))
        assert_close(library.numpy(model.decision_function(library(s.X_new))), expected, 1e-2)
        assert model.solution_.gap <= 1e-6


@each_loss
def test_output_kernels(library, name):
    rng = np.random.default_rng(7)
    X, X_new, Y, candidates = (rng.normal(size=size) for size in ((14, 2), (5, 2), (14, 2), (6, 2)))
    model = IOKR(RBF(GAMMA), output_kernel=RBF(0.5), loss=PAIRS[name][0], alpha=0.3, solver=TIGHT).fit(X, Y)
    scores, beta = model.scores(X_new, candidates), model.weights(X_new)
    ranks, values = model.rank(X_new, candidates)
    chosen, score = model.predict(X_new, candidates), model.score(X, Y)
    model.fit(library(X), library(Y))
    assert_close(library.numpy(model.scores(library(X_new), library(candidates))), scores, 1e-6)
    assert_close(library.numpy(model.weights(library(X_new))), beta, 1e-6)
    found, found_values = model.rank(library(X_new), library(candidates))
    np.testing.assert_array_equal(library.numpy(found), ranks)
    assert_close(library.numpy(found_values), values, 1e-6)
    assert_close(library.numpy(model.predict(library(X_new), library(candidates))), chosen, 1e-15)
    assert float(model.score(library(X), library(Y))) == pytest.approx(score, rel=1e-6)


@each_loss
def test_selection(library, name):
    s = case(name, n=18, seed=8)
    model = IOKRCV(RBF(GAMMA), alphas=(0.1, 1.0), cv=3, loss=s.loss, solver=Auto(tol=1e-10)).fit(s.X, s.Y)
    errors, alpha = model.cv_errors_, model.alpha_
    model.fit(library(s.X), library(s.Y))
    assert_close(np.asarray(model.cv_errors_), errors, 1e-3)
    assert model.alpha_ == alpha


@each_loss
def test_single_precision(library, name):
    """float32 is solved in double precision and the answer cast back."""
    s = case(name, seed=9)
    X, Y, X_new = (array.astype(np.float32) for array in (s.X, s.Y, s.X_new))
    model = IOKR(RBF(GAMMA), loss=s.loss, alpha=s.alpha, solver=Auto(tol=1e-10))
    exact = model.fit(X.astype(float), Y.astype(float)).decision_function(X_new.astype(float))
    for move, back in ((np.asarray, np.asarray), (library, library.numpy)):
        found = back(model.fit(move(X), move(Y)).decision_function(move(X_new)))
        assert found.dtype == np.float32
        assert_close(found, exact, 1e-3)
        assert model.solution_.gap <= 1e-10


@pytest.mark.parametrize("loss", [loss for rows in LOSSES.values() for loss in rows], ids=repr)
def test_values_and_gradients(library, loss):
    rng = np.random.default_rng(10)
    H, Psi = rng.normal(size=(9, 3)), rng.normal(size=(9, 3))
    Psi[0] = H[0]
    assert_close(library.numpy(loss.value(library(H), library(Psi))), loss.value(H, Psi), 1e-14)
    assert_close(library.numpy(loss.gradient(library(H), library(Psi))), loss.gradient(H, Psi), 1e-14)
