"""G = ΦᵀΦ, B = ΦᵀΨ, s = ‖Ψ‖²: additive moments of rows, sufficient for a quadratic fit."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from iokr._array import (
    Array,
    CholeskyFactor,
    NotPositiveDefinite,
    array_namespace,
    asarray_like,
    blocks,
    cholesky,
    eigh,
    is_cuda,
    is_numpy,
    matmul,
    mirror_upper,
    take_rows,
    to_numpy,
)

__all__ = ["ROWS", "Moments", "chunk_rows", "moments_of", "squares", "total"]

ROWS = 16_384  # rows of a chunk of a stream, by default
_CHUNK, _ON_CUDA = 1 << 22, 1 << 26  # numbers of a chunk of features: 32 MB, and 512 MB on a CUDA device
_EPS = float(np.finfo(np.float64).eps)


def chunk_rows(width: int, like: Array) -> int:
    """Rows of this width that are processed at a time on the device of `like`."""
    return max(256, (_ON_CUDA if is_cuda(like) else _CHUNK) // max(width, 1))


def squares(Phi: Array) -> Array:
    """ΦᵀΦ; on NumPy one triangle is computed and mirrored."""
    if not is_numpy(Phi) or Phi.shape[0] == 0:
        return matmul(Phi.T, Phi)
    from scipy.linalg.blas import dsyrk

    rows = Phi.T if Phi.flags.c_contiguous else np.ascontiguousarray(Phi).T
    G = dsyrk(1.0, rows, lower=1).T  # the other triangle, in C order
    mirror_upper(G, np.diagonal(G).copy())
    return G


@dataclass(frozen=True, eq=False)
class Moments:
    """G = ΦᵀWΦ (r, r), B = ΦᵀWΨ (r, q), s = Σ w_i‖ψ_i‖², of n rows with weights that sum to `weight`.

    `left` is Σ w_i (‖ψ(y_i)‖² − ‖z_i‖²), the part of the outputs outside their coordinates z.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.gram.moments import moments_of
    >>> Phi, Psi = np.array([[1.0], [2.0]]), np.array([[1.0], [3.0]])
    >>> both = moments_of(Phi[:1], Psi[:1]) + moments_of(Phi[1:], Psi[1:])
    >>> both.G, both.B, both.s, both.n
    (array([[5.]]), array([[7.]]), 10.0, 2)
    >>> float(both.error(np.array([[1.0]])))  # (1 − 1)² + (3 − 2)²
    1.0
    """

    G: Array
    B: Array
    s: float
    n: int
    weight: float
    left: float = 0.0

    def _stored(self) -> dict[str, Any]:
        return {"G": self.G, "B": self.B, "s": self.s, "n": self.n, "weight": self.weight, "left": self.left}

    def __add__(self, other: Moments) -> Moments:
        return Moments(
            self.G + other.G,
            self.B + other.B,
            self.s + other.s,
            self.n + other.n,
            self.weight + other.weight,
            self.left + other.left,
        )

    def error(self, D: Array) -> float:
        """Σ w_i ‖ψ_i − Dᵀφ_i‖² = s − 2⟨D, B⟩ + ⟨D, G D⟩, to within eps·s."""
        xp = array_namespace(self.G)
        return max(0.0, self.s - 2 * float(xp.sum(D * self.B)) + float(xp.sum(D * matmul(self.G, D))))

    def rows(self) -> tuple[Array, Array]:
        """Φ̃ (r′, r) and Ψ̃ (r′, q) with Φ̃ᵀΦ̃ = G and Φ̃ᵀΨ̃ = B: r′ ≤ r rows with the same h as the n rows.

        Φ̃ = diag(√ω)Qᵀ and Ψ̃ = diag(1/√ω)QᵀB with G = Q diag(ω) Qᵀ, without the ω that are 0 to rounding.
        """
        omega, Q = eigh(self.G)
        kept = to_numpy(omega)
        first = int(np.searchsorted(kept, len(kept) * _EPS * max(float(kept[-1]), 0.0), side="right"))
        first = min(first, len(kept) - 1)
        xp = array_namespace(Q)
        root, Q = xp.sqrt(xp.clip(omega[first:], min=float(np.finfo(float).tiny))), Q[:, first:]
        return root[:, None] * Q.T, matmul(Q.T, self.B) / root[:, None]

    def triangular_rows(self) -> tuple[Array, Array] | None:
        """L and Ψ̃ = L⁻¹B with G = L Lᵀ: rows Lᵀ with the same h, too, at a tenth of the flops of `rows`.

        None if a pivot is so small that L⁻¹ would lose half of the digits.
        """
        xp = array_namespace(self.G)
        try:
            L = xp.tril(cholesky(self.G).L)
        except NotPositiveDefinite:
            return None
        pivots = xp.linalg.diagonal(L) ** 2
        if not float(xp.min(pivots)) > _EPS**0.5 * float(xp.max(xp.linalg.diagonal(self.G))):
            return None
        return L, CholeskyFactor(L).solve_lower(self.B)


def moments_of(Phi: Array, Psi: Array, weight: np.ndarray | None = None, left: float = 0.0) -> Moments:
    """The moments of some rows, accumulated a chunk at a time."""
    n, parts = int(Phi.shape[0]), []
    for rows in blocks(n, chunk_rows(int(Phi.shape[1]) + int(Psi.shape[1]), Phi)):
        F, P = take_rows(Phi, rows), take_rows(Psi, rows)
        if weight is not None:
            root = asarray_like(np.sqrt(weight[rows]), F)[:, None]
            F, P = root * F, root * P
        xp = array_namespace(F)
        # The sum is converted at the end, so that no chunk waits for the device.
        parts.append(Moments(squares(F), matmul(F.T, P), xp.sum(P * P), int(F.shape[0]), 0.0))
    found = total(parts)
    return Moments(found.G, found.B, float(found.s), n, float(n if weight is None else np.sum(weight)), left)


def total(parts: Iterable[Moments]) -> Moments:
    """Their sum, from the first to the last."""
    return reduce(add, parts)
