"""Completion of the output kernel by the EM algorithm."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import reduce
from operator import add
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, cholesky, eigh, eye_like, take_rows, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_choice, check_integer, check_number
from iokr.apps.links.baselines import LinkBaseline, Nodes
from iokr.kernels.algebra import Mean
from iokr.kernels.base import Kernel

__all__ = ["EMCompletion", "e_step"]


@component
class EMCompletion(LinkBaseline):
    """min KL(D‖M) over D with D_ll = K_Y: the output kernel of all nodes, completed to be close to M of the inputs.

    Given M, D has the conditional distribution of M for the new nodes given the labelled ones (E-step):

        R = M_ll⁻¹ M_lu ;   D_lu = K_Y R ;   D_uu = M_uu − M_ul R + Rᵀ K_Y R

    and M is fitted to D within a model (M-step). The score is D. For new nodes it is the score of output kernel
    regression by ridge at λ = σ² plus the conditional covariance of the inputs, so similar inputs get a higher score.

    Parameters
    ----------
    kernel : Kernel, default=None
        Kernel on the inputs; None is `RBF()`. A `Mean` of several kernels for ``model="kernels"``.
    output_kernel : Kernel, default=None
        Kernel on the nodes of the training graph; None is `Normalized(Diffusion(1.0))`.
    alpha : float, default=1.0
        σ² > 0: larger values give the inputs less weight.
    model : {"scale", "spectral", "kernels"}, default="scale"
        M = c(K + σ²I), solved in one step of n³/3 flops, which can also score unseen nodes; M = Σ_j b_j v_j v_jᵀ with
        the eigenvectors of K + σ²I over all nodes, N³ per iteration; or M = Σ_k β_k K_k + β₀I over the parts of a
        `Mean`. The last two learn from the unlabelled nodes of `fit` and score fitted nodes only.
    max_iter : int, default=50
        Maximal number of iterations of the last two.
    tol : float, default=1e-6
        The last two stop if the divergence per labelled node decreases by less than this.
    covariance : bool, default=True
        Whether scores of two new nodes include the conditional covariance of their inputs,
        c(K_uu − K_ul (K_ll + σ²I)⁻¹ K_lu); without it they are those of ridge at λ = σ². False needs ``model="scale"``.

    Attributes
    ----------
    divergences_ : list of float
        KL(K_Y‖M_ll) = KL(D‖M) at each iteration; infinite if K_Y is singular.
    weights_ : ndarray
        c, b or β.

    References
    ----------
    Tsuda, Akaho, Asai, JMLR 4, 2003; Kato, Tsuda, Asai, Bioinformatics 21, 2005.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr_lab.baselines import EMCompletion
    >>> X, graph = np.array([[0.0], [0.1], [3.0], [3.1]]), np.kron(np.eye(2), 1 - np.eye(2))
    >>> scores = EMCompletion(alpha=0.1).fit(X, graph).decision_function([[0.2]], [[0.0], [3.0]])
    >>> bool(scores[0, 0] > scores[0, 1])
    True
    """

    _: KW_ONLY
    output_kernel: Kernel | None = None
    alpha: float = 1.0
    model: str = "scale"
    max_iter: int = 50
    tol: float = 1e-6
    covariance: bool = True

    def check_parameters(self) -> None:
        check_number(self.alpha, "alpha", minimum=0.0, strict=True)
        check_choice(self.model, "model", ("scale", "spectral", "kernels"))
        check_integer(self.max_iter, "max_iter", minimum=1)
        check_number(self.tol, "tol", minimum=0.0)
        check_choice(self.covariance, "covariance", (True, False))
        if self.model == "kernels" and not isinstance(self.kernel, Mean):
            raise TypeError(f'`kernel` must be a `Mean([...])` with `model="kernels"`, got {self.kernel!r:.60}.')
        if not self.covariance and self.model != "scale":
            raise ValueError(f'`model` must be "scale" with `covariance=False`, got {self.model!r}.')

    def learn(self, K: Array, W: Array) -> None:
        K_Y = self.output_gram(self.output_kernel)
        if self.model == "scale":
            self.factor_ = cholesky(K, self.alpha)
            self.target_ = K_Y
            trace = array_namespace(K).linalg.trace(self.factor_.solve(K_Y))
            self.weights_ = np.array([float(trace) / K.shape[0]])
            return
        rest = np.setdiff1d(np.arange(self.R_fit_.shape[0]), self.labeled_)
        order = np.concatenate([self.labeled_, rest])
        model = self._family(take_rows(self.R_fit_, order))
        n = K.shape[0]
        before = np.inf
        self.divergences_ = []
        constant = float(_log_det(K_Y)) + n
        for _ in range(self.max_iter):
            M = model.matrix()
            D = e_step(K_Y, M)
            value = _cross(K_Y, M[:n, :n])
            self.divergences_.append((value - constant) / 2)
            if before - value <= 2 * self.tol * n:
                break
            before = value
            model.update(K_Y, M, D)
        self.weights_ = to_numpy(model.weights)
        back = np.argsort(order)
        self.completed_ = take_rows(take_rows(D, back).T, back)

    def _family(self, R: Any) -> _Spectral | _Weighted:
        """The model of M, with the labelled nodes first."""
        if self.model == "spectral":
            K = self.kernel_.block(R, R)
            return _Spectral((K + K.T) / 2 + self.alpha * eye_like(K.shape[0], K))
        blocks = [kernel.block(part, part) for kernel, part in zip(self.kernel_.kernels_, R, strict=True)]
        equal = [1 / len(blocks)] * len(blocks)
        return _Weighted([*blocks, eye_like(blocks[0].shape[0], blocks[0])], np.array([*equal, self.alpha]))

    def compare(self, U: Nodes, V: Nodes) -> Array:
        if self.model != "scale":
            if not (U.fitted and V.fitted):
                raise ValueError(
                    f'`X1` and `X2` must be None with `model="{self.model}"`, which scores nodes of `fit` only; '
                    'fit all nodes, or use `model="scale"`.'
                )
            return self.completed_
        B_U = self._conditional(U)
        B_V = self._conditional(V)
        regressed = B_U @ self.target_ @ B_V.T
        if not self.covariance:
            return regressed
        xp = array_namespace(U.K)
        new = asarray_like(np.outer(U.index < 0, V.index < 0), U.K)
        covariance = self.kernel_.block(U.R, V.R) - U.K @ self.factor_.solve(V.K.T)
        return regressed + float(self.weights_[0]) * xp.where(new, covariance, 0.0)

    def _conditional(self, U: Nodes) -> Array:
        """Rᵀ, (m, n); a labelled node has its own unit vector."""
        xp = array_namespace(U.K)
        own = asarray_like(U.index[:, None] == np.arange(U.K.shape[1])[None, :], U.K)
        known = asarray_like(U.index >= 0, U.K)[:, None]
        return xp.where(known, xp.astype(own, xp.float64), self.factor_.solve(U.K.T).T)


def e_step(K_Y: Array, M: Array) -> Array:
    """D (N, N), labelled nodes first: D_ll = K_Y, and the conditional distribution of M for the others."""
    xp = array_namespace(M)
    n = K_Y.shape[0]
    R = xp.linalg.solve(M[:n, :n], M[:n, n:])
    D_lu = K_Y @ R
    D_uu = M[n:, n:] - M[n:, :n] @ R + R.T @ D_lu
    D = xp.concat([xp.concat([K_Y, D_lu], axis=1), xp.concat([D_lu.T, D_uu], axis=1)])
    return (D + D.T) / 2


class _Spectral:
    """M = Σ_j b_j v_j v_jᵀ; the M-step is b_j = v_jᵀ D v_j."""

    def __init__(self, K: Array) -> None:
        self.weights, self.V = eigh(K)

    def matrix(self) -> Array:
        return (self.V * self.weights[None, :]) @ self.V.T

    def update(self, K_Y: Array, M: Array, D: Array) -> None:
        xp = array_namespace(D)
        b = xp.sum(self.V * (D @ self.V), axis=0)
        self.weights = xp.clip(b, min=float(np.finfo(float).eps) * float(xp.max(b)))


class _Weighted:
    """M = Σ_k β_k K_k; the M-step is β_k ← β_k + (β_k²/N) ⟨K_k,ll, M_ll⁻¹ K_Y M_ll⁻¹ − M_ll⁻¹⟩."""

    def __init__(self, parts: list[Array], weights: np.ndarray) -> None:
        self.parts = parts
        self.weights = weights

    def matrix(self) -> Array:
        return reduce(add, [float(beta) * K for beta, K in zip(self.weights, self.parts, strict=True)])

    def update(self, K_Y: Array, M: Array, D: Array) -> None:
        xp = array_namespace(M)
        n = K_Y.shape[0]
        N = M.shape[0]
        inverse = xp.linalg.inv(M[:n, :n])
        T = inverse @ K_Y @ inverse - inverse
        gains = np.array([float(xp.sum(K[:n, :n] * T)) for K in self.parts])
        self.weights = self.weights + self.weights**2 / N * gains


def _log_det(K: Array) -> float:
    """log det K; minus infinity if K is numerically singular."""
    s, _ = eigh(K)
    if float(s[0]) <= K.shape[0] * float(np.finfo(float).eps) * float(s[-1]):
        return -np.inf
    xp = array_namespace(s)
    return float(xp.sum(xp.log(s)))


def _cross(K_Y: Array, M: Array) -> float:
    """tr(M⁻¹K_Y) + log det M: twice the divergence up to a constant in M."""
    xp = array_namespace(M)
    return float(xp.linalg.trace(xp.linalg.solve(M, K_Y))) + float(xp.linalg.slogdet(M)[1])
