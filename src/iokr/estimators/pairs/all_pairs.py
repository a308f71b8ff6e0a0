"""Ridge on all pairs of n nodes: matrices in place of lists of pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, matmul, to_numpy
from iokr.solvers.pairs.spectrum import PairSpectrum

__all__ = ["AllPairs", "pair_labels"]


@dataclass(frozen=True, eq=False)
class AllPairs:
    """f(u, v) = m_uᵀ S k_v + k_uᵀ Sᵀ m_v, S = U [(Uᵀ Y U) / (E + 2λ)] Uᵀ, m_u = δ e_u + (1 − δ) k_u, K = U diag(s) Uᵀ.

    What `PairModel` with δ = `mix` learns from all pairs of n nodes, each node being linked with itself, in O(n³).
    E are the eigenvalues of the kernel on pairs without order, or on `ordered` ones (`PairSpectrum`).
    """

    S: Array
    mix: float
    ordered: bool = False

    def _stored(self) -> dict[str, Any]:
        return {"S": self.S, "mix": self.mix, "ordered": self.ordered}

    @classmethod
    def path(
        cls, K: Array, Y: Array, grid: Sequence[tuple[float, float]], *, ordered: bool = False
    ) -> Iterator[AllPairs]:
        """For each (mix, alpha), from one eigendecomposition of K."""
        spectrum = PairSpectrum.of(K)
        T = spectrum.rotate(asarray_like(Y, K))
        for mix, alpha in grid:
            S = spectrum.rotate_back(T / (spectrum.eigenvalues(mix, ordered=ordered) + 2 * alpha))
            yield cls(S, mix, ordered)

    @staticmethod
    def new_scores(
        K: np.ndarray, Y: np.ndarray, K_new: np.ndarray, grid: Sequence[tuple[float, float]]
    ) -> Iterator[np.ndarray]:
        """For each (mix, alpha), f(u, v) of new nodes u, rows of `K_new`, and v, the n nodes, then the new ones.

        k_uᵀ U [(Uᵀ Y U)/(E + 2λ)] Uᵀ (δ e_v + 2(1 − δ) k_v): S is not needed, and Uᵀ k_v = s ∘ Uᵀ e_v for known v.
        """
        spectrum = PairSpectrum.of(K)
        U = to_numpy(spectrum.U)
        T = spectrum.rotate(Y)
        left = matmul(K_new, U)
        right = np.vstack([U * to_numpy(spectrum.s), left])
        own = np.vstack([U, np.zeros((len(K_new), len(U)))])  # e_v is zero for a new node
        for mix, alpha in grid:
            ends = 2 * (1 - mix) * right + mix * own
            weighted = matmul(left, T / (spectrum.eigenvalues(mix) + 2 * alpha))
            yield np.asarray(matmul(weighted, np.ascontiguousarray(ends.T)))

    def factors(self, K: Array, own: np.ndarray) -> tuple[Array, Array]:
        """(A, B) with f(u, v) = ⟨a_u, b_v⟩; rows of K are k(u, x_i), `own` the i of a node that is x_i, else −1."""
        xp = array_namespace(K)
        M = self.ends(K, own)
        transposed = self.S.T if self.ordered else self.S  # S is symmetric for pairs without order
        A = xp.concat([matmul(M, self.S), matmul(K, transposed)], axis=1)
        return A, xp.concat([K, M], axis=1)

    def ends(self, K: Array, own: np.ndarray) -> Array:
        """m_u of nodes, in rows."""
        indicator = np.zeros(tuple(K.shape))
        rows = np.flatnonzero(own >= 0)
        indicator[rows, own[rows]] = self.mix
        return (1 - self.mix) * K + asarray_like(indicator, K)


def pair_labels(linked: np.ndarray, unlinked: float = 0.0) -> np.ndarray:
    """Y: 1 for links, and for a node with itself, `unlinked` for other pairs."""
    same = np.eye(len(linked), dtype=bool)
    return np.where(linked | same, 1.0, unlinked)
