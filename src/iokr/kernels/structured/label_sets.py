"""A kernel on sets of labels."""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from math import sqrt
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, is_numpy, is_sparse
from iokr._component import component
from iokr.data.frames import read
from iokr.data.objects import BadObject, BadObjectType, as_objects, is_numeric, is_sequence, n_objects
from iokr.kernels.base import FeatureKernel

__all__ = ["Hamming"]

_EXACT = 1 << 24  # single precision has all whole numbers up to this


@component
class Hamming(FeatureKernel):
    """k(x, z) = 1 − |x Δ z| / d for sets x, z of labels out of d: the fraction of labels on which the two agree.

    ψ(x) has a sign for each label, so that ‖ψ(x) − ψ(z)‖² is twice the Hamming loss, and a label that neither set has
    counts as much as one that both have (`Jaccard` leaves it out). Objects are Python sets, or rows of zeros and ones.
    Labels that are not known at `fit` raise an error. A block costs 2nmd flops, one product. For rows of categories use
    `Positional(Delta())`, which counts the entries that agree.

    Parameters
    ----------
    labels : sequence, default=None
        All labels; None takes those of the sets at `fit`, or the columns of rows.

    Attributes
    ----------
    labels_ : list
        The labels; column numbers for rows.

    Examples
    --------
    >>> from iokr.kernels import Hamming
    >>> Hamming(["jazz", "folk", "rock", "pop"])([{"jazz", "folk"}], [{"jazz"}, {"rock"}, set()])
    array([[0.75, 0.25, 0.5 ]])
    >>> Hamming()([[1, 1, 0, 0]], [[1, 0, 0, 0]])
    array([[0.75]])
    """

    labels: Sequence[Any] | None = None

    domain = "sets"

    def fit(self, X: Any) -> Hamming:
        """The labels."""
        n_objects(X)
        X = read(X, matrix=True)
        if self.labels is not None:
            if isinstance(self.labels, str) or not isinstance(self.labels, Iterable):
                raise TypeError(f"`labels` must be a sequence of all labels, got {self.labels!r:.60}.")
            self.labels_ = as_objects(self.labels).tolist()
        elif is_numeric(X) and len(X.shape) == 2:
            self.labels_ = list(range(X.shape[1]))
        else:
            found: dict[Hashable, None] = {}  # in order of appearance
            for x in as_objects(X):
                labels = sorted(x, key=str) if isinstance(x, (set, frozenset)) else range(_length(x))
                found.update(dict.fromkeys(labels))
            self.labels_ = list(found)
        if len(set(self.labels_)) != len(self.labels_):
            raise ValueError("`labels` names a label twice; each counts once.")
        if not self.labels_:
            raise ValueError("The sets at `fit` have no labels; give all labels as `labels`.")
        return self

    def features(self, X: Any) -> Array:
        """(±1/√(2d) for each label, 1/√2)."""
        rows = self._rows(X)
        xp = array_namespace(rows)
        signs = (2.0 * rows - 1.0) / sqrt(2.0 * len(self.labels_))
        return xp.concat([signs, xp.full_like(signs[:, :1], sqrt(0.5))], axis=1)

    def block(self, R: Array, S: Array) -> Array:
        """The (n, m) array of k(x_i, z_j), in single precision where sums of signs are exact."""
        d = len(self.labels_)
        if not is_numpy(R) or not is_numpy(S) or d >= _EXACT:
            return super().block(R, S)
        left = np.sign(R[:, :-1]).astype(np.float32)
        right = np.sign(S[:, :-1]).astype(np.float32)
        K = (left @ right.T).astype(np.float64)
        K /= 2.0 * d
        K += 0.5
        return K

    def _rows(self, X: Any) -> Array:
        """Zeros and ones, a column for each label. Errors give the number of the object."""
        n_objects(X)
        X = read(X, matrix=True)
        if not is_numeric(X):
            return self._indicators(as_objects(X))
        X = X.toarray() if is_sparse(X) else X
        if X.ndim != 2 or X.shape[1] != len(self.labels_):
            known = len(self.labels_)
            raise BadObject("Rows", f"of shape {tuple(X.shape)}", f" do not match the {known} labels at fit.")
        xp = array_namespace(X)
        bad = xp.any((X != 0) & (X != 1), axis=1)
        if bool(xp.any(bad)):
            i = int(xp.argmax(xp.astype(bad, xp.int64)))
            raise BadObject("Row", i, " has entries other than 0 and 1; for categories use `Positional(Delta())`.")
        return xp.astype(X, xp.float64) if not is_numpy(X) else X.astype(np.float64)

    def _indicators(self, X: np.ndarray) -> np.ndarray:
        columns = {label: j for j, label in enumerate(self.labels_)}
        found = [_columns_of(x, columns, i) for i, x in enumerate(X)]
        rows = np.zeros((len(X), len(columns)))
        owners = np.repeat(np.arange(len(X)), [len(ones) for ones in found])
        rows[owners, np.array([j for ones in found for j in ones], dtype=np.intp)] = 1.0
        return rows


def _columns_of(x: Any, columns: dict[Hashable, int], i: int) -> list[int]:
    """The columns of the labels of a set, or of the ones of a row."""
    if isinstance(x, (set, frozenset)):
        try:
            return [columns[label] for label in x]
        except KeyError as error:
            raise BadObject(
                "Set", i, f" has the label {error.args[0]!r:.60}, which is unknown; give all labels as `labels`."
            ) from None
    if _length(x) == len(columns) and all(value in (0, 1) for value in np.asarray(x).tolist()):
        ones: list[int] = np.flatnonzero(np.asarray(x)).tolist()
        return ones
    raise BadObjectType(
        "Object", i, f" must be a set of labels, or a row of {len(columns)} zeros and ones, got {x!r:.60}."
    )


def _length(x: Any) -> int:
    """The number of entries of a row; 0 for other objects."""
    if isinstance(x, (str, bytes)) or not is_sequence(x):
        return 0
    try:
        return len(x) if np.ndim(x) == 1 else 0
    except ValueError:  # entries of different lengths
        return 0
