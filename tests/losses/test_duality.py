"""What `ADMM` asks of a loss: its proximal map and its conjugate belong to its value (Fenchel and Young)."""

import numpy as np
import pytest
from scipy.optimize import minimize_scalar

from iokr.losses import BoxLoss, EpsilonSquare, Expectile, Huber, Insensitive, Loss, MaxMargin, RadialLoss
from members import LOSSES
from reference import assert_close

INSTANCES = [loss for rows in LOSSES.values() for loss in rows if type(loss).prox is not Loss.prox]
RADIAL = [loss for loss in INSTANCES if isinstance(loss, RadialLoss)]
each = pytest.mark.parametrize("loss", INSTANCES, ids=repr)


def sample(seed, n=40, d=3):
    """Points z, outputs ψ, t > 0 over four orders of magnitude."""
    rng = np.random.default_rng(seed)
    return 2 * rng.normal(size=(n, d)), rng.normal(size=(n, d)), np.geomspace(1e-2, 1e2, n)


def steepest(loss):
    """The largest slope of a loss, which no multiplier exceeds: κ or 1, that of φ behind a dead zone, ∞ for squares."""
    match loss:
        case Insensitive():
            return steepest(loss.base)
        case Huber():
            return loss.kappa
        case EpsilonSquare() | Expectile():
            return np.inf
    return 1.0


def test_every_loss_without_a_closed_form_is_here():
    assert {type(loss).__name__ for loss in INSTANCES} == set(LOSSES) - {"Square"}


@each
def test_proximal_point_is_the_minimiser(loss):
    """ℓ(u) + (t/2)‖u − z‖² grows by (t/2)‖u' − u‖² at least, away from the minimiser: it is t-strongly convex."""
    Z, Psi, t = sample(1)
    U = loss.prox(Z, Psi, t)

    def cost(V):
        return loss.value(V, Psi) + t / 2 * np.sum((V - Z) ** 2, axis=1)

    rng = np.random.default_rng(2)
    for size in (1e-3, 0.1, 1.0, 10.0):
        for V in (U + size * rng.normal(size=U.shape), U + size * (Psi - U), U + size * (Z - U), Psi, Z):
            growth = t / 2 * np.sum((V - U) ** 2, axis=1)
            assert np.all(cost(V) >= cost(U) + growth - 1e-11 * (1 + cost(V)))


@each
def test_proximal_map_is_firmly_nonexpansive(loss):
    Z, Psi, t = sample(3)
    other = Z + np.random.default_rng(4).normal(size=Z.shape)
    U, V = loss.prox(Z, Psi, t), loss.prox(other, Psi, t)
    inner = np.sum((U - V) * (Z - other), axis=1)
    assert np.all(np.sum((U - V) ** 2, axis=1) <= inner + 1e-12)


@pytest.mark.parametrize("weight", [0.2, 1.0, 7.0])
@each
def test_fenchel_and_young(loss, weight):
    """wℓ(h) + ⟨W, h⟩ ≥ −(wℓ)*(−W) for every h, with equality at the proximal point that made W = ρ(u − z)."""
    Z, Psi, rho = sample(5)
    w = np.full(len(Z), weight)
    U = loss.prox(Z, Psi, rho / w)
    W = rho[:, None] * (U - Z)
    bound = loss.dual(W, Psi, w)
    assert_close(w * loss.value(U, Psi) + np.sum(W * U, axis=1), bound, 1e-12)
    rng = np.random.default_rng(6)
    for size in (1e-2, 1.0, 30.0):
        for H in (size * rng.normal(size=Z.shape), U + size * rng.normal(size=Z.shape), Psi + size * W):
            least = w * loss.value(H, Psi) + np.sum(W * H, axis=1)
            assert np.all(least >= bound - 1e-12 * (1 + np.abs(least)))


@each
def test_minus_the_gradient_is_feasible_and_tight(loss):
    """W = −∇ℓ(h) attains the bound at h itself."""
    rng = np.random.default_rng(7)
    H, Psi = rng.normal(size=(40, 3)), rng.normal(size=(40, 3))
    W, w = -loss.gradient(H, Psi), np.ones(40)
    assert_close(loss.value(H, Psi) + np.sum(W * H, axis=1), loss.dual(W, Psi, w), 1e-12)


