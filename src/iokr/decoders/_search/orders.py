"""Rankings of largest gain: linear assignment, and the linear ordering problem max Σ W[a, b] with a before b."""

from __future__ import annotations

import numpy as np
from scipy.optimize import linear_sum_assignment

from iokr._array import blocks

__all__ = [
    "assigned_positions",
    "best_orders",
    "centred_places",
    "complete_ranks",
    "kemeny_positions",
    "local_orders",
]

_TABLE = 1 << 23  # entries of the tables over sets of items of the problems that are solved together


def complete_ranks(ranks: np.ndarray) -> np.ndarray:
    """The ranks of a complete ranking, ascending: of the first complete one in `ranks`, else 1 … d."""
    for row in ranks:
        if len(np.unique(row[~np.isnan(row)])) == len(row):
            return np.sort(row)
    return np.arange(1.0, ranks.shape[1] + 1.0)


def centred_places(d: int) -> np.ndarray:
    """The positions 0 … d − 1 less their mean."""
    return np.arange(d) - (d - 1) / 2


def assigned_positions(gains: np.ndarray) -> np.ndarray:
    """The position of each item with the largest total gain, from the gain of item j at position r, (m, d, d)."""
    assigned = [linear_sum_assignment(gain, maximize=True)[1] for gain in gains]
    return np.array(assigned, dtype=np.intp).reshape(gains.shape[:2])


def kemeny_positions(F: np.ndarray, d: int, exact: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(positions, values, bounds): Kemeny's ranking, from the gain of each pair a < b with a before b, (m, d(d − 1)/2).

    Exact up to `exact` items; beyond, by moves of single items, with an upper bound.
    """
    first, second = np.triu_indices(d, 1)
    W = np.zeros((len(F), d, d))
    W[:, first, second] = F
    W[:, second, first] = -F
    orders, bounds = best_orders(W) if d <= exact else local_orders(W)
    positions = np.argsort(orders, axis=1)
    before = positions[:, :, None] < positions[:, None, :]
    values = np.where(before, W, 0.0).sum(axis=(1, 2))
    return positions, values, values if bounds is None else np.maximum(bounds, values)


def best_orders(W: np.ndarray) -> tuple[np.ndarray, None]:
    """Exact, for W (m, d, d), by the best orders of sets of items, from small to large sets: 2ᵈ d steps.

    best(S ∪ {j}) = max_j best(S) + Σ_{a ∈ S} W[a, j], where item j is the last of S ∪ {j}.
    """
    m, d, _ = W.shape
    sets = np.arange(1 << d)
    members = (sets[:, None] >> np.arange(d)) & 1
    layers = [sets[members.sum(axis=1) == size] for size in range(d)]
    orders = np.empty((m, d), dtype=np.intp)
    for some in blocks(m, max(1, _TABLE // (len(sets) * d))):
        orders[some] = _exact(W[some], members, layers)
    return orders, None


def _exact(W: np.ndarray, members: np.ndarray, layers: list[np.ndarray]) -> np.ndarray:
    m, d, _ = W.shape
    gains = np.tensordot(members.astype(np.float64), W, axes=(1, 1))  # (sets, m, d): Σ_{a ∈ S} W[a, j]
    best = np.full((len(members), m), -np.inf)
    last = np.zeros((len(members), m), dtype=np.int8)
    best[0] = 0.0
    for layer in layers:
        for j in range(d):
            without = layer[members[layer, j] == 0]
            value = best[without] + gains[without, :, j]
            whole = without | (1 << j)
            better = value > best[whole]
            best[whole] = np.where(better, value, best[whole])
            last[whole] = np.where(better, j, last[whole])
    orders = np.empty((m, d), dtype=np.intp)
    rest = np.full(m, len(members) - 1)
    for place in range(d - 1, -1, -1):
        orders[:, place] = last[rest, np.arange(m)]
        rest &= ~(1 << orders[:, place])
    return orders


def local_orders(W: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(orders, bounds): items by Σ_b W[a, b], improved by moves of single items; and upper bounds."""
    orders = np.stack([_moved(w, np.argsort(-w.sum(axis=1), kind="stable")) for w in W]).reshape(len(W), -1)
    return orders, np.array([_bound(w) for w in W])


def _moved(w: np.ndarray, order: np.ndarray) -> np.ndarray:
    """The best single move, until none gains."""
    d = len(order)
    tolerance = 1e-12 * float(np.abs(w).max(initial=0.0))
    while True:
        here = w[np.ix_(order, order)]
        # gain[p, q] of moving the item at p to q: a pair that changes its order changes the sign of its W
        passing = np.cumsum(here, axis=1)
        own = passing[np.arange(d), np.arange(d)]
        gain = own[:, None] - passing  # to the right of p: −Σ_{p < b ≤ q} w[p, b]
        left = np.concatenate([np.zeros((d, 1)), passing[:, :-1]], axis=1)
        gain = np.where(np.arange(d)[None, :] < np.arange(d)[:, None], own[:, None] - left, gain)
        p, q = np.unravel_index(int(np.argmax(gain)), gain.shape)
        if gain[p, q] <= tolerance:
            return order
        item = order[p]
        order = np.insert(np.delete(order, p), q, item)


def _bound(w: np.ndarray) -> float:
    """Σ |W| over pairs, minus twice the lightest pair of disjoint cycles of three, each of which loses a pair."""
    left = np.maximum(w, 0.0).copy()  # a → b if a should come before b
    lost = 0.0
    for a in range(len(w)):
        for b in np.flatnonzero(left[a] > 0):
            through = np.minimum(left[b], left[:, a])
            c = int(np.argmax(through))
            weight = min(left[a, b], through[c])
            if weight > 0:
                lost += weight
                left[a, b] -= weight
                left[b, c] -= weight
                left[c, a] -= weight
    return float(np.maximum(w, 0.0).sum()) - 2.0 * lost
