"""The objective in the notation of the papers, and the solution that a solver returns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, matmul
from iokr.gram.base import Gram
from iokr.gram.operators import IdentityMatrix, Multiple, OutputOperator, as_array
from iokr.losses.base import Loss

__all__ = ["Problem", "Solution"]


@dataclass(frozen=True, eq=False)
class Problem:
    """J(C, B) = Σ_i w_i ℓ((G C)_i + Bᵀe_i, ψ_i) + (α/2) ⟨C, G C⟩ + (μ/2) Σ_ij L_ij ⟨h_i, h_j⟩, h = G C.

    The first n of the N points of `gram` are labelled. α is λ of the papers, `manifold_weight` is μ. B is not
    penalised; without `constants` there is none.

    Parameters
    ----------
    gram : Gram
        G over all N points.
    Psi : array of shape (n, q), or IdentityMatrix(n, like)
        Outputs in the embedding's coordinates; entries where `mask` is False are ignored. `IdentityMatrix` is for
        weights on the training outputs, without an n × n array until a solver needs it.
    loss : Loss
    alpha : float
    penalty : array of shape (N, N), optional
        L.
    manifold_weight : float
    weight : NumPy array of shape (n,), optional
        w_i ≥ 0; a weight of 2 counts the row twice.
    mask : NumPy array of shape (n, q), optional
        Which entries of Psi are observed.
    rest : array of shape (n,), optional
        e_i = ‖ψ(y_i) − ψ_i‖, the part of the outputs outside of their coordinates: losses of the distance take
        √(‖h_i − ψ_i‖² + e_i²).
    constants : NumPy array of shape (n, k), optional
        e_i, the unpenalised functions at the labelled points; ones, (n, 1), for an intercept. No two of the functions
        are nonzero at the same point.
    shapes : NumPy array of shape (r, q), optional
        B = βᵀ shapes with free β (r, k) for one function; None: B is free.
    awaits_penalty : bool
        A penalty will be added: solvers can state `refuses` and `memory`, but cannot solve the problem yet.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import Linear
    >>> from iokr.losses import Square
    >>> from iokr.problem import Problem
    >>> problem = Problem(Linear().gram(np.array([[1.0]])), np.array([[1.0]]), Square(), alpha=1.0)
    >>> problem.objective(np.array([[0.5]])), problem.gradient(np.array([[0.5]]))
    (0.25, array([[0.]]))
    """

    gram: Gram
    Psi: Array
    loss: Loss
    alpha: float
    penalty: Array | None = None
    manifold_weight: float = 0.0
    weight: Any = None
    mask: Any = None
    constants: Any = None
    shapes: Any = None
    rest: Array | None = None
    awaits_penalty: bool = False

    @property
    def n_labeled(self) -> int:
        """n."""
        return int(self.Psi.shape[0])

    @property
    def targets(self) -> Array:
        """Ψ as an array; a new one for the identity."""
        return as_array(self.Psi)

    @property
    def like(self) -> Array:
        """An array of the library and on the device of the problem."""
        return self.Psi.like if isinstance(self.Psi, IdentityMatrix) else self.Psi

    @property
    def row_weight(self) -> np.ndarray:
        """w, ones by default."""
        return np.ones(self.n_labeled) if self.weight is None else np.asarray(self.weight, dtype=float)

    @property
    def penalised(self) -> bool:
        """Whether there is a manifold penalty, or will be."""
        return self.penalty is not None or self.awaits_penalty

    @property
    def operator(self) -> OutputOperator:
        """A of 𝒦 = k A; the identity if the kernel does not separate."""
        return Multiple(1.0) if self.gram.operator is None else self.gram.operator

    def objective(self, C: Array, B: Array | None = None) -> float:
        """J(C, B)."""
        H = self.gram @ C
        xp = array_namespace(H)
        total = xp.sum(self.losses(self.with_constants(H, B))) + self.alpha / 2 * xp.sum(C * H)
        if self.penalty is not None and self.manifold_weight:
            total = total + self.manifold_weight / 2 * xp.sum(H * (self.penalty @ H))
        return float(total)

    def with_constants(self, H: Array, B: Array | None) -> Array:
        """h_i + Bᵀe_i at the labelled points, the first rows of H."""
        H = H[: self.n_labeled, :]
        return H if B is None or self.constants is None else H + matmul(asarray_like(self.constants, H), B)

    def losses(self, H: Array) -> Array:
        """w_i ℓ(h_i, ψ_i) at the labelled points."""
        fit = self.loss.value(*self._observed(H))
        return fit if self.weight is None else fit * asarray_like(self.weight, H)

    def loss_gradient(self, H: Array) -> Array:
        """∂ℓ/∂h at the labelled points, (n, q), without weights."""
        return self.loss.gradient(*self._observed(H))[:, : self.Psi.shape[1]]

    def gradient(self, C: Array, H: Array | None = None, B: Array | None = None) -> Array:
        """∂J/∂C = G times this at B: the loss at labelled points, α C, and μ L h; H = G C if it is known."""
        H = self.gram @ C if H is None else H
        xp = array_namespace(H)
        slope = self.loss_gradient(self.with_constants(H, B))
        if self.weight is not None:
            slope = slope * asarray_like(self.weight, H)[:, None]
        total = self.alpha * C
        if self.penalty is not None and self.manifold_weight:
            total = total + self.manifold_weight * (self.penalty @ H)
        n = self.n_labeled
        return xp.concat([total[:n, :] + slope, total[n:, :]], axis=0)

    def _observed(self, H: Array) -> tuple[Array, Array]:
        """Values at labelled points and their targets, equal where one is missing; 0 and e as one more coordinate."""
        H = H[: self.n_labeled, :]
        Psi = self.targets
        xp = array_namespace(H)
        if self.mask is not None:
            Psi = xp.where(asarray_like(self.mask, H), Psi, H)
        if self.rest is None:
            return H, Psi
        rest = asarray_like(self.rest, H)[:, None]
        return xp.concat([H, xp.zeros_like(rest)], axis=1), xp.concat([Psi, rest], axis=1)


@dataclass(frozen=True, eq=False)
class Solution:
    """h(x) = Σ_i 𝒦(x, x_i) c_i + b, and its accuracy.

    Attributes
    ----------
    C : array of shape (N, q)
        Row i is c_i.
    intercept : array of shape (q,), or None
        b; None without an intercept.
    D : array of shape (p, q), or None
        ΦᵀC for a kernel with p features, fewer than inputs: h(x) = A Dᵀφ(x) + b. Fitted models have it.
    n_iter : int
        Steps taken; 1 for closed forms.
    gap : float
        Relative duality gap: the objective is within gap · J(0) of its minimum. With an intercept J(0) is that of
        C = 0 and a constant in the middle of the outputs. 0 for closed forms, apart from rounding.
    converged : bool
        Whether the gap is within the tolerance.
    state : object
        For a warm start of the same solver on a neighbouring problem; estimators do not keep it.

    Examples
    --------
    >>> from iokr import IOKR
    >>> solution = IOKR().fit([[0.0], [1.0]], [0.0, 1.0]).solution_
    >>> solution.n_iter, solution.gap, solution.converged
    (1, 0.0, True)
    """

    C: Array
    n_iter: int = 1
    gap: float = 0.0
    converged: bool = True
    state: Any = None
    intercept: Array | None = None
    D: Array | None = None

    def _stored(self) -> dict[str, Any]:
        return {
            "C": self.C,
            "n_iter": self.n_iter,
            "gap": self.gap,
            "converged": self.converged,
            "state": self.state,
            "intercept": self.intercept,
            "D": self.D,
        }
