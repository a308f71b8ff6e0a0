"""Coordinate descent on the box dual of the margin loss."""

from __future__ import annotations

import numpy as np

from iokr._array import asarray_like, blocks, is_numpy, matmul, mirror_upper, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_stops
from iokr.problem import Problem, Solution
from iokr.solvers.base import Solver, refuses_products, take_columns
from iokr.solvers.iterative.box_qp import minimize_box
from iokr.solvers.iterative.reduced import (
    BlockLabeledProblem,
    LabeledProblem,
    labeled_bytes,
    labeled_problem,
)
from iokr.solvers.iterative.thin import ThinQuadratic
from iokr.solvers.pairs.margin import PairMargin

__all__ = ["CoordinateDescent"]

_PANEL = 128


@component
class CoordinateDescent(Solver):
    """min ½αᵀQα − 1ᵀα over 0 ≤ α ≤ w, Q = Σ_j (Ψe_j)(Ψe_j)ᵀ ∘ K̃_j: the dual of the margin loss, by entries.

    A few sweeps find the entries at a bound, which are left out while sweeps and projected Newton steps solve for the
    others, exactly at the end. The gap is that between hinge and dual at α, by Qα. With Numba (extra `fast`) the sweeps
    are compiled; without it projected gradient steps are used. Problems with many pairs of nodes are solved by
    `PairMargin`.

    Parameters
    ----------
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=None
        Sweeps and Newton steps; None is 10 000.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.losses import MaxMargin
    >>> from iokr.solvers import CoordinateDescent
    >>> model = IOKR(loss=MaxMargin(), solver=CoordinateDescent()).fit([[0.0], [1.0]], [-1.0, 1.0])
    >>> model.predict([[0.9]]) > 0
    array([ True])
    """

    tol: float = 1e-6
    max_iter: int | None = None

    def refuses(self, problem: Problem) -> str | None:
        """The margin loss and complete outputs are required."""
        if not problem.loss.box_dual:
            return f"its dual is a box for `MaxMargin()` only, got {problem.loss!r}; use `ADMM()`."
        if problem.mask is not None:
            return "`MaxMargin()` cannot be used with missing entries of `y`; drop these rows."
        return refuses_products(problem)

    def memory(self, problem: Problem) -> float:
        """3N² numbers, 8N² with a penalty; 3Np with p features, few."""
        special = self._special(problem)
        if special is not None:
            return special.memory(problem)
        return labeled_bytes(problem, matrices=3, thin=3, arrays=6)

    def _special(self, problem: Problem) -> PairMargin | None:
        """`PairMargin` for a problem with many pairs, whose matrix is not formed, else itself."""
        special = PairMargin(self.tol, self.max_iter)
        return special if problem.gram.prefers_products and special.refuses(problem) is None else None

    def _solve(self, problem: Problem, start: Solution | None) -> Solution:
        special = self._special(problem)
        if special is not None:
            return special._solve(problem, start)
        tol, limit = check_stops(self.tol, self.max_iter, 10_000)
        labeled = labeled_problem(problem)
        Q = margin_matrix(labeled) if labeled.factor is None else margin_by_features(labeled)
        weight = to_numpy(labeled.weight)
        first = start.state if start is not None and np.shape(start.state) == weight.shape else None
        alpha, n_iter, gap = minimize_box(Q, weight, tol, limit, start=first)
        W = labeled.Psi * asarray_like(alpha, labeled.Psi)[:, None]
        C = labeled.lift(W / labeled.lam)
        return Solution(C, n_iter, gap, gap <= tol, alpha)


def margin_by_features(labeled: LabeledProblem) -> ThinQuadratic:
    """Q = (ΦΦᵀ) ∘ (ΨAΨᵀ) / λ, stored as Φ and ΨE√(γ/λ), on the host."""
    root = np.sqrt(labeled.operator.gamma / labeled.lam)
    return ThinQuadratic(to_numpy(labeled.factor), to_numpy(labeled.operator.rotate(labeled.Psi)) * root)


def margin_matrix(labeled: LabeledProblem) -> np.ndarray:
    """Q_ij = ⟨ψ_i, 𝒦̃_ij ψ_j⟩ / λ, that is Σ_j (Ψe_j)(Ψe_j)ᵀ ∘ K̃_j / λ if outputs decouple, on the host."""
    if isinstance(labeled, BlockLabeledProblem):
        Psi = to_numpy(labeled.Psi)
        n, d = Psi.shape
        half = (to_numpy(labeled.flat.matrix(1.0)).reshape(n * d, n, d) * Psi).sum(axis=2)
        Q = (Psi[:, :, None] * half.reshape(n, d, n)).sum(axis=1) / labeled.lam
    elif not labeled.semi_supervised:  # (ΨAΨᵀ) ∘ K / λ
        left = labeled.operator.act(labeled.Psi) / labeled.lam
        Q = labeled.points.labeled_gram.detach(lower=True)
        if not is_numpy(Q):
            return np.ascontiguousarray(to_numpy(Q * matmul(left, labeled.Psi.T)))
        for rows in blocks(len(Q), _PANEL):  # half of the product: K need not be valid above the diagonal
            Q[rows, : rows.stop] *= matmul(left[rows], labeled.Psi[: rows.stop].T)
        mirror_upper(Q.T, np.diagonal(Q).copy())  # the lower triangle of Q is the upper one of Qᵀ
    else:
        rotated = labeled.operator.rotate(labeled.Psi)
        parts = [(g, take_columns(rotated, group)) for g, group in labeled.operator.groups(rotated.shape[1])]
        Q = sum(matmul(part, part.T) * labeled.matrix(g) for g, part in parts)  # λ = 1 here
    return np.ascontiguousarray(to_numpy(Q))