@pytest.mark.parametrize("loss", RADIAL, ids=repr)
def test_conjugate_is_the_supremum(loss):
    """(wφ)*(a) = sup_r ar − wφ(r), for slopes a that φ has."""
    for w in (0.3, 1.0, 4.0):
        slopes = w * np.array([0.0, 0.2, 0.6, 0.999]) * min(steepest(loss), 1.0)
        conjugate = loss.conjugate(slopes, np.full(4, w))
        for a, value in zip(slopes, conjugate, strict=True):

            def negative(r, a=a, w=w):
                return float(w * loss.profile(np.array([r]))[0] - a * r)

            best = minimize_scalar(negative, bounds=(0.0, 50.0), method="bounded", options={"xatol": 1e-12})
            assert_close(value, max(-best.fun, -negative(0.0)), 1e-7, 1e-9)


@pytest.mark.parametrize("loss", RADIAL, ids=repr)
def test_slope_is_the_derivative_of_the_profile(loss):
    r = np.random.default_rng(8).uniform(0.01, 3.0, size=50)
    step = 1e-6
    assert_close(loss.slope(r), (loss.profile(r + step) - loss.profile(r - step)) / (2 * step), 1e-8)


@pytest.mark.parametrize("loss", RADIAL, ids=repr)
def test_second_shrinkage_is_the_derivative_of_the_first(loss):
    """τ_r = d(τm)/dm, away from the kinks."""
    rng = np.random.default_rng(9)
    m, t = rng.uniform(0.01, 4.0, size=200), rng.uniform(0.1, 5.0, size=200)
    step = 1e-7
    tau, derivative = loss.shrinkage(m, t)
    up, down = loss.shrinkage(m + step, t), loss.shrinkage(m - step, t)
    smooth = up[1] == down[1]
    assert smooth.mean() > 0.9
    numeric = ((m + step) * up[0] - (m - step) * down[0]) / (2 * step)
    assert_close(derivative[smooth], numeric[smooth], 1e-7, 1e-7)
    assert np.all((tau >= 0) & (tau <= 1))


def test_the_table_of_proximal_maps():
    """Rows of math.md 6 at points where every branch is taken, t = 2."""
    t = np.full(3, 2.0)
    m = np.array([[0.2], [0.6], [2.0]])
    zero = np.zeros((3, 1))
    u = EpsilonSquare(0.3).prox(m, zero, t)[:, 0]
    assert_close(u, [0.2, (0.3 + 1.2) / 3, (0.3 + 4.0) / 3], 1e-14)
    u = Huber(0.5).prox(m, zero, t)[:, 0]  # bends at κ(1 + 1/t) = 0.75
    assert_close(u, [0.4 / 3, 1.2 / 3, 2.0 - 0.25], 1e-14)
    from iokr.losses import EpsilonInsensitive

    u = EpsilonInsensitive(0.3).prox(m, zero, t)[:, 0]  # bends at ε and ε + 1/t = 0.8
    assert_close(u, [0.2, 0.3, 1.5], 1e-14)
    u = MaxMargin().prox(np.array([[2.0], [0.9], [-1.0]]), np.ones((3, 1)), t)[:, 0]
    assert_close(u, [2.0, 1.0, -0.5], 1e-14)


@each
def test_multipliers_satisfy_the_row_constraint(loss):
    """‖W_i‖ ≤ κ or 1, lo ≤ W_i ≤ hi for boxes, or W_i = α_iψ_i with 0 ≤ α_i ≤ 1, without any projection."""
    Z, Psi, t = sample(10)
    W = t[:, None] * (loss.prox(Z, Psi, t) - Z)
    size = np.linalg.norm(W, axis=1)
    if isinstance(loss, MaxMargin):
        alphas = np.sum(W * Psi, axis=1) / np.sum(Psi**2, axis=1)
        assert_close(W, alphas[:, None] * Psi, 1e-12)
        assert np.all((alphas >= 0) & (alphas <= 1 + 1e-12))
    elif isinstance(loss, BoxLoss):  # entry by entry: a row may be longer than any of its bounds
        lo, hi = loss.bounds(Psi.shape[1])
        assert np.all(np.clip(W, lo - 1e-12, hi + 1e-12) == W)
        assert np.any(np.isclose(W, lo))
        assert np.any(np.isclose(W, hi))
    else:
        assert np.all(size <= steepest(loss) * (1 + 1e-12))
    assert np.any(size > 0)
