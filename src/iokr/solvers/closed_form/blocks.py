"""Kernels that do not separate: a problem with n points and d outputs as one with nd numbers, left out d at a time."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, eye_like, to_numpy
from iokr.gram.blocks import kronecker
from iokr.problem import Problem
from iokr.solvers.base import Path
from iokr.solvers.closed_form.spectral import SpectralPath
from iokr.solvers.closed_form.symmetric_system import geometry

__all__ = ["BlockPath", "flatten"]


def flatten(problem: Problem) -> Problem:
    """The same problem on vec(Ψ), point-major: Gram 𝐊, penalty L ⊗ I, a missing entry has weight 0."""
    d = problem.gram.size // problem.gram.shape[0]
    weight = None if problem.weight is None else np.repeat(problem.weight, d)
    if problem.mask is not None:
        observed = np.asarray(problem.mask).astype(float).ravel()
        weight = observed if weight is None else weight * observed
    penalty = None if problem.penalty is None else kronecker(problem.penalty, eye_like(d, problem.penalty))
    Psi = array_namespace(problem.like).reshape(problem.targets, (-1, 1))
    return replace(problem, gram=problem.gram.flat, Psi=Psi, penalty=penalty, weight=weight, mask=None)


class BlockPath(Path):
    """vec(C) from the flat path; leave-one-out by d × d blocks, r_i = N_ii⁻¹ (N vec Ψ)_i with N = I − 𝐇."""

    def __init__(self, problem: Problem, flat: Problem, path: Path) -> None:
        super().__init__(problem)
        self.d, self.flat, self.path = problem.gram.size // problem.gram.shape[0], flat, path

    def _vector(self, Psi: Array) -> Array:
        return array_namespace(Psi).reshape(Psi, (self.n * self.d, 1))

    def coefficients(self, Psi: Array, alpha: float) -> Array:
        """C (N, d)."""
        return array_namespace(Psi).reshape(self.path.coefficients(self._vector(Psi), alpha), (-1, self.d))

    @cached_property
    def _spectral(self) -> SpectralPath:
        return self.path if isinstance(self.path, SpectralPath) else SpectralPath(self.flat, geometry(self.flat))

    def loo_residuals(self, Psi: Array, alpha: float, groups: np.ndarray | None = None) -> Array:
        """ψ_i − h₋ᵢ(x_i) in every coordinate (Ψ read as 0 where unobserved), without all entries of row i."""
        path = self._spectral
        points, vector = path.points, self._vector(Psi)
        D = alpha / to_numpy(path.shrink(alpha))[:, 0]
        Tt = to_numpy(points.to_labels(path.V))
        R = Tt @ (D * to_numpy(path.project(vector))[:, 0])
        B = None if points.remainder is None else to_numpy(points.remainder)
        if B is not None:
            R = R + B @ to_numpy(points.targets(vector))[:, 0]
        root = np.ones(len(R)) if points.sqrt_w is None else to_numpy(points.sqrt_w)
        y = to_numpy(vector)[:, 0]
        # h at the entries without a label, and its change by the labels of the same point
        hidden = np.setdiff1d(np.arange(self.n * self.d), points.active)
        small = root < 1e-6 * root.max()
        C = path.coefficients(vector, alpha)
        rows = self.flat.gram.K.rows
        if small.any():  # R has absolute errors of eps only: take √w(y − h) instead
            own = points.active[small]
            R[small] = root[small] * (y[own] - to_numpy(rows(own) @ C)[:, 0])
        values = np.zeros(self.n * self.d)
        reach = None
        if len(hidden):
            kernel = rows(hidden)
            values[hidden] = to_numpy(kernel @ C)[:, 0]
            reach = to_numpy(kernel @ points.to_points(path.V)) / to_numpy(path.shrink(alpha))[:, 0]
        labelled = np.isin(np.arange(self.n * self.d), points.active)
        position = np.where(labelled, np.cumsum(labelled), np.cumsum(~labelled)) - 1  # among those of its kind
        residuals = np.empty(self.n * self.d)
        observed = None if self.mask is None else self.mask.ravel()
        together = np.arange(self.n) if groups is None else groups
        order, starts = np.argsort(together, kind="stable"), np.unique(together, return_counts=True)[1].cumsum()[:-1]
        for rows_out in np.split(order, starts):
            entries = (rows_out[:, None] * self.d + np.arange(self.d)).ravel()
            seen, unseen = entries[labelled[entries]], entries[~labelled[entries]]
            at = position[seen]
            if len(seen):
                N = (Tt[at] * D) @ Tt[at].T + (0.0 if B is None else B[np.ix_(at, at)])
                own = np.linalg.solve(N, R[at]) / root[at]
                residuals[seen] = own
                if len(unseen) and reach is not None:  # h₋ᵢ = h − 𝐇(y − h₋ᵢ) at the other coordinates
                    values[unseen] -= reach[position[unseen]] @ (Tt[at].T @ (root[at] * own))
            target = y[unseen] if observed is None else np.where(observed[unseen], y[unseen], 0.0)
            residuals[unseen] = target - values[unseen]
        return asarray_like(residuals.reshape(self.n, self.d), Psi)
