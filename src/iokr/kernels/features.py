"""k(x, z) = ⟨φ(x), φ(z)⟩ with φ a transformer or the similarities to the objects at fit; kernels on columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol, runtime_checkable

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags

from iokr._array import Array, array_namespace, is_array, is_numpy
from iokr._component import component
from iokr._system.memory import check_matrix
from iokr._validation.arguments import check_computed, check_vectors
from iokr.data.frames import column_names, read, select_columns
from iokr.data.objects import as_objects
from iokr.gram.scalar import ScalarGram
from iokr.kernels.base import FeatureKernel, Kernel, WrappedKernel, check_part, fit_part

__all__ = ["Columns", "EmpiricalMap", "Features", "Similarity"]


@runtime_checkable
class Similarity(Protocol):
    """What compares objects: every kernel, and similarities that are not positive semi-definite."""

    domain: str

    def fit(self, X: Any) -> Any:
        """Learn what depends on data."""

    def represent(self, X: Any) -> Any:
        """Check and parse the objects, once."""

    def block(self, R: Any, S: Any) -> Array:
        """The (n, m) array of s(x_i, z_j)."""

    def diag(self, R: Any) -> Array:
        """The (n,) array of s(x_i, x_i)."""


@component
class Features(FeatureKernel):
    """k(x, z) = ⟨φ(x), φ(z)⟩, φ a scikit-learn transformer (pipeline, vectoriser, random feature map) or a function.

    Parameters
    ----------
    transformer : object with `fit` and `transform`, or function
        Cloned and fitted to the objects at `fit`; its output may be sparse. A function, such as a pre-trained encoder,
        takes a sequence of objects and returns a row of numbers for each.

    Examples
    --------
    >>> from sklearn.feature_extraction.text import CountVectorizer
    >>> from iokr.kernels import Features
    >>> Features(CountVectorizer(analyzer="char"))(["abba"], ["ab"])
    array([[4.]])
    """

    transformer: Any

    def fit(self, X: Any) -> Features:
        """Fit a clone of the transformer."""
        if self._is_function:
            self.transformer_ = self.transformer
            return self
        if not hasattr(self.transformer, "transform"):
            raise TypeError(
                f"`transformer` must have `fit` and `transform`, or be a function, got {self.transformer!r:.60}."
            )
        self.transformer_ = clone(self.transformer)
        self._apply(self.transformer_.fit, X)
        return self

    def features(self, X: Any) -> Any:
        """φ(x_i), a row per object."""
        transform = self.transformer_ if self._is_function else self.transformer_.transform
        return check_vectors(self._apply(transform, X), "features")

    @property
    def _is_function(self) -> bool:
        return callable(self.transformer) and not hasattr(self.transformer, "transform")

    def _apply(self, method: Callable[[Any], Any], X: Any) -> Any:
        """`method(X)`; transformers of matrices take tables themselves, others get a sequence of objects."""
        takes_tables = not self._is_function and get_tags(self.transformer_).input_tags.two_d_array
        is_frame = column_names(X) is not None
        if isinstance(X, np.ma.MaskedArray) or (is_frame and not takes_tables):
            X = read(X)
        return method(X)


@component
class EmpiricalMap(FeatureKernel):
    """k(x, z) = Σ_c base(c, x) base(c, z), c the objects at fit: φ(x) is the vector of similarities of x to them.

    Equal to K² on the objects at fit, for K the Gram matrix of the base. For each position of a sequence, as in
    `Positional(EmpiricalMap(base), pooled=False)`, this is the map of Kadri et al. (2012), Section 5.2, from Cortes et
    al. (2007). It costs n evaluations of the base for each object, n objects at fit, then 2n flops a pair.

    Parameters
    ----------
    base : Kernel
        Or any similarity with `domain`, `fit`, `represent`, `block` and `diag`, such as `iokr.chem.modified_cosine`:
        the map is positive semi-definite even when the base is not.

    Examples
    --------
    >>> from iokr.kernels import EmpiricalMap, Linear
    >>> EmpiricalMap(Linear())([[1.0], [2.0]])
    array([[ 5., 10.],
           [10., 20.]])
    """

    base: Similarity

    @property
    def domain(self) -> str:  # type: ignore[override]
        """That of the base."""
        return self._similarity.domain

    @property
    def _similarity(self) -> Similarity:
        return self.base if isinstance(self.base, Similarity) else check_part(self.base, "base")

    def fit(self, X: Any) -> EmpiricalMap:
        """Fit a clone of the base, and keep the objects."""
        self.base_ = clone(self._similarity).fit(X)
        self.R_fit_ = self.base_.represent(X)
        check_computed(self.base_.diag(self.R_fit_))
        return self

    def gram(self, R: Any, S: Any = None) -> ScalarGram:
        """C ↦ K C: there are as many features as objects."""
        return Kernel.gram(self, R, S)

    def features(self, X: Any) -> Any:
        """base(x_i, c), a column for each object c at fit."""
        R = self.base_.represent(X)
        check_matrix(R.shape[0], self.R_fit_.shape[0], R, what="Features")
        return check_computed(self.base_.block(R, self.R_fit_), what="k(x, ·)")


@component
class Columns(WrappedKernel):
    """k(x, z) = base(x[columns], z[columns]): a kernel on some of the columns.

    The base takes the values of a single column, and vectors of numbers for several, so that kernels on columns of
    different kinds can be added and multiplied: `Columns(Spectrum(2), "name") * Columns(RBF(), ["mass", "charge"])`.

    Parameters
    ----------
    base : Kernel
    columns : int, str, list of int, list of str, or slice
        Names require data frames, in `fit` and later.

    Examples
    --------
    >>> import pandas as pd
    >>> from iokr.kernels import Columns, Linear, Spectrum
    >>> Columns(Linear(), [0])([[1.0, 5.0]], [[2.0, 7.0]])
    array([[2.]])
    >>> table = pd.DataFrame({"word": ["abc", "bcd"], "mass": [2.0, 3.0]})
    >>> (Columns(Spectrum(2), "word") * Columns(Linear(), ["mass"]))(table)
    array([[ 8.,  6.],
           [ 6., 18.]])
    """

    base: Kernel
    columns: Any

    @property
    def domain(self) -> str:  # type: ignore[override]
        """Vectors, or rows of tables where columns have names or contain other objects."""
        named = any(isinstance(c, str) for c in self._listed())
        return "vectors" if check_part(self.base, "base").numeric and not named else "tables"

    def fit(self, X: Any) -> Columns:
        """Fit the base on these columns."""
        self.base_ = fit_part(self.base, "base", self._select(X))
        return self

    def represent(self, X: Any) -> Any:
        """The base's representation of these columns."""
        return self.base_.represent(self._select(X))

    def _listed(self) -> list[Any]:
        """The columns as a list, empty for a slice."""
        if isinstance(self.columns, slice):
            return []
        listed = list(self.columns) if isinstance(self.columns, (list, tuple, np.ndarray)) else [self.columns]
        if not listed or not all(isinstance(c, (str, int, np.integer)) and not isinstance(c, bool) for c in listed):
            raise TypeError(
                "`columns` must be a name or a number, a list of names or numbers, or a slice, and name at least one "
                f"column, got {self.columns!r:.60}."
            )
        return listed

    def _select(self, X: Any) -> Any:
        """These columns of X, as the base takes them."""
        base = check_part(self.base, "base")
        columns = self._listed()
        names = column_names(X)
        if names is None:
            return self._select_numbers(X, columns)
        missing = [c for c in columns if c not in names and (isinstance(c, str) or not -len(names) <= c < len(names))]
        if missing:
            raise ValueError(f"`columns` names {missing}, which X does not have; it has {names[:20]}.")
        return read(select_columns(X, columns or names[self.columns]), matrix=base.numeric)

    def _select_numbers(self, X: Any, columns: list[Any]) -> Any:
        """Columns of an array, by their numbers."""
        if any(isinstance(c, str) for c in columns):
            raise TypeError(
                f"`columns` contains names, {columns[:5]}; X must then be a data frame, got {type(X).__name__}."
            )
        is_objects = is_array(X) and is_numpy(X) and X.ndim == 2 and X.dtype.kind not in "buif"
        if not is_objects:
            X = check_vectors(X)
        width = X.shape[1]
        bad = [c for c in columns if not -width <= c < width]
        if bad:
            raise ValueError(f"`columns` contains {bad}, but X has {width} columns.")
        columns = columns or list(range(width))[self.columns]
        if len(columns) == 1 and not self.base.numeric:
            values = X[:, columns[0]]
            return as_objects(values.tolist()) if is_objects else values
        if is_numpy(X):
            return X[:, columns]
        parts = [X[:, c : c + 1 or None] for c in columns]  # None ends the slice that begins at column −1
        return array_namespace(X).concat(parts, axis=1)
