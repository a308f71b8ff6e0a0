"""Full conformal, jackknife+ and jackknife sets of a ridge regression, from one inverse."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from iokr._array import to_numpy
from iokr.data.candidates import CandidateSets, flatten_sets, shared_sequence
from iokr.data.objects import take
from iokr.estimators.conformal.answers import largest
from iokr.estimators.conformal.left_out import LeftOut, NewInputs, Pairs
from iokr.estimators.conformal.scores import Scores, excess, kth, scores_of, smaller
from iokr.estimators.regression.base import KernelRegression, left_out_values

__all__ = ["ClosedScores"]

Matrix = np.ndarray
_ROUNDING = 1e-12  # g within this of 1 is 1


class ClosedScores(Scores):
    """Scores of n training rows, as squares.

    Parameters
    ----------
    model : fitted regression
    method : "full", "jackknife+" or "jackknife"
    conformity : "distance", "scaled", "relative", or a function of residuals and inputs
    X : the training inputs, for such a function
    y : the training outputs
    """

    _band: Matrix | None = None  # sup_t |y_t − ŷ_t|/σ_t of the training rows, each left out
    _sigma: Matrix | None = None

    def __init__(self, model: KernelRegression, method: str, conformity: Any, X: Any, y: Any) -> None:
        self.model = model
        self.method = method
        self.conformity = conformity
        self.left_out = LeftOut(model)
        self.n = self.left_out.n
        self.scaled = bool(conformity == "scaled")
        self._X = X if callable(conformity) else None
        if callable(conformity):
            self.own = scores_of(conformity, self.left_out.residuals(), X)
        else:
            self.own = self.left_out.sq_residuals(scaled=self.scaled)
        answers = self.answers
        if method != "full" and answers.has_band:
            self._band, self._sigma = self._band_scores(answers.numbers(y, answers.like))

    def _stored(self) -> dict[str, Any]:
        return {
            "model": self.model,
            "method": self.method,
            "conformity": self.conformity,
            "left_out": self.left_out,
            "scaled": self.scaled,
            "X": self._X,
            "band": self._band,
            "sigma": self._sigma,
        }

    def _band_scores(self, outputs: Matrix) -> tuple[Matrix, Matrix]:
        """sup_t |y_t − ŷ_t|/σ_t of the training rows, each left out, and σ."""
        answers = self.answers
        H = self.left_out.targets() - self.left_out.residuals()
        return largest(outputs - answers.from_coordinates(H, answers.like))

    def counts(self, X: Any, y: Any, candidates: Any = None) -> Matrix:
        """How many scores are smaller than that of (x, y), for each pair."""
        new = self._at(X)
        S = self.answers.represent(y)
        if callable(self.conformity):
            E = self._coordinates(S) - new.coordinates()
            return np.array([self._function_count(new, i, X, E[i]) for i in range(new.m)])
        rows = self.left_out.rows(S, self.model.solution_.C)
        if self.conformity != "relative":
            return self._count(new.pairs(rows))
        listed = self._listed(candidates)
        costs = np.stack([self._cost(new.pairs(listed.rows, i)) for i in range(new.m)])  # (m, c, n or 1)
        cost = self._cost(new.pairs(rows))  # (m, n or 1)
        return smaller(listed.own, excess(np.moveaxis(costs, 1, -1), cost))

    def candidate_counts(self, X: Any, candidates: Any) -> Iterator[Matrix]:
        """The same for every candidate, an array per input."""
        new = self._at(X)
        if isinstance(candidates, CandidateSets):
            flatten_sets(candidates, new.m, self.model.embedding_)  # checks all of them
            for i in range(new.m):
                yield self._list_counts(new, i, X, self._listed(candidates[i]))
        elif new.m:
            listed = self._listed(candidates)
            for i in range(new.m):
                yield self._list_counts(new, i, X, listed)

    def _listed(self, candidates: Any) -> _Candidates:
        S = self.answers.represent(shared_sequence(candidates, self.model.embedding_), "candidates")
        rows = None if callable(self.conformity) else self.left_out.rows(S, self.model.solution_.C)
        return _Candidates(S, rows, self._relative(S) if self.conformity == "relative" else self.own)

    def _list_counts(self, new: NewInputs, i: int, X: Any, listed: _Candidates) -> Matrix:
        """How many scores are smaller than that of each candidate at input i."""
        if callable(self.conformity):
            E = self._coordinates(listed.S) - new.coordinates()[i]
            return np.array([self._function_count(new, i, X, e) for e in E])
        pairs = new.pairs(listed.rows, i)
        if self.conformity != "relative":
            return self._count(pairs)
        costs = self._cost(pairs)  # (c, n or 1)
        return smaller(listed.own, excess(costs.T[:, None, :], costs.T).T)

    def _at(self, X: Any) -> NewInputs:
        return self.left_out.at(X, variances=self.method == "full" or self.scaled)

    def _coordinates(self, S: Any) -> Matrix:
        return self.left_out.coordinates(S, self.model.solution_.C)

    def _count(self, parts: list[Pairs]) -> Matrix:
        if self.method != "full":
            return smaller(self.own, self._cost(parts))
        own = reduce(np.add, [p.sq_joined() * (p.joined if self.scaled else 1.0) for p in parts])
        new = reduce(np.add, [p.sq_e / (p.v if self.scaled else 1.0) for p in parts])
        return smaller(own, new)

    def _cost(self, parts: list[Pairs]) -> Matrix:
        """‖ψ(y) − h(x)‖², (pairs, 1), or by the models without a point, (pairs, n); scaled by 1/v."""
        plus = self.method == "jackknife+"
        total = 0.0
        for p in parts:
            v: Any = 1.0
            if self.scaled:
                v = p.v + p.a**2 / p.own if plus else p.v
            total = total + (p.sq_without() if plus else p.sq_e) / v
        return np.asarray(total)

    def _relative(self, C: Any) -> Matrix:
        """How much worse y_i is than the best candidate, by the model without it."""
        embedding = self.model.embedding_
        H = left_out_values(self.model)
        norms = to_numpy(embedding.sq_norms_of(H))[:, None] + to_numpy(embedding.sq_norms(C))[None, :]
        return excess(norms - 2 * to_numpy(embedding.inner(H, C)), self.own)

    def _function_count(self, new: NewInputs, i: int, X: Any, e: Matrix) -> int:
        f = self.conformity
        if self.method == "jackknife+":
            repeated = take(X, np.full(self.n, i))
            return int(smaller(self.own, scores_of(f, e + new.moves(i), repeated)))
        own = self.own if self.method == "jackknife" else scores_of(f, new.joined(i, e), self._X)
        return int(smaller(own, scores_of(f, e[None, :], take(X, np.array([i])))))

    def radius(self, X: Any, k: int) -> Matrix:
        """The radius of a ball around h(x) that holds the set; for the jackknife the ball is the set."""
        new = self._at(X)
        if self.method == "full":
            return self._full_radius(new, k)
        if self.method == "jackknife+":
            return self._plus_radius(new, k)
        Q = np.full(new.m, kth(np.sqrt(self.own), k))
        return np.asarray(Q * np.sqrt(new.v[0]) if self.scaled else Q)

    def _plus_radius(self, new: NewInputs, k: int) -> Matrix:
        """‖e‖ ≤ ‖ψ(y) − h₋ᵢ(x)‖ + ‖h₋ᵢ(x) − h(x)‖."""
        parts = self.left_out.parts
        squares = [(a / part.own) ** 2 * part.sq_norms for a, part in zip(new.a, parts, strict=True)]
        moved = np.sqrt(sum(squares))
        reach = np.sqrt(self.own)[None, :]
        if self.scaled:
            reach = reach * np.sqrt(new.v[0][:, None] + new.a[0] ** 2 / parts[0].own)
        return kth(reach + moved, k)

    def _full_radius(self, new: NewInputs, k: int) -> Matrix:
        """‖e‖ ≤ ‖E_i‖ + g_i‖e‖, so ‖e‖ ≤ ‖E_i‖/(1 − g_i)."""
        parts = self.left_out.parts
        v = [each[:, None] for each in new.v]
        joined = [part.own + a**2 / w for part, a, w in zip(parts, new.a, v, strict=True)]
        E = np.sqrt(sum(part.sq_norms / inverse**2 for part, inverse in zip(parts, joined, strict=True)))
        g = np.max([np.abs(a) / w / inverse for a, w, inverse in zip(new.a, v, joined, strict=True)], axis=0)
        c = np.sqrt(joined[0] * v[0]) if self.scaled else 1.0
        g = g * c
        inside = g < 1 - _ROUNDING  # else the radius is infinite
        return kth(np.where(inside, E * c / np.where(inside, 1 - g, 1.0), np.inf), k)

    def ends(self, X: Any, k: int) -> Any:
        """Both ends of the band in the numbers of y."""
        if self.method == "full" and self.left_out.q > 1:
            raise ValueError(
                'A full conformal set of vectors is not a band; use `method="jackknife+"`, "jackknife" or "split".'
            )
        new = self._at(X)
        H = new.coordinates()
        if self.method == "full":
            ends = self._full_interval(new, H, k)
        elif self.method == "jackknife":
            ends = self._jackknife_band(new, H, k)
        else:
            ends = self._plus_band(new, H, k)
        return self.answers.to_outputs(ends, self.answers.like)

    def _widths(self) -> tuple[Matrix, Matrix]:
        """Scores of the training rows for bands, (n,), and σ (1, T)."""
        if self._band is None or self._sigma is None:  # of a file of format 1: outputs from their coordinates
            answers = self.answers
            outputs = answers.from_coordinates(to_numpy(self.model.targets_.Psi), answers.like)
            self._band, self._sigma = self._band_scores(outputs)
        scores = self._band * (np.sqrt(self.left_out.parts[0].own) if self.scaled else 1.0)
        return scores, self._sigma[None, :]

    def _jackknife_band(self, new: NewInputs, H: Matrix, k: int) -> tuple[Matrix, Matrix]:
        answers = self.answers
        scores, sigma = self._widths()
        centre = answers.from_coordinates(H, answers.like)
        half = kth(scores, k) * sigma * (np.sqrt(new.v[0])[:, None] if self.scaled else 1.0)
        return centre - half, centre + half

    def _plus_band(self, new: NewInputs, H: Matrix, k: int) -> tuple[Matrix, Matrix]:
        """The k-th order statistics of ŷ₋ᵢ(x) ± s_i σ_t."""
        answers = self.answers
        scores, sigma = self._widths()
        own = self.left_out.parts[0].own
        centre = answers.from_coordinates(H, answers.like)
        low = np.empty_like(centre)
        high = np.empty_like(centre)
        for i in range(new.m):
            without = answers.from_coordinates(H[i] - new.moves(i), answers.like)
            v = np.sqrt(new.v[0][i] + new.a[0][i] ** 2 / own) if self.scaled else 1.0
            half = (scores * v)[:, None] * sigma
            low[i] = -kth((half - without).T, k)
            high[i] = kth((without + half).T, k)
        return low, high

    def _full_interval(self, new: NewInputs, H: Matrix, k: int) -> tuple[Matrix, Matrix]:
        """h + the k-th order statistics of the ends E_i/(g_i ± 1) of {e: |e| ≤ |E_i − g_i e|}."""
        part = self.left_out.parts[0]
        a = new.a[0]
        v = new.v[0][:, None]
        joined = part.own[None, :] + a**2 / v
        c = np.sqrt(joined * v) if self.scaled else np.ones_like(joined)
        E = part.B[:, 0][None, :] / joined * c
        g = a / v / joined * c
        inside = np.abs(g) < 1 - _ROUNDING
        safe = np.where(inside, g, 0.0)
        ends = np.stack([E / (safe + 1), E / (safe - 1)])
        low = np.where(inside, ends.min(axis=0), -np.inf)
        high = np.where(inside, ends.max(axis=0), np.inf)
        return H - kth(-low, k)[:, None], H + kth(high, k)[:, None]


class _Candidates(NamedTuple):
    """One list of candidates."""

    S: Any  # represented
    rows: Any  # as `NewInputs.pairs` takes them; None for a function of residuals
    own: Matrix  # scores of the training rows, which with "relative" depend on the candidates
