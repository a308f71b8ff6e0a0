"""The two forms of a problem with unlabelled points, and which to take at each (α, μ)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from iokr._array import Array
from iokr.problem import Problem
from iokr.solvers.base import Path
from iokr.solvers.closed_form.deformed import DeformedPath, PlainKernel, Reduction
from iokr.solvers.closed_form.oblique import spectral_path
from iokr.solvers.closed_form.spectral import SpectralPath
from iokr.solvers.closed_form.symmetric_system import BlockFactor, ManifoldGeometry, weight_ratio

__all__ = ["ManifoldPath", "Shared", "deformed_kernel"]

_LIMIT = 1e6  # of μγw_max/λ: beyond it the deformed form loses more than six digits


class Shared:
    """What every μ uses, computed when first asked for."""

    def __init__(self, problem: Problem) -> None:
        self._problem = problem

    @cached_property
    def reduction(self) -> Reduction:
        return Reduction(self._problem)

    @cached_property
    def blocks(self) -> BlockFactor:
        return BlockFactor(self._problem)


class ManifoldPath(Path):
    """At each α the deformed form where it is accurate (μγw_max/λ ≤ 1e6) and cheaper, else the M-form."""

    def __init__(self, problem: Problem, shared: Shared, form: str | None) -> None:
        super().__init__(problem)
        self._problem, self._shared, self._form = problem, shared, form

    @cached_property
    def deformed_form(self) -> DeformedPath:
        """Section 4.2."""
        return DeformedPath(self._problem, self._shared.reduction)

    @cached_property
    def eigen_form(self) -> SpectralPath:
        """Section 4.1."""
        return spectral_path(self._problem, ManifoldGeometry(self._problem, self._shared.blocks))

    def at(self, alpha: float, n_alphas: int = 1) -> DeformedPath | SpectralPath:
        """The form to use at `alpha`, when `n_alphas` of them are wanted."""
        if self._form == "deformed":
            return self.deformed_form
        N = self._problem.gram.shape[0]
        # An n × n system per α and γ against one eigendecomposition of size N, unless that is there already.
        costly = (
            weight_ratio(self._problem) <= _LIMIT
            and n_alphas * len(self.operator.gamma) * self.n**2 * (self.n + 2 * N) > 13 * N**3
        )
        if self._form == "eigen" or "eigen_form" in self.__dict__ or costly or self.operator.oblique:
            return self.eigen_form
        # Rounding is multiplied by q here and by the ratio of the weights there.
        limit = max(_LIMIT, weight_ratio(self._problem))
        return self.deformed_form if self.deformed_form.q(alpha) <= limit else self.eigen_form

    def coefficients(self, Psi: Array, alpha: float) -> Array:
        """C of the form chosen."""
        return self.at(alpha).coefficients(Psi, alpha)

    def loo_residuals(self, Psi: Array, alpha: float) -> Array:
        """Residuals of the form chosen."""
        return self.at(alpha).loo_residuals(Psi, alpha)

    def loo_errors(self, Psi: Array, alphas: Sequence[float]) -> np.ndarray:
        """Errors along the path, each by the form chosen."""
        errors = np.empty(len(alphas))
        chosen = [self.at(alpha, len(alphas)) for alpha in alphas]
        for form in {id(f): f for f in chosen}.values():
            mine = [i for i, f in enumerate(chosen) if f is form]
            errors[mine] = form.loo_errors(Psi, [alphas[i] for i in mine])
        return errors

    def deformed(self, alpha: float, g: float) -> Array:
        """K̃(λ, μ, g) on the labelled points."""
        return self.at(alpha).deformed(alpha, g)

    def lift(self, a: Array, alpha: float, g: float) -> Array:
        """c with h(x) = g k_xᵀ c equal to K̃a on the labelled points."""
        return self.at(alpha).lift(a, alpha, g)


def deformed_kernel(problem: Problem) -> ManifoldPath | PlainKernel:
    """K̃ of a problem, with or without unlabelled points; sample weights only say which labels count."""
    if problem.penalty is None or problem.strength == 0:
        return PlainKernel(problem)
    return ManifoldPath(problem, Shared(problem), None)
