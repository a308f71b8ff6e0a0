"""A problem reduced to its labelled points: 𝒦 contains the inputs for losses without a closed form."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np

from iokr._array import (
    Array,
    CholeskyFactor,
    array_namespace,
    asarray_like,
    cholesky,
    eigh,
    is_numpy,
    largest_eigenvalue,
    matmul,
    thin_svd,
)
from iokr.problem import Problem, Solution
from iokr.solvers.base import by_eigenvalue, join_columns, take_columns, warn_small_alpha
from iokr.solvers.closed_form.blocks import flatten
from iokr.solvers.closed_form.deformed import ManifoldPath, PlainKernel, deformed_kernel
from iokr.solvers.closed_form.symmetric_system import Geometry

__all__ = [
    "BlockLabeledProblem",
    "CentredKernel",
    "DenseKernel",
    "LabeledKernel",
    "LabeledProblem",
    "SpectralKernel",
    "ThinKernel",
    "labeled_problem",
    "n_few_features",
]

_FEW = 5  # points per feature from which solvers by features are faster


def n_few_features(problem: Problem) -> int | None:
    """p of K = Φ Φᵀ, Φ (n, p), if features are few and only K couples points; else None."""
    Phi = problem.gram.factor
    if Phi is None or problem.penalised or problem.gram.operator is None or problem.operator.oblique:
        return None
    return int(Phi.shape[1]) if _FEW * Phi.shape[1] <= problem.n_labeled else None


def labeled_bytes(problem: Problem, matrices: int, thin: int, arrays: int) -> float:
    """`matrices` of N² numbers, more with a penalty, or `thin` of Np with few features, and `arrays` of Nq."""
    N = problem.gram.size
    q = problem.Psi.shape[1]
    p = n_few_features(problem)
    if p is not None:
        return 8.0 * float(thin * N * p + arrays * N * q)
    held: float = matrices
    if problem.penalised:
        held = 8 if is_numpy(problem.like) else 9.1
    return 8.0 * float(held * N**2 + arrays * N * q)


class LabeledProblem:
    """min_a Σ_i w_i ℓ((𝒦a)_i, ψ_i) + (λ/2)⟨a, 𝒦a⟩ over rows of positive weight.

    Supervised, 𝒦 is a ↦ K a A and λ = α. With unlabelled points it is the deformed kernel, which contains 1/α,
    so that λ = 1. `lift` returns the coefficients C of all points for a. With an intercept a = P a, P = I − U Uᵀ with
    U an orthonormal basis of the functions that are not penalised, and 𝒦 is P𝒦P: h = 𝒦a + U t. With `shapes` 𝒦 stays
    as it is, and t is in the span of their rows S: only Uᵀa Sᵀ = 0. For a `rest` of the
    outputs there is one more coordinate, the last, in which 𝒦 and U t are 0.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.loss = problem, problem.loss
        self.points = Geometry(problem)
        rows = self.points.active
        self.Psi = self.points.rows_of(problem.targets)
        self.weight = asarray_like(problem.row_weight[rows], self.Psi)
        self.mask = None if problem.mask is None else asarray_like(np.asarray(problem.mask)[rows], self.Psi)
        self.rest = None if problem.rest is None else self.points.rows_of(asarray_like(problem.rest, self.Psi))
        if self.rest is not None:  # a coordinate in which h is 0
            self.Psi = array_namespace(self.Psi).concat([self.Psi, self.rest[:, None]], axis=1)
        self.operator = problem.operator
        diagonal = problem.gram.diagonal()
        largest = float(self.operator.gamma.max()) * float(array_namespace(diagonal).max(diagonal))
        warn_small_alpha(problem.alpha, largest, " in the units of outputs and weights")
        self.U: Array | None = None
        if problem.constants is not None:
            e = np.asarray(problem.constants, dtype=float)[rows]
            norms = np.linalg.norm(e, axis=0)
            self._norms = asarray_like(np.where(norms > 0, norms, 1.0), self.Psi)
            self.U = asarray_like(e, self.Psi) / self._norms[None, :]
        self.shapes = None if problem.shapes is None else asarray_like(problem.shapes, self.Psi)
        self.S: Array | None = None  # (r, q), an orthonormal basis of the rows of the shapes
        if problem.shapes is not None:
            self.S = asarray_like(np.linalg.qr(np.asarray(problem.shapes, dtype=float).T)[0].T, self.Psi)
        self.semi_supervised = problem.penalty is not None and problem.manifold_weight > 0
        self.lam = 1.0 if self.semi_supervised else problem.alpha

    @cached_property
    def _kernel(self) -> ManifoldPath | PlainKernel:
        return deformed_kernel(self.problem)

    def kernel(self, *, spectral: bool) -> LabeledKernel:
        """𝒦, by its spectrum (always so unless A = aI) or a Cholesky factor for each shift. May be overridden."""
        if self.factor is not None and not spectral:
            return self.with_constants(ThinKernel(self))
        spectral = spectral or self.operator.scale is None or self._ill_conditioned()
        return self.with_constants(SpectralKernel(self) if spectral else DenseKernel(self))

    def with_constants(self, kernel: PlainKernels) -> LabeledKernel:
        """The kernel with an intercept, and with the coordinate of a rest, if there are."""
        whole: PlainKernels | CentredKernel | BorderedKernel = kernel
        if self.U is not None:
            whole = CentredKernel(kernel, self.U) if self.S is None else BorderedKernel(kernel, self.U, self.S)
        return whole if self.rest is None else RestKernel(whole)

    def _ill_conditioned(self) -> bool:
        """λ < 1e-6 s_max: rounding of ⟨W, 𝒦W⟩/λ would show in the gap unless eigenvalues are clipped at 0."""
        K = self.matrix(float(self.operator.gamma[0]))
        xp = array_namespace(K)
        trace = float(xp.sum(xp.linalg.diagonal(K)))
        return self.lam < 1e-6 * trace and self.lam < 1e-6 * largest_eigenvalue(K)

    def targets(self, H: Array) -> Array:
        """ψ_i, with the value of h for missing entries, so that their loss is 0."""
        return self.Psi if self.mask is None else array_namespace(H).where(self.mask, self.Psi, H)

    def matrix(self, g: float) -> Array:
        """The n × n kernel of outputs with eigenvalue g of A, in the scale where λ = `lam`; not to be changed."""
        if self.semi_supervised:
            K = self._kernel.deformed(self.problem.alpha, g)
        else:
            K = self.points.labeled_gram.dense()
            K = K if g == 1 else g * K
        if self.U is None or self.S is not None:
            return K
        half = K - matmul(self.U, matmul(self.U.T, K))
        return half - matmul(matmul(half, self.U), self.U.T)

    @cached_property
    def factor(self) -> Array | None:
        """Φ of the rows of positive weight, K = Φ Φᵀ, if features are few; else None. P Φ with an intercept."""
        if n_few_features(self.problem) is None:
            return None
        Phi = self.points.labeled_gram.factor
        return Phi if self.U is None or self.S is not None else Phi - matmul(self.U, matmul(self.U.T, Phi))

    def leading(self, *, centred: bool = True) -> tuple[Array, Array]:
        """(s, V), s ascending, with K = V diag(s) Vᵀ: p columns of V if features are few, else n.

        With an intercept that of P K P, if it is to be `centred`.
        """
        centred = centred and self.U is not None and self.S is None
        if self.factor is None and centred:
            return _spectrum(self.matrix(1.0))
        if self.factor is None:
            pairs = self.points.labeled_gram.eigenpairs()
            assert pairs is not None
            return pairs
        V, sigma = thin_svd(self.factor if centred else self.points.labeled_gram.factor)
        xp = array_namespace(V)
        return xp.flip(sigma * sigma), xp.flip(V, axis=1)

    def lift(self, a: Array) -> Array:
        """C (N, q) with h = 𝒦a on the labelled points. May be overridden."""
        if not self.semi_supervised:
            return self.points.everywhere(a)
        alpha = self.problem.alpha
        C = by_eigenvalue(self.operator, self.operator.rotate(a), lambda g, part: self._kernel.lift(part, alpha, g))
        return self.operator.unrotate(C)

    def no_constants(self) -> Array | None:
        """t = 0."""
        return None if self.U is None else matmul(self.U.T, self.inside(self.Psi)) * 0.0

    def inside(self, X: Array) -> Array:
        """The columns of the coordinates, without that of the rest."""
        return X if self.rest is None else X[:, : X.shape[1] - 1]

    def with_rest(self, a: Array, H: Array, omega: Array) -> tuple[Array, Array]:
        """a and h with the coordinate of the rest: h = 0, and λa = ωe as for all others."""
        if self.rest is None:
            return a, H
        xp = array_namespace(a)
        last = (omega * self.rest / self.lam)[:, None]
        return xp.concat([a, last], axis=1), xp.concat([H, xp.zeros_like(last)], axis=1)

    def solution(self, a: Array, t: Array | None, *how: Any) -> Solution:
        """The solution with h = 𝒦a + U t at the labelled points, and how it was found."""
        C = self.lift(self.inside(a))
        found = Solution(C, *how)
        if self.U is None or t is None:
            return found
        H = self.points.rows_of((self.problem.gram @ C)[: self.problem.n_labeled, :])
        B = (t - matmul(self.U.T, H)) / self._norms[:, None]  # Uᵀh is t, and that of H is the part of C
        return replace(found, intercept=B[0, :])

    def objective(self, H: Array, sq_norm: float) -> float:
        """Σ w ℓ(h_i, ψ_i) + (λ/2)‖h‖²."""
        xp = array_namespace(H)
        return float(xp.sum(self.weight * self.loss.value(H, self.targets(H)))) + self.lam / 2 * sq_norm

    def at_zero(self) -> Array:
        """w_i ℓ(0, ψ_i); P₀ is their sum."""
        zero = self.Psi * 0.0
        return self.weight * self.loss.value(zero, self.targets(zero))


