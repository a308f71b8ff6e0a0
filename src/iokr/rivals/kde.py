"""Kernel dependency estimation (Weston et al. 2003): kernel PCA of the outputs, a ridge regression per component."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, row_sq_norms, to_numpy
from iokr._component import component
from iokr._objects import take
from iokr.decoders.base import Decoder
from iokr.decoders.candidates import Candidates
from iokr.embeddings.base import as_vectors
from iokr.embeddings.eigen import Eigen
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.algebra import Centered
from iokr.kernels.base import Kernel
from iokr.kernels.vectors import Linear
from iokr.operator_kernels.base import OperatorKernel

__all__ = ["KDE", "KernelPCA"]


@component
class KernelPCA(Eigen):
    """z(y) = diag(w)^{-½} Qᵀ P (k_Y(y) − K_Y 1/n), P K_Y P = Q diag(w) Qᵀ, P = I − 11ᵀ/n: the leading components.

    Unlike `Eigen(rank)` it centres, and ‖z(y)‖² is measured along the components kept, as kernel dependency estimation
    compares candidates.

    Parameters
    ----------
    rank : int, default=None
        How many components to keep; None keeps all with a positive w.
    tol : float, default=None
        Drop eigenvalues up to tol · largest; None is n times the machine precision.

    Attributes
    ----------
    eigenvalues_ : array of shape (p,)
        The w kept, descending.

    Examples
    --------
    >>> from iokr.kernels import Linear
    >>> from iokr.rivals.kde import KernelPCA
    >>> Y = [[0.0, 0.0], [2.0, 0.1], [4.0, 0.0]]
    >>> KernelPCA(rank=1).fit_transform(Y, Linear().fit(Y)).shape
    (3, 1)
    """

    def fit_transform(self, Y: Any, kernel: Kernel | None = None, sample_weight: Any = None) -> Array:
        """Z (n, p) with Z Zᵀ = P K_Y P when all components are kept."""
        kernel = Linear() if kernel is None else kernel
        known = Y if sample_weight is None else take(Y, np.flatnonzero(np.asarray(sample_weight) > 0))
        return super().fit_transform(Y, Centered(kernel).fit(as_vectors(known, kernel, "y")), sample_weight)

    def sq_norms(self, S: Any) -> Array:
        """‖z(y_j)‖²."""
        return row_sq_norms(self.coordinates(S, self._Q))

    def spread(self, S: Any, weight: np.ndarray) -> float:
        """Σ_i w_i ‖z(y_i) − mean‖²."""
        Z = to_numpy(self.coordinates(S, self._Q))
        return float(weight @ row_sq_norms(Z - weight @ Z / weight.sum()))


class KDE(IOKR):
    """h(x) = Zᵀ(K + αI)⁻¹k_x, Z the kernel PCA coordinates of the outputs; ŷ = argmin_y ‖h(x) − z(y)‖².

    Kernel dependency estimation of Weston et al. (2003). Without truncation it is `IOKR` on centred output features;
    truncation projects h on the components kept. (The KDE of Cortes et al. 2005 is `IOKR` itself.)

    Parameters
    ----------
    kernel : Kernel, default=None
        On the inputs; None is `RBF()`.
    output_kernel : Kernel, default=None
        On the outputs; None is `Linear()`, plain PCA of vectors.
    n_components : int, default=None
        p, how many components to keep; None keeps all.
    alpha : float, default=1.0
        λ > 0 of the ridge regressions, the same for all components.
    decoder : Decoder, default=None
        None is `Candidates()`: the training output with the closest z(y).

    Examples
    --------
    >>> from iokr.kernels import RBF, Delta
    >>> from iokr.rivals.kde import KDE
    >>> KDE(RBF(), output_kernel=Delta(), alpha=0.1).fit([[0.0], [1.0], [2.0]], ["a", "b", "c"]).predict([[1.9]])
    array(['c'], dtype=object)
    """

    def __init__(
        self,
        kernel: Kernel | OperatorKernel | None = None,
        *,
        output_kernel: Kernel | None = None,
        n_components: int | None = None,
        alpha: float = 1.0,
        decoder: Decoder | None = None,
    ) -> None:
        self.kernel = kernel
        self.output_kernel = output_kernel
        self.n_components = n_components
        self.alpha = alpha
        self.decoder = decoder

    embedding = loss = manifold = solver = None

    def _output_parts(self) -> dict[str, Any]:
        decoder = Candidates() if self.decoder is None else self.decoder
        return {**super()._output_parts(), "embedding": KernelPCA(self.n_components), "decoder": decoder}
