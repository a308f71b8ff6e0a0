"""The mathematics written slowly: loops, dense systems in all unknowns, explicit features and refits.

Nothing here is clever and nothing is shared with the library. Ridge problems are solved as one dense linear
system in all N·d coefficients, in double precision or, with `exact=True`, in decimals of 60 digits;
leave-one-out is what its name says, one refit per label; kernels are double loops over pairs of objects.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from itertools import pairwise
from math import exp, sqrt
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

EPS = float(np.finfo(float).eps)
DIGITS = 60


def assert_close(actual: ArrayLike, expected: ArrayLike, rtol: float = 1e-9, atol: float = 0.0) -> None:
    """max |actual − expected| ≤ rtol · max |expected| + atol: relative to the size of the whole array."""
    actual, expected = np.asarray(actual, dtype=float), np.asarray(expected, dtype=float)
    assert actual.shape == expected.shape, f"shape {actual.shape} instead of {expected.shape}"
    assert np.isfinite(actual).all(), "not finite"
    size = float(np.max(np.abs(expected), initial=0.0))
    error = float(np.max(np.abs(actual - expected), initial=0.0))
    assert error <= rtol * size + atol, f"error {error:.3g}, size {size:.3g}, relative {error / (size or 1):.3g}"


# ----------------------------------------------------------------------------------------------------
# Linear algebra in decimals of 60 digits
# ----------------------------------------------------------------------------------------------------


def decimals(a: ArrayLike) -> NDArray:
    """The same numbers, without rounding, as an array of `Decimal`."""
    return np.vectorize(Decimal, otypes=[object])(np.asarray(a, dtype=float))


def solve(A: NDArray, B: NDArray) -> NDArray:
    """A⁻¹ B; arrays of `Decimal` by Gaussian elimination with row exchanges."""
    if A.dtype != object:
        return np.linalg.solve(A, B)
    A, B = A.copy(), B.copy()
    for i in range(len(A)):
        p = max(range(i, len(A)), key=lambda j: abs(A[j, i]))
        A[[i, p]], B[[i, p]] = A[[p, i]], B[[p, i]]
        for j in range(i + 1, len(A)):
            factor = A[j, i] / A[i, i]
            A[j, i:] = A[j, i:] - factor * A[i, i:]
            B[j] = B[j] - factor * B[i]
    for i in reversed(range(len(A))):
        B[i] = (B[i] - A[i, i + 1 :] @ B[i + 1 :]) / A[i, i] if i + 1 < len(A) else B[i] / A[i, i]
    return B


# ----------------------------------------------------------------------------------------------------
# Ridge regression with an operator-valued kernel k(x, z) A
# ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Ridge:
    """½ Σ_ij w_i m_ij (h(x_i)_j − y_ij)² + (α/2) ‖h‖² + (μ/2) Σ_ij L_ij ⟨h(x_i), h(x_j)⟩, minimised over h.

    h(x) = Σ_i k(x, x_i) A c_i. The first n of the N points of `K` are labelled, a NaN in `Y` (n, d) is a missing
    target (m_ij = 0). With the rows of C stacked one after the other, the coefficients solve

        (α I + (diag(w m) + μ L ⊗ I)(K ⊗ A)) vec C + w ∘ m ∘ 1bᵀ = vec(w ∘ m ∘ Y),

    with an intercept h(x) + b also Σ_i w_i m_ij (h(x_i)_j + b_j − y_ij) = 0; b_j = 0 for an output without targets.
    """

    K: NDArray
    Y: NDArray
    alpha: float = 1.0
    A: NDArray | None = None
    L: NDArray | None = None
    mu: float = 0.0
    weight: NDArray | None = None
    exact: bool = False
    intercept: bool = False

    @property
    def n(self) -> int:
        return self.Y.shape[0]

    @property
    def operator(self) -> NDArray:
        return np.eye(self.Y.shape[1]) if self.A is None else self.A

    @property
    def importance(self) -> NDArray:
        """w_i m_ij for all N points, 0 on those without label."""
        everywhere = np.zeros((len(self.K), self.Y.shape[1]))
        weight = np.ones(self.n) if self.weight is None else np.asarray(self.weight, dtype=float)
        everywhere[: self.n] = weight[:, None] * ~np.isnan(self.Y)
        return everywhere

    def coefficients(self, without: int | None = None) -> NDArray:
        """C (N, d), possibly without the label of one point, which stays in the graph."""
        return self.solution(without)[0]

    def solution(self, without: int | Sequence[int] | None = None) -> tuple[NDArray, NDArray]:
        """C (N, d) and b (d,), zero without an intercept."""
        number = decimals if self.exact else np.asarray
        importance = self.importance
        if without is not None:
            importance[without] = 0.0  # of one point, or of several
        N, d = importance.shape
        targets = np.zeros((N, d))
        targets[: self.n] = np.nan_to_num(self.Y)
        L = np.zeros((N, N)) if self.L is None else self.L
        with localcontext(prec=DIGITS):
            eye, mu, alpha = number(np.eye(N * d)), number(self.mu)[()], number(self.alpha)[()]
            G = np.kron(number(self.K), number(self.operator))
            M = number(np.diag(importance.ravel())) + mu * np.kron(number(L), number(np.eye(d)))
            rhs = number(importance).ravel() * number(targets).ravel()
            if not self.intercept:
                return solve(alpha * eye + M @ G, rhs).reshape(N, d), number(np.zeros(d))
            ones = np.kron(np.ones((N, 1)), np.eye(d))  # (N d, d)
            weighted = number(importance.ravel()[:, None] * ones)
            unseen = number(np.diag((importance.sum(axis=0) == 0).astype(float)))
            system = np.block([[alpha * eye + M @ G, weighted], [weighted.T @ G, weighted.T @ number(ones) + unseen]])
            found = solve(system, np.concatenate([rhs, number(ones).T @ rhs]))
            return found[: N * d].reshape(N, d), found[N * d :]

    def values(self, K_star: NDArray, without: int | Sequence[int] | None = None) -> NDArray:
        """h at m points whose kernel values with the N points are K* (m, N): K* C A + b."""
        number = decimals if self.exact else np.asarray
        with localcontext(prec=DIGITS):
            C, b = self.solution(without)
            H = number(K_star) @ C @ number(self.operator) + b
        return H.astype(float)

    def leave_one_out(self) -> NDArray:
        """h₋ᵢ(x_i) (n, d), by n refits."""
        return np.vstack([self.values(self.K[i : i + 1], without=i) for i in range(self.n)])

    def leave_groups_out(self, groups: NDArray) -> NDArray:
        """h₋ₛ(x_i) (n, d) for the group S of each row, by a refit for every group."""
        H = np.zeros(self.Y.shape)
        for group in np.unique(groups):
            rows = np.flatnonzero(groups == group)
            H[rows] = self.values(self.K[rows], without=rows)
        return H

    def leave_one_out_error(self) -> float:
        """d Σ w_i m_ij r_ij² / Σ w_i m_ij: the mean of ‖y_i − h₋ᵢ(x_i)‖² when nothing is missing."""
        importance = self.importance[: self.n]
        residuals = np.nan_to_num(self.Y - self.leave_one_out())
        return self.Y.shape[1] * float(np.sum(importance * residuals**2) / np.sum(importance))

    def objective(self, C: NDArray, b: ArrayLike = 0.0) -> float:
        """The sum above, term by term."""
        H = self.K @ C @ self.operator
        N, d = H.shape
        b = np.broadcast_to(b, d)
        loss = sum(
            0.5 * self.importance[i, j] * (H[i, j] + b[j] - self.Y[i, j]) ** 2
            for i in range(self.n)
            for j in range(d)
            if not np.isnan(self.Y[i, j])
        )
        norm = sum(self.K[i, j] * (C[i] @ self.operator @ C[j]) for i in range(N) for j in range(N))
        rough = 0.0 if self.L is None else sum(self.L[i, j] * (H[i] @ H[j]) for i in range(N) for j in range(N))
        return float(loss + self.alpha / 2 * norm + self.mu / 2 * rough)

    def at(self, **changes: Any) -> "Ridge":
        """The same problem with some of its parts replaced."""
        return replace(self, **changes)


def minimiser(problem: Ridge, Phi: NDArray, Phi_star: NDArray) -> NDArray:
    """h at new points, by minimising over explicit parameters: h(x) = B Θᵀ φ(x), ‖h‖ = ‖Θ‖, A = B Bᵀ.

    No kernel is used, only the features `Phi` (N, p) of the N points and `Phi_star` (m, p) of the new ones.
    """
    gamma, E = np.linalg.eigh(problem.operator)
    B = E * np.sqrt(np.clip(gamma, 0, None))
    N, d = problem.importance.shape
    L = np.zeros((N, N)) if problem.L is None else problem.L
    design = np.kron(Phi, B)  # (design @ vec Θ) is vec H, rows of H one after the other
    targets = np.zeros((N, d))
    targets[: problem.n] = np.nan_to_num(problem.Y)
    w = problem.importance.ravel()
    hessian = (
        design.T @ (w[:, None] * design)
        + problem.mu * design.T @ np.kron(L, np.eye(d)) @ design
        + problem.alpha * np.eye(design.shape[1])
    )
    Theta = np.linalg.solve(hessian, design.T @ (w * targets.ravel())).reshape(Phi.shape[1], d)
    return Phi_star @ Theta @ B.T


# ----------------------------------------------------------------------------------------------------
# Scalar kernels, one pair at a time
# ----------------------------------------------------------------------------------------------------


def gram(k: Callable[[Any, Any], float], X: Sequence, Z: Sequence | None = None) -> NDArray:
    """(k(x_i, z_j))_ij by two loops."""
    Z = X if Z is None else Z
    return np.array([[k(x, z) for z in Z] for x in X], dtype=float).reshape(len(X), len(Z))


def linear(x: NDArray, z: NDArray) -> float:
    return float(sum(a * b for a, b in zip(x, z, strict=True)))


def polynomial(degree: float, gamma: float, coef0: float) -> Callable[[NDArray, NDArray], float]:
    return lambda x, z: (gamma * linear(x, z) + coef0) ** degree


def rbf(gamma: float) -> Callable[[NDArray, NDArray], float]:
    return lambda x, z: exp(-gamma * sum((a - b) ** 2 for a, b in zip(x, z, strict=True)))


def delayed_blocks(X: NDArray, Z: NDArray) -> NDArray:
    """[𝒦(x, z)]_pq = k(x + p/2, z + q/2), an operator-valued kernel on ℝ³ whose blocks are not symmetric."""
    k, steps = rbf(0.4), np.arange(3) / 2
    return np.array([[[[k(x + p, z + q) for q in steps] for p in steps] for z in Z] for x in X])


def laplacian(gamma: float) -> Callable[[NDArray, NDArray], float]:
    return lambda x, z: exp(-gamma * sum(abs(a - b) for a, b in zip(x, z, strict=True)))


def cosine(x: NDArray, z: NDArray) -> float:
    size = sqrt(linear(x, x)) * sqrt(linear(z, z))
    return linear(x, z) / size if size else 0.0


def tanimoto(x: NDArray, z: NDArray) -> float:
    both = linear(x, z)
    either = linear(x, x) + linear(z, z) - both
    return both / either if either else 1.0


def delta(x: Any, z: Any) -> float:
    return float(np.all(x == z))


def centred(
    k: Callable[[Any, Any], float], fitted: Sequence, weight: ArrayLike | None = None
) -> Callable[[Any, Any], float]:
    """⟨φ(x) − φ̄, φ(z) − φ̄⟩ with φ̄ the (weighted) mean of the features of the fitted objects."""
    w = np.ones(len(fitted)) if weight is None else np.asarray(weight, dtype=float)
    w = w / w.sum()
    whole = sum(w[i] * w[j] * k(a, b) for i, a in enumerate(fitted) for j, b in enumerate(fitted))

    def value(x: Any, z: Any) -> float:
        to_x = sum(w[i] * k(a, x) for i, a in enumerate(fitted))
        to_z = sum(w[i] * k(a, z) for i, a in enumerate(fitted))
        return k(x, z) - to_x - to_z + whole

    return value


def median_bandwidth(X: NDArray, weight: ArrayLike | None = None) -> float:
    """1 / median ‖x_i − x_j‖² over pairs of the distinct rows of positive weight, at most 1000 of them."""
    rows = {tuple(x) for i, x in enumerate(np.asarray(X, dtype=float)) if weight is None or np.asarray(weight)[i] > 0}
    rows = sorted(rows)
    if len(rows) > 1000:
        rows = [rows[j * (len(rows) - 1) // 999] for j in range(1000)]
    if len(rows) < 2:
        return 1.0
    points = np.array(rows)
    squares = [np.sum((points[i] - points[i + 1 :]) ** 2, axis=1) for i in range(len(points) - 1)]
    return 1.0 / float(np.median(np.concatenate(squares)))


# ----------------------------------------------------------------------------------------------------
# Penalties of unlabelled points
# ----------------------------------------------------------------------------------------------------


def graph_laplacian(W: NDArray, n_neighbors: int | None = None) -> NDArray:
    """diag(W 1) − W of the weights, or of each row's largest off-diagonal ones, symmetrised by the mean."""
    N = len(W)
    kept = np.zeros((N, N))
    for i in range(N):
        others = [j for j in range(N) if j != i]
        others.sort(key=lambda j: -W[i, j])
        for j in others[:n_neighbors]:
            kept[i, j] = W[i, j]
    L = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            if i != j:
                L[i, j] = -(kept[i, j] + kept[j, i]) / 2
                L[i, i] += (kept[i, j] + kept[j, i]) / 2
    return L


