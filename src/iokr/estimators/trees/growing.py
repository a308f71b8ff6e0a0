"""One tree of scikit-learn on coordinates of the outputs: its partition, and the outputs that share a leaf."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.sparse import csr_array

__all__ = ["Partition", "grow", "indicator", "leaf_weights"]

_PER_COORDINATE = ("min_impurity_decrease", "ccp_alpha")  # in units of scikit-learn's impurity, the variance over q
_NEAR_ONE = 10  # outputs within 2^±10 are not rescaled
_LARGEST_INTEGER = 2**62  # of a parameter of scikit-learn's tree


@dataclass(frozen=True)
class Partition:
    """A tree and the leaf of every training row."""

    tree: Any  # scikit-learn's; `impurity` is the variance of a node in the coordinates split on, `value` is empty
    leaf: np.ndarray  # the leaf, by node number, of every training row, in the bag or not
    weight: np.ndarray  # of the rows that the tree was grown on, zero for others

    def _stored(self) -> dict[str, Any]:
        return {"tree": self.tree, "leaf": self.leaf, "weight": self.weight}


def grow(
    X: Any, Z: np.ndarray, weight: np.ndarray | None, parameters: Mapping[str, Any], seed: int, rows: Any
) -> Partition:
    """Grow `DecisionTreeRegressor(**parameters)`, whose criterion on Z (n, q) is Var(S)/q = [mean K_ii − mean K_ij]/q.

    X is float32 in the layout for growing (C order or CSC), `rows` the same in the layout for `apply` (C order or CSR).
    Scikit-learn treats a node with a variance below 2e-16 as pure, so outputs in small units are scaled first, by a
    power of two, which rounds nothing.
    """
    from sklearn.tree import DecisionTreeRegressor  # loads half of scikit-learn, so only when a tree is grown

    q = Z.shape[1]
    shift = _exponent(Z)
    if shift:
        Z = np.ldexp(Z, -shift)
    scaled = {name: _per_coordinate(parameters[name], q, 2 * shift) for name in _PER_COORDINATE if name in parameters}
    model = DecisionTreeRegressor(**{**parameters, **scaled}, random_state=seed)
    missing = isinstance(X, np.ndarray) and bool(np.isnan(np.sum(X)))
    try:
        model.fit(X, Z, sample_weight=weight, check_input=missing)  # only this check looks for missing values
    except OverflowError as error:
        large = [name for name, value in parameters.items() if isinstance(value, int) and abs(value) > _LARGEST_INTEGER]
        raise ValueError(f"`{', '.join(large)}` must be a smaller integer ({error}).") from None
    unit = float(np.ldexp(q, 2 * shift))  # the variance is this times scikit-learn's impurity
    tree = _without_values(model.tree_, unit)
    return Partition(tree, tree.apply(rows), np.ones(len(Z)) if weight is None else weight)


def _per_coordinate(value: float, q: int, exponent: int) -> float:
    """value/(q 2^exponent), or the largest number where this overflows."""
    with np.errstate(over="ignore"):
        return min(float(np.ldexp(value / q, -exponent)), float(np.finfo(float).max))


def _exponent(Z: np.ndarray) -> int:
    """e with max |Z| ≈ 2^e, or 0 where that is near enough to 1."""
    largest = max(float(Z.max(initial=0.0)), -float(Z.min(initial=0.0)))
    if largest == 0:
        return 0
    e = int(np.frexp(largest)[1])
    return e if abs(e) > _NEAR_ONE else 0


def _without_values(tree: Any, unit: float) -> Any:
    """The tree with variances for impurities and without (nodes, q) values, through its pickle protocol."""
    kind, (n_features, _, _), state = tree.__reduce__()
    nodes = state["nodes"].copy()
    nodes["impurity"] *= unit
    light = kind(n_features, np.ones(1, dtype=np.intp), 1)
    light.__setstate__({**state, "nodes": nodes, "values": np.zeros((len(nodes), 1, 1))})
    return light


def leaf_weights(partitions: Sequence[Partition]) -> csr_array:
    """β, (nodes of all trees, n): row ℓ is w_i/Σ w over the members i of leaf ℓ, so that row · Ψ is the leaf's mean."""
    n = len(partitions[0].leaf)
    start = 0
    rows = []
    columns = []
    values = []
    for partition in partitions:
        members = np.flatnonzero(partition.weight)
        leaf = partition.leaf[members]
        w = partition.weight[members]
        rows.append(start + leaf)
        columns.append(members)
        values.append(w / np.bincount(leaf, w)[leaf])
        start += partition.tree.node_count
    entries = np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))
    return csr_array(entries, shape=(start, n))


def indicator(leaves: np.ndarray, starts: np.ndarray, weight: np.ndarray | None = None) -> csr_array:
    """(m, nodes of all trees): `weight`, or one over the number of trees, at the leaf of row i in each tree t.

    Leaves and weights are (m, T), leaves by node number; the nodes of each tree begin at `starts`, (T + 1,). Entries
    of weight zero are left out.
    """
    m, T = leaves.shape
    nodes = leaves + starts[:-1]
    shape = (m, starts[-1])
    if weight is None:
        ones = np.full(m * T, 1.0 / T)
        return csr_array((ones, nodes.ravel(), np.arange(0, m * T + 1, T)), shape=shape)
    i, t = np.nonzero(weight)
    return csr_array((weight[i, t], (i, nodes[i, t])), shape=shape)
