"""k_P(p, q) between pairs of nodes, from k between the nodes."""

from __future__ import annotations

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, take_rows

__all__ = ["pair_diagonal", "pair_entries"]


def pair_entries(
    K: Array,
    R: np.ndarray,
    S: np.ndarray,
    *,
    mix: float = 0.0,
    ordered: bool = False,
    same: np.ndarray | None = None,
) -> Array:
    """½[G_ac K_bd + G_bd K_ac + G_ad K_bc + G_bc K_ad] for pairs {a, b}, {c, d}; 2 G_ac K_bd for points in order."""
    (a, b), (c, d) = R.T, S.T
    ids = np.arange(K.shape[0]) if same is None else same

    def k(x: np.ndarray, z: np.ndarray) -> Array:
        rows = take_rows(K, x)
        if isinstance(rows, np.ndarray):
            return np.take(rows, z, axis=1)
        xp = array_namespace(rows)
        return xp.take(rows, asarray_like(z, rows), axis=1)

    def g(x: np.ndarray, z: np.ndarray, base: Array) -> Array:
        if mix == 0:
            return base
        equal = asarray_like((ids[x][:, None] == z[None, :]).astype(np.float64), base)
        return mix * equal + (1 - mix) * base

    k_ac, k_bd = k(a, c), k(b, d)
    if ordered:
        return 2 * g(a, c, k_ac) * k_bd
    k_ad, k_bc = k(a, d), k(b, c)
    if mix == 0:
        return k_ac * k_bd + k_ad * k_bc
    straight = g(a, c, k_ac) * k_bd + g(b, d, k_bd) * k_ac
    return (straight + g(a, d, k_ad) * k_bc + g(b, c, k_bc) * k_ad) / 2


def pair_diagonal(K: Array, R: np.ndarray, *, mix: float = 0.0, ordered: bool = False) -> Array:
    """k_P(p, p): ½[G_aa K_bb + G_bb K_aa] + G_ab K_ab; 2 G_aa K_bb for points in order."""
    xp, (a, b) = array_namespace(K), R.T
    diagonal = xp.linalg.diagonal(K)
    k_aa, k_bb = take_rows(diagonal, a), take_rows(diagonal, b)
    k_ab = take_rows(xp.reshape(K, (-1,)), a * K.shape[1] + b)
    g_aa, g_bb = mix + (1 - mix) * k_aa, mix + (1 - mix) * k_bb
    if ordered:
        return 2 * g_aa * k_bb
    g_ab = mix * asarray_like((a == b).astype(np.float64), k_ab) + (1 - mix) * k_ab
    return (g_aa * k_bb + g_bb * k_aa) / 2 + g_ab * k_ab
