"""h₋ᵢ(x) and the residuals of n + 1 points from one inverse, N = (γK + λI)⁻¹: what conformal sets are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr._array import NotPositiveDefinite, asarray_like, eigh, inverse, to_numpy
from iokr._system.memory import check_memory
from iokr.estimators.inputs import InputAdapter
from iokr.estimators.regression.iokr import KernelRegression, fitted_problem
from iokr.gram.operators import as_array

__all__ = ["LeftOut", "Pairs", "Part"]

Matrix = np.ndarray


@dataclass(frozen=True, eq=False)
class Part:
    """The columns of Ψ E with one eigenvalue γ of A: a problem of its own with the kernel γk."""

    gamma: float
    columns: Matrix
    N: Matrix  # (n, n), (γK + λI)⁻¹
    B: Matrix  # (n, r), N Ψ in the coordinates of the embedding
    sq_norms: Matrix  # (n,), ‖b_i‖²


@dataclass(frozen=True, eq=False)
class Pairs:
    """Inputs x beside outputs y, one part of the coordinates: arrays (pairs, n), or (1, n) where x is the same.

    With e = ψ(y) − h(x) and v = γk(x, x) + λ − γk_xᵀa, a = γN k_x:

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
    """A fitted ridge regression with each point left out, and with one point more: N once, then 2n² per new input.

    Parameters
    ----------
    model : IOKR or IOKRCV, fitted, with a quadratic loss, a separable kernel, complete outputs and no manifold
    """

    def __init__(self, model: KernelRegression) -> None:
        self.model = model
        problem = fitted_problem(model)
        self.alpha, self.n, self.q = problem.alpha, problem.n_labeled, int(problem.Psi.shape[1])
        operator, self._implicit = problem.operator, model.embedding_.is_identity
        groups = operator.groups(self.q)
        check_memory(
            8.0 * self.n**2 * (2 + len(groups)),
            f"Conformal sets from {self.n} points",
            'To reduce memory: fewer rows, or `method="split"`.',
        )
        self.E = None if operator.E is None else to_numpy(operator.E)
        self._K_Y = to_numpy(model.embedding_.gram.dense()) if self._implicit else None
        Psi = None if self._implicit else to_numpy(operator.rotate(as_array(problem.Psi)))
        self.Psi = None if self._implicit else to_numpy(as_array(problem.Psi))
        K = to_numpy(problem.gram.K.dense())
        self.parts = [self._part(K, g, columns, Psi) for g, columns in groups]

    def _part(self, K: Matrix, g: float, columns: Matrix, Psi: Matrix | None) -> Part:
        N = _inverse(g * K, self.alpha)
        if Psi is None:
            return Part(g, columns, N, N, np.einsum("ij,ji->i", N @ self._K_Y, N))
        B = N @ Psi[:, columns]
        return Part(g, columns, N, B, np.einsum("ij,ij->i", B, B))

    def sq_residuals(self, *, scaled: bool) -> Matrix:
        """‖ψ_i − h₋ᵢ(x_i)‖² = ‖b_i‖²/N_ii², (n,); scaled by 1/v, for which N_ii stands."""
        power = 1 if scaled else 2
        return np.asarray(sum(part.sq_norms / np.diagonal(part.N) ** power for part in self.parts))

    def residuals(self) -> Matrix:
        """ψ_i − h₋ᵢ(x_i) = b_i/N_ii, (n, q), in the coordinates of the embedding."""
        return self._back([part.B / np.diagonal(part.N)[:, None] for part in self.parts])

    def at(self, X: Any, *, variances: bool = True) -> NewInputs:
        """What the model says at new inputs; without `variances` nobody asks for v, and k(x, x) need not be known."""
        model = self.model
        adapter = InputAdapter(model.kernel_, model.solution_.C)
        R = adapter.represent(adapter.check(model, X))
        cross = to_numpy(model.kernel_.gram(R, model.inputs_.points).K.dense())
        own = to_numpy(model.kernel_.gram(R).K.diagonal()) if variances else np.full(len(cross), np.nan)
        return NewInputs(self, cross, own)

    def split(self, Psi: Matrix) -> list[Matrix]:
        """Rows Ψ E, the columns of each part."""
        rotated = Psi if self.E is None else Psi @ self.E
        return [rotated[:, part.columns] for part in self.parts]

    def _back(self, columns: list[Matrix]) -> Matrix:
        """From the columns of the parts to coordinates."""
        joined = np.empty((len(columns[0]), sum(c.shape[1] for c in columns)))
        for part, values in zip(self.parts, columns, strict=True):
            joined[:, part.columns if not self._implicit else slice(None)] = values
        return joined if self.E is None else joined @ self.E.T

    def rows(self, S: Any, like: Any) -> Any:
        """Outputs as `NewInputs.pairs` takes them: k_Y against the training outputs and k_Y(y, y), or coordinates."""
        embedding = self.model.embedding_
        if self._implicit:
            eye = asarray_like(np.eye(self.n), like)
            return to_numpy(embedding.inner(eye, S)).T, to_numpy(embedding.sq_norms(S))
        return self.split(to_numpy(embedding.coordinates(S, like)))