class BlockLabeledProblem(LabeledProblem):
    """The same for a kernel that does not separate: 𝒦 is the (nd, nd) matrix of a problem on nd numbers."""

    @cached_property
    def flat(self) -> LabeledProblem:
        """The problem on vec(Ψ)."""
        return LabeledProblem(flatten(replace(self.problem, mask=None, rest=None)))

    def kernel(self, *, spectral: bool) -> LabeledKernel:
        """𝒦 on vec(a)."""
        flat = self.flat.kernel(spectral=spectral)
        assert not isinstance(flat, RestKernel | BorderedKernel)
        return self.with_constants(StackedKernel(flat.base if isinstance(flat, CentredKernel) else flat))

    def lift(self, a: Array) -> Array:
        """C (N, d)."""
        xp = array_namespace(a)
        return xp.reshape(self.flat.lift(xp.reshape(a, (-1, 1))), (-1, a.shape[1]))


def labeled_problem(problem: Problem) -> LabeledProblem:
    """The problem on the labelled points, for either kind of kernel."""
    return LabeledProblem(problem) if problem.gram.operator is not None else BlockLabeledProblem(problem)


class SpectralKernel:
    """𝒦 by eigendecompositions: two products for each c."""

    def __init__(self, problem: LabeledProblem) -> None:
        self.operator = problem.operator
        q = problem.inside(problem.Psi).shape[1]
        self.blocks: list[tuple[Array, Array, np.ndarray]] = []
        if problem.semi_supervised:
            for g, group in problem.operator.groups(q):
                s, U = _spectrum(problem.matrix(g))
                self.blocks.append((U, s[:, None], group))
        else:
            s, U = _spectrum(problem.matrix(1.0))
            gamma = asarray_like(problem.operator.gamma, problem.Psi)
            self.blocks.append((U, s[:, None] * gamma[None, :], np.arange(q)))

    def _apply(self, X: Array, *filters: object) -> list[Array]:
        rotated = self.operator.rotate(X)
        answers: list[list[tuple[np.ndarray, Array]]] = [[] for _ in filters]
        for U, G, group in self.blocks:
            T = matmul(U.T, take_columns(rotated, group))
            for answer, f in zip(answers, filters, strict=True):
                answer.append((group, matmul(U, f(G) * T)))  # type: ignore[operator]
        return [self.operator.unrotate(join_columns(answer)) for answer in answers]

    def product(self, a: Array) -> Array:
        """𝒦a."""
        return self._apply(a, lambda G: G)[0]

    def resolve(self, X: Array, c: float) -> tuple[Array, Array]:
        """(𝒦 + cI)⁻¹X and 𝒦(𝒦 + cI)⁻¹X."""
        S, V = self._apply(X, lambda G: 1 / (G + c), lambda G: G / (G + c))
        return S, V


