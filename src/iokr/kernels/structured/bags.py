"""Kernels on finite sets of objects, made of a kernel on their members."""

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
from iokr.data.ragged import places_within
from iokr.kernels.base import Kernel, MemberKernel, fit_part

__all__ = ["Bags", "SetKernel", "averages"]


@component
class SetKernel(MemberKernel):
    """k_P(p, q) = mean of k(x, z) over x ∈ p, z ∈ q: an object is a finite set of objects.

    The kernel between the mean features of two sets, for bags of instances, molecules with several conformers, or the
    two orders of a pair: `TensorPair` is the mean of 2k(a, c)k(b, d) over {(a, b), (b, a)}. A member that is listed
    twice counts twice.

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

    def fit(self, X: Any) -> SetKernel:
        """Fit `base` to all members."""
        self.check_base("members")
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
        left, sizes = R.chosen()
        right, others = S.chosen()
        K = self.base_.block(left, right)
        return matmul(matmul(averages(sizes, K), K), averages(others, K).T)

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
        self.members = members
        self.starts = starts
        self.rows = rows
        self.shape = (len(rows),)

    def _stored(self) -> dict[str, Any]:
        return {"members": self.members, "starts": self.starts, "rows": self.rows, "shape": self.shape}

    def __len__(self) -> int:
        return len(self.rows)

    def __getitem__(self, index: Any) -> Bags:
        return Bags(self.members, self.starts, self.rows[index])

    def chosen(self) -> tuple[Any, np.ndarray]:
        """The members of these sets, and the number of members of each."""
        sizes = np.diff(self.starts)[self.rows]
        first = np.repeat(self.starts[self.rows], sizes)
        return take_rows(self.members, first + places_within(sizes)), sizes


@contextmanager
def _named_by_set(starts: np.ndarray) -> Iterator[None]:
    """Errors about a member give its set."""
    try:
        yield
    except BadObject as error:
        if isinstance(error.index, str):
            raise
        which = int(np.searchsorted(starts, error.index, side="right")) - 1
        inside = f"{error.kind.lower()} {error.index - int(starts[which])}"
        raise type(error)("Set", which, f": {inside}{error.text}", error.argument) from None


def averages(sizes: np.ndarray, like: Array) -> Array:
    """(sets, members): 1/|p| where a member is in p; members stand one set after the other."""
    A = np.zeros((len(sizes), int(sizes.sum())))
    A[np.repeat(np.arange(len(sizes)), sizes), np.arange(A.shape[1])] = np.repeat(1 / np.maximum(sizes, 1), sizes)
    return asarray_like(A, like)


def _flatten(X: Any, base: Kernel) -> tuple[Any, np.ndarray]:
    """All members in one sequence, and where each set begins in it."""
    bags = _bags(X)
    sizes = np.array([n_objects(bag) for bag in bags], dtype=np.intp)
    if np.any(sizes == 0):
        raise BadObject("Set", int(np.argmin(sizes)), " is empty; a mean over no members is undefined.")
    starts = np.concatenate([[0], np.cumsum(sizes)])
    if bags and all(is_array(bag) for bag in bags):
        return array_namespace(*bags).concat(bags, axis=0), starts
    members = [member for bag in bags for member in bag]
    if base.numeric or base.domain in ("indices", "pairs"):
        return as_array(members), starts
    return as_objects(members), starts


def _bags(X: Any) -> list[Any]:
    """The sets, as arrays or lists; those of one array are its rows."""
    n_objects(X)
    is_stack = is_array(X) and len(X.shape) > 1
    bags: list[Any] = []
    for i, bag in enumerate([X[i, ...] for i in range(X.shape[0])] if is_stack else as_objects(X)):
        if isinstance(bag, (str, bytes)) or not (hasattr(bag, "__iter__") or is_array(bag)):
            raise TypeError(f"With `SetKernel` objects are sets: lists or arrays of members; set {i} is {bag!r:.40}.")
        bag = read(bag, matrix=True)
        bags.append(bag if hasattr(bag, "shape") else list(bag))
    return bags
