"""One tree of scikit-learn's on coordinates of the outputs: its partition, and which outputs share a leaf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

__all__ = ["Grown", "grow", "indicator", "leaf_weights"]

_PER_COORDINATE = ("min_impurity_decrease", "ccp_alpha")  # scikit-learn's impurity is the variance over q


@dataclass(frozen=True)
class Grown:
    """A tree and where the training rows fall."""

    tree: Any  # scikit-learn's; `impurity` is the variance of a node's outputs in the coordinates split on, no `value`
    leaf: np.ndarray  # the leaf, by node number, of every training row, in the bag or not
    weight: np.ndarray  # of the rows that the tree was grown on, zero for others


def grow(
    X: Any, Z: np.ndarray, weight: np.ndarray | None, parameters: Mapping[str, Any], seed: int, rows: Any
) -> Grown:
    """Grow `DecisionTreeRegressor(**parameters)`, whose criterion on Z (n, q) is Var(S)/q = [mean K_ii − mean K_ij]/q.

    X is float32 in the layout for growing (C order or CSC), `rows` the same in the layout for `apply` (C order or CSR).
    Scikit-learn takes a node whose variance is below 2e-16 for pure, so outputs in small units are lengthened before,
    by a power of two: nothing is rounded.
    """
    from sklearn.tree import DecisionTreeRegressor  # brings half of scikit-learn: loaded when a tree is grown

    shift = _exponent(Z)
    Z = np.ldexp(Z, -shift) if shift else Z
    q = float(np.ldexp(Z.shape[1], 2 * shift))  # the variance is q times scikit-learn's impurity
    scaled = {name: _over(parameters[name], Z.shape[1], 2 * shift) for name in _PER_COORDINATE if name in parameters}
    model = DecisionTreeRegressor(**{**parameters, **scaled}, random_state=seed)
    missing = isinstance(X, np.ndarray) and bool(np.isnan(np.sum(X)))
    try:
        model.fit(X, Z, sample_weight=weight, check_input=missing)  # only the check looks for missing values
    except OverflowError as error:
        large = [name for name, value in parameters.items() if isinstance(value, int) and abs(value) > 2**62]
        raise ValueError(f"`{', '.join(large)}` must be a smaller integer ({error}).") from None
    tree = _without_values(model.tree_, q)
    return Grown(tree, tree.apply(rows), np.ones(len(Z)) if weight is None else weight)


def _over(value: float, q: int, exponent: int) -> float:
    """value/(q 2^exponent), or the largest number."""
    with np.errstate(over="ignore"):
        return min(float(np.ldexp(value / q, -exponent)), float(np.finfo(float).max))


def _exponent(Z: np.ndarray) -> int:
    """e with max |Z| ≈ 2^e, or 0 where that is near enough to 1."""
    largest = max(float(Z.max(initial=0.0)), -float(Z.min(initial=0.0)))
    e = int(np.frexp(largest)[1]) if largest else 0
    return e if abs(e) > 10 else 0


def _without_values(tree: Any, q: float) -> Any:
    """The tree with variances for impurities and no (nodes, q) values, through the protocol that pickles it."""
    kind, (n_features, _, _), state = tree.__reduce__()
    nodes = state["nodes"].copy()
    nodes["impurity"] *= q
    light = kind(n_features, np.ones(1, dtype=np.intp), 1)
    light.__setstate__({**state, "nodes": nodes, "values": np.zeros((len(nodes), 1, 1))})
    return light


def leaf_weights(grown: Sequence[Grown]) -> csr_array:
    """β, (nodes of all trees, n): row ℓ is w_i/Σ w over the members i of leaf ℓ, so that row · Ψ is the leaf's mean."""
    n = len(grown[0].leaf)
    start, rows, columns, values = 0, [], [], []
    for one in grown:
        members = np.flatnonzero(one.weight)
        leaf, w = one.leaf[members], one.weight[members]
        rows.append(start + leaf)
        columns.append(members)
        values.append(w / np.bincount(leaf, w)[leaf])
        start += one.tree.node_count
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return csr_array(entries, shape=(start, n))


def indicator(leaves: np.ndarray, starts: np.ndarray, weight: np.ndarray | None = None) -> csr_array:
    """(m, nodes of all trees): `weight`, or one over the number of trees, where row i falls in tree t; 0 is left out.

    Leaves and weights are (m, T), leaves by node number; the nodes of each tree begin at `starts`, (T + 1,).
    """
    m, T = leaves.shape
    nodes = leaves + starts[:-1]
    if weight is None:
        return csr_array((np.full(m * T, 1.0 / T), nodes.ravel(), np.arange(0, m * T + 1, T)), shape=(m, starts[-1]))
    i, t = np.nonzero(weight)
    return csr_array((weight[i, t], (i, nodes[i, t])), shape=(m, starts[-1]))
