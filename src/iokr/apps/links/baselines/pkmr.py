"""The output kernel regressed on products of inputs."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from iokr._array import Array, array_namespace, eigh, eye_like, to_numpy, unwarned
from iokr._component import component
from iokr._validation.arguments import check_choice, check_number
from iokr.apps.links.baselines.base import LinkBaseline, Nodes, positive_eigen, spectral_filter
from iokr.kernels.base import Kernel

__all__ = ["PKMR"]

_KEPT = 1e-8  # of the largest eigenvalue of K: what is divided by


@component
class PKMR(LinkBaseline):
    """s(u, v) = k_uᵀ A k_v with min_A ½‖K_Y − K A K‖² + penalty: penalised kernel matrix regression.

    With K = U diag(s) Uᵀ, the penalty

    - ``"trace"``, λ tr(A K) over A ⪰ 0, gives A = K⁻¹ [K_Y − λK⁻¹]₊ K⁻¹: a sum of few squared functions, so the scores
      are a kernel;
    - ``"norm"``, (λ/2) tr(A K A K), gives A = U [(Uᵀ K_Y U)_ij / (s_i s_j + λ)] Uᵀ, which need not be positive.

    Parameters
    ----------
    kernel : Kernel, default=None
        On the inputs; None is `RBF()`.
    output_kernel : Kernel, default=None
        On the nodes of the training graph; None is `Normalized(Diffusion(1.0))`.
    alpha : float, default=1.0
        λ ≥ 0: larger shrinks, and under ``"trace"`` keeps fewer functions.
    penalty : {"trace", "norm"}, default="trace"

    Attributes
    ----------
    rank_ : int
        How many functions are left under ``"trace"``.

    References
    ----------
    Yamanishi, Vert, Kernel matrix regression, 2007. The paper's penalty is not certain to us.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.apps.links.baselines import PKMR
    >>> X, graph = np.array([[0.0], [0.1], [3.0], [3.1]]), np.kron(np.eye(2), 1 - np.eye(2))
    >>> scores = PKMR(alpha=0.1).fit(X, graph).decision_function([[0.2]], [[0.0], [3.0]])
    >>> bool(scores[0, 0] > scores[0, 1])
    True
    """

    _: KW_ONLY
    output_kernel: Kernel | None = None
    alpha: float = 1.0
    penalty: str = "trace"

    def check_parameters(self) -> None:
        check_number(self.alpha, "alpha", minimum=0.0)
        check_choice(self.penalty, "penalty", ("trace", "norm"))

    def learn(self, K: Array, W: Array) -> None:
        K_Y = self.output_gram(self.output_kernel)
        xp = array_namespace(K)
        U, s = positive_eigen(K, _KEPT)
        if self.penalty == "norm":
            self.form_ = spectral_filter(U, K_Y, 1 / (s[:, None] * s[None, :] + self.alpha))
            return
        with unwarned():
            penalty = self.alpha * eye_like(s.shape[0], s) / s[None, :]
        if not bool(xp.all(xp.isfinite(penalty))):
            raise ValueError(f"`alpha` = {self.alpha:.3g} divided by the least eigenvalue of K overflows; lower it.")
        T = U.T @ K_Y @ U
        w, V = eigh((T + T.T) / 2 - penalty)
        self.rank_ = int(np.sum(to_numpy(w) > 0))
        w, V = w[w.shape[0] - self.rank_ :], V[:, w.shape[0] - self.rank_ :]
        self.coefficients_ = U @ (V * xp.sqrt(w)[None, :] / s[:, None])

    def compare(self, U: Nodes, V: Nodes) -> Array:
        if self.penalty == "norm":
            return U.K @ self.form_ @ V.K.T
        return (U.K @ self.coefficients_) @ (V.K @ self.coefficients_).T
