"""The original problems of the losses without closed form, in explicit features, solved by an interior point.

Nothing here is shared with the library and no dual is used to solve: h(x) = B Θᵀ φ(x) with A = B Bᵀ, so ‖h‖ = ‖Θ‖, and

    minimise  Σ_i w_i ℓ(h(x_i) + b, y_i) + (α/2) ‖Θ‖² + (μ/2) Σ_ij L_ij ⟨h(x_i), h(x_j)⟩   over Θ, b

goes to a conic solver as it stands; b = 0 unless there is an intercept. The dual below serves only to say how far the
conic solver itself may be off.
"""

import contextlib
import warnings
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import cvxpy as cp
import numpy as np
from numpy.typing import NDArray

TOLERANCES = (1e-15, 1e-14, 1e-13, 1e-12, 1e-11)  # it gives up at the tightest ones: the best answer is taken


def factor(S: NDArray) -> NDArray:
    """F of full column rank with F Fᵀ = S."""
    s, U = np.linalg.eigh((S + S.T) / 2)
    kept = s > 1e-15 * len(S) * max(s[-1], 0.0)
    return U[:, kept] * np.sqrt(s[kept])


# ----------------------------------------------------------------------------------------------------
# The losses, one row at a time
# ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Margin:
    """max(0, 1 − ⟨y, h⟩)."""

    calibrated = False

    def value(self, h: NDArray, y: NDArray) -> float:
        return max(0.0, 1.0 - float(y @ h))

    def cone(self, H: cp.Expression, Y: NDArray) -> cp.Expression:
        return cp.pos(1 - cp.sum(cp.multiply(Y, H), axis=1))

    def feasible(self, a: NDArray, y: NDArray, w: float) -> NDArray:
        """The multiplier is t y with 0 ≤ t ≤ w."""
        return float(np.clip(a @ y / (y @ y), 0.0, w)) * y

    def dual(self, a: NDArray, y: NDArray, w: float) -> float:
        """−(wℓ)*(−a) = t."""
        return float(a @ y / (y @ y))


@dataclass(frozen=True)
class Residual:
    """A function of r = ‖h − y‖."""

    parameter: float
    calibrated = True

    def value(self, h: NDArray, y: NDArray) -> float:
        return self.of(float(np.sqrt(np.sum((h - y) ** 2))))

    def of(self, r: float) -> float:
        raise NotImplementedError

    def cone_of(self, r: cp.Expression) -> cp.Expression:
        raise NotImplementedError

    def cone(self, H: cp.Expression, Y: NDArray) -> cp.Expression:
        seen = ~np.isnan(Y)
        return self.cone_of(cp.norm(cp.multiply(seen.astype(float), H - np.nan_to_num(Y)), 2, axis=1))

    def limit(self, w: float) -> float:
        """The largest ‖a‖."""
        return np.inf

    def feasible(self, a: NDArray, y: NDArray, w: float) -> NDArray:
        size = float(np.sqrt(np.sum(a**2)))
        return a if size <= self.limit(w) else a * (self.limit(w) / size)


@dataclass(frozen=True)
class HuberLoss(Residual):
    """r²/2 while r ≤ κ, then κ (r − κ/2)."""

    def of(self, r: float) -> float:
        return r**2 / 2 if r <= self.parameter else self.parameter * (r - self.parameter / 2)

    def cone_of(self, r: cp.Expression) -> cp.Expression:
        near = cp.Variable(r.shape)  # the quadratic part of r; what goes beyond costs κ
        return cp.square(near) / 2 + self.parameter * cp.pos(r - near)

    def limit(self, w: float) -> float:
        return w * self.parameter

    def dual(self, a: NDArray, y: NDArray, w: float) -> float:
        return float(a @ y - (a @ a / (2 * w) if w else 0.0))


@dataclass(frozen=True)
class EpsilonSquareLoss(Residual):
    """½ max(r − ε, 0)²."""

    def of(self, r: float) -> float:
        return max(r - self.parameter, 0.0) ** 2 / 2

    def cone_of(self, r: cp.Expression) -> cp.Expression:
        return cp.square(cp.pos(r - self.parameter)) / 2

    def limit(self, w: float) -> float:
        return np.inf if w else 0.0

    def dual(self, a: NDArray, y: NDArray, w: float) -> float:
        return float(a @ y - (a @ a / (2 * w) if w else 0.0) - self.parameter * np.sqrt(a @ a))


