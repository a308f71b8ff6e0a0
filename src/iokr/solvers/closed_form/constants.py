"""Functions that are not penalised, an intercept above all: what they can explain is projected out."""

from __future__ import annotations

import numpy as np

from iokr._array import Array, Packed, asarray_like, matmul, take_rows, to_numpy
from iokr.gram.operators import IdentityMatrix, OutputOperator
from iokr.problem import Problem

__all__ = ["Constants"]


class Constants:
    """U, an orthonormal basis of √w e on the rows of positive weight: with P = I − U Uᵀ, C = √w P z.

    For given C the best B is that of least squares on what is left, (√w e)⁺ √w(Ψ − K C A).
    """

    def __init__(self, problem: Problem, active: np.ndarray) -> None:
        root = np.sqrt(problem.row_weight[active])[:, None]
        values = root * np.asarray(problem.constants, dtype=float)[active]
        norms = np.linalg.norm(values, axis=0)
        self.norms = np.where(norms > 0, norms, 1.0)  # a function that is zero on all rows gets the coefficient zero
        self.shares = (values / self.norms) ** 2  # (n, k): of each function, what is due to each row
        self.U = asarray_like(values / self.norms, problem.like)
        self.weighted = asarray_like(root * values / self.norms, problem.like)  # √w U
        self.diagonal = asarray_like(self.shares.sum(axis=1), problem.like)  # of U Uᵀ
        self.active = active
        self.KU: Array | None = None  # K√wU, a row for each row of C, once K is known

    def centre(self, Z: Array) -> Array:
        """P Z."""
        return Z - matmul(self.U, matmul(self.U.T, Z))

    def centre_system(self, S: Packed, root: Array | None, lift: float = 0.0) -> None:
        """S ← P S P + lift·U Uᵀ in place for S = √w K √w, `root` = √w; keeps K√wU of these rows."""
        SU = S.project(self.U, lift)
        self.KU = SU if root is None else SU / root[:, None]

    def coefficients(self, Psi: Array | IdentityMatrix, C: Array, operator: OutputOperator) -> Array:
        """B (k, q)."""
        assert self.KU is not None  # since `centre_system`
        explained = operator.act(matmul(self.KU.T, C))
        if isinstance(Psi, IdentityMatrix):
            whole = np.zeros((self.shares.shape[1], Psi.shape[0]))
            whole[:, self.active] = to_numpy(self.weighted).T
            targets = asarray_like(whole, C)
        else:
            targets = matmul(self.weighted.T, take_rows(Psi, self.active))
        return (targets - explained) / asarray_like(self.norms, C)[:, None]
