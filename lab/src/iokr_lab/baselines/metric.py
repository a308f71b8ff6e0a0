"""Metric learning: linked nodes are close."""

from __future__ import annotations

from dataclasses import KW_ONLY

from sklearn.base import clone

from iokr._array import Array, array_namespace, eigh, eye_like, row_sq_norms
from iokr._component import component
from iokr._validation.arguments import check_choice, check_integer, check_number
from iokr.apps.links.baselines import LinkBaseline, Nodes, positive_eigen
from iokr.kernels.algebra import Centered
from iokr.kernels.base import Kernel

__all__ = ["KernelMetricLearning"]


@component
class KernelMetricLearning(LinkBaseline):
    """s(u, v) = −‖F(u) − F(v)‖²: functions that are close on linked nodes, relative to their spread.

    f_j minimises (Σ_{links ab} (f(x_a) − f(x_b))² + λ‖f‖²) / Σ_i f(x_i)², orthogonal to f_1 … f_{j−1} on the labelled
    nodes. With K̄ = U diag(s) Uᵀ the centred kernel and L the Laplacian of the training graph:

        Uᵀ L U + λ diag(1/s) = Z diag(μ) Zᵀ, ascending ;   α_j = U diag(1/s) z_j ;   F_j(u) = k̄_uᵀ α_j

    Every F_j has unit length on the labelled nodes. Two eigendecompositions, about 18 n³ flops.

    Parameters
    ----------
    kernel : Kernel, default=None
        Kernel on the inputs; None is `RBF()`.
    alpha : float, default=1.0
        λ > 0: larger values give smoother functions.
    n_components : int, default=20
        Maximal number of functions f_j.
    score : {"distance", "inner"}, default="distance"
        −‖F(u) − F(v)‖², or ⟨F(u), F(v)⟩.

    Attributes
    ----------
    ratios_ : array of shape (d,)
        μ, ascending.

    References
    ----------
    Vert, Yamanishi, Supervised graph inference, NIPS 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr_lab.baselines import KernelMetricLearning
    >>> X, graph = np.array([[0.0], [0.1], [3.0], [3.1]]), np.kron(np.eye(2), 1 - np.eye(2))
    >>> scores = KernelMetricLearning(n_components=1).fit(X, graph).decision_function([[0.2]], [[0.0], [3.0]])
    >>> bool(scores[0, 0] > scores[0, 1])
    True
    """

    _: KW_ONLY
    alpha: float = 1.0
    n_components: int = 20
    score: str = "distance"

    def check_parameters(self) -> None:
        check_number(self.alpha, "alpha", minimum=0.0, strict=True)
        check_integer(self.n_components, "n_components", minimum=1)
        check_choice(self.score, "score", ("distance", "inner"))

    def input_kernel(self, kernel: Kernel) -> Kernel:
        return Centered(clone(kernel))

    def learn(self, K: Array, W: Array) -> None:
        xp = array_namespace(K)
        U, s = positive_eigen(K)
        LU = xp.sum(W, axis=1)[:, None] * U - W @ U
        B = U.T @ LU
        mu, Z = eigh((B + B.T) / 2 + self.alpha * eye_like(s.shape[0], s) / s[None, :])
        d = min(self.n_components, mu.shape[0])
        self.ratios_ = mu[:d]
        self.coefficients_ = U @ (Z[:, :d] / s[:, None])

    def compare(self, U: Nodes, V: Nodes) -> Array:
        F = U.K @ self.coefficients_
        G = V.K @ self.coefficients_
        inner = F @ G.T
        if self.score == "inner":
            return inner
        return 2 * inner - row_sq_norms(F)[:, None] - row_sq_norms(G)[None, :]
