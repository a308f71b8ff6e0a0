"""h₋ᵢ(x) and the residuals of n + 1 points from one inverse, N = (γK + λI)⁻¹, for conformal sets."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import block_diag

from iokr._array import FullPacked, NotPositiveDefinite, asarray_like, eigh, inverse, to_numpy
from iokr._system.memory import check_memory
from iokr.estimators.inputs import InputAdapter
from iokr.estimators.regression.base import KernelRegression, fitted_problem

__all__ = ["LeftOut", "Pairs", "Part"]

Matrix = np.ndarray


@dataclass(frozen=True, eq=False)
class Intercept:
    """The last row of the inverse of [γK + λI, 1; 1ᵀ, 0], whose first block is then N: (weights, −known)."""

    weights: Matrix  # (n,), those of the outputs in the intercept; they sum to one
    value: Matrix  # (r,), the intercept
    known: float

    def _stored(self) -> dict[str, Any]:
        return {"weights": self.weights, "value": self.value, "known": self.known}


@dataclass(frozen=True, eq=False)
class Part:
    """The columns of Ψ E with one eigenvalue γ of A: a separate problem with the kernel γk."""

    gamma: float
    columns: Matrix
    N: Matrix  # (n, n), (γK + λI)⁻¹
    B: Matrix  # (n, r), N Ψ in the coordinates of the embedding
    sq_norms: Matrix  # (n,), ‖b_i‖²
    intercept: Intercept | None = None

    def _stored(self) -> dict[str, Any]:
        return {
            "gamma": self.gamma,
            "columns": self.columns,
            "N": self.N,
            "B": self.B,
            "sq_norms": self.sq_norms,
            "intercept": self.intercept,
        }

    @property
    def own(self) -> Matrix:
        """N_ii, (n,)."""
        return np.diagonal(self.N)


@dataclass(frozen=True, eq=False)
class Pairs:
    """Pairs of an input x and an output y, in one part of the coordinates: arrays (pairs, n), or (1, n) for one x.

    With e = ψ(y) − h(x) and v = γk(x, x) + λ − γk_xᵀa, a = γN k_x (a and v follow from the larger inverse with an
    intercept):

        residual of point i after (x, y) joined          r_i(y) = (b_i − (a_i/v) e) / (N_ii + a_i²/v)
        residual of (x, y) by the model without point i  ψ(y) − h₋ᵢ(x) = e + (a_i/N_ii) b_i
    """

    a: Matrix
    v: Matrix  # (pairs, 1)
    own: Matrix  # (1, n), N_ii
    sq_b: Matrix  # (1, n), ‖b_i‖²
    be: Matrix  # (pairs, n), ⟨b_i, e⟩
    sq_e: Matrix  # (pairs, 1), ‖e‖²

    @property
    def joined(self) -> Matrix:
        """N_ii + a_i²/v: the inverse of n + 1 points at i."""
        return np.asarray(self.own + self.a**2 / self.v)

    def sq_joined(self) -> Matrix:
        """‖r_i(y)‖²."""
        t = self.a / self.v
        return np.asarray(np.clip(self.sq_b - 2 * t * self.be + t**2 * self.sq_e, 0.0, None) / self.joined**2)

    def sq_without(self) -> Matrix:
        """‖ψ(y) − h₋ᵢ(x)‖²."""
        t = self.a / self.own
        return np.asarray(np.clip(self.sq_e + 2 * t * self.be + t**2 * self.sq_b, 0.0, None))


class LeftOut:
    """A fitted ridge regression without each point, and with one point more: N once, then 2n² flops per new input.

    Parameters
    ----------
    model : IOKR or IOKRCV, fitted, with a quadratic loss, a separable kernel, complete outputs and no manifold
    """

    def __init__(self, model: KernelRegression) -> None:
        self.model = model
        problem = fitted_problem(model)
        operator = problem.operator
        self.alpha = problem.alpha
        self.n = problem.n_labeled
        self.q = int(problem.Psi.shape[1])
        self._implicit = model.embedding_.is_identity
        groups = operator.groups(self.q)
        self.E = None if operator.E is None else to_numpy(operator.E)
        if model.embedding_.has_residual:  # one more coordinate, in which h is 0
            groups = [*groups, (0.0, np.array([self.q]))]
            E = np.eye(self.q) if self.E is None else np.asarray(self.E, dtype=float)
            self.E = block_diag(E, np.ones((1, 1)))
            self.q += 1
        check_memory(
            8.0 * self.n**2 * (2 + len(groups)),
            f"Conformal sets from {self.n} points",
            'To reduce memory: fewer rows, or `method="split"`.',
        )
        K = to_numpy(problem.gram.K.dense())
        self.parts: list[Part] = []
        if self._implicit:
            self._K_Y = to_numpy(model.embedding_.gram.dense())
        else:
            Psi = self.targets()
            Psi = Psi if self.E is None else Psi @ self.E
        for gamma, columns in groups:
            centred = problem.constants is not None and columns[0] < problem.Psi.shape[1]
            N, intercept = _inverse(gamma * K, self.alpha, centred=centred)
            if self._implicit:  # outputs known through K_Y: Ψ = I, and ‖b_i‖² = (N K_Y N)_ii
                B = N
                sq_norms = np.einsum("ij,ji->i", N @ self._K_Y, N)
            else:
                B = N @ Psi[:, columns]
                sq_norms = np.einsum("ij,ij->i", B, B)
            if intercept is not None:
                value = intercept.weights if self._implicit else intercept.weights @ Psi[:, columns]
                intercept = replace(intercept, value=value)
            self.parts.append(Part(gamma, columns, N, B, sq_norms, intercept))

    def _stored(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "alpha": self.alpha,
            "n": self.n,
            "q": self.q,
            "implicit": self._implicit,
            "E": self.E,
            "parts": self.parts,
            "K_Y": self._K_Y,
        }

    def targets(self) -> Matrix:
        """Ψ of the training outputs, (n, q)."""
        model: Any = self.model
        if model.embedding_.has_residual:
            return to_numpy(model.embedding_.represent(model.curves_))
        return to_numpy(model.targets_.Psi)

    def coordinates(self, S: Any, like: Any) -> Matrix:
        """ψ of represented outputs, (m, q)."""
        embedding = self.model.embedding_
        return to_numpy(S if embedding.has_residual else embedding.coordinates(S, like))

    def sq_residuals(self, *, scaled: bool) -> Matrix:
        """‖ψ_i − h₋ᵢ(x_i)‖² = ‖b_i‖²/N_ii², (n,); scaled by 1/v, which is N_ii."""
        power = 1 if scaled else 2
        return np.asarray(sum(part.sq_norms / part.own**power for part in self.parts))

    def residuals(self) -> Matrix:
        """ψ_i − h₋ᵢ(x_i) = b_i/N_ii, (n, q), in the coordinates of the embedding."""
        return self.joined([part.B / part.own[:, None] for part in self.parts])

    def at(self, X: Any, *, variances: bool = True) -> NewInputs:
        """What the model predicts at new inputs; without `variances` v is NaN, and k(x, x) need not be known."""
        model = self.model
        R = InputAdapter(model.kernel_, model.solution_.C).read(model, X)
        cross = to_numpy(model.kernel_.gram(R, self._points).K.dense())
        diagonal = to_numpy(model.kernel_.gram(R).K.diagonal()) if variances else np.full(len(cross), np.nan)
        return NewInputs(self, cross, diagonal)

    @cached_property
    def _points(self) -> Any:
        """The training inputs as the kernel represents them."""
        return self.model.inputs_.points

    def split(self, Psi: Matrix) -> list[Matrix]:
        """Rows Ψ E, the columns of each part."""
        rotated = Psi if self.E is None else Psi @ self.E
        return [rotated[:, part.columns] for part in self.parts]

    def joined(self, columns: list[Matrix]) -> Matrix:
        """Coordinates from the columns of the parts."""
        whole = np.empty((len(columns[0]), sum(values.shape[1] for values in columns)))
        for part, values in zip(self.parts, columns, strict=True):
            whole[:, part.columns] = values
        return whole if self.E is None else whole @ self.E.T

    def rows(self, S: Any, like: Any) -> Any:
        """Outputs as `products` takes them: k_Y against the training outputs and k_Y(y, y), or coordinates by parts."""
        embedding = self.model.embedding_
        if self._implicit:
            eye = asarray_like(np.eye(self.n), like)
            return to_numpy(embedding.inner(eye, S)).T, to_numpy(embedding.sq_norms(S))
        return self.split(self.coordinates(S, like))

    def products(self, number: int, h: Matrix, rows: Any) -> tuple[Matrix, Matrix]:
        """⟨b_i, e⟩ (pairs, n) and ‖e‖² (pairs,) with e = ψ(y) − h(x) in part `number`."""
        B = self.parts[number].B
        if not self._implicit:
            e = rows[number] - h
            return e @ B.T, np.einsum("ij,ij->i", e, e)
        K_y, norms = rows  # inner products of outputs with coordinates h and b_i are taken with K_Y
        hK = h @ self._K_Y
        be = K_y @ B.T - hK @ B.T
        hy = np.einsum("ij,ij->i", np.broadcast_to(h, K_y.shape), K_y)
        hh = np.einsum("ij,ij->i", hK, h)
        return be, np.clip(norms - 2 * hy + hh, 0.0, None)


class NewInputs:
    """m inputs: a, v and h for each, and both kinds of residuals in pairs with outputs.

    `cross` has the k(x, x_i), `diagonal` the k(x, x).
    """

    def __init__(self, left_out: LeftOut, cross: Matrix, diagonal: Matrix) -> None:
        self.left_out = left_out
        self.m = len(cross)
        self.a: list[Matrix] = []  # (m, n) for each part
        self.h: list[Matrix] = []  # (m, r)
        self.v: list[Matrix] = []  # (m,)
        for part in left_out.parts:
            a = part.gamma * (cross @ part.N)
            h = part.gamma * (cross @ part.B)
            v = part.gamma * (diagonal - np.einsum("ij,ij->i", cross, a)) + left_out.alpha
            if part.intercept is not None:
                v = v - 2 * part.gamma * (cross @ part.intercept.weights) + part.intercept.known
                a = a + part.intercept.weights
                h = h + part.intercept.value
            self.a.append(a)
            self.h.append(h)
            self.v.append(np.maximum(v, left_out.alpha))  # v ≥ λ but for rounding

    def coordinates(self) -> Matrix:
        """h(x), (m, q)."""
        return self.left_out.joined(self.h)

    def moves(self, i: int) -> Matrix:
        """h(x) − h₋ⱼ(x) = (a_j/N_jj) b_j for all training points j at input i, (n, q)."""
        parts = zip(self.left_out.parts, self.a, strict=True)
        return self.left_out.joined([(a[i] / part.own)[:, None] * part.B for part, a in parts])

    def joined(self, i: int, e: Matrix) -> Matrix:
        """r_j(y) for all training points j when input i joins with the residual e (q,), (n, q)."""
        residuals = []
        columns = self.left_out.split(e[None, :])
        for part, a, v, e_part in zip(self.left_out.parts, self.a, self.v, columns, strict=True):
            inverse = part.own + a[i] ** 2 / v[i]
            residuals.append((part.B - (a[i] / v[i])[:, None] * e_part) / inverse[:, None])
        return self.left_out.joined(residuals)

    def pairs(self, rows: Any, i: int | None = None) -> list[Pairs]:
        """Input i with every output, or without i each input with its own; `rows` are from `LeftOut.rows`."""
        inputs = slice(None) if i is None else slice(i, i + 1)
        pairs = []
        for number, part in enumerate(self.left_out.parts):
            be, sq_e = self.left_out.products(number, self.h[number][inputs], rows)
            pairs.append(
                Pairs(
                    a=self.a[number][inputs],
                    v=self.v[number][inputs, None],
                    own=part.own[None, :],
                    sq_b=part.sq_norms[None, :],
                    be=be,
                    sq_e=sq_e[:, None],
                )
            )
        return pairs


def _inverse(K: Matrix, alpha: float, *, centred: bool) -> tuple[Matrix, Intercept | None]:
    """(K + αI)⁻¹; if `centred` the blocks of the inverse with an intercept.

    (K + αI)N + 1wᵀ = I with 1ᵀN = 0, hence N = P(P K P + αI)⁻¹P and w = 1/n − N k̄, k̄ = K1/n.
    """
    n = len(K)
    if not centred:
        return _plain_inverse(K, alpha), None
    U = np.full((n, 1), n**-0.5)
    whole = FullPacked(np.array(K, order="C"))
    trace = float(np.trace(K))
    mean = whole.project(U, trace)[:, 0] / n**0.5  # k̄; U gets the trace as eigenvalue, for a better condition
    N = _plain_inverse(whole.K, alpha)
    N -= U @ (U.T @ N)
    weights = 1 / n - N @ mean
    return N, Intercept(weights, weights, float(mean @ weights) + alpha / n)


def _plain_inverse(K: Matrix, alpha: float) -> Matrix:
    """(K + αI)⁻¹; by clipped eigenvalues where rounding makes it indefinite."""
    try:
        return np.asarray(inverse(np.ascontiguousarray(K), alpha)[0])
    except NotPositiveDefinite:
        s, U = eigh(K)
        return np.asarray((U / (np.clip(s, 0.0, None) + alpha)) @ U.T)
