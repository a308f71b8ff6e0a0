"""Which molecule a spectrum is of: forward and reverse regression over a set of candidates."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from itertools import pairwise
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import to_numpy
from iokr._component import component
from iokr._validation.arguments import (
    check_choice,
    check_groups,
    check_integer,
    check_number,
    check_numbers,
    check_same_length,
)
from iokr.data.candidates import CandidateSets, flatten_sets
from iokr.data.objects import as_objects, distinct, keys, n_objects, take
from iokr.estimators.identification.confidence import (
    group_means,
    nonconformity,
    probabilities,
    quantile,
    temperature,
)
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.estimators.regression.selection import check_values
from iokr.kernels.base import Kernel
from iokr.kernels.structured.sets import Tanimoto
from iokr.manifolds.base import Manifold
from iokr.model_selection.own import groups_of_sets, scores_without_own

__all__ = ["METHODS", "OWN", "Identification"]

METHODS = ("reverse", "forward", "fusion")
OWN = ("leave-out", "count", "exclude")
_STRENGTHS = (0.0, 0.001, 0.01, 0.1, 1.0)  # of the manifold
_LARGEST = 1e300  # of a score: differences stay finite
_BLOCK = 2048  # distinct molecules that the reverse model takes at a time


@component
class Identification(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """argmax_y f(x, y) over the candidates of x: which of them the spectrum x is of, and how sure that is.

    * ``"reverse"``: molecules are mapped to spectra, g(y) = Σ_i γ_i(y) φ(x_i), and f = ⟨φ(x), g(y)⟩ / ‖g(y)‖, the
      cosine between the spectrum and the one expected of y;
    * ``"forward"``: spectra are mapped to molecules, f = ⟨h(x), ψ(y)⟩;
    * ``"fusion"``: both, each centred and scaled inside the set.

    A candidate that is a training molecule is scored by the model without its own spectra (`own`), in closed form:
    otherwise it votes for itself, and a new molecule cannot. Alphas are chosen by leave-one-molecule-out.

    Parameters
    ----------
    kernel : Kernel, default=None
        On the spectra; None is the mean of the unit `ProbabilityProduct` of peaks and of losses.
    output_kernel : Kernel, default=None
        On the molecules; None is `Tanimoto()`, on fingerprints.
    method : {"reverse", "forward", "fusion"}, default="reverse"
    alphas, reverse_alphas : sequence of float
        Values of λ for the forward and for the reverse model.
    selection : int or None, default=1500
        Rows, taken evenly, on which alphas are chosen; None is all. The choice costs about 30n³ flops, a fit n³.
    manifold : Manifold, default=None
        Penalty of the forward model that uses spectra without structures, `X_unlabeled` of `fit`; its manifold weight
        is
        chosen with alpha. The reverse model has no use for them: they are answers without questions.
    own : {"leave-out", "count", "exclude"}, default="leave-out"
        What a candidate's own spectra do: nothing, vote, or keep it from being an answer (f = −∞), which is right only
        when the unknown is known to be new.

    Attributes
    ----------
    forward_, reverse_ : IOKR
        The fitted models; the forward one always, for `weights`.
    groups_ : array of shape (n,)
        Which molecule each training row is of.
    temperature_ : float
        T of p = softmax(f/T), after `calibrate`.
    calibration_ : array
        Sorted 1 − p(truth), a value per molecule.
    best_scores_ : array
        Sorted best scores of the calibration queries, for `novelty`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import CandidateSets, Identification
    >>> from iokr.kernels import RBF
    >>> X = np.array([[0.0], [0.2], [1.0], [1.2]])
    >>> bits = np.array([[1, 1, 0, 0], [1, 1, 0, 0], [0, 0, 1, 1], [0, 1, 1, 1]])
    >>> model = Identification(RBF(1.0)).fit(X, bits)
    >>> sets = CandidateSets([np.array([[1, 0, 0, 0], [0, 0, 1, 0]])])
    >>> model.rank([[0.1]], sets)[0]
    [array([0, 1])]

    References
    ----------
    Brouard, Shen, Dührkop, d'Alché-Buc, Böcker, Rousu, "Fast metabolite identification with input output kernel
    regression", Bioinformatics 32, 2016; the reverse form: Brouard et al., "Improved small molecule identification
    through learning combinations of kernel regression models", Metabolites 9, 2019.
    """

    kernel: Kernel | None = None
    _: KW_ONLY
    output_kernel: Kernel | None = None
    method: str = "reverse"
    alphas: Sequence[float] = (0.01, 0.0316, 0.1, 0.316, 1.0, 3.16, 10.0)
    reverse_alphas: Sequence[float] = (0.1, 0.316, 1.0, 3.16, 10.0, 31.6)
    selection: int | None = 1500
    own: str = "leave-out"
    manifold: Manifold | None = None

    def fit(self, X: Any, y: Any, groups: Any = None, X_unlabeled: Any = None) -> Identification:
        """Learn both directions.

        Parameters
        ----------
        X : array or sequence of n spectra that the kernel takes
        y : array or sequence of n molecules that the output kernel takes
        groups : sequence of n names, default=None
            The molecule of each row, such as the first block of its InChIKey; None takes equal y as one molecule.
        X_unlabeled : array or sequence of spectra, default=None
            Without molecules, for the `manifold`.
        """
        check_choice(self.method, "method", METHODS)
        check_choice(self.own, "own", OWN)
        if self.selection is not None:
            check_integer(self.selection, "selection", minimum=2)
        n = check_same_length(X, y)
        if (X_unlabeled is None) != (self.manifold is None):
            raise ValueError("`X_unlabeled` and `manifold` go together: spectra without molecules, and how they count.")
        kernels = self._kernels()
        self.groups_ = distinct(y)[1] if groups is None else check_groups(groups, n)
        self.names_ = keys(y if groups is None else groups)
        for stale in ("temperature_", "calibration_", "best_scores_", "fitted_to_"):
            self.__dict__.pop(stale, None)
        self._learn(*kernels, X, y, X_unlabeled)
        return self

    def _learn(self, kernel: Kernel, output_kernel: Kernel, X: Any, y: Any, X_unlabeled: Any) -> None:
        forward, reverse = _values(self.alphas, "alphas"), _values(self.reverse_alphas, "reverse_alphas")
        some = self._chosen_rows(len(self.groups_))
        more = {} if X_unlabeled is None else {"X_unlabeled": X_unlabeled}
        self.forward_ = self._direction(kernel, output_kernel, forward, X, y, some, more)
        self.reverse_ = self._direction(output_kernel, kernel, reverse, y, X, some, {})

    def compact(self, X: Any, y: Any, X_unlabeled: Any = None) -> Identification:
        """A copy to be saved, with the data of `fit` in place of both fitted models, which hold 16n² bytes.

        The first use of the copy fits them again, at the alphas that were chosen, to the same bits on the same machine.
        """
        check_is_fitted(self)
        check_same_length(X, y)
        copy: Identification = clone(self)
        copy.alphas, copy.reverse_alphas = (self.forward_.alpha,), (self.reverse_.alpha,)
        copy.manifold = None if self.manifold is None else clone(self.forward_.manifold)
        kept = ("groups_", "names_", "temperature_", "calibration_", "best_scores_")
        copy.__dict__.update({name: self.__dict__[name] for name in kept if name in self.__dict__})
        copy.fitted_to_ = (X, y, X_unlabeled)
        return copy

    def __getattr__(self, name: str) -> Any:
        if name in ("forward_", "reverse_") and "fitted_to_" in self.__dict__:
            self._learn(*self._kernels(), *self.fitted_to_)
            return self.__dict__[name]
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def _kernels(self) -> tuple[Kernel, Kernel]:
        kernel = _scalar(default_kernel() if self.kernel is None else self.kernel, "kernel", "X")
        return kernel, _scalar(Tanimoto() if self.output_kernel is None else self.output_kernel, "output_kernel", "y")

    def _chosen_rows(self, n: int) -> np.ndarray:
        """Rows taken evenly, at most `selection`, whole groups."""
        if self.selection is None or n <= self.selection:
            return np.arange(n)
        n_groups = int(self.groups_.max()) + 1
        kept = np.unique(np.linspace(0, n_groups - 1, max(2, round(n_groups * self.selection / n))).astype(int))
        return np.flatnonzero(np.isin(self.groups_, kept))

    def _direction(
        self, kernel: Kernel, output_kernel: Kernel, alphas: list[float], X: Any, y: Any, some: np.ndarray, more: Any
    ) -> IOKR:
        """The model of one direction at the alpha (and manifold_weight) of the smallest leave-one-molecule-out
        error."""
        alpha, manifold = alphas[0], self.manifold if more else None
        if len(alphas) > 1:
            search = IOKRCV(
                clone(kernel),
                output_kernel=clone(output_kernel),
                alphas=alphas,
                manifold=manifold,
                manifold_weights=None if manifold is None else _STRENGTHS,
            )
            search.fit(take(X, some), take(y, some), groups=self.groups_[some], **more)
            alpha = search.alpha_
            if manifold is not None:
                manifold = clone(manifold).set_params(weight=search.manifold_weight_)
        model = IOKR(clone(kernel), output_kernel=clone(output_kernel), alpha=alpha, manifold=manifold)
        model.fit(X, y, **more)
        return model

    # ------------------------------------------------------------------------------------------------------- scores

    def scores(self, X: Any, candidates: Any, candidate_groups: Any = None, *, method: str | None = None) -> Any:
        """f(x, y) for every candidate y of each x, a list of arrays.

        Parameters
        ----------
        X : array or sequence of m spectra
        candidates : CandidateSets
        candidate_groups : list of lists of names, default=None
            The molecule of each candidate, as `groups` in `fit`; None takes equal outputs as one molecule when `fit`
            did, and no candidate as known otherwise.
        method : str, default=None
            Another than the model's own.
        """
        check_is_fitted(self)
        method = self.method if method is None else check_choice(method, "method", METHODS)
        if not isinstance(candidates, CandidateSets):
            raise TypeError(f"`candidates` must be `CandidateSets`, a set for each spectrum, got {candidates!r:.60}.")
        m = n_objects(X)
        Y, starts = flatten_sets(candidates, m, self.forward_.embedding_)
        given = self._candidate_names(candidate_groups, Y, starts)
        known = [name if self.own == "leave-out" else None for name in given]
        parts = []
        if method != "reverse":
            sets = [known[a:b] for a, b in pairwise(starts)]
            found = scores_without_own(self.forward_, X, candidates, self.names_, sets)
            parts.append([to_numpy(f).astype(float) for f in found])
        if method != "forward":
            parts.append(self._reverse_scores(X, Y, starts, known))
        values = parts[0] if len(parts) == 1 else [_standard(f) + _standard(r) for f, r in zip(*parts, strict=True)]
        if self.own == "exclude":
            training = set(self.names_)
            out = np.array([name in training for name in given])
            values = [np.where(out[a:b], -np.inf, f) for f, a, b in zip(values, starts[:-1], starts[1:], strict=True)]
        return values

    def _candidate_names(self, given: Any, Y: Any, starts: np.ndarray) -> list[Hashable]:
        if given is None:
            return keys(Y)
        return groups_of_sets(given, starts)

    def _reverse_scores(self, X: Any, Y: Any, starts: np.ndarray, known: list[Hashable]) -> list[np.ndarray]:
        """r(x, y) = k_xᵀγ(y) / √(γᵀKγ), each distinct molecule once."""
        first, which = distinct(list(zip(keys(Y), known, strict=True)))
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        values = np.empty(len(which))
        for begin in range(0, len(first), _BLOCK):
            some = first[begin : begin + _BLOCK]
            block = scores_without_own(
                self.reverse_, take(Y, some), X, self.names_, [known[i] for i in some], by="inputs", cosine=True
            )
            mine = np.flatnonzero((which >= begin) & (which < begin + len(some)))
            values[mine] = to_numpy(block)[which[mine] - begin, owner[mine]]
        return [values[a:b] for a, b in pairwise(starts)]

    def rank(self, X: Any, candidates: Any, candidate_groups: Any = None, k: int | None = None) -> tuple[Any, Any]:
        """(indices, scores), best first, a list of arrays each; ties keep the order of the candidates."""
        if k is not None:
            check_integer(k, "k", minimum=1)
        values = self.scores(X, candidates, candidate_groups)
        order = [np.argsort(-f, kind="stable")[:k] for f in values]
        return order, [f[o] for f, o in zip(values, order, strict=True)]

    def predict(self, X: Any, candidates: Any, candidate_groups: Any = None) -> np.ndarray:
        """The index of the best candidate of each spectrum in its set."""
        order, values = self.rank(X, candidates, candidate_groups, k=1)
        none = next((i for i, f in enumerate(values) if np.isneginf(f[0])), None)
        if none is not None:
            raise ValueError(
                f"`candidates` of spectrum {none} are all training molecules, and `own='exclude'` leaves none to "
                "answer; leave the spectrum out, or use `own='leave-out'`."
            )
        return np.array([o[0] for o in order])

    # --------------------------------------------------------------------------------------------------- confidence

    def calibrate(self, scores: Sequence[Any], truth: Sequence[int], groups: Any) -> Identification:
        """T and the conformal values from scores of queries that the model did not learn from.

        Parameters
        ----------
        scores : list of arrays
            f(x, ·) of queries whose molecule was in no training part: out of fold, or of rows kept for this alone.
        truth : sequence of int
            The index of the truth in each set.
        groups : sequence of names
            The molecule of each query; its spectra count as one.
        """
        check_is_fitted(self)
        check_same_length(scores, truth, "scores", "truth")
        found, places = _score_lists(scores), check_numbers(truth, "truth")
        if places.ndim != 1:
            raise ValueError(f"`truth` has shape {places.shape}; it must be a list, one position for each query.")
        check_groups(groups, len(found), rows="`scores`")
        for i, (f, t) in enumerate(zip(found, places, strict=True)):
            if not (0 <= t < len(f) and t == math.floor(t)) or np.isneginf(f[int(t)]):
                raise ValueError(f"`truth` {t:g} of query {i} is none of its {len(f)} candidates.")
        right = places.astype(int).tolist()
        self.temperature_ = temperature(found, right)
        self.calibration_ = group_means(nonconformity(found, right, self.temperature_), keys(groups))
        self.best_scores_ = np.sort([float(f.max()) for f in found])
        return self

    def predict_proba(self, X: Any, candidates: Any, candidate_groups: Any = None) -> list[np.ndarray]:
        """p(y) = softmax(f/T) over the candidates of each spectrum; assumes that the truth is among them."""
        self._check_calibrated()
        return [probabilities(f, self.temperature_) for f in self.scores(X, candidates, candidate_groups)]

    def predict_set(
        self, X: Any, candidates: Any, candidate_groups: Any = None, *, coverage: float = 0.9
    ) -> list[np.ndarray]:
        """The candidates with 1 − p(y) ≤ q, and always the best: they hold the truth with about this `coverage`."""
        level = self.set_level(coverage)
        p = self.predict_proba(X, candidates, candidate_groups)
        return [np.flatnonzero(in_set(one, level)) for one in p]

    def set_level(self, coverage: float = 0.9) -> float:
        """q of the sets."""
        self._check_calibrated()
        delta = 1 - check_number(coverage, "coverage", minimum=0.0, strict=True)
        if delta < 0:
            raise ValueError(f"`coverage` must be at most 1, got {coverage!r}.")
        return quantile(self.calibration_, delta)

    def novelty(self, scores: Sequence[Any]) -> np.ndarray:
        """The fraction of calibration queries whose best score was lower: a rank, not the probability of an absence."""
        self._check_calibrated()
        n_objects(scores, "scores")
        best = [float(f.max()) for f in _score_lists(scores)]
        return np.asarray(np.searchsorted(self.best_scores_, best) / max(len(self.best_scores_), 1))

    def _check_calibrated(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "temperature_"):
            raise ValueError("The model is not calibrated; call `calibrate` with scores of queries it did not see.")


def _scalar(kernel: Any, name: str, objects: str) -> Kernel:
    """A kernel on objects, by the name of the argument."""
    if not isinstance(kernel, Kernel):
        raise TypeError(f"`{name}` must be a component of `iokr.kernels`, got {kernel!r:.60}.")
    if kernel.pairwise:
        raise ValueError(
            f"`{name}` must be a scalar kernel on objects, got {kernel!r:.60}; for a Gram matrix give "
            f"`Precomputed(matrix)` and row numbers as {objects}."
        )
    return kernel


def _values(alphas: Any, name: str) -> list[float]:
    """Positive numbers; one alone is a list of it."""
    return check_values([alphas] if isinstance(alphas, Real) else alphas, name, strict=True)


def _score_lists(scores: Any) -> list[np.ndarray]:
    """Scores of the candidates of each query: numbers, or −∞ for what is excluded."""
    found = []
    for i, part in enumerate(as_objects(scores)):
        f = check_numbers(part, f"scores (query {i})")
        if f.ndim != 1 or not len(f):
            raise ValueError(f"`scores` of query {i} must be a list of numbers, one a candidate, got shape {f.shape}.")
        if np.any(np.isnan(f) | (f > _LARGEST)) or np.any(f[np.isfinite(f)] < -_LARGEST):
            raise ValueError(f"`scores` of query {i} hold NaN, infinity or numbers beyond {_LARGEST:g}.")
        found.append(f)
    return found


def in_set(p: np.ndarray, level: float) -> np.ndarray:
    """Which candidates are in the set of level q; the best always is."""
    return np.asarray((1 - p <= level) | (p == p.max()))


def default_kernel() -> Kernel:
    """(P + L)/2: unit probability products of peaks and of losses."""
    from iokr.kernels.algebra import Mean, Normalized
    from iokr.kernels.spectra import ProbabilityProduct

    return Mean([Normalized(ProbabilityProduct()), Normalized(ProbabilityProduct(places="losses"))])


def _standard(f: np.ndarray) -> np.ndarray:
    """z(f): minus the mean, over the deviation, inside the set; 0 where all are equal."""
    deviation = f.std()
    return np.zeros(len(f)) if deviation == 0 else (f - f.mean()) / deviation
