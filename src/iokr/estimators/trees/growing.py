"""One tree of scikit-learn: the coordinates of the outputs that it splits on, its partition, and shared leaves."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import ceil, log2
from typing import Any

import numpy as np
from scipy.sparse import csr_array, vstack

from iokr._array import eigh
from iokr._validation.arguments import check_number

__all__ = [
    "Partition",
    "SplitSpace",
    "check_projection",
    "grow",
    "indicator",
    "leaf_weights",
    "on_grid",
    "principal_axes",
]

_FAR = 1e4  # mean² over variance above which the points are centred
_EXACT_COUNT = 2.0**26  # above this total weight no grid makes the sums exact
_TINY = float(np.finfo(float).tiny)
_DIGITS = 52  # bits of a float64 that carry a sum exactly
_PER_COORDINATE = ("min_impurity_decrease", "ccp_alpha")  # in units of scikit-learn's impurity, the variance over q
_NEAR_ONE = 10  # outputs within 2^±10 are not rescaled


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
    model.fit(X, Z, sample_weight=weight, check_input=missing)  # only this check looks for missing values
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
    trees = []
    for partition in partitions:
        members = np.flatnonzero(partition.weight)
        leaf = partition.leaf[members]
        w = partition.weight[members]
        shape = (partition.tree.node_count, len(partition.leaf))
        trees.append(csr_array((w / np.bincount(leaf, w)[leaf], (leaf, members)), shape=shape))
    return csr_array(vstack(trees, format="csr"))


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


def check_projection(n_components: Any, tol: Any, projection: Any) -> None:
    """Raise unless the parameters that choose the coordinates go together."""
    if tol is not None and check_number(tol, "tol", minimum=0.0) >= 1:
        raise ValueError(f"`tol` must be a fraction of the variance, at least 0 and below 1, got {tol!r}.")
    if projection == "random" and (n_components is None or tol is not None):
        raise ValueError(
            '`projection="random"` needs `n_components`, the number of directions, and does not take `tol`; for a '
            'tolerance use `projection="principal"`.'
        )


def principal_axes(Z: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(Z − μ) U and s, with U diag(s) Uᵀ the weighted covariance of the rows of Z; variances descend.

    The smaller of the covariance (q, q) and the Gram matrix (n, n) is diagonalised.
    """
    fraction = weight / weight.sum()
    Z = Z - fraction @ Z
    A = np.sqrt(fraction)[:, None] * Z
    n, q = A.shape
    if q <= n:
        s, U = eigh(A.T @ A, overwrite=True)
        return Z @ U[:, ::-1], np.clip(s[::-1], 0.0, None)
    s, V = eigh(A @ A.T, overwrite=True)
    if s[-1] <= 0:  # a single point: every axis has all of its variance, which is zero
        return Z[:, :1], np.zeros(1)
    positive = s > n * np.finfo(float).eps * float(s[-1])
    s = s[positive]
    U = A.T @ (V[:, positive] / np.sqrt(s))
    return Z @ U[:, ::-1], np.clip(s[::-1], 0.0, None)


def on_grid(Z: np.ndarray, n_terms: float) -> np.ndarray:
    """Z rounded to multiples of a power of two so large that sums of n_terms such numbers are exact."""
    largest = float(np.max(np.abs(Z), initial=0.0))
    if largest == 0:
        return Z
    unit = ceil(log2(largest)) + ceil(log2(n_terms)) - _DIGITS
    return np.asarray(np.ldexp(np.rint(np.ldexp(Z, -unit)), unit))


class SplitSpace:
    """Orthonormal coordinates Z (n, q) of the outputs, Z Zᵀ = K_Y, and the directions along which trees split.

    The attribute Z holds these points, centred if they lie far from the origin, and in principal axes if only some of
    these are used. Weights enter the variance of the rows. `given`: the vectors of the user, which go to scikit-learn
    as they are when all coordinates are used.
    """

    def __init__(
        self,
        Z: np.ndarray,
        weight: np.ndarray,
        n_components: int | None,
        tol: float | None,
        projection: str,
        *,
        given: bool,
    ) -> None:
        self.given = given
        self.random = projection == "random"
        self.normalized_weight = weight / weight.sum()
        # Sums over rows have as many terms as the total weight where weights are counts, at least one for each row.
        total = float(weight.sum())
        counts = np.array_equal(weight, np.floor(weight)) and total < _EXACT_COUNT
        self.n_terms = max(total if counts else 0.0, len(weight))
        self.n_components = n_components
        self.Z = Z
        mean = self.normalized_weight @ Z
        if mean @ mean > _FAR * self._variance(Z):
            self.Z = Z - mean  # trees subtract squares of means: few digits are left far from the origin
        if not self.random and (n_components is not None or tol is not None):
            self._keep_principal_axes(weight, tol)

    def _keep_principal_axes(self, weight: np.ndarray, tol: float | None) -> None:
        """Rotate Z to principal axes, and set how many of them are used and what the others lose."""
        self.Z, s = principal_axes(self.Z, weight)
        # beyond[k] is the fraction of the variance outside the first k axes
        beyond = np.append(np.cumsum(s[::-1])[::-1], 0.0) / max(float(s.sum()), _TINY)
        enough = len(s) if tol is None else int(np.argmax(beyond <= tol))
        most = len(s) if self.n_components is None else self.n_components
        self.n_components = max(1, min(enough, most))
        self._lost_variance = float(beyond[min(self.n_components, len(s))])

    def directions(self, rng: np.random.RandomState) -> tuple[np.ndarray | None, float]:
        """Random directions (q, k) for one tree, None for the first axes, and the fraction of the variance lost.

        Random directions are orthonormal, times √(q/k), so that variances keep their size on average.
        """
        q = self.Z.shape[1]
        if self.n_components is None or self.n_components >= q:
            return None, 0.0
        if not self.random:
            return None, self._lost_variance
        Q = np.asarray(np.linalg.qr(rng.standard_normal((q, self.n_components)))[0])
        lost = 1.0 - self._variance(self.Z @ Q) / max(self._variance(self.Z), _TINY)
        return Q * np.sqrt(q / self.n_components), lost

    def project(self, E: np.ndarray, directions: np.ndarray | None) -> np.ndarray:
        """The coordinates to split on, (n, k), of outputs or residuals with coordinates E (n, q).

        They are rounded to a grid on which sums over rows are exact. Splits that separate the same rows then gain
        exactly the same, in any order of the rows: ties are broken by the order of the features, not by
        rounding.
        """
        projected = E[:, : self.n_components] if directions is None else E @ directions
        if self.given and E is self.Z and projected.shape == E.shape:
            return E
        return np.ascontiguousarray(on_grid(projected, self.n_terms))

    def _variance(self, Z: np.ndarray) -> float:
        deviation = Z - self.normalized_weight @ Z
        return float(self.normalized_weight @ np.sum(deviation**2, axis=1))
