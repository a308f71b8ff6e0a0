"""A problem in the units of its outputs and weights, from their origin: no square overflows or underflows."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from iokr._array import array_namespace, asarray_like, exponent, power_of_two, times_power, to_numpy
from iokr.gram.operators import IdentityMatrix
from iokr.problem import Problem, Solution
from iokr.solvers.constants import typical_constants, without_constants

__all__ = ["Units", "own_units"]


@dataclass(frozen=True)
class Units:
    """J(2ᵏᵉC; Ψ, w, α, μ) = 2^(j + kd) J'(C; 2⁻ᵏΨ, 2⁻ʲw, 2^(k(2e − d) − j)α, same μ): without rounding.

    (e, d) is the `homogeneity` of the loss, ℓ(2ᵏᵉh, 2ᵏψ) = 2ᵏᵈℓ'(h, ψ), with ℓ' = `loss.in_units(2ᵏ)`. With an
    intercept Ψ is taken minus BᵀE, B = `origin`: a loss of h − ψ is the same, and J(0) does not depend on a constant.
    """

    k: int
    j: int
    e: int = 1
    origin: Any = field(default=None, compare=False)

    def back(self, solution: Solution) -> Solution:
        """A solution in the units of the data; the state for warm starts stays in these units."""
        C = times_power(solution.C, self.k * self.e)
        intercept = solution.intercept
        if intercept is not None:
            intercept = times_power(intercept, self.k * self.e)
            intercept = intercept if self.origin is None else intercept + self.origin[0, :]
        return replace(solution, C=C, intercept=intercept, state=_Kept(self, solution.state))

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
    origin = None
    if problem.constants is not None and form is not None and not isinstance(problem.Psi, IdentityMatrix):
        origin = _origin(problem)
        problem = replace(problem, Psi=without_constants(problem, origin))
    k = 0 if form is None or isinstance(problem.Psi, IdentityMatrix) else exponent(_largest(problem))
    j = 0 if problem.weight is None else exponent(float(np.max(problem.row_weight, initial=0.0)))
    e, d = (1, 2) if form is None else form
    if k == 0 and j == 0:
        return problem, Units(0, 0, e, origin)
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
    if problem.rest is not None:
        scaled = replace(scaled, rest=times_power(problem.rest, -k))
    return scaled, Units(k, j, e, origin)


def _origin(problem: Problem) -> Any:
    """B (k, q) near the outputs: weighted medians for a single constant and robust losses, else least squares."""
    e = np.asarray(problem.constants)
    r = int(problem.Psi.shape[1]) if problem.shapes is None else len(problem.shapes)
    first = np.eye(r) if problem.shapes is None else np.asarray(problem.shapes)[:, :r]
    of_their_own = np.array_equal(first, np.diag(np.diag(first)))  # each number has a coordinate
    if problem.loss.quadratic or not of_their_own or e.shape[1] > 1 or not np.all(e == 1):
        return typical_constants(problem)
    Psi = to_numpy(problem.targets)
    weight = np.ones(Psi.shape) if problem.mask is None else np.asarray(problem.mask, dtype=float)
    weight = weight * problem.row_weight[:, None]
    B = np.array([[_median(Psi[:, j], weight[:, j]) for j in range(r)]]) / np.diag(first)
    return asarray_like(B if problem.shapes is None else B @ np.asarray(problem.shapes), problem.like)


def _median(values: np.ndarray, weight: np.ndarray) -> float:
    """The smallest value with half of the weight at or below it; 0 without weight."""
    order = np.argsort(values)
    cumulated = np.cumsum(weight[order])
    if not cumulated[-1] > 0:
        return 0.0
    return float(values[order][np.searchsorted(cumulated, cumulated[-1] / 2)])


def _largest(problem: Problem) -> float:
    """max |ψ_ij| of the entries that are observed."""
    xp = array_namespace(problem.targets)
    sizes = xp.abs(problem.targets)
    if problem.mask is not None:
        sizes = xp.where(asarray_like(problem.mask, sizes), sizes, 0.0 * sizes)
    largest = float(xp.max(sizes)) if math.prod(sizes.shape) else 0.0
    return largest if problem.rest is None else max(largest, float(array_namespace(problem.rest).max(problem.rest)))
