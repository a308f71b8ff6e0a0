"""Full conformal, jackknife+ and jackknife sets of a ridge regression, from one inverse."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import reduce
from typing import Any

import numpy as np

from iokr._array import to_numpy
from iokr.data.candidates import CandidateSets, flatten_sets, shared_sequence
from iokr.data.objects import take
from iokr.estimators.conformal.bounds import Bounds, largest, represented
from iokr.estimators.conformal.left_out import LeftOut, NewInputs, Pairs
from iokr.estimators.conformal.order import kth
from iokr.estimators.regression.iokr import KernelRegression, left_out_values

__all__ = ["ClosedScores", "excess", "scores_of", "smaller"]

Matrix = np.ndarray
_TIE = 1e-12  # two scores closer than this are equal, which keeps y in the set


def smaller(scores: Matrix, own: Matrix) -> Matrix:
    """#{i: s_i < t_i}, over the last axis."""
    return np.asarray((scores * (1 + _TIE) < own).sum(axis=-1))


def excess(costs: Matrix, own: Matrix) -> Matrix:
    """cost(y) − min over the candidates and y itself, costs being (..., c); 0 where the two are equal but for rounding.

    The best candidate has 0 exactly, however it was computed: many rows have it, and a tie keeps y in the set.
    """
    gap = own - costs.min(axis=-1)
    return np.where(gap > _TIE * costs.max(axis=-1), gap, 0.0)


