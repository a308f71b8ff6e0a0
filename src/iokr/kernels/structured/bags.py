"""Kernels on finite sets of objects, by a kernel on their members."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, is_array, matmul, take_rows, unwarned
from iokr._component import component
from iokr._validation.arguments import check_computed
from iokr.data.frames import read
from iokr.data.objects import BadObject, as_array, as_objects, n_objects
from iokr.kernels.base import Kernel, check_part, fit_part

__all__ = ["Bags", "SetKernel"]


@component
class SetKernel(Kernel):
    """k_P(p, q) = mean of k(x, z) over x ∈ p, z ∈ q: an object is a finite set of objects.

    The kernel between the mean features of two sets. Bags of instances, molecules with several conformers, or the two
    orders of a pair: `TensorPair` is the mean of 2k(a, c)k(b, d) over {(a, b), (b, a)}. A member that is listed twice
    counts twice.

    Parameters
    ----------
    base : Kernel
        k on the members.

    References
    ----------
    Hue, Vert, ICML 2010, Eq. 2.

    Examples
    --------
    >>> from iokr.kernels import Linear, SetKernel
    >>> SetKernel(Linear())([[[0.0], [2.0]], [[3.0]]])
    array([[1., 3.],
           [3., 9.]])
    """

    base: Any

    domain = "bags"

    @property
    def trusted(self) -> bool:  # type: ignore[override]
        """As far as the kernel on members is."""
        return check_part(self.base, "base").trusted

    def fit(self, X: Any) -> SetKernel:
        """Fit `base` to all members."""
        if check_part(self.base, "base").pairwise:
            raise ValueError("`base` must know k between any members: give `Precomputed(matrix)`, not `Precomputed()`.")
        members, starts = _flatten(X, self.base)
        with _named_by_set(starts):
            self.base_ = fit_part(self.base, "base", members)
        return self

    def represent(self, X: Any) -> Bags:
        """Members one after the other, and where each set begins."""
        members, starts = _flatten(X, self.base)
        with _named_by_set(starts):
            R = self.base_.represent(members)
            check_computed(self.base_.diag(R))
        return Bags(R, starts, np.arange(len(starts) - 1))

    def block(self, R: Bags, S: Bags) -> Array:
        """The (n, m) array of means of k(x, z)."""
        (left, sizes), (right, others) = R.chosen(), S.chosen()
        K = self.base_.block(left, right)
        return matmul(matmul(_averages(sizes, K), K), _averages(others, K).T)

    def diag(self, R: Bags) -> Array:
        """The mean of k over each set with itself."""
        values = []
        for i in range(len(R)):
            members, _ = R[i : i + 1].chosen()
            K = self.base_.block(members, members)
            with unwarned():
                values.append(array_namespace(K).mean(K))
        xp = array_namespace(*values)
        return xp.stack(values) if values else np.empty(0)


class Bags:
    """Represented members of many sets; indexing takes sets."""

    def __init__(self, members: Any, starts: np.ndarray, rows: np.ndarray) -> None:
        self.members, self.starts, self.rows = members, starts, rows
        self.shape = (len(rows),)

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Bags:
        return Bags(self.members, self.starts, self.rows[index])

    def chosen(self) -> tuple[Any, np.ndarray]:
        """The members of these sets and how many each has."""
        sizes = np.diff(self.starts)[self.rows]
        first = np.repeat(self.starts[self.rows] - np.concatenate([[0], np.cumsum(sizes)[:-1]]), sizes)
        return take_rows(self.members, first + np.arange(int(sizes.sum()))), sizes


@contextmanager
def _named_by_set(starts: np.ndarray) -> Iterator[None]:
    """A member that is refused is named by its set."""
    try:
        yield
    except BadObject as error:
        if isinstance(error.index, str):
            raise
        which = int(np.searchsorted(starts, error.index, side="right")) - 1
        inside = f"{error.kind.lower()} {error.index - int(starts[which])}"
        raise type(error)("Set", which, f": {inside}{error.text}", error.argument) from None


def _averages(sizes: np.ndarray, like: Array) -> Array:
    """(sets, members): 1/|p| where a member is in p."""
    A = np.zeros((len(sizes), int(sizes.sum())))
    A[np.repeat(np.arange(len(sizes)), sizes), np.arange(A.shape[1])] = np.repeat(1 / np.maximum(sizes, 1), sizes)
    return asarray_like(A, like)


def _flatten(X: Any, base: Any) -> tuple[Any, np.ndarray]:
    """All members in one sequence, and where each set begins in it."""
    bags: list[Any] = []
    n_objects(X)
    whole = is_array(X) and len(X.shape) > 1  # one array of sets, all of one size
    for i, bag in enumerate([X[i, ...] for i in range(X.shape[0])] if whole else as_objects(X)):
        if isinstance(bag, (str, bytes)) or not (hasattr(bag, "__iter__") or is_array(bag)):
            raise TypeError(f"With `SetKernel` objects are sets: lists or arrays of members; set {i} is {bag!r:.40}.")
        bag = read(bag, matrix=True)
        bags.append(bag if hasattr(bag, "shape") else list(bag))
    sizes = np.array([n_objects(bag) for bag in bags], dtype=np.intp)
    if np.any(sizes == 0):
        raise BadObject("Set", int(np.argmin(sizes)), " is empty; a mean over no members is undefined.")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    if all(is_array(bag) for bag in bags) and bags:
        for i, bag in enumerate(bags):
            if bag.shape[1:] != bags[0].shape[1:]:
                raise BadObject(
                    "Set", i, f" has members of shape {tuple(bag.shape[1:])}, others of {tuple(bags[0].shape[1:])}."
                )
        return _finite(array_namespace(*bags).concat(bags, axis=0), starts, base), starts
    members = [member for bag in bags for member in bag]
    if isinstance(base, Kernel) and (base.numeric or base.domain in ("indices", "pairs")):
        return _finite(_numbers(members, starts), starts, base), starts
    return as_objects(members), starts


def _finite(members: Array, starts: np.ndarray, base: Any) -> Array:
    """Members as they are; for a kernel on numbers, the set of one that is NaN or infinite is named."""
    xp = array_namespace(members)
    if isinstance(base, Kernel) and base.numeric and xp.isdtype(members.dtype, "real floating"):
        bad = ~xp.isfinite(members)
        if bool(xp.any(bad)):
            rows = xp.any(xp.reshape(bad, (members.shape[0], -1)), axis=1)
            i = int(np.searchsorted(starts, int(xp.argmax(xp.astype(rows, xp.int8))), side="right")) - 1
            raise BadObject("Set", i, " has a member with NaN or infinity; remove or impute such entries.")
    return members


def _numbers(members: list[Any], starts: np.ndarray) -> np.ndarray:
    """Members that are numbers, or vectors of one length, as an array; another one is refused by its set."""
    try:
        return as_array(members)
    except ValueError:
        shape = _shape(members[0])
        for j, member in enumerate(members):
            if shape is None or _shape(member) != shape:
                i = int(np.searchsorted(starts, j, side="right")) - 1
                raise BadObject(
                    "Set",
                    i,
                    f" has the member {member!r:.40}, where others are vectors of one length; give it as many.",
                ) from None
        raise


def _shape(member: Any) -> tuple[int, ...] | None:
    try:
        return tuple(np.shape(member))
    except ValueError:
        return None