class DenseKernel:
    """𝒦 = gK for A = gI, by a Cholesky factor for each c: cheaper than a spectrum for few values of c."""

    def __init__(self, problem: LabeledProblem) -> None:
        self.K = problem.matrix(float(problem.operator.gamma[0]))
        self._c: float | None = None
        self._factor: CholeskyFactor | None = None

    def product(self, a: Array) -> Array:
        """𝒦a."""
        return matmul(self.K, a)

    def resolve(self, X: Array, c: float) -> tuple[Array, Array]:
        """S by the factor of K + cI, and 𝒦S = X − cS."""
        if self._c != c or self._factor is None:
            # The next factor is written to the memory of the last one: fresh pages cost more than the copy.
            room = None if self._factor is None else self._factor.L
            if isinstance(room, np.ndarray):
                np.copyto(room, self.K)
                self._factor = cholesky(room, c, overwrite=True)
            else:
                self._factor = cholesky(self.K, c)
            self._c = c
        S = self._factor.solve(X)
        return S, X - c * S


class ThinKernel:
    """𝒦 = K ⊗ A by the singular vectors of Φ: 𝒦(𝒦 + cI)⁻¹X = U[sγᵀ/(sγᵀ + c) ∘ UᵀXE]Eᵀ, without n × n matrices."""

    def __init__(self, problem: LabeledProblem) -> None:
        self.operator = problem.operator
        s, self.U = problem.leading()
        self.G = s[:, None] * asarray_like(problem.operator.gamma, problem.Psi)[None, :]

    def product(self, a: Array) -> Array:
        """𝒦a."""
        T = self.G * matmul(self.U.T, self.operator.rotate(a))
        return self.operator.unrotate(matmul(self.U, T))

    def resolve(self, X: Array, c: float) -> tuple[Array, Array]:
        """(𝒦 + cI)⁻¹X, without the part of X in the null space of 𝒦, which is large for small c, and 𝒦(𝒦 + cI)⁻¹X."""
        T = matmul(self.U.T, self.operator.rotate(X)) / (self.G + c)
        S, V = matmul(self.U, T), matmul(self.U, self.G * T)
        return self.operator.unrotate(S), self.operator.unrotate(V)


