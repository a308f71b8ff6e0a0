"""Small problems on pairs of nodes, and what every strategy is by its definition: loops over orders, dense systems."""

import numpy as np

from iokr.losses import MaxMargin
from iokr.solvers import CoordinateDescent

GAMMA = 0.3
LOSSES = {"square": None, "hinge": MaxMargin()}
EXACT = {"square": None, "hinge": CoordinateDescent(tol=1e-12)}
FORMS = [(mix, ordered) for mix in (0.0, 0.4, 1.0) for ordered in (False, True)]
STRATEGIES = [("kernel", 0.0), ("kernel", 0.5), ("duplicate", 0.5), ("duplicate", 1.0), ("local", 0.0)]


def network(seed=0, m=14, n=40, self_pairs=True):
    """Nodes, distinct pairs in any order (self-pairs among them), labels ±1 and new nodes."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(m, 3))
    every = np.array([(i, j) for i in range(m) for j in range(i, m) if self_pairs or i != j])
    pairs = every[rng.permutation(len(every))[:n]]
    turned = rng.uniform(size=n) < 0.5
    pairs[turned] = pairs[turned, ::-1]
    distance = ((X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2).sum(axis=1)
    y = np.where(distance + rng.normal(size=n) < np.median(distance), 1.0, -1.0)
    return X, pairs, y, rng.normal(size=(4, 3))


def gram(X, Z=None):
    Z = X if Z is None else Z
    return np.exp(-GAMMA * ((X[:, None] - Z[None]) ** 2).sum(axis=-1))


def orders(p):
    """The one or two points of a pair."""
    return sorted({(p[0], p[1]), (p[1], p[0])})


def point_kernel(K, delta):
    """2[δ1{a=c} + (1 − δ)k(a, c)]k(b, d) on points in order; −1 for nodes that are not the same as any."""
    return lambda x, z: 2 * (delta * (x[0] == z[0]) + (1 - delta) * K[x[0], z[0]]) * K[x[1], z[1]]


def set_kernel(k, P, Q):
    return np.array([[np.mean([k(x, z) for x in orders(p) for z in orders(q)]) for q in Q] for p in P])


def slow_ridge(K, pairs, y, alpha, strategy, delta, test):
    """The strategies as defined, with dense systems on explicit points; K over all nodes, test ones included."""
    k = point_kernel(K, delta)
    if strategy == "kernel":
        c = np.linalg.solve(set_kernel(k, pairs, pairs) + alpha * np.eye(len(y)), y)
        return set_kernel(k, test, pairs) @ c
    points = [x for p in pairs for x in orders(p)]
    weight = np.array([1 / len(orders(p)) for p in pairs for _ in orders(p)])
    labels = np.array([label for p, label in zip(pairs, y, strict=True) for _ in orders(p)])
    G = np.array([[k(x, z) for z in points] for x in points])
    c = np.linalg.solve(G + alpha * np.diag(1 / weight), labels)
    return np.array(
        [np.mean([sum(k(x, z) * v for z, v in zip(points, c, strict=True)) for x in orders(p)]) for p in test]
    )


def all_pairs(m):
    return np.array([(i, j) for i in range(m) for j in range(i, m)])