class NewInputs:
    """m inputs: a, v and h for each, and beside outputs the residuals of both kinds."""

    def __init__(self, left_out: LeftOut, cross: Matrix, own: Matrix) -> None:
        self.of, self.m = left_out, len(cross)
        self.a = [part.gamma * (cross @ part.N) for part in left_out.parts]  # (m, n) each
        self.v = [
            part.gamma * (own - np.einsum("ij,ij->i", cross, a)) + left_out.alpha
            for part, a in zip(left_out.parts, self.a, strict=True)
        ]
        self.v = [np.maximum(v, left_out.alpha) for v in self.v]
        self.h = [part.gamma * (cross @ part.B) for part in left_out.parts]  # (m, r) each

    def coordinates(self) -> Matrix:
        """h(x), (m, q)."""
        return self.of._back(self.h)

    def moves(self, i: int) -> Matrix:
        """h(x) − h₋ⱼ(x) = (a_j/N_jj) b_j for all training points j at input i, (n, q)."""
        parts = zip(self.of.parts, self.a, strict=True)
        return self.of._back([(a[i] / np.diagonal(part.N))[:, None] * part.B for part, a in parts])

    def joined(self, i: int, e: Matrix) -> Matrix:
        """r_j(y) for all training points j when input i joins with the residual e (q,), (n, q)."""
        columns = self.of.split(e[None, :])
        found = []
        for part, a, v, own in zip(self.of.parts, self.a, self.v, columns, strict=True):
            joined = np.diagonal(part.N) + a[i] ** 2 / v[i]
            found.append((part.B - (a[i] / v[i])[:, None] * own) / joined[:, None])
        return self.of._back(found)

    def pairs(self, rows: Any, i: int | None = None) -> list[Pairs]:
        """Input i beside every output, or with None each input beside its own; `rows` are from `LeftOut.rows`."""
        left_out, found = self.of, []
        at = slice(None) if i is None else slice(i, i + 1)
        for number, part in enumerate(left_out.parts):
            a, v, h = self.a[number][at], self.v[number][at], self.h[number][at]
            if left_out._implicit:
                K_y, norms = rows
                hK = h @ left_out._K_Y
                be = K_y @ part.B.T - hK @ part.B.T
                hy, hh = np.einsum("ij,ij->i", np.broadcast_to(h, K_y.shape), K_y), np.einsum("ij,ij->i", hK, h)
                sq_e = np.clip(norms - 2 * hy + hh, 0.0, None)
            else:
                e = rows[number] - h
                be, sq_e = e @ part.B.T, np.einsum("ij,ij->i", e, e)
            own = np.diagonal(part.N)[None, :]
            found.append(Pairs(a, v[:, None], own, part.sq_norms[None, :], be, sq_e[:, None]))
        return found


def _inverse(K: Matrix, alpha: float) -> Matrix:
    """(K + αI)⁻¹; by clipped eigenvalues where rounding makes it indefinite."""
    try:
        return np.asarray(inverse(np.ascontiguousarray(K), alpha)[0])
    except NotPositiveDefinite:
        s, U = eigh(K)
        return np.asarray((U / (np.clip(s, 0.0, None) + alpha)) @ U.T)
