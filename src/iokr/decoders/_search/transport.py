"""Couplings of the nodes of two graphs: FGW by conditional gradients, and barycentres.

A graph is structures C (E, N, N), one for each category of edges, and coordinates F (N, d) of its labels. All nodes of
a graph have the same weight. POT computes optimal couplings between graphs of different sizes.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from scipy.optimize import linear_sum_assignment

__all__ = ["Arrays", "Fused", "barycenter", "canonical_order", "fused_distance", "import_ot", "squares"]

Arrays = tuple[np.ndarray, np.ndarray]  # structures (E, N, N), labels (N, d)
_TOL = 1e-9  # decrease of a step, absolute or relative to the distance, below which a search ends
_STEPS = 300  # of a search, at most
_ENOUGH = 1e-4  # relative decrease of an iteration of a barycentre below which it ends
_DIGITS = 6  # decimals in which entries of soft graphs are compared
_COPIES = 100  # largest number of copies of nodes for which an assignment is faster than a network flow
_HOPS = 3  # steps from a node within which its surroundings are compared


def import_ot(who: str) -> Any:
    """The package POT; `who` needs it."""
    try:
        import ot
    except ImportError as error:
        raise ImportError(f"{who} needs the package POT; install `iokr[graph]`.") from error
    return ot


def squares(F: np.ndarray, E: np.ndarray) -> np.ndarray:
    """‖f_i − e_k‖²."""
    return np.asarray(((F[:, None, :] - E[None, :, :]) ** 2).sum(axis=2))


def _assigned(n: int, m: int) -> Callable[[np.ndarray], np.ndarray]:
    """argmin_P ⟨cost, P⟩ over the couplings of n and m nodes."""
    size = math.lcm(n, m)
    if size <= max(n, m, _COPIES):  # an assignment between copies of the nodes, the same number on both sides
        a = size // n
        b = size // m

        def permuted(cost: np.ndarray) -> np.ndarray:
            rows, columns = linear_sum_assignment(np.repeat(np.repeat(cost, a, axis=0), b, axis=1))
            places = rows // a * m + columns // b
            return np.bincount(places, minlength=n * m).reshape(n, m) / size

        return permuted
    emd = import_ot("The fused Gromov-Wasserstein distance").emd
    p = np.full(n, 1.0 / n)
    q = np.full(m, 1.0 / m)
    return lambda cost: np.asarray(emd(p, q, cost))


class Fused:
    """f(P) = (1 − α)⟨M, P⟩ + α Σ_e Σ |C_eij − D_ekl|² P_ik P_jl = (1 − α)⟨M, P⟩ + α(c − 2⟨T(P), P⟩), P a coupling."""

    def __init__(self, x: Arrays, z: Arrays, alpha: float) -> None:
        C, F = x
        D, E = z
        self.M = squares(F, E)
        self.alpha = alpha
        self.constant = float(np.mean(np.sum(C**2, axis=0)) + np.mean(np.sum(D**2, axis=0)))
        symmetric = all(np.array_equal(S, S.transpose(0, 2, 1)) for S in (C, D))
        self.C = C if symmetric else np.concatenate([C, C.transpose(0, 2, 1)])
        self.D = D if symmetric else np.concatenate([D, D.transpose(0, 2, 1)])
        self.share = 1.0 if symmetric else 0.5
        self.assigned = _assigned(len(F), len(E))

    def crossed(self, P: np.ndarray) -> np.ndarray:
        """T(P) = Σ_e C_e P D_eᵀ, for edges of both directions."""
        T = np.matmul(np.matmul(self.C, P), self.D.transpose(0, 2, 1))
        return np.asarray(T[0] if len(T) == 1 else T.sum(axis=0)) * self.share

    def minimum(self, P: np.ndarray) -> tuple[float, np.ndarray]:
        """(f(P), P) at a local minimum, by conditional gradients from P; each step is the best along its line."""
        T = self.crossed(P)
        value = float((1 - self.alpha) * np.sum(self.M * P) + self.alpha * (self.constant - 2 * np.sum(T * P)))
        for _ in range(_STEPS):
            gradient = (1 - self.alpha) * self.M - 4 * self.alpha * T
            step = self.assigned(gradient) - P
            slope = float(np.sum(gradient * step))
            if slope > -_TOL * _TOL:
                break
            change = self.crossed(step)
            bend = -2 * self.alpha * float(np.sum(change * step))
            t = 1.0 if 2 * bend <= -slope else -slope / (2 * bend)
            P = P + t * step
            T = T + t * change
            gained = -(slope * t + bend * t * t)
            value -= gained
            if gained < _TOL * max(value, _TOL):
                break
        return max(value, 0.0), P


def fused_distance(x: Arrays, z: Arrays, alpha: float) -> tuple[float, np.ndarray]:
    """(FGW, coupling): the smallest of some local minima, deterministic.

    The problem is not convex. Searches begin at the product of the weights, at the matching of nodes by their labels,
    degrees and neighbours, and between graphs of the same size at the order of their nodes. x and z are sorted first,
    so that the distance is symmetric.
    """
    if _order(z) < _order(x):
        value, P = fused_distance(z, x, alpha)
        return value, P.T
    if alpha == 1:
        x, z = ((C, np.zeros_like(F)) for C, F in (x, z))
    fused = Fused(x, z, alpha)
    n, m = fused.M.shape
    starts = [np.full((n, m), 1.0 / (n * m)), fused.assigned(fused.M + squares(_around(*x), _around(*z)))]
    if n == m:
        starts.append(np.eye(n) / n)
    return min((fused.minimum(P) for P in starts), key=lambda found: found[0])


def _order(x: Arrays) -> tuple[int, bytes, bytes]:
    C, F = x
    return len(F), C.tobytes(), F.tobytes()


def _around(C: np.ndarray, F: np.ndarray) -> np.ndarray:
    """Sums of labels, nodes and degrees over the walks of one, two and three steps from each node."""
    A = C.sum(axis=0)
    V = np.concatenate([F, np.ones((len(F), 1)), C.sum(axis=2).T], axis=1)
    steps: list[np.ndarray] = []
    for _ in range(_HOPS):
        V = A @ V
        steps.append(V)
    return np.concatenate(steps, axis=1)


def barycenter(
    start: Arrays, graphs: Sequence[Arrays], shares: np.ndarray, alpha: float, max_iter: int
) -> tuple[Arrays, float]:
    """(z, Σ_i shares_i FGW(z, y_i)), by alternating between couplings and z; the sum falls in every iteration.

    Given couplings P_i, the best z has C_e = N² Σ_i shares_i P_i D_e P_iᵀ and F = N Σ_i shares_i P_i E_i.
    """

    def total(found: list[tuple[float, np.ndarray]]) -> float:
        return float(np.dot(shares, [distance for distance, _ in found]))

    z = start
    n = len(start[1])
    found = [fused_distance(z, y, alpha) for y in graphs]
    value = total(found)
    for _ in range(max_iter):
        couplings = [P for _, P in found]
        C = sum(s * np.matmul(np.matmul(P, y[0]), P.T) for s, P, y in zip(shares, couplings, graphs, strict=True))
        F = sum(s * (P @ y[1]) for s, P, y in zip(shares, couplings, graphs, strict=True))
        z = (np.asarray(C) * n**2, np.asarray(F) * n)
        found = [Fused(z, y, alpha).minimum(P) for y, P in zip(graphs, couplings, strict=True)]
        before = value
        value = total(found)
        if before - value > _ENOUGH * max(value, _TOL):
            continue
        # couplings from other starts may be better now
        others = [fused_distance(z, y, alpha) for y in graphs]
        found = [min(pair, key=lambda one: one[0]) for pair in zip(found, others, strict=True)]
        before = value
        value = total(found)
        if before - value <= _ENOUGH * max(value, _TOL):
            break
    return z, value


def canonical_order(x: Arrays) -> np.ndarray:
    """An order of the nodes that does not depend on their numbers, by colour refinement.

    Nodes are distinguished by their labels, then by those of their neighbours, and so on; of nodes with equal colours
    one is then put first, and colours are refined again. The order is the same for all numberings if nodes with equal
    colours are exchanged by a symmetry of the graph, as in nearly all graphs.
    """
    C, F = (np.round(values, _DIGITS) for values in x)
    n = len(F)
    own = np.concatenate([F, np.diagonal(C, axis1=1, axis2=2).T], axis=1)
    colours = _ranks(own)
    links = _ranks(np.concatenate([C, C.transpose(0, 2, 1)]).reshape(2 * len(C), -1).T).reshape(n, n)
    while True:
        colours = _refined(colours, links)
        counts = np.bincount(colours)
        if counts.max() == 1:
            return np.argsort(colours)
        tied = int(np.argmax(counts > 1))
        colours = 2 * colours
        colours[int(np.flatnonzero(colours == 2 * tied)[0])] -= 1
        colours = np.unique(colours, return_inverse=True)[1]


def _refined(colours: np.ndarray, links: np.ndarray) -> np.ndarray:
    """Colours refined by those of the neighbours until none changes."""
    n = len(colours)
    while True:
        seen = np.sort(links * n + colours[None, :], axis=1)
        finer = _ranks(np.column_stack([colours, seen]))
        if finer.max() == colours.max():
            return finer
        colours = finer


def _ranks(rows: np.ndarray) -> np.ndarray:
    """The rank of each row among the distinct ones, in the order of their entries."""
    return np.asarray(np.unique(rows, axis=0, return_inverse=True)[1]).ravel()
