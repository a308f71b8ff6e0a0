"""Missing targets: a mask on the entries of Ψ."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

import numpy as np
from scipy.linalg import orth

from iokr._array import Array, FullPacked, asarray_like, cholesky, inverse, to_numpy
from iokr._system.memory import check_memory
from iokr.problem import Problem
from iokr.solvers.base import Path, by_eigenvalue, join_columns, take_columns
from iokr.solvers.closed_form.deformed import deformed_kernel
from iokr.solvers.closed_form.filled import FilledPath, by_filling
from iokr.solvers.closed_form.grouped import with_unweighted
from iokr.solvers.closed_form.masked_gradients import MaskedPath, by_gradients
from iokr.solvers.constants import least_squares

__all__ = ["masked_path"]

_SINGULAR = 1e-12  # singular values below this fraction of the largest are rounding
_ALMOST_ZERO = 1e-100  # a of A = aI in place of 0, so that λ/a is finite


def masked_path(path: Callable[[Problem], Path], problem: Problem) -> Path:
    """A = aI: a problem per pattern of columns, each with its `path`; else one system over observed entries, or gaps.

    The system is a matrix over the gaps if they are few, over the entries if these are few or with a penalty, else a
    map for conjugate gradients.
    """
    if problem.operator.scale is not None and problem.shapes is None:
        return _Patterns(path, problem)
    over_entries = MaskedPath if by_gradients(problem) else _Entries
    return FilledPath(problem, over_entries) if by_filling(problem) else over_entries(problem)


class _Patterns(Path):
    """Column j is ridge on the rows with m_ij = 1: one factorisation per distinct pattern of a column.

    With A = aI, (a K, λ, μ) is (K, λ/a, μ) with c/a; a = 0 leaves h = 0, or an intercept alone.
    """

    mask: np.ndarray

    def __init__(self, path: Callable[[Problem], Path], problem: Problem) -> None:
        super().__init__(problem)
        self.path, self.problem, self.a = path, problem, float(self.operator.gamma[0])

    def _groups(self, Psi: Array) -> Iterator[tuple[np.ndarray, Problem]]:
        patterns, which = np.unique(self.mask.T, axis=0, return_inverse=True)
        for number, pattern in enumerate(patterns):
            columns = np.flatnonzero(which.ravel() == number)
            weight = self.row_weight * pattern
            targets = take_columns(Psi, columns)
            yield columns, replace(self.problem, gram=self.gram.K, Psi=targets, weight=weight, mask=None)

    def _each(
        self, Psi: Array, what: str, alphas: Sequence[float], leave: tuple[np.ndarray | None, ...] = ()
    ) -> list[Array]:
        groups = []
        a = self.a or _ALMOST_ZERO
        for columns, part in self._groups(Psi):
            if part.weight.max() == 0 or (self.a == 0 and self.constants is None):
                zero = asarray_like(np.zeros((self.gram.shape[0], len(columns))), Psi)
                values = [zero if what == "coefficients" else part.Psi] * len(alphas)
            else:
                path = self.path(part)  # one factorisation for the whole path
                values = [getattr(path, what)(part.Psi, alpha / a, *leave) for alpha in alphas]
            groups.append((columns, values))
        return [join_columns([(columns, values[i]) for columns, values in groups]) for i in range(len(alphas))]

    def coefficients(self, Psi: Array, alpha: float) -> Array:
        """C, by groups of columns."""
        return self._each(Psi, "coefficients", [alpha])[0] / (self.a or 1.0)

    def unpenalised(self, Psi: Array, C: Array) -> Array | None:
        """B (k, q)."""
        return least_squares(self.problem, Psi, C)

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """Residuals, by groups of columns; those of unobserved entries are of the fit to all rows."""
        return self._each(Psi, "loo_residuals", [alpha], (groups,))[0]

    def _residuals(self, Psi: Array, alphas: Sequence[float], groups: np.ndarray | None) -> list[Array]:
        return self._each(Psi, "loo_residuals", alphas, (groups,))


class _Entries(Path):
    """(√w P𝐊̃Pᵀ√w + I) a = √w P vec(Ψ), P the observed entries, 𝐊̃ = Σ_j K̃_j ⊗ e_j e_jᵀ (supervised: K ⊗ A / λ)."""

    mask: np.ndarray

    def __init__(self, problem: Problem) -> None:
        super().__init__(problem)
        self.problem = problem
        self.penalised = problem.penalised
        self.rows = np.flatnonzero(self.row_weight > 0)
        self.base = deformed_kernel(problem)
        observed = self.mask[self.rows]
        self.i, self.j = np.nonzero(observed)
        self.sqrt_w = np.sqrt(self.row_weight[self.rows])[self.i]
        size, q = len(self.i), self.mask.shape[1]
        check_memory(
            8.0 * (3 * size**2 + 2 * (len(self.rows) * q) ** 2),
            f"A fit with {size} observed entries coupled by A",
            "To reduce memory: fewer rows, or A = I, for which columns are solved separately.",
            problem.Psi,
        )
        self.Z: np.ndarray | None = None  # (entries, p), √w times the unpenalised functions of entries
        self.U: np.ndarray | None = None  # an orthonormal basis of its columns
        if self.constants is not None:
            S = np.eye(q) if problem.shapes is None else np.asarray(problem.shapes, dtype=float)
            e = np.asarray(self.constants, dtype=float)[self.rows]
            self.functions = np.einsum("ik,lj->ijkl", e, S).reshape(len(e), q, -1)  # (n, q, p)
            self.Z = self.sqrt_w[:, None] * self.functions[self.i, self.j]
            self.U = orth(self.Z)

    def _kernel(self, alpha: float) -> np.ndarray:
        """𝐊̃ over labelled points × outputs, point-major, (n q, n q)."""
        n, q = len(self.rows), self.mask.shape[1]
        E = np.eye(q) if self.operator.E is None else to_numpy(self.operator.E)
        if not self.penalised:  # K̃_j is a multiple of K
            gamma = self.operator.gamma
            Kt = to_numpy(self.base.deformed(alpha, float(gamma.max()))) / gamma.max()
            whole = Kt[:, None, :, None] * ((E * gamma) @ E.T)[None, :, None, :]
            return np.asarray(whole.reshape(n * q, n * q))
        total = np.zeros((n, q, n, q))
        for g, group in self.operator.groups(q):
            if g > 0:
                Kt = to_numpy(self.base.deformed(alpha, g))
                projector = E[:, group] @ E[:, group].T
                total += Kt[:, None, :, None] * projector[None, :, None, :]
        return total.reshape(n * q, n * q)

    def _system(self, Psi: Array, alpha: float) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """𝐊̃, the places of the observed entries, S = √w P𝐊̃Pᵀ√w and √w P vec(Ψ)."""
        block = self._kernel(alpha)
        entries = self.i * self.mask.shape[1] + self.j
        system = self.sqrt_w[:, None] * block[np.ix_(entries, entries)] * self.sqrt_w
        y = to_numpy(Psi)[self.rows][self.i, self.j] * self.sqrt_w
        return block, entries, (system + system.T) / 2, y

    def _centred(self, system: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The system and the targets of an intercept, in which U has been projected out."""
        if self.U is None:
            return system, y
        whole = FullPacked(system.copy())
        whole.project(self.U)
        return whole.K, y - self.U @ (self.U.T @ y)

    def coefficients(self, Psi: Array, alpha: float) -> Array:
        """C e_j = lift_j(W e_j), W = √w a on its entries and zero elsewhere."""
        _, _, system, y = self._system(Psi, alpha)
        system, y = self._centred(system, y)
        W = np.zeros((len(self.rows), self.mask.shape[1]))
        W[self.i, self.j] = self.sqrt_w * cholesky(system, 1.0, overwrite=True).solve(y[:, None])[:, 0]
        rotated = self.operator.rotate(asarray_like(W, Psi))
        C = by_eigenvalue(self.operator, rotated, lambda g, part: self.base.lift(part, alpha, g))
        return self.operator.unrotate(C)

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """ψ_i − h₋ᵢ(x_i) in every coordinate (Ψ read as 0 where unobserved), without all entries of row i."""
        block, entries, system, y = self._system(Psi, alpha)
        N, _ = inverse(self._centred(system, y)[0], 1.0)
        if self.U is not None:
            N -= self.U @ self.U.T
        a = N @ y
        q = self.mask.shape[1]
        values = np.zeros((len(self.rows), q))
        together = self.rows if groups is None else groups[self.rows]
        for group in np.unique(together):
            own = np.flatnonzero(together[self.i] == group)
            rest = a - N[:, own] @ _solved(N[np.ix_(own, own)], a[own])
            rest[own] = 0.0
            for row in np.flatnonzero(together == group):
                values[row] = block[row * q : (row + 1) * q][:, entries] @ (self.sqrt_w * rest)
            if self.U is not None:
                values[together == group] += self._constants_without(own, y - system @ rest)[together == group]
        residuals = np.where(self.mask, to_numpy(Psi), 0.0)[self.rows] - values
        return with_unweighted(self, self.rows, asarray_like(residuals, Psi), Psi, alpha, groups)

    def unpenalised(self, Psi: Array, C: Array) -> Array | None:
        """B (k, q)."""
        return least_squares(self.problem, Psi, C)

    def _constants_without(self, own: np.ndarray, left: np.ndarray) -> np.ndarray:
        """Constants (n, q) by least squares on √w(Ψ − h) = `left` without some entries, 0 where none is left."""
        assert self.Z is not None
        kept = np.delete(np.arange(len(left)), own)
        beta, *_ = np.linalg.lstsq(self.Z[kept], left[kept], rcond=_SINGULAR)
        return np.asarray(self.functions @ beta)


def _solved(A: np.ndarray, b: np.ndarray) -> np.ndarray:
    """A⁻¹b; the least-norm solution if all observed entries of an output are left out, where A is singular."""
    return np.asarray(np.linalg.lstsq(A, b, rcond=_SINGULAR)[0])
