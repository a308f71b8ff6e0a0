"""k(x, z) = ⟨φ(x), φ(z)⟩ for φ any scikit-learn transformer, or similarities to the objects at fit."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from iokr._component import component
from iokr._memory import check_matrix
from iokr._validation import check_computed, check_vectors
from iokr.kernels.base import FeatureKernel, Kernel, fit_part

__all__ = ["EmpiricalMap", "Features"]


@component
class Features(FeatureKernel):
    """k(x, z) = ⟨φ(x), φ(z)⟩, φ a scikit-learn transformer (a pipeline, a vectoriser, a random feature map).

    Parameters
    ----------
    transformer : object with `fit` and `transform`
        Cloned and fitted on the objects at `fit`; its output may be sparse.

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
        if not hasattr(self.transformer, "transform"):
            raise TypeError(f"`transformer` must have `fit` and `transform`, got {self.transformer!r:.60}.")
        self.transformer_ = clone(self.transformer)
        self.transformer_.fit(X)
        return self

    def features(self, X: Any) -> Any:
        """φ(x_i), a row per object."""
        return check_vectors(self.transformer_.transform(X), "features")


@component
class EmpiricalMap(FeatureKernel):
    """k(x, z) = Σ_c base(c, x) base(c, z), c the objects at fit: φ(x) lists the similarities of x to them.

    Equal to K² on the objects at fit, for K the base's Gram matrix. Taken position by position, as in
    `Positional(EmpiricalMap(base), pooled=False)`, the map is that of Kadri et al. (2012), Section 5.2, from Cortes et
    al. (2007). The cost is a block of the base with the n objects at fit for whatever is represented, then 2n a pair.

    Parameters
    ----------
    base : Kernel

    Examples
    --------
    >>> from iokr.kernels import EmpiricalMap, Linear
    >>> EmpiricalMap(Linear())([[1.0], [2.0]])
    array([[ 5., 10.],
           [10., 20.]])
    """

    base: Kernel

    @property
    def domain(self) -> str:  # type: ignore[override]
        """That of the base."""
        return str(getattr(self.base, "domain", "any"))

    def fit(self, X: Any) -> EmpiricalMap:
        """Fit a clone of the base, and keep the objects."""
        self.base_ = fit_part(self.base, "base", X)
        self.R_fit_ = self.base_.represent(X)
        check_computed(self.base_.diag(self.R_fit_))
        return self

    def features(self, X: Any) -> Any:
        """base(x_i, c), a column for each object c at fit."""
        R = self.base_.represent(X)
        check_matrix(R.shape[0], self.R_fit_.shape[0], R, what="Features")
        return check_computed(self.base_.block(R, self.R_fit_), what="k(x, ·)")
