"""ψ(y) = φ(y), the features that an output kernel is made of."""

from __future__ import annotations

from typing import Any, cast

import numpy as np

from iokr._array import Array, empty_like, is_array, is_sparse
from iokr._component import component
from iokr._system.memory import check_matrix
from iokr._validation.arguments import check_computed
from iokr.data.objects import error_context
from iokr.embeddings.base import EuclideanEmbedding, as_vectors
from iokr.kernels.base import FeatureKernel, Kernel
from iokr.kernels.vectors import Linear

__all__ = ["Explicit"]


@component
class Explicit(EuclideanEmbedding):
    """ψ(y) = φ(y), for an output kernel ⟨φ(y), φ(y')⟩: coordinates with a meaning, on which an operator A may act.

    φ is that of `output_kernel=Features(f)`, for a function f with a row of numbers for each object, or of another
    kernel made of features. Equal to `Implicit()` and `Eigen()` if A = aI; with `Decomposable(kernel, A)` A_jk couples
    features j and k, and losses may act on single features. Candidates are decoded as with any output kernel. Costs np
    numbers for p features.

    Attributes
    ----------
    n_features_ : int
        p.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.embeddings import Explicit
    >>> from iokr.kernels import RBF, Features
    >>> from iokr.operator_kernels import Decomposable
    >>> def counts(words):
    ...     return np.array([[word.count("a"), word.count("b")] for word in words], dtype=float)
    >>> A = np.array([[1.0, 0.5], [0.5, 1.0]])
    >>> model = IOKR(Decomposable(RBF(1.0), A), output_kernel=Features(counts), embedding=Explicit(), alpha=0.1)
    >>> model.fit([[0.0], [1.0], [2.0]], ["aab", "ab", "abb"]).predict([[1.9]], candidates=["abb", "aab"])
    array(['abb'], dtype=object)
    """

    def _stored(self) -> dict[str, Any]:
        return {"width": self._width, "home": self._home}

    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """Φ (n, p)."""
        if not isinstance(kernel, FeatureKernel):
            advice = "use `Eigen()` or `Nystroem(n_components)`"
            if kernel is None:
                advice = "set `output_kernel=Features(f)`"
            raise ValueError(f"`Explicit()` needs an output kernel made of features, got {kernel!r:.60}; {advice}.")
        self.kernel_ = kernel
        self._home = empty_like((0,), Y) if is_array(Y) else None
        Psi = self._features(kernel, Y, "y")
        self.n_features_ = int(Psi.shape[1])
        return Psi

    def represent(self, Y: Any, name: str = "y") -> Array:
        """φ(y_i), dense rows."""
        S = self._features(cast(Kernel, self.kernel_), Y, name)
        if S.shape[1] != self.n_features_:
            raise ValueError(f"φ gave {self.n_features_} features at fit but {S.shape[1]} for `{name}`.")
        return S

    def _features(self, kernel: Kernel, Y: Any, name: str) -> Array:
        with error_context(name):
            S = kernel.represent(as_vectors(Y, kernel, name))
            if is_sparse(S):
                check_matrix(S.shape[0], S.shape[1], None, what="Dense features of outputs")
                S = np.asarray(S.toarray(), dtype=np.float64)
            check_computed(kernel.diag(S), what="‖φ(y)‖²")
        return S

    def vectors(self, H: Array) -> Array:
        """h itself, if φ(y) = y."""
        if not isinstance(self.kernel_, Linear):
            raise ValueError(
                f"{self!r} cannot turn features into outputs; use `Candidates()` to decode, or `decision_function` for "
                "h(x) as features."
            )
        return H
