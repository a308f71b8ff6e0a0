"""k(x, z) = ⟨φ(x), φ(z)⟩ for φ any scikit-learn transformer."""

from __future__ import annotations

from typing import Any

from sklearn.base import clone

from iokr._component import component
from iokr._validation import check_vectors
from iokr.kernels.base import FeatureKernel

__all__ = ["Features"]


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

    domain = "any"

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
