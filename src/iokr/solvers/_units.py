"""A problem in the units of its outputs and weights, so that no square overflows or underflows."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from iokr._array import array_namespace, asarray_like, exponent, power_of_two, times_power
from iokr.gram.operators import IdentityMatrix
from iokr.problem import Problem, Solution

__all__ = ["Units", "own_units"]


@dataclass(frozen=True)
class Units:
    """J(2ᵏᵉC; Ψ, w, α, μ) = 2^(j + kd) J'(C; 2⁻ᵏΨ, 2⁻ʲw, 2^(k(2e − d) − j)α, same μ): without rounding.

    (e, d) is the `homogeneity` of the loss, ℓ(2ᵏᵉh, 2ᵏψ) = 2ᵏᵈℓ'(h, ψ), with ℓ' = `loss.in_units(2ᵏ)`.
    """

    k: int
    j: int
    e: int = 1

    def back(self, solution: Solution) -> Solution:
        """A solution in the units of the data; the state for warm starts stays in these units."""
        C = times_power(solution.C, self.k * self.e)
        return replace(solution, C=C, state=_Kept(self, solution.state))

    def start(self, solution: Solution | None) -> Solution | None:
        """The solution of a neighbouring problem in these units."""
        if solution is None:
            return None
        kept = solution.state
        state = kept.state if isinstance(kept, _Kept) and kept.units == self else None
        return replace(solution, C=times_power(solution.C, -self.k * self.e), state=state)


@dataclass(frozen=True, eq=False)
class _Kept:
    """The state of a solver, and its units."""

    units: Units
    state: Any


def own_units(problem: Problem) -> tuple[Problem, Units]:
    """The problem with max |Ψ| and max w in [1, 2), and the conversion of its solutions."""
    form = problem.loss.homogeneity
    k = 0 if form is None or isinstance(problem.Psi, IdentityMatrix) else exponent(_largest(problem))
    j = 0 if problem.weight is None else exponent(float(np.max(problem.row_weight, initial=0.0)))
    e, d = (1, 2) if form is None else form
    if k == 0 and j == 0:
        return problem, Units(0, 0, e)
    by = k * (2 * e - d) - j
    alpha, manifold_weight = power_of_two(problem.alpha, by), power_of_two(problem.manifold_weight, by)
    if not np.finfo(float).tiny <= alpha < math.inf or manifold_weight == math.inf:
        raise ValueError(
            f"`alpha` = {problem.alpha:g} overflows in the units of the outputs, whose largest is about "
            f"{power_of_two(1.0, k):.1e}, and of `sample_weight`, about {power_of_two(1.0, j):.1e}; choose one that is "
            "nearer to these, or scale the data."
        )
    loss = problem.loss.in_units(power_of_two(1.0, k)) if k else problem.loss
    Psi = times_power(problem.targets, -k) if k else problem.Psi
    weight = problem.weight if j == 0 else np.ldexp(problem.row_weight, -j)
    scaled = replace(problem, Psi=Psi, loss=loss, alpha=alpha, manifold_weight=manifold_weight, weight=weight)
    return scaled, Units(k, j, e)


def _largest(problem: Problem) -> float:
    """max |ψ_ij| of the entries that are observed."""
    xp = array_namespace(problem.targets)
    sizes = xp.abs(problem.targets)
    if problem.mask is not None:
        sizes = xp.where(asarray_like(problem.mask, sizes), sizes, 0.0 * sizes)
    return float(xp.max(sizes)) if math.prod(sizes.shape) else 0.0
