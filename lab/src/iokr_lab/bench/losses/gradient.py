"""The gradient methods of the literature on the dual of a loss of a norm, as one would write them in NumPy."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.linalg.blas import dgemm

from iokr_lab.bench.grams import Matrix, gram
from iokr_lab.bench.losses.data import TOL, largest_eigenvalue, lengths

__all__ = ["COUNTED", "DualGradient", "Found", "NormDual"]

_LOOK = 10  # steps of a gradient method between two looks at the gap
COUNTED = 10_000  # steps of projected gradient at most; where they do not suffice, its time is a lower bound


@dataclass(frozen=True)
class NormDual:
    """min_W ½tr(WᵀK̂W) − tr(WᵀY) + ε Σ‖W_i‖ over ‖W_i‖ ≤ radius, K̂ = K/λ + quadratic · I (math.md 6).

    It is the dual of Σ φ(‖h(x_i) − y_i‖) + (λ/2)‖h‖², φ(r) = e²/2 up to e = radius and linear from there
    (linear at once if `quadratic` is 0), e = max(r − ε, 0).
    """

    epsilon: float = 0.0
    radius: float = np.inf
    quadratic: float = 1.0

    def loss(self, R: Matrix) -> float:
        """Σ φ(‖r_i‖)."""
        e = np.maximum(lengths(R) - self.epsilon, 0.0)
        near = np.minimum(e, self.radius)
        return float(np.sum(near * (e - near / 2) if self.quadratic else self.radius * e))

    def conjugate(self, W: Matrix) -> float:
        """Σ ½ quadratic ‖W_i‖² + ε‖W_i‖."""
        a = lengths(W)
        return float(np.sum(self.quadratic * a * a / 2 + self.epsilon * a))

    def prox(self, W: Matrix, step: float) -> Matrix:
        """Rows shortened by step · ε, then cut to the radius, in place."""
        a = lengths(W)
        length = np.minimum(np.maximum(a - step * self.epsilon, 0.0), self.radius)
        W *= np.divide(length, a, out=np.zeros_like(a), where=a > 0)[:, None]
        return W


@dataclass(frozen=True)
class Found:
    """Where a gradient method stopped."""

    primal: float
    gap: float
    steps: int


class DualGradient:
    """W ← prox(V − η(K̂V − Y)), η = 1/λ_max(K̂), V = W, or V = W + β(W − W_before) with restarts.

    If `accelerated`, β is Nesterov's, begun again when a step turns against the gradient. With `timed`, a first run to
    the end is followed by runs of only that many steps, with the Gram matrix of the first; see `whole`.
    """

    def __init__(
        self,
        X: Matrix,
        Y: Matrix,
        gamma: float,
        lam: float,
        dual: NormDual,
        *,
        accelerated: bool = False,
        timed: int | None = None,
    ) -> None:
        self.X = X
        self.Y = np.asfortranarray(Y)
        self.gamma = gamma
        self.lam = lam
        self.dual = dual
        self.accelerated = accelerated
        self.timed = timed
        self.steps: int | None = None
        self.reached = False
        self._kept: tuple[Matrix, float] | None = None

    def whole(self) -> tuple[float, str]:
        """The steps of the whole run over those that are timed, and a remark on their number."""
        if self.timed is None or self.steps is None:
            return 1.0, ""
        count = f"{self.steps} steps" if self.reached else f"over {self.steps} steps, not there yet"
        return max(self.steps / self.timed, 1.0), f" ({count})"

    def run(self) -> Found:
        """Gram matrix, step length, then steps until the gap is reached."""
        if self.steps is not None and self.timed is not None and self._kept is not None:
            return self._descend(*self._kept, min(self.timed, self.steps))
        K = gram(self.X, self.X, self.gamma)
        step = 1.0 / (largest_eigenvalue(K) / self.lam + self.dual.quadratic)
        found = self._descend(K, step, COUNTED)
        self.reached = found.gap <= TOL
        self.steps = found.steps
        self._kept = (K, step) if self.timed is not None else None
        return found

    def _descend(self, K: Matrix, step: float, limit: int) -> Found:
        """The steps. K V follows from K W, so a step costs one product."""
        dual = self.dual
        lam = self.lam
        Y = self.Y
        W = np.zeros_like(Y)
        KW = np.zeros_like(Y)
        V = W
        KV = KW
        momentum = 1.0
        P0 = dual.loss(Y)
        found = Found(P0, 1.0, 0)
        for k in range(1, limit + 1):
            W_new = dual.prox(V - step * (KV / lam + dual.quadratic * V - Y), step)
            KW_new = dgemm(1.0, K, W_new)
            if self.accelerated:
                if np.vdot(V - W_new, W_new - W) > 0:
                    momentum = 1.0
                following = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
                beta = (momentum - 1) / following
                momentum = following
                V = W_new + beta * (W_new - W)
                KV = KW_new + beta * (KW_new - KW)
            else:
                V = W_new
                KV = KW_new
            W = W_new
            KW = KW_new
            if k % _LOOK == 0 or k == limit:
                energy = float(np.vdot(W, KW)) / (2 * lam)
                primal = dual.loss(Y - KW / lam) + energy
                gap = (primal - (float(np.vdot(W, Y)) - dual.conjugate(W) - energy)) / P0
                found = Found(primal, gap, k)
                if gap <= TOL:
                    break
        return found
