"""Ridge on pairs of nodes from the spectrum of the nodes' kernel: exact when all pairs are there."""

from __future__ import annotations

from functools import cached_property

import numpy as np

from iokr._array import blocks, eigh, matmul, to_numpy
from iokr.gram.pairs.gram import PairGram

__all__ = ["CompletePairs"]

_NEARLY = 0.95  # fraction of the ordered pairs from which the closed form of all of them is close
_CHUNK = 1 << 22  # numbers at a time


class CompletePairs:
    """S = U [(Uᵀ Y U) / (E + t)] Uᵀ, E = 2(δ + (1 − δ)s)sᵀ, K = U diag(s) Uᵀ: ridge on all m² ordered pairs in O(m³).

    Pairs without order have E symmetrised. `exact` when every ordered pair is observed and t = λ/w is one number, w the
    weight of a point: half that of a pair of two nodes, all of that of a self-pair; `nearly` when few are missing.

    Parameters
    ----------
    gram : PairGram
        Symmetric, in NumPy.
    shift : array of shape (n,)
        λ over the weight of each example.
    """

    def __init__(self, gram: PairGram, shift: np.ndarray) -> None:
        self.gram = gram
        a, b = gram.left.T
        self.alone = np.ones(len(a), dtype=bool) if gram.ordered else a == b
        points = np.where(self.alone, shift, 2 * shift)
        self.t = float(np.average(points, weights=np.where(self.alone, 1.0, 2.0)))
        m = gram.nodes.shape[0]
        n_points = len(a) + int(np.count_nonzero(~self.alone))
        if n_points >= _NEARLY * m**2 and _repeats(gram):  # then so many points are not so many different ones
            n_points = 0
        self.nearly = n_points >= _NEARLY * m**2
        self.exact = n_points == m**2 and bool(np.ptp(points) <= 1e-12 * self.t)

    @cached_property
    def spectrum(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """U, E and s."""
        s, U = eigh(to_numpy(self.gram.nodes))
        s = np.clip(s, 0.0, None)
        mix = self.gram.mix
        E = 2 * np.outer(mix + (1 - mix) * s, s)
        return np.ascontiguousarray(U), E if self.gram.ordered else (E + E.T) / 2, s

    def targets(self, y: np.ndarray) -> np.ndarray:
        """Y (m, m), both orders of a pair."""
        m, (a, b) = self.gram.nodes.shape[0], self.gram.left.T
        Y = np.zeros((m, m))
        Y[a, b] = y
        if not self.gram.ordered:
            Y[b, a] = y
        return Y

    def solve(self, y: np.ndarray) -> np.ndarray:
        """Coefficients of the examples."""
        U, E, _ = self.spectrum
        S = matmul(matmul(U, matmul(matmul(U.T, self.targets(y)), U) / (E + self.t)), np.ascontiguousarray(U.T))
        a, b = self.gram.left.T
        return np.asarray(np.where(self.alone, S[a, b], 2 * S[a, b]))

    def loo_residuals(self, y: np.ndarray) -> np.ndarray:
        """y_p − f₋ₚ(p) for every pair: m² operations each."""
        U, E, _ = self.spectrum
        D = self.t / (E + self.t)
        R = matmul(matmul(U, D * matmul(matmul(U.T, self.targets(y)), U)), np.ascontiguousarray(U.T))
        squares = U * U
        N = matmul(matmul(squares, D), np.ascontiguousarray(squares.T))
        out = np.empty(len(y))
        for rows in blocks(len(y), max(1, _CHUNK // len(U))):
            a, b = self.gram.left[rows].T
            z = U[a] * U[b]
            c = np.einsum("pi,pi->p", matmul(z, D), z)
            if self.gram.ordered:
                # The 2 × 2 system of both orders; its mean is the residual of the mean prediction.
                det = N[a, b] * N[b, a] - c * c
                both = ((N[b, a] - c) * R[a, b] + (N[a, b] - c) * R[b, a]) / np.where(det > 0, 2 * det, 1.0)
            else:
                both = R[a, b] / (N[a, b] + c)
            out[rows] = np.where(a == b, R[a, a] / N[a, a], both)
        return out


def _repeats(gram: PairGram) -> bool:
    """Whether an example is there twice."""
    ends = gram.left if gram.ordered else np.sort(gram.left, axis=1)
    return len(np.unique(ends[:, 0] * gram.nodes.shape[0] + ends[:, 1])) < len(ends)