@dataclass(frozen=True)
class EpsilonInsensitiveLoss(Residual):
    """max(r − ε, 0)."""

    def of(self, r: float) -> float:
        return max(r - self.parameter, 0.0)

    def cone_of(self, r: cp.Expression) -> cp.Expression:
        return cp.pos(r - self.parameter)

    def limit(self, w: float) -> float:
        return w

    def dual(self, a: NDArray, y: NDArray, w: float) -> float:
        return float(a @ y - self.parameter * np.sqrt(a @ a))


# ----------------------------------------------------------------------------------------------------
# The problem
# ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Optimum:
    """What the interior point found."""

    Theta: NDArray
    b: NDArray  # (d,), zero without an intercept
    value: float
    bound: float
    """A lower bound of the minimum, from its multipliers made feasible.

    An answer between the two is as good as this one. Where the loss has a kink this one may be off by 1e-10 and more:
    the objective then grows with the error of Θ itself, not with its square.
    """


@dataclass(frozen=True, eq=False)
class Convex:
    """One problem in explicit features `Phi` (N, p) of its points, the first n of which have targets `Y` (n, d)."""

    Phi: NDArray
    Y: NDArray
    loss: Any
    alpha: float = 1.0
    A: NDArray | None = None
    L: NDArray | None = None
    mu: float = 0.0
    weight: NDArray | None = None
    intercept: bool = False  # not with the margin

    @property
    def n(self) -> int:
        return self.Y.shape[0]

    @property
    def w(self) -> NDArray:
        return np.ones(self.n) if self.weight is None else np.asarray(self.weight, dtype=float)

    @cached_property
    def B(self) -> NDArray:
        return np.eye(self.Y.shape[1]) if self.A is None else factor(self.A)

    @cached_property
    def F(self) -> NDArray:
        """L = F Fᵀ: Σ_ij L_ij ⟨h_i, h_j⟩ = ‖Fᵀ H‖², which does not cancel."""
        return np.zeros((len(self.Phi), 0)) if self.L is None else factor(self.L)

    @cached_property
    def optimum(self) -> Optimum:
        d, r = self.B.shape
        Theta = cp.Variable((self.Phi.shape[1], r))
        H = cp.Variable((self.n, d))
        b = cp.Variable((1, d)) if self.intercept else cp.Constant(np.zeros((1, d)))
        labelled = self.Phi[: self.n] @ Theta @ self.B.T + np.ones((self.n, 1)) @ b == H
        used = np.flatnonzero(self.w > 0)
        objective = cp.sum(cp.multiply(self.w[used], self.loss.cone(H[used], self.Y[used])))
        objective += self.alpha / 2 * cp.sum_squares(Theta)
        if self.L is not None and self.mu:
            objective += self.mu / 2 * cp.sum_squares((self.F.T @ self.Phi) @ Theta @ self.B.T)
        best = Optimum(np.zeros(Theta.shape), np.zeros(d), np.inf, 0.0)
        for scale in (self.at_zero or 1.0, 1.0):
            program = cp.Problem(cp.Minimize(objective / scale), [labelled])
            for tol in TOLERANCES:
                settings = {name: tol for name in ("tol_gap_abs", "tol_gap_rel", "tol_feas")}
                with warnings.catch_warnings(), contextlib.suppress(cp.error.SolverError):
                    warnings.simplefilter("ignore")  # it says "inaccurate" when it stops short
                    program.solve(solver=cp.CLARABEL, warm_start=False, **settings)  # each try on its own
                    found, multipliers = (Theta.value, b.value[0]), scale * np.asarray(labelled.dual_value)
                    bound = max(best.bound, self.dual(multipliers), self.dual(-multipliers))
                    value = self.objective(*found)
                    best = Optimum(*found, value, bound) if value < best.value else replace(best, bound=bound)
                if best.value - best.bound <= 1e-13 * self.at_zero:
                    return best
        return best

    # ------------------------------------------------------------------------------------------ values

    def values(self, Phi: NDArray, Theta: NDArray | None = None, b: NDArray | float = 0.0) -> NDArray:
        """h + b at points with features `Phi`, of the optimum unless Θ is given."""
        if Theta is None:
            Theta, b = self.optimum.Theta, self.optimum.b
        return Phi @ Theta @ self.B.T + b

    def theta(self, C: NDArray) -> NDArray:
        """Θ of h(x) = Σ_i k(x, x_i) A c_i."""
        return self.Phi.T @ C @ self.B

    def fit_term(self, H: NDArray) -> float:
        """Σ_i w_i ℓ(h_i, y_i), over the entries that are there."""
        total = 0.0
        for h, y, w in zip(H[: self.n], self.Y, self.w, strict=True):
            seen = ~np.isnan(y)
            total += w * self.loss.value(h[seen], y[seen])
        return total

    def objective(self, Theta: NDArray, b: NDArray | float = 0.0) -> float:
        H = self.values(self.Phi, Theta)
        rough = float(np.sum((self.F.T @ H) ** 2))
        return self.fit_term(H + b) + self.alpha / 2 * float(np.sum(Theta**2)) + self.mu / 2 * rough

    @property
    def at_zero(self) -> float:
        """P₀; with an intercept at h = 0 and b the weighted median of each output, of two the smaller."""
        return self.fit_term(np.zeros_like(self.Y) + (self.medians if self.intercept else 0.0))

    @property
    def medians(self) -> NDArray:
        """Of the outputs that are there."""
        found = []
        for y in self.Y.T:
            seen = sorted((value, w) for value, w in zip(y, self.w, strict=True) if not np.isnan(value))
            half = sum(w for _, w in seen) / 2
            found.append(next(value for i, (value, _) in enumerate(seen) if sum(w for _, w in seen[: i + 1]) >= half))
        return np.array(found)

    # -------------------------------------------------------------------------------------------- dual

    def dual(self, multipliers: NDArray) -> float:
        """A lower bound of the minimum: the dual objective at the nearest feasible multipliers (n, d)."""
        alphas, total = self.feasible(multipliers), 0.0
        for a, y, w in zip(alphas, self.Y, self.w, strict=True):
            seen = ~np.isnan(y)
            total += self.loss.dual(a[seen], y[seen], w)
        design = np.kron(self.Phi, self.B)  # vec Θ ↦ vec H, rows one after the other
        rough = np.kron(self.F.T @ self.Phi, self.B)
        p = design.shape[1]
        root = np.linalg.qr(np.vstack([np.sqrt(self.alpha) * np.eye(p), np.sqrt(self.mu) * rough]), mode="r")
        slope = np.linalg.solve(root.T, design[: self.Y.size].T @ alphas.ravel())
        return total - 0.5 * float(slope @ slope)

    def feasible(self, multipliers: NDArray) -> NDArray:
        """In the domain of the dual, 0 for what is missing; for a free b those of every output sum to zero."""
        alphas = np.zeros_like(self.Y)
        for i, (a, y, w) in enumerate(zip(multipliers, self.Y, self.w, strict=True)):
            seen = ~np.isnan(y)
            alphas[i, seen] = self.loss.feasible(a[seen], y[seen], w)
        if not self.intercept:
            return alphas
        counted = ~np.isnan(self.Y) & (self.w > 0)[:, None]
        alphas = alphas - counted * (alphas.sum(axis=0) / counted.sum(axis=0))
        sizes = np.sqrt(np.sum(alphas**2, axis=1))
        limits = np.array([self.loss.limit(w) for w in self.w])
        beyond = sizes > limits  # the domain is convex and contains 0: all shorter by the same factor
        return alphas * np.min(limits[beyond] / sizes[beyond], initial=1.0)

    @property
    def rounding(self) -> float:
        """By how much rounding moves the objective: that of L, and that of h = K C A, which is eps·s_max γ_max/λ."""
        H = self.values(self.Phi, self.optimum.Theta)
        L = 0.0 if self.L is None else float(np.linalg.norm(self.L, 2))
        spread = float(np.linalg.norm(self.Phi, 2) * np.linalg.norm(self.B, 2)) ** 2 / self.alpha
        eps = float(np.finfo(float).eps)
        return eps * (self.at_zero * (10 + spread) + 10 * len(H) * self.mu * L * float(np.sum(H**2)))

    def at(self, **changes: Any) -> "Convex":
        """The same problem with some of its parts replaced."""
        return replace(self, **changes)