@dataclass(eq=False)
class CentredKernel:
    """𝒦 = P𝒦P of an intercept: 𝒦a + U t is fitted in place of 𝒦a."""

    base: PlainKernels
    U: Array

    def along(self, X: Array) -> Array:
        """U UᵀX."""
        return matmul(self.U, matmul(self.U.T, X))

    def product(self, a: Array) -> Array:
        """𝒦a."""
        return self.base.product(a)

    def resolve(self, X: Array, c: float) -> tuple[Array, Array]:
        """S and V = 𝒦S + UUᵀX with S = P S and V + cS = X."""
        constant = self.along(X)
        S, V = self.base.resolve(X - constant, c)
        return S, V + constant


@dataclass(eq=False)
class BorderedKernel:
    """𝒦 with constants u t S, S (r, q) with orthonormal rows: fewer constants than outputs."""

    base: PlainKernels
    U: Array  # (n, 1)
    S: Array

    def __post_init__(self) -> None:
        self._solved: tuple[float, list[Array], Array] | None = None

    def product(self, a: Array) -> Array:
        """𝒦a."""
        return self.base.product(a)

    def _along(self, X: Array) -> Array:
        """⟨u s_l, X⟩, (r,)."""
        return matmul(self.S, matmul(X.T, self.U))[:, 0]

    def resolve(self, X: Array, c: float) -> tuple[Array, Array]:
        """A with 𝒦A + u t S + cA = X and ⟨u s_l, A⟩ = 0, and 𝒦A + u t S."""
        xp = array_namespace(X)
        if self._solved is None or self._solved[0] != c:
            parts = [self.base.resolve(matmul(self.U, s[None, :]), c)[0] for s in self.S]
            self._solved = c, parts, xp.stack([self._along(part) for part in parts], axis=1)
        _, parts, M = self._solved
        A, _ = self.base.resolve(X, c)
        t = xp.linalg.solve(M, self._along(A)[:, None])[:, 0]
        for value, part in zip(t, parts, strict=True):
            A = A - value * part
        return A, X - c * A


@dataclass(eq=False)
class RestKernel:
    """𝒦 with one more coordinate, the last, in which it is 0."""

    base: SpectralKernel | DenseKernel | ThinKernel | StackedKernel | CentredKernel | BorderedKernel

    def product(self, a: Array) -> Array:
        """𝒦a."""
        xp = array_namespace(a)
        return xp.concat([self.base.product(a[:, :-1]), xp.zeros_like(a[:, -1:])], axis=1)

    def resolve(self, X: Array, c: float) -> tuple[Array, Array]:
        """(𝒦 + cI)⁻¹X and 𝒦(𝒦 + cI)⁻¹X."""
        xp = array_namespace(X)
        S, V = self.base.resolve(X[:, :-1], c)
        last = X[:, -1:]
        return xp.concat([S, last / c], axis=1), xp.concat([V, xp.zeros_like(last)], axis=1)


@dataclass(eq=False)
class StackedKernel:
    """𝒦 on matrices, from a kernel on their entries in row-major order."""

    base: SpectralKernel | DenseKernel | ThinKernel | StackedKernel

    def product(self, a: Array) -> Array:
        """𝒦a."""
        xp = array_namespace(a)
        return xp.reshape(self.base.product(xp.reshape(a, (-1, 1))), a.shape)

    def resolve(self, X: Array, c: float) -> tuple[Array, Array]:
        """(𝒦 + cI)⁻¹X and 𝒦(𝒦 + cI)⁻¹X."""
        xp = array_namespace(X)
        S, V = self.base.resolve(xp.reshape(X, (-1, 1)), c)
        return xp.reshape(S, X.shape), xp.reshape(V, X.shape)


PlainKernels = SpectralKernel | DenseKernel | ThinKernel | StackedKernel
LabeledKernel = PlainKernels | CentredKernel | BorderedKernel | RestKernel  # `product` and `resolve` of 𝒦


def _spectrum(K: Array) -> tuple[Array, Array]:
    s, U = eigh((K + K.T) / 2, overwrite=True)
    return array_namespace(s).clip(s, min=0.0), U
