"""Identification of molecules from spectra: forward and reverse regression over a set of candidates."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from iokr._array import to_numpy
from iokr._component import component
from iokr._state import Stateful
from iokr._validation.arguments import (
    check_choice,
    check_groups,
    check_integer,
    check_number,
    check_numbers,
    check_same_length,
)
from iokr.data.candidates import CandidateSets, flatten_sets
from iokr.data.frames import check_aligned
from iokr.data.objects import distinct, keys, n_objects, take
from iokr.estimators.identification.confidence import (
    check_scores,
    group_means,
    in_set,
    nonconformity,
    probabilities,
    quantile,
    temperature,
)
from iokr.estimators.inputs import check_scalar
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.estimators.search.result import check_values
from iokr.kernels.base import Kernel
from iokr.kernels.structured.sets import Tanimoto
from iokr.manifolds.base import Manifold
from iokr.model_selection.own import groups_of_sets, scores_without_own

__all__ = ["METHODS", "OWN", "Identification"]

METHODS = ("reverse", "forward", "fusion")
OWN = ("leave-out", "count", "exclude")
_MANIFOLD_WEIGHTS = (0.0, 0.001, 0.01, 0.1, 1.0)
_BLOCK = 2048  # distinct molecules scored together by the reverse model
_CALIBRATION = ("temperature_", "calibration_", "best_scores_")


@component
class Identification(Stateful, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """argmax_y f(x, y) over the candidates y of a spectrum x, with calibrated probabilities and prediction sets.

    * ``"reverse"``: molecules are mapped to spectra, g(y) = Σ_i γ_i(y) φ(x_i), and f = ⟨φ(x), g(y)⟩ / ‖g(y)‖, the
      cosine between the spectrum and the one predicted for y;
    * ``"forward"``: spectra are mapped to molecules, f = ⟨h(x), ψ(y)⟩;
    * ``"fusion"``: the sum of both, each standardised within the set of candidates.

    A candidate that is a training molecule raises its own score, and a new molecule cannot. With ``own="leave-out"``
    such a candidate is scored by the model without its spectra, in closed form. Alphas are chosen by
    leave-one-molecule-out cross-validation.

    Parameters
    ----------
    kernel : Kernel, default=None
        On the spectra; None is the mean of the normalised `ProbabilityProduct` of peaks and of losses.
    output_kernel : Kernel, default=None
        On the molecules; None is `Tanimoto()`, on fingerprints.
    method : {"reverse", "forward", "fusion"}, default="reverse"
    alphas, reverse_alphas : sequence of float
        Values of λ for the forward and for the reverse model.
    selection : int or None, default=1500
        Number of training rows on which alphas are chosen, evenly spaced; None is all. The choice costs about 30n³
        flops, a fit n³.
    manifold : Manifold, default=None
        Penalty of the forward model that uses spectra without molecules, `X_unlabeled` of `fit`; its weight is chosen
        with alpha. The reverse model does not use them.
    own : {"leave-out", "count", "exclude"}, default="leave-out"
        Training spectra of a candidate are left out of its score, count in it, or exclude the candidate (f = −∞). The
        last is valid only if the unknown molecule is known to be absent from the training set.

    Attributes
    ----------
    forward_, reverse_ : IOKR
        The fitted models. A compact copy has none before `restore`.
    groups_ : array of shape (n,)
        Index of the molecule of each training row.
    temperature_ : float
        T of p = softmax(f/T), after `calibrate`.
    calibration_ : array
        Nonconformity scores 1 − p(truth), sorted, one for each calibration molecule.
    best_scores_ : array
        Best scores of the calibration queries, sorted; see `novelty`.

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
        """Fit both directions.

        Parameters
        ----------
        X : array or sequence of n spectra, as the kernel takes them
        y : array or sequence of n molecules, as the output kernel takes them
        groups : sequence of n names, default=None
            The molecule of each row, such as the first block of its InChIKey; None takes equal y as one molecule.
        X_unlabeled : array or sequence of spectra, default=None
            Spectra without molecules, for the `manifold`.
        """
        check_choice(self.method, "method", METHODS)
        check_choice(self.own, "own", OWN)
        if self.selection is not None:
            check_integer(self.selection, "selection", minimum=2)
        n = check_same_length(X, y)
        if (X_unlabeled is None) != (self.manifold is None):
            raise ValueError("`X_unlabeled` and `manifold` must be given together.")
        kernel, output_kernel = self._kernels()
        check_aligned(X, groups, "X", "groups")
        self.groups_ = distinct(y)[1] if groups is None else check_groups(groups, n)
        self.names_ = keys(y if groups is None else groups)
        for stale in (*_CALIBRATION, "fitted_to_"):
            self.__dict__.pop(stale, None)
        self._fit_directions(kernel, output_kernel, X, y, X_unlabeled)
        return self

    def _fit_directions(self, kernel: Kernel, output_kernel: Kernel, X: Any, y: Any, X_unlabeled: Any) -> None:
        """Fit `forward_` and `reverse_`."""
        forward_alphas = check_values(np.atleast_1d(self.alphas), "alphas", strict=True)
        reverse_alphas = check_values(np.atleast_1d(self.reverse_alphas), "reverse_alphas", strict=True)
        rows = self._selection_rows(len(self.groups_))
        self.forward_ = self._direction(kernel, output_kernel, forward_alphas, X, y, rows, X_unlabeled)
        self.reverse_ = self._direction(output_kernel, kernel, reverse_alphas, y, X, rows)

    def compact(self, X: Any, y: Any, X_unlabeled: Any = None) -> Identification:
        """A small copy for a file: the data of `fit` in place of both fitted models, which take 16n² bytes.

        `restore` fits the copy at the alphas that were chosen, to the same bits on the same machine.
        """
        self._check_fitted()
        check_same_length(X, y)
        copy: Identification = clone(self)
        copy.alphas = (self.forward_.alpha,)
        copy.reverse_alphas = (self.reverse_.alpha,)
        if self.manifold is not None:
            copy.manifold = clone(self.forward_.manifold)
        for name in ("groups_", "names_", *_CALIBRATION):
            if name in self.__dict__:
                copy.__dict__[name] = self.__dict__[name]
        copy.fitted_to_ = (X, y, X_unlabeled)
        return copy

    def restore(self) -> Identification:
        """Fit the two models of a compact copy to the data that it holds; a model that has them is left as it is."""
        if not hasattr(self, "forward_"):
            check_is_fitted(self, "fitted_to_")
            X, y, X_unlabeled = self.fitted_to_
            self._fit_directions(*self._kernels(), X, y, X_unlabeled)
        return self

    def _check_fitted(self) -> None:
        if hasattr(self, "fitted_to_") and not hasattr(self, "forward_"):
            raise NotFittedError("This is a compact copy of a model; call `restore()` to fit it to the data it holds.")
        check_is_fitted(self, "forward_")

    def _kernels(self) -> tuple[Kernel, Kernel]:
        """The kernels on spectra and on molecules, checked."""
        kernel = default_kernel() if self.kernel is None else self.kernel
        output_kernel = Tanimoto() if self.output_kernel is None else self.output_kernel
        return check_scalar(kernel, objects="X"), check_scalar(output_kernel, "output_kernel", objects="y")

    def _selection_rows(self, n: int) -> np.ndarray:
        """About `selection` rows, evenly spaced, in whole groups."""
        if self.selection is None or n <= self.selection:
            return np.arange(n)
        n_groups = int(self.groups_.max()) + 1
        wanted = max(2, round(n_groups * self.selection / n))
        groups = np.unique(np.linspace(0, n_groups - 1, wanted).astype(int))
        return np.flatnonzero(np.isin(self.groups_, groups))

    def _direction(
        self,
        kernel: Kernel,
        output_kernel: Kernel,
        alphas: list[float],
        X: Any,
        y: Any,
        rows: np.ndarray,
        X_unlabeled: Any = None,
    ) -> IOKR:
        """The model of one direction, at the alpha and manifold weight of smallest leave-one-molecule-out error."""
        alpha = alphas[0]
        manifold = None if X_unlabeled is None else self.manifold
        if len(alphas) > 1:
            search = IOKRCV(
                clone(kernel),
                output_kernel=clone(output_kernel),
                alphas=alphas,
                manifold=manifold,
                manifold_weights=None if manifold is None else _MANIFOLD_WEIGHTS,
            )
            search.fit(take(X, rows), take(y, rows), X_unlabeled=X_unlabeled, groups=self.groups_[rows])
            alpha = search.alpha_
            if manifold is not None:
                manifold = clone(manifold).set_params(weight=search.manifold_weight_)
        model = IOKR(clone(kernel), output_kernel=clone(output_kernel), alpha=alpha, manifold=manifold)
        model.fit(X, y, X_unlabeled=X_unlabeled)
        return model

    # ------------------------------------------------------------------------------------------------------- scores

    def scores(
        self,
        X: Any,
        candidates: Any,
        candidate_groups: Any = None,
        *,
        method: str | None = None,
        own: str | None = None,
    ) -> list[np.ndarray]:
        """f(x, y) for every candidate y of each x.

        Parameters
        ----------
        X : array or sequence of m spectra
        candidates : CandidateSets
        candidate_groups : list of lists of names, default=None
            The molecule of each candidate, as `groups` in `fit`. None takes equal outputs as one molecule if `fit` did;
            otherwise no candidate counts as a training molecule.
        method, own : str, default=None
            Used in place of the parameters of the model.

        Returns
        -------
        scores : list of m arrays
        """
        self._check_fitted()
        method = check_choice(self.method if method is None else method, "method", METHODS)
        own = check_choice(self.own if own is None else own, "own", OWN)
        if not isinstance(candidates, CandidateSets):
            raise TypeError(f"`candidates` must be `CandidateSets`, a set for each spectrum, got {candidates!r:.60}.")
        Y, starts = flatten_sets(candidates, n_objects(X), self.forward_.embedding_)
        names = keys(Y) if candidate_groups is None else groups_of_sets(candidate_groups, starts)
        left_out: list[Hashable] = names if own == "leave-out" else [None] * len(names)
        if method == "forward":
            values = self._forward_scores(X, candidates, starts, left_out)
        elif method == "reverse":
            values = self._reverse_scores(X, Y, starts, left_out)
        else:
            forward = self._forward_scores(X, candidates, starts, left_out)
            reverse = self._reverse_scores(X, Y, starts, left_out)
            values = [_standardised(f) + _standardised(r) for f, r in zip(forward, reverse, strict=True)]
        if own == "exclude":
            training = set(self.names_)
            excluded = np.array([name in training for name in names])
            values = [np.where(excluded[a:b], -np.inf, f) for f, (a, b) in zip(values, pairwise(starts), strict=True)]
        return values

    def _forward_scores(
        self, X: Any, candidates: CandidateSets, starts: np.ndarray, left_out: list[Hashable]
    ) -> list[np.ndarray]:
        """⟨h(x), ψ(y)⟩."""
        sets = [left_out[a:b] for a, b in pairwise(starts)]
        found = scores_without_own(self.forward_, X, candidates, self.names_, sets)
        return [to_numpy(f).astype(float) for f in found]

    def _reverse_scores(self, X: Any, Y: Any, starts: np.ndarray, left_out: list[Hashable]) -> list[np.ndarray]:
        """k_xᵀγ(y) / √(γᵀKγ), computed once for each distinct molecule."""
        first, which = distinct(list(zip(keys(Y), left_out, strict=True)))
        owner = np.repeat(np.arange(len(starts) - 1), np.diff(starts))
        values = np.empty(len(which))
        for begin in range(0, len(first), _BLOCK):
            rows = first[begin : begin + _BLOCK]
            names = [left_out[i] for i in rows]
            block = scores_without_own(self.reverse_, take(Y, rows), X, self.names_, names, by="inputs", cosine=True)
            inside = np.flatnonzero((which >= begin) & (which < begin + len(rows)))
            values[inside] = to_numpy(block)[which[inside] - begin, owner[inside]]
        return [values[a:b] for a, b in pairwise(starts)]

    def rank(self, X: Any, candidates: Any, candidate_groups: Any = None, k: int | None = None) -> tuple[Any, Any]:
        """(indices, scores), best first, a list of arrays each; tied candidates stay in the order given."""
        if k is not None:
            check_integer(k, "k", minimum=1)
        values = self.scores(X, candidates, candidate_groups)
        order = [np.argsort(-f, kind="stable")[:k] for f in values]
        return order, [f[o] for f, o in zip(values, order, strict=True)]

    def predict(self, X: Any, candidates: Any, candidate_groups: Any = None) -> np.ndarray:
        """The index of the best candidate of each spectrum in its set."""
        order, values = self.rank(X, candidates, candidate_groups, k=1)
        for i, f in enumerate(values):
            if np.isneginf(f[0]):
                raise ValueError(
                    f"`candidates` of spectrum {i} are all training molecules, and `own='exclude'` excludes them; "
                    "leave the spectrum out, or use `own='leave-out'`."
                )
        return np.array([o[0] for o in order])

    # --------------------------------------------------------------------------------------------------- confidence

    def calibrate(self, scores: Sequence[Any], truth: Sequence[int], groups: Any) -> Identification:
        """Estimate T and the nonconformity scores from held-out queries.

        Parameters
        ----------
        scores : list of arrays
            f(x, ·) of queries whose molecules were not in the training set: out-of-fold scores, or scores of a
            calibration set.
        truth : sequence of int
            The index of the true molecule in each set.
        groups : sequence of names
            The molecule of each query; the spectra of a molecule count as one calibration point.
        """
        self._check_fitted()
        check_same_length(scores, truth, "scores", "truth")
        queries = check_scores(scores)
        places = check_numbers(truth, "truth")
        if places.ndim != 1:
            raise ValueError(f"`truth` has shape {places.shape}; it must be a list, one position for each query.")
        check_groups(groups, len(queries), rows="`scores`")
        for i, (f, t) in enumerate(zip(queries, places, strict=True)):
            is_index = 0 <= t < len(f) and t == math.floor(t)
            if not is_index or np.isneginf(f[int(t)]):  # an excluded candidate is not the true one
                raise ValueError(f"`truth` {t:g} of query {i} is not an index of its {len(f)} candidates.")
        true = places.astype(int).tolist()
        self.temperature_ = temperature(queries, true)
        self.calibration_ = group_means(nonconformity(queries, true, self.temperature_), keys(groups))
        self.best_scores_ = np.sort([float(f.max()) for f in queries])
        return self

    def predict_proba(self, X: Any, candidates: Any, candidate_groups: Any = None) -> list[np.ndarray]:
        """p(y) = softmax(f/T) over the candidates of each spectrum, assuming that one of them is the true molecule."""
        self._check_calibrated()
        return [probabilities(f, self.temperature_) for f in self.scores(X, candidates, candidate_groups)]

    def predict_set(
        self, X: Any, candidates: Any, candidate_groups: Any = None, *, coverage: float = 0.9
    ) -> list[np.ndarray]:
        """Prediction sets {y : 1 − p(y) ≤ q}, with the best candidate always included, of about this `coverage`."""
        level = self.set_level(coverage)
        p = self.predict_proba(X, candidates, candidate_groups)
        return [np.flatnonzero(in_set(one, level)) for one in p]

    def set_level(self, coverage: float = 0.9) -> float:
        """The threshold q of the prediction sets: a quantile of the nonconformity scores of the calibration queries."""
        self._check_calibrated()
        delta = 1 - check_number(coverage, "coverage", minimum=0.0, strict=True)
        if delta < 0:
            raise ValueError(f"`coverage` must be at most 1, got {coverage!r}.")
        return quantile(self.calibration_, delta)

    def novelty(self, scores: Sequence[Any]) -> np.ndarray:
        """The fraction of calibration queries with a lower best score; not a probability that the truth is absent."""
        self._check_calibrated()
        n_objects(scores, "scores")
        best = [float(f.max()) for f in check_scores(scores)]
        return np.asarray(np.searchsorted(self.best_scores_, best) / max(len(self.best_scores_), 1))

    def _check_calibrated(self) -> None:
        if not hasattr(self, "temperature_"):
            check_is_fitted(self)
            raise ValueError("The model is not calibrated; call `calibrate` with scores of held-out queries.")


def default_kernel() -> Kernel:
    """(P + L)/2, the normalised probability products of peaks and of losses."""
    from iokr.kernels.algebra import Mean, Normalized
    from iokr.kernels.spectra import ProbabilityProduct

    return Mean([Normalized(ProbabilityProduct()), Normalized(ProbabilityProduct(places="losses"))])


def _standardised(f: np.ndarray) -> np.ndarray:
    """(f − mean) / standard deviation within a set; 0 if all scores are equal."""
    deviation = f.std()
    if deviation == 0:
        return np.zeros(len(f))
    return np.asarray((f - f.mean()) / deviation)
