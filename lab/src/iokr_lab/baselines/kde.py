"""Kernel dependency estimation (Weston et al. 2003): kernel PCA of the outputs, a ridge regression per component."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

from sklearn.utils.validation import check_is_fitted

from iokr._array import Array
from iokr._component import Component, component
from iokr.decoders.base import Decoder
from iokr.decoders.candidates import Candidates
from iokr.embeddings.eigen import KernelPCA
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.base import Kernel
from iokr.operator_kernels.base import OperatorKernel

__all__ = ["KDE"]


@component
class KDE(Component):
    """h(x) = Zᵀ(K + αI)⁻¹k_x with kernel PCA coordinates Z of the outputs; ŷ = argmin_y ‖h(x) − z(y)‖².

    Kernel dependency estimation of Weston et al. (2003). Without truncation it is `IOKR` without an intercept on
    centred output features; truncation projects h on the leading components. (The KDE of Cortes et al. 2005 is `IOKR`
    without an intercept.)

    Parameters
    ----------
    kernel : Kernel, default=None
        Kernel on the inputs; None is `RBF()`.
    output_kernel : Kernel, default=None
        Kernel on the outputs; None is `Linear()`, plain PCA of vectors.
    n_components : int, default=None
        p, the number of components; None is all.
    alpha : float, default=1.0
        λ > 0 of the ridge regressions, equal for all components.
    decoder : Decoder, default=None
        None is `Candidates()`: the training output with the closest z(y).

    Attributes
    ----------
    model_ : IOKR
        The fitted model, with `embedding=KernelPCA(n_components)`.
    embedding_ : KernelPCA
        The fitted embedding.

    Examples
    --------
    >>> from iokr.kernels import RBF, Delta
    >>> from iokr_lab.baselines import KDE
    >>> KDE(RBF(), output_kernel=Delta(), alpha=0.1).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).predict([[1.9]])
    array(['c'], dtype=object)
    """

    kernel: Kernel | OperatorKernel | None = None
    _: KW_ONLY
    output_kernel: Kernel | None = None
    n_components: int | None = None
    alpha: float = 1.0
    decoder: Decoder | None = None

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> KDE:
        """Fit the regression of Z on X.

        Parameters
        ----------
        X : array or sequence of n objects for the kernel
        y : array or sequence of n outputs for the output kernel
        sample_weight : array of shape (n,), default=None

        Returns
        -------
        self
        """
        self.model_: IOKR = self._unfitted().fit(X, y, sample_weight)
        self.embedding_ = self.model_.embedding_
        return self

    def _unfitted(self) -> IOKR:
        return IOKR(
            self.kernel,
            output_kernel=self.output_kernel,
            embedding=KernelPCA(self.n_components),
            alpha=self.alpha,
            decoder=Candidates() if self.decoder is None else self.decoder,
            intercept=False,
        )

    @property
    def _fitted(self) -> IOKR:
        check_is_fitted(self)
        return self.model_

    def decision_function(self, X: Any) -> Array:
        """h(x) in the p components, (m, p)."""
        return self._fitted.decision_function(X)

    def loo_decision_function(self) -> Array:
        """The leave-one-out values for the training rows."""
        return self._fitted.loo_decision_function()

    def weights(self, X: Any) -> Array:
        """β (m, n) with h(x) = Σ_i β_i(x) z(y_i)."""
        return self._fitted.weights(X)

    def scores(self, X: Any, candidates: Any) -> Any:
        """⟨h(x), z(y)⟩, (m, c); a list of arrays for `CandidateSets`."""
        return self._fitted.scores(X, candidates)

    def distances(self, X: Any, candidates: Any) -> Any:
        """‖h(x) − z(y)‖², (m, c); a list of arrays for `CandidateSets`."""
        return self._fitted.distances(X, candidates)

    def rank(self, X: Any, candidates: Any, k: int | None = None) -> tuple[Any, Any]:
        """(indices, values) of the best k candidates, best first."""
        return self._fitted.rank(X, candidates, k)

    def predict(self, X: Any, candidates: Any = None) -> Any:
        """The closest candidate of each row; without candidates, the closest training output."""
        return self._fitted.predict(X, candidates)

    def score(self, X: Any, y: Any, sample_weight: Any = None, candidates: Any = None) -> float:
        """R² in the p components; with candidates, top-1 accuracy."""
        return self._fitted.score(X, y, sample_weight, candidates)

    def __sklearn_tags__(self) -> Any:
        return self._unfitted().__sklearn_tags__()
