"""`iokr.solvers._units`: units of outputs, weights and kernel change nothing but units, for every loss and solver.

ψ → 2ᵏψ with lengths in the loss alike is h → 2ᵏᵉh where α → 2^(k(d − 2e))α, (e, d) the `homogeneity` of the loss;
w → 2ʲw with α, μ → 2ʲα, 2ʲμ leaves h; so does G → 2ⁱG with α → 2ⁱα. Powers of two do not round: what is left are the
roots of odd ones, which some solvers take.
"""

from dataclasses import replace

import numpy as np
import pytest

from iokr.kernels import RBF, Scaled
from iokr.losses import Huber, MaxMargin
from iokr.problem import Problem
from iokr.solvers import IRLS, LBFGS, Cholesky, CoordinateDescent
from iokr.solvers._units import own_units
from iokr.solvers.base import Solver
from members import LOSSES, SOLVERS
from reference import assert_close
from samples import problem, regression
from tolerance import rounding

EVERY = [loss for rows in LOSSES.values() for loss in rows]
SOLVED = [
    pytest.param(loss, solver, id=f"{loss!r} {solver!r}")
    for loss in [*(rows[-1] for rows in LOSSES.values()), LOSSES["Huber"][0]]
    for solver in [*(rows[0] for name, rows in SOLVERS.items() if name != "LBFGS"), LBFGS(1e-8)]
    if solver.refuses(replace(problem("identity", "any")[0], loss=loss)) is None
]
pytestmark = pytest.mark.filterwarnings(
    "ignore::sklearn.exceptions.ConvergenceWarning", "ignore:The outputs have different lengths", "ignore:`alpha`"
)


def posed(loss, weighted="any", semi=False, **changes) -> Problem:
    return replace(problem("identity", weighted, semi=semi)[0], loss=loss, **changes)


def in_other_units(ours: Problem, k: int) -> Problem:
    """The problem with outputs times 2ᵏ."""
    e, d = ours.loss.homogeneity
    return replace(
        ours,
        Psi=np.ldexp(ours.Psi, k),
        loss=ours.loss.in_units(2.0**-k),
        alpha=np.ldexp(ours.alpha, k * (d - 2 * e)),
        manifold_weight=np.ldexp(ours.manifold_weight, k * (d - 2 * e)),
    )


def test_every_loss_says_how_it_scales():
    assert all(loss.homogeneity is not None for loss in EVERY)


@pytest.mark.parametrize("loss", EVERY, ids=repr)
def test_the_objective_in_its_own_units(loss):
    """J(2ᵏᵉC) = 2^(j + kd) J'(C)."""
    ours = posed(loss, semi=True)
    ours = replace(ours, Psi=ours.Psi * 37.0, weight=ours.weight * 1000.0)
    inner, units = own_units(ours)
    (e, d), C = loss.homogeneity, np.random.default_rng(0).normal(size=(14, 3))
    assert 1 <= np.abs(inner.Psi).max() < 2
    assert 1 <= inner.weight.max() < 2
    assert_close(ours.objective(2.0 ** (units.k * e) * C), 2.0 ** (units.j + units.k * d) * inner.objective(C), 1e-13)


@pytest.mark.parametrize("k", [-400, 41])
@pytest.mark.parametrize(("loss", "solver"), SOLVED)
def test_units_of_outputs(loss, solver, k):
    ours = posed(loss)
    C = solver.solve(ours).C
    found = solver.solve(in_other_units(ours, k)).C
    assert_close(np.ldexp(found, -k * loss.homogeneity[0]), C, _roots(solver, ours))


@pytest.mark.parametrize("semi", [False, True], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("j", [-41, 700])
@pytest.mark.parametrize(("loss", "solver"), SOLVED)
def test_units_of_weights(loss, solver, j, semi):
    ours = posed(loss, semi=semi)
    if solver.refuses(ours) is not None:
        return
    C = solver.solve(ours).C
    scaled = replace(
        ours,
        weight=np.ldexp(ours.weight, j),
        alpha=np.ldexp(ours.alpha, j),
        manifold_weight=np.ldexp(ours.manifold_weight, j),
    )
    assert_close(solver.solve(scaled).C, C, _roots(solver, ours))


@pytest.mark.parametrize("i", [-300, 40])
@pytest.mark.parametrize(("loss", "solver"), SOLVED)
def test_units_of_the_kernel(loss, solver, i):
    ours = posed(loss)
    X = regression(1, n=8).X
    kernel, large = RBF(0.5).fit(X), Scaled(RBF(0.5), 2.0**i).fit(X)
    plain = replace(ours, gram=kernel.gram(kernel.represent(X)))
    scaled = replace(ours, gram=large.gram(large.represent(X)), alpha=np.ldexp(ours.alpha, i))
    if "MixedPrecision" in repr(solver) and abs(i) > 100:
        pytest.skip("2^100 times a kernel is beyond float32, in which it is factored")
    C = solver.solve(plain).C
    # LBFGS starts from 1/(α + ‖∇J‖²/‖D‖²), which rounds, and stops where its tolerance lets it
    assert_close(np.ldexp(solver.solve(scaled).C, i), C, 1e-6 if isinstance(solver, LBFGS) else rounding(8, 1e4))


def _roots(solver: Solver, ours: Problem) -> float:
    """Closed forms take roots of weights and eigenvectors of squares, which round; iterations see no other units."""
    return 0.0 if solver.choose(ours).solver.in_own_units else rounding(14, 1e4)


def test_what_is_beyond_all_numbers_is_refused_by_name():
    ours = posed(Huber(1e-300), weighted="none")
    with pytest.raises(ValueError, match=r"`kappa` = 1e-300 overflows in the units of the outputs"):
        IRLS().solve(replace(ours, Psi=ours.Psi * 1e30))
    with pytest.raises(ValueError, match=r"`alpha` = 0.1 overflows .* choose one that is nearer"):
        CoordinateDescent().solve(replace(posed(MaxMargin(), weighted="none"), Psi=ours.Psi * 1e-200))


def test_a_neighbour_in_other_units_is_a_start():
    """A path over α of the margin's loss changes no units; other weights do, and what is kept is then left aside."""
    ours = posed(Huber(0.3))
    first = IRLS().solve(ours)
    other = replace(ours, weight=ours.weight * 4096.0, alpha=ours.alpha * 4096.0)
    np.testing.assert_allclose(IRLS(1e-12).solve(other, first).C, IRLS(1e-12).solve(ours).C, rtol=1e-4, atol=1e-6)


def test_a_loss_that_says_nothing_is_left_in_its_units():
    class Other(Huber):
        homogeneity = None

    ours = posed(Other(0.3), weighted="none")
    inner, units = own_units(ours)
    assert inner is ours
    assert units.k == 0


def test_closed_forms_are_left_alone():
    assert not Cholesky.in_own_units
    assert LBFGS.in_own_units
