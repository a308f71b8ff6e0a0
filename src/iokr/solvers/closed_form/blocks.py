"""Kernels that do not separate: a problem with n points and d outputs as one with nd numbers, left out d at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, eye_like
from iokr.gram.blocks import kronecker
from iokr.gram.operators import as_array
from iokr.problem import Problem
from iokr.solvers.base import Path
from iokr.solvers.closed_form.spectral import SpectralPath
from iokr.solvers.closed_form.symmetric_system import geometry

__all__ = ["BlockPath", "flatten"]


def flatten(problem: Problem) -> Problem:
    """The same problem on vec(Ψ), point-major: Gram 𝐊, penalty L ⊗ I, constants e ⊗ I, a missing entry has weight 0."""
    d = problem.gram.size // problem.gram.shape[0]
    weight = None if problem.weight is None else np.repeat(problem.weight, d)
    if problem.mask is not None:
        weight = np.repeat(problem.row_weight, d) * np.asarray(problem.mask).astype(float).ravel()
    penalty = None if problem.penalty is None else kronecker(problem.penalty, eye_like(d, problem.penalty))
    constants = None if problem.constants is None else np.kron(problem.constants, np.eye(d))
    Psi = array_namespace(problem.like).reshape(problem.targets, (-1, 1))
    flat = replace(problem, gram=problem.gram.flat, Psi=Psi, penalty=penalty, weight=weight, mask=None)
    return replace(flat, constants=constants)


class BlockPath(Path):
    """vec(C) from the path of the flat problem; to leave out a row is to leave out its d entries together."""

    def __init__(self, problem: Problem, flat: Problem, path: Path) -> None:
        super().__init__(problem)
        self.flat = flat
        self.path = path
        self.d = problem.gram.size // problem.gram.shape[0]

    def coefficients(self, Psi: Array, alpha: float) -> Array:
        """C (N, d)."""
        xp = array_namespace(Psi)
        return xp.reshape(self.path.coefficients(xp.reshape(Psi, (-1, 1)), alpha), (-1, self.d))

    def unpenalised(self, Psi: Array, C: Array) -> Array | None:
        """B (k, d)."""
        xp = array_namespace(C)
        B = self.path.unpenalised(xp.reshape(as_array(Psi), (-1, 1)), xp.reshape(C, (-1, 1)))
        return None if B is None else xp.reshape(B, (-1, self.d))

    @cached_property
    def _spectral(self) -> SpectralPath:
        """The path by eigenvalues, which serves every α of leave-one-out."""
        return self.path if isinstance(self.path, SpectralPath) else SpectralPath(self.flat, geometry(self.flat))

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """ψ_i − h₋ᵢ(x_i) in every coordinate (Ψ read as 0 where unobserved), without all entries of row i."""
        xp = array_namespace(Psi)
        if self.mask is not None:
            Psi = xp.where(asarray_like(self.mask, Psi), Psi, 0.0)
        if groups is None:
            groups = np.arange(self.n)
        if self.constants is not None:
            self._check_left_out(groups)
        residuals = self._spectral.loo_residuals(xp.reshape(Psi, (-1, 1)), alpha, np.repeat(groups, self.d))
        return xp.reshape(residuals, (self.n, self.d))

    def _check_left_out(self, groups: np.ndarray) -> None:
        """Raise if an output is observed in one row, or one group, only: without it its intercept is not determined."""
        observed = np.ones((self.n, self.d), dtype=bool) if self.mask is None else self.mask
        observed = observed & (self.row_weight > 0)[:, None]
        for j in range(self.d):
            if len(np.unique(groups[observed[:, j]])) == 1:
                raise ValueError(
                    f"Leave-one-out with an intercept needs every output in two rows (or groups), but output {j} is "
                    "observed in one; drop the output, or set `intercept=False`."
                )