def exponential(S: NDArray) -> NDArray:
    """exp(S) of a symmetric matrix: the series at S / 2¹⁰, squared ten times."""
    S = S / 1024
    term = result = np.eye(len(S))
    for k in range(1, 30):
        term = term @ S / k
        result = result + term
    for _ in range(10):
        result = result @ result
    return result


# ----------------------------------------------------------------------------------------------------
# Decoding
# ----------------------------------------------------------------------------------------------------


def scores(H: NDArray, Psi: NDArray) -> NDArray:
    """⟨h(x), ψ(y)⟩ for each row h of H and each explicit feature vector ψ(y)."""
    return gram(linear, H, Psi)


def distances(H: NDArray, Psi: NDArray) -> NDArray:
    """‖h(x) − ψ(y)‖²."""
    return gram(lambda h, psi: float(np.sum((h - psi) ** 2)), H, Psi)


def ranking(values: NDArray, k: int | None = None) -> NDArray:
    """Indices of the smallest values of each row, smallest first; of equal values the first comes first."""
    return np.array([sorted(range(len(row)), key=lambda j: row[j])[:k] for row in values])


def well_separated(values: NDArray, gap: float = 1e-7) -> bool:
    """Whether no two values of a row are so close that rounding could exchange them."""
    return all(b - a > gap for row in values for a, b in pairwise(sorted(row)))


def r2_score(H: NDArray, Psi: NDArray, weight: ArrayLike | None = None) -> float:
    """1 − Σ w ‖ψ(y) − h(x)‖² / Σ w ‖ψ(y) − mean ψ‖²."""
    w = np.ones(len(Psi)) if weight is None else np.asarray(weight, dtype=float)
    mean = sum(w[i] * Psi[i] for i in range(len(Psi))) / w.sum()
    left = sum(w[i] * np.sum((Psi[i] - H[i]) ** 2) for i in range(len(Psi)))
    total = sum(w[i] * np.sum((Psi[i] - mean) ** 2) for i in range(len(Psi)))
    return float(1 - left / total)