class ClosedScores:
    """Scores of n training rows beside those of new pairs (x, y), as squares.

    Parameters
    ----------
    model : fitted regression
    method : "full", "jackknife+" or "jackknife"
    conformity : "distance", "scaled", "relative", or a function of residuals and inputs
    X : the training inputs, for such a function
    y : the training outputs
    """

    def __init__(self, model: KernelRegression, method: str, conformity: Any, X: Any, y: Any) -> None:
        self.model, self.method, self.conformity = model, method, conformity
        self.left_out = LeftOut(model)
        self.n, self.scaled = self.left_out.n, conformity == "scaled"
        self._X = X if callable(conformity) else None
        if callable(conformity):
            self.own = scores_of(conformity, self.left_out.residuals(), X)
        else:
            self.own = self.left_out.sq_residuals(scaled=self.scaled)
        if method != "full" and Bounds.has(model):
            self._band, self._sigma = self._spread(Bounds(model).outputs(y, model.solution_.C))

    def _spread(self, outputs: Matrix) -> tuple[Matrix, Matrix]:
        """sup_t |y_t − ŷ_t|/σ_t of the training rows, each left out, and σ."""
        H = to_numpy(self.model.targets_.Psi) - self.left_out.residuals()
        return largest(outputs - Bounds(self.model).answers(H, self.model.solution_.C))

    def counts(self, X: Any, y: Any, candidates: Any = None) -> Matrix:
        """How many scores are smaller than that of (x, y), for each pair."""
        new, S = self._at(X), self._represent(y)
        if callable(self.conformity):
            H, Psi = new.coordinates(), self._coordinates(S)
            return np.array([self._called_count(new, i, X, Psi[i] - H[i]) for i in range(new.m)])
        rows = self.left_out.rows(S, self.model.solution_.C)
        if self.conformity != "relative":
            return self._count(new.pairs(rows))
        C = self._represent(shared_sequence(candidates, self.model.embedding_), "candidates")
        own, listed = self._relative(C), self.left_out.rows(C, self.model.solution_.C)
        costs = np.stack([self._cost(new.pairs(listed, i)) for i in range(new.m)])  # (m, c, n or 1)
        mine = self._cost(new.pairs(rows))  # (m, n or 1)
        return smaller(own, excess(np.moveaxis(costs, 1, -1), mine))

    def candidate_counts(self, X: Any, candidates: Any) -> Iterator[Matrix]:
        """The same for every candidate, an array per input."""
        new, embedding, like = self._at(X), self.model.embedding_, self.model.solution_.C
        sets = candidates if isinstance(candidates, CandidateSets) else None
        if sets is not None:
            flatten_sets(sets, new.m, embedding)  # checked, all of them
        S: Any = None
        for i in range(new.m):
            if sets is not None or i == 0:
                listed = shared_sequence(candidates if sets is None else sets[i], embedding)
                S = self._represent(listed, "candidates")
                rows = None if callable(self.conformity) else self.left_out.rows(S, like)
                own = self._relative(S) if self.conformity == "relative" else self.own
            if callable(self.conformity):
                E = self._coordinates(S) - new.coordinates()[i]
                yield np.array([self._called_count(new, i, X, e) for e in E])
            elif self.conformity == "relative":
                costs = self._cost(new.pairs(rows, i))  # (c, n or 1)
                yield smaller(own, excess(costs.T[:, None, :], costs.T).T)
            else:
                yield self._count(new.pairs(rows, i))

    def _at(self, X: Any) -> NewInputs:
        return self.left_out.at(X, variances=self.method == "full" or self.scaled)

    def _represent(self, y: Any, name: str = "y") -> Any:
        return represented(self.model, y, name)

    def _coordinates(self, S: Any) -> Matrix:
        return to_numpy(self.model.embedding_.coordinates(S, self.model.solution_.C))

    def _count(self, parts: list[Pairs]) -> Matrix:
        if self.method == "full":
            own = reduce(np.add, [p.sq_joined() * (p.joined if self.scaled else 1.0) for p in parts])
            return smaller(own, reduce(np.add, [p.sq_e / (p.v if self.scaled else 1.0) for p in parts]))
        return smaller(self.own, self._cost(parts))

    def _cost(self, parts: list[Pairs]) -> Matrix:
        """‖ψ(y) − h(x)‖², (pairs, 1), or by the models without a point, (pairs, n); scaled by 1/v."""
        plus = self.method == "jackknife+"
        total = 0.0
        for p in parts:
            v: Any = (p.v + p.a**2 / p.own if plus else p.v) if self.scaled else 1.0
            total = total + (p.sq_without() if plus else p.sq_e) / v
        return np.asarray(total)

    def _relative(self, C: Any) -> Matrix:
        """How much worse y_i is than the best candidate, by the model without it."""
        embedding, H = self.model.embedding_, left_out_values(self.model)
        norms = to_numpy(embedding.sq_norms_of(H))[:, None] + to_numpy(embedding.sq_norms(C))[None, :]
        return excess(norms - 2 * to_numpy(embedding.inner(H, C)), self.own)

    def _called_count(self, new: NewInputs, i: int, X: Any, e: Matrix) -> int:
        x, f = take(X, np.array([i])), self.conformity
        if self.method == "jackknife+":
            repeated = take(X, np.full(self.n, i))
            return int(smaller(self.own, scores_of(f, e + new.moves(i), repeated)))
        own = self.own if self.method == "jackknife" else scores_of(f, new.joined(i, e), self._X)
        return int(smaller(own, scores_of(f, e[None, :], x)))

    def radius(self, X: Any, k: int) -> Matrix:
        """The radius of a ball around h(x) that holds the set; for the jackknife the ball is the set."""
        new, roots = self._at(X), np.sqrt(self.own)
        own = [np.diagonal(part.N)[None, :] for part in self.left_out.parts]
        sq_b = [part.sq_norms[None, :] for part in self.left_out.parts]
        v = [v[:, None] for v in new.v]
        if self.method == "jackknife":
            Q = np.full(new.m, kth(roots, k))
            return np.asarray(Q * np.sqrt(new.v[0]) if self.scaled else Q)
        if self.method == "jackknife+":  # ‖e‖ ≤ ‖ψ(y) − h₋ᵢ(x)‖ + ‖h₋ᵢ(x) − h(x)‖
            moved = np.sqrt(sum((a / o) ** 2 * b for a, o, b in zip(new.a, own, sq_b, strict=True)))
            reach = roots[None, :] * (np.sqrt(v[0] + new.a[0] ** 2 / own[0]) if self.scaled else 1.0)
            return kth(reach + moved, k)
        joined = [o + a**2 / u for o, a, u in zip(own, new.a, v, strict=True)]  # ‖e‖ ≤ ‖E_i‖ + g_i‖e‖
        E = np.sqrt(sum(b / j**2 for b, j in zip(sq_b, joined, strict=True)))
        g = np.max([np.abs(a) / u / j for a, u, j in zip(new.a, v, joined, strict=True)], axis=0)
        c = np.sqrt(joined[0] * v[0]) if self.scaled else np.ones_like(g)
        return kth(_reach(E * c, g * c), k)

    def band(self, X: Any, k: int) -> tuple[Matrix, Matrix]:
        """Lower and upper ends, (m, T) each, in the numbers of y."""
        new, bounds, like = self._at(X), Bounds(self.model), self.model.solution_.C
        H = new.coordinates()
        if self.method == "full":
            return bounds.back(self._full_interval(new, H, k), like)
        if "_band" not in vars(self):  # a file of before it was kept: outputs from their coordinates
            self._band, self._sigma = self._spread(bounds.answers(to_numpy(self.model.targets_.Psi), like))
        own = np.diagonal(self.left_out.parts[0].N)
        scores, sigma = self._band * (np.sqrt(own) if self.scaled else 1.0), self._sigma[None, :]
        answers = bounds.answers(H, like)
        if self.method == "jackknife":
            half = kth(scores, k) * sigma * (np.sqrt(new.v[0])[:, None] if self.scaled else 1.0)
            return bounds.back((answers - half, answers + half), like)
        low, high = np.empty_like(answers), np.empty_like(answers)
        for i in range(new.m):
            without = bounds.answers(H[i] - new.moves(i), like)
            v = np.sqrt(new.v[0][i] + new.a[0][i] ** 2 / own) if self.scaled else 1.0
            half = (scores * v)[:, None] * sigma
            low[i], high[i] = -kth((half - without).T, k), kth((without + half).T, k)
        return bounds.back((low, high), like)

    def _full_interval(self, new: NewInputs, H: Matrix, k: int) -> tuple[Matrix, Matrix]:
        """h + the k-th order statistics of the ends E_i/(g_i ± 1) of {e: |e| ≤ |E_i − g_i e|}."""
        part, a, v = self.left_out.parts[0], new.a[0], new.v[0][:, None]
        joined = np.diagonal(part.N)[None, :] + a**2 / v
        c = np.sqrt(joined * v) if self.scaled else np.ones_like(joined)
        E, g = part.B[:, 0][None, :] / joined * c, a / v / joined * c
        inside = np.abs(g) < 1 - 1e-12
        safe = np.where(inside, g, 0.0)
        ends = np.stack([E / (safe + 1), E / (safe - 1)])
        low = np.where(inside, ends.min(axis=0), -np.inf)
        high = np.where(inside, ends.max(axis=0), np.inf)
        return H - kth(-low, k)[:, None], H + kth(high, k)[:, None]


def _reach(E: Matrix, g: Matrix) -> Matrix:
    """E/(1 − g), infinite where g ≥ 1."""
    inside = g < 1 - 1e-12
    return np.where(inside, E / np.where(inside, 1 - g, 1.0), np.inf)


def scores_of(conformity: Callable[[Matrix, Any], Any], residuals: Matrix, X: Any) -> Matrix:
    """A score per row from a function of residuals and inputs."""
    scores = np.asarray(to_numpy(conformity(residuals, X)), dtype=float)
    if scores.shape != (len(residuals),) or np.isnan(scores).any():
        raise ValueError(
            f"`conformity(residuals, X)` must give a number for each of {len(residuals)} rows, got an array of shape "
            f"{scores.shape}{', with NaN' if np.isnan(scores).any() else ''}."
        )
    return scores
