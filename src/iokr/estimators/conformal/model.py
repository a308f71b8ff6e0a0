"""{y : fewer than ⌈c(n + 1)⌉ of n scores are below that of (x, y)}: sets that hold the truth as often as asked for."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, asarray_like, is_array
from iokr._component import component
from iokr._validation.arguments import check_choice, check_number, check_random, check_same_length
from iokr.data.candidates import CandidateSets
from iokr.data.objects import as_objects
from iokr.embeddings.base import EuclideanEmbedding
from iokr.estimators.base import KernelModel, StructuredEstimator, in_kind
from iokr.estimators.conformal.closed import ClosedScores
from iokr.estimators.conformal.guarantee import frozen_model, guarantee, learned, node_guarantee, selects
from iokr.estimators.conformal.nodes import NodeScores
from iokr.estimators.conformal.order import check_complete, rank_needed
from iokr.estimators.conformal.rows import check_targets, is_pairwise, links_model, rows_of, second_argument, some
from iokr.estimators.conformal.split import NO_BALL, SplitScores, fitted_residuals
from iokr.estimators.links.network import check_network
from iokr.estimators.outputs import check_columns, require_y
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR, KernelRegression

__all__ = ["Conformal"]

_METHODS = ("full", "jackknife+", "jackknife", "split")
_APART = (IOKR, IOKRCV)  # whose parameters can be learned separately
_SPLIT = 'use `method="split"`, which takes any model.'


@component
class Conformal(KernelModel):
    """C(x) = {y : #{i : s_i < s(x, y)} < ⌈c(n + 1)⌉}: the outputs that look no stranger than n known ones.

    s(x, y) is how far ψ(y) is from h(x); c is the coverage asked for. If rows are exchangeable, the set of a new row
    holds its output with a probability that `guarantee_` states, whatever the distribution and however bad the model,
    whose errors only make the sets larger. Ridge regressions are left out in closed form: one inverse, n³ flops, then
    2n² per input and n per candidate.

    Parameters
    ----------
    model : IOKR, IOKRCV, Functional, MultiTask and their kind, or any other with `method="split"`
        Cloned and fitted. With a model of links, such as `LinkPredictor`, rows are nodes: `fit(X, adjacency)` learns
        from the links between some of them, and the set of a new node holds all of its partners among these.
    method : {"full", "jackknife+", "jackknife", "split"}, default="full"
        "full": the scores of all rows when (x, y) has joined them. "jackknife+": rows left out, x predicted without
        each. "jackknife": rows left out, x predicted by all. "split": the model is fitted on some rows and the scores
        are those of the others.
    conformity : {"distance", "scaled", "relative"} or callable, default="distance"
        s: ‖ψ(y) − h(x)‖; the same over √v, v the variance of h(x) with noise, so that sets grow away from the data;
        ‖ψ(y) − h(x)‖² less its minimum over the candidates (not with "full"); or a function of residuals (n, q) and of
        inputs that gives a number for each row.
    selected : {None, "separately"}, default=None
        "separately" chooses the parameters of `IOKR` and `IOKRCV`, and what kernels estimate, on a part of the rows
        that is then not used again. A model that selects is refused for "full" without it.
    fraction : float, default=0.5
        The part of the rows on which "split" calibrates, or on which parameters are selected separately.
    random_state : int or None, default=None
        Which rows these are.

    Attributes
    ----------
    model_ : the fitted model
    guarantee_ : str
        What is proved of the coverage, in words; "none: ..." where nothing is.
    n_features_in_ : int
        When X is an array.
    n_calibration_ : int
        n. A coverage c needs at least c/(1 − c) of them.
    nodes_ : array of int
        Of a network, the nodes whose links were learned from: sets are of these.

    Notes
    -----
    Exchangeable rows: in no order of time, no duplicates of one object (the same molecule twice), no pairs that share a
    node. Of a network the nodes are exchangeable, not its pairs: sets are of a new node and its whole row of links, by
    "split" alone, as the output kernel of the others knows the links of a node left out. Selection on the same rows,
    kernels that are learned from them and sample weights void the proof; `guarantee_` then says so.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR, Conformal
    >>> from iokr.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(60, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
    >>> sure = Conformal(IOKR(RBF(1.0), alpha=0.1)).fit(X, y)
    >>> sure.band([[1.5]], coverage=0.9).round(2)
    array([[0.78, 1.15]])
    >>> sure.contains([[1.5], [1.5]], [1.0, 2.0])
    array([ True, False])
    >>> sure.guarantee_
    'coverage at least as asked, at most 1/61 more without ties, if the 60 rows and the new one are exchangeable'
    """

    model: Any
    _: KW_ONLY
    method: str = "full"
    conformity: Any = "distance"
    selected: str | None = None
    fraction: float = 0.5
    random_state: Any = None

    def fit(self, X: Any, y: Any) -> Conformal:
        """Fit the model, and score the rows.

        Parameters
        ----------
        X : array or sequence of n objects
        y : array or sequence of n outputs, or the adjacency matrix (n, n) of n nodes
        """
        self._check_parameters()
        require_y(y)
        if links_model(self.model):
            return self._fit_nodes(X, y)
        n = check_same_length(X, y)
        check_complete(y)
        model, chosen = clone(self.model), selects(self.model)
        columns: np.ndarray | None = None  # of a Gram matrix over all rows, those of the rows that the model keeps
        if self.method == "split":
            fitted, rest = self._parts(n, "calibrate")
            known, others = some(y, fitted), (rows_of(X, rest, model, fitted), some(y, rest))
            columns = fitted if is_pairwise(model) else None
            self.model_ = model.fit(rows_of(X, fitted, model), known)
            check_targets(self.model_)
            residuals = fitted_residuals(self.model_, known)
            self._scores: Any = SplitScores(self.model_, self.conformity, *others, residuals)
        else:
            self._check_closed(model, chosen)
            if self.selected == "separately":
                rest, apart = self._parts(n, "select")
                columns = rest if is_pairwise(model) else None
                model = frozen_model(model.fit(rows_of(X, apart, model), some(y, apart)))
                X, y, chosen = rows_of(X, rest, model), some(y, rest), False
            self.model_ = model.fit(X, y)
            self._check_fitted(self.model_)
            self._scores = ClosedScores(self.model_, self.method, self.conformity, X, y)
        self.__dict__.pop("nodes_", None)
        self._columns, self._width = columns, n
        parts = learned(self.model_) if self.method != "split" else []
        pairs = getattr(getattr(self.model_, "kernel_", None), "domain", "") == "pairs"
        facts = {"selected": chosen, "pairs": pairs, "apart": type(self.model) in _APART}
        return self._kept(guarantee(self.method, int(self._scores.n), learned=parts, **facts))

    def _fit_nodes(self, X: Any, adjacency: Any) -> Conformal:
        """Learn from the links between some nodes, score the rows of links of the others to these."""
        if self.method != "split" or self.conformity != "distance":
            raise ValueError(
                "The output kernel of a network knows the links of every node, so that none can be left out in closed "
                'form; use `method="split"` and `conformity="distance"` with a model of links.'
            )
        graph = check_network(X, adjacency).graph
        self.nodes_, rest = self._parts(graph.shape[0], "calibrate")
        model = clone(self.model)
        self.model_ = model.fit(rows_of(X, self.nodes_, model), graph[self.nodes_][:, self.nodes_])
        others = rows_of(X, rest, model, self.nodes_)
        self._scores = NodeScores(self.model_, self.nodes_, graph.shape[0], others, graph[rest])
        return self._kept(node_guarantee(len(self.nodes_), len(rest)))

    def _kept(self, words: str) -> Conformal:
        """What is kept of every fit."""
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.model_, name):
                setattr(self, name, getattr(self.model_, name))
        self.n_calibration_, self.guarantee_ = int(self._scores.n), words
        return self

    def __sklearn_tags__(self) -> Any:
        tags, inner = super().__sklearn_tags__(), get_tags(self.model)
        tags.input_tags, tags.target_tags = inner.input_tags, inner.target_tags
        return tags

    def _check_parameters(self) -> None:
        check_choice(self.method, "method", _METHODS)
        check_choice(self.selected, "selected", (None, "separately"))
        if not callable(self.conformity):
            check_choice(self.conformity, "conformity", ("distance", "scaled", "relative"))
        if not 0 < check_number(self.fraction, "fraction") < 1:
            raise ValueError(f"`fraction` must lie between 0 and 1, both excluded, got {self.fraction!r}.")
        if second_argument(self.model) not in ("y", "adjacency"):
            raise TypeError(
                f"`model` must be fitted to rows (X, y) or to a network (X, adjacency), got {self.model!r:.60}: nodes "
                "are exchangeable, pairs of them are not, so no set can be guaranteed pair by pair."
            )

    def _parts(self, n: int, purpose: str) -> tuple[np.ndarray, np.ndarray]:
        """Two parts of the rows, the second of them `fraction` of all."""
        second = round(self.fraction * n)
        if not 0 < second < n:
            needed = int(np.ceil(1 / min(self.fraction, 1 - self.fraction) / 2)) + 1
            raise ValueError(
                f"`fraction` = {self.fraction:g} of n_samples = {n} leaves {second} to {purpose} on, {n - second} to "
                f"fit: each part needs at least one, so give at least {max(needed, 2)} rows (a coverage c needs "
                "c/(1 − c) of them to calibrate on)."
            )
        order = check_random(self.random_state).permutation(n)
        return np.sort(order[second:]), np.sort(order[:second])

    def _check_closed(self, model: Any, chosen: bool) -> None:
        """Before the fit: what "full", "jackknife+" and "jackknife" ask of the model."""
        if not isinstance(model, KernelRegression):
            raise TypeError(
                f"`model` must be `IOKR` or `IOKRCV` to be left out in closed form, got {model!r:.60}; {_SPLIT}"
            )
        if self.method == "full" and chosen and self.selected is None:
            raise ValueError(
                f"{type(model).__name__} selects its parameters on the rows that a full conformal set compares, which "
                'voids its guarantee; set `selected="separately"`, or another `method`.'
            )
        if self.method == "full" and self.conformity == "relative":
            raise ValueError(
                '`conformity="relative"` compares all candidates for every row and every candidate that joins them; '
                'use `method="jackknife+"` or "jackknife".'
            )
        if self.selected == "separately" and type(model) not in _APART:
            raise TypeError(
                f'`selected="separately"` takes the parameters of `IOKR` and `IOKRCV` apart, not of {model!r:.60}; '
                f"select them beforehand on other rows, or {_SPLIT}"
            )
        if model.manifold is not None:
            raise ValueError(f"A manifold's graph has no place for one point more or less; {_SPLIT}")

    def _check_fitted(self, model: KernelRegression) -> None:
        """After it: what the closed forms ask of kernels, outputs and loss."""
        embedding, operator = model.embedding_, getattr(model.kernel_, "around", None)
        if not model.loss_.quadratic:
            raise ValueError(
                f"Rows are left out in closed form for quadratic losses only, not {model.loss_!r}; {_SPLIT}"
            )
        check_targets(model)
        if model.projected:
            raise ValueError(f"{model.solver_!r:.60} keeps directions that all labels chose; {_SPLIT}")
        gram = model.kernel_.gram(model.inputs_.points)
        if gram.operator is None or gram.operator.oblique:
            raise ValueError(f"{model.kernel_!r:.60} has no closed form here; {_SPLIT}")
        if not (embedding.is_identity or isinstance(embedding, EuclideanEmbedding)):
            raise ValueError(f"{embedding!r:.60} is no exact embedding of new outputs; leave it out, or {_SPLIT}")
        if operator is not None and gram.operator.scale is None and self.conformity == "scaled":
            raise ValueError(NO_BALL)
        if embedding.is_identity and callable(self.conformity):
            raise ValueError(
                "`conformity` is a function of residual vectors, which outputs known through their kernel do not have; "
                'use "distance", "scaled" or "relative".'
            )

    def predict(self, X: Any, candidates: Any = None) -> Any:
        """The model's answers; of a model of links, its scores of each node with the nodes `nodes_`."""
        check_is_fitted(self)
        if links_model(self.model):
            return self.model_.decision_function(X)
        X = self._inputs(X)
        return self.model_.predict(X) if candidates is None else self.model_.predict(X, candidates)

    def p_values(self, X: Any, y: Any, candidates: Any = None) -> Array:
        """(1 + #{i : s_i ≥ s(x, y)})/(n + 1), (m,): y is in the set while this is above one minus the coverage.

        Uniform for exchangeable rows under "full" and "split"; small where y is strange at x.
        """
        counts = self._counts(X, y, candidates)
        return self._like((1 + self.n_calibration_ - counts) / (self.n_calibration_ + 1))

    def contains(self, X: Any, y: Any, coverage: float = 0.9, candidates: Any = None) -> Array:
        """Whether the set of x holds y, (m,), for each pair of a row.

        Parameters
        ----------
        X : array or sequence of m objects
        y : array or sequence of m outputs
        coverage : float, default=0.9
            Between 0 and 1.
        candidates : sequence of outputs, default=None
            What y competes with, for `conformity="relative"`.
        """
        check_is_fitted(self)
        k = rank_needed(coverage, self.n_calibration_)
        return self._like(self._counts(X, y, candidates) < k)

    def _counts(self, X: Any, y: Any, candidates: Any) -> np.ndarray:
        check_is_fitted(self)
        check_same_length(X, y)
        check_complete(y)
        self._check_columns(y, "y")
        if self.conformity == "relative" and (candidates is None or isinstance(candidates, CandidateSets)):
            raise ValueError('`conformity="relative"` needs one list of `candidates` for all rows.')
        if self.conformity != "relative" and candidates is not None:
            raise ValueError(
                f'`candidates` are what y competes with under `conformity="relative"`; with {self.conformity!r:.40} '
                "they would change nothing: leave them out."
            )
        return np.asarray(self._scores.counts(self._inputs(X), y, candidates))

    def _check_columns(self, Y: Any, name: str) -> None:
        outputs = getattr(self.model_, "outputs_", None)  # those of scikit-learn have none
        check_columns(getattr(outputs, "frame", None), Y, name)

    def predict_set(self, X: Any, candidates: Any = None, coverage: float = 0.9) -> np.ndarray:
        """The candidates in the set of each x.

        Parameters
        ----------
        X : array or sequence of m objects
        candidates : sequence of c outputs, `SharedCandidates`, or `CandidateSets`
            None for a model of links, whose candidates are the nodes of `fit`.
        coverage : float, default=0.9

        Returns
        -------
        sets : object array of shape (m,)
            Indices of the candidates, ascending; of the truth as far as it is among them. Of a network, numbers of
            nodes: all partners of the new one among `nodes_`, as often as asked.
        """
        check_is_fitted(self)
        k = rank_needed(coverage, self.n_calibration_)
        if self.conformity == "relative" and isinstance(candidates, CandidateSets):
            raise ValueError('`conformity="relative"` needs one list of `candidates` for all rows.')
        if candidates is None and not links_model(self.model):
            raise ValueError("`candidates` must be given: the outputs among which the set is looked for.")
        self._check_columns(candidates, "candidates")
        counts = self._scores.candidate_counts(self._inputs(X), candidates)
        return as_objects(np.flatnonzero(row < k) for row in counts)

    def radius(self, X: Any, coverage: float = 0.9) -> Array:
        """The radius, (m,), of a ball around h(x) in the space of ψ that holds the set.

        The ball is the set for "jackknife" and "split"; it is a little larger for the other two, and infinite where a
        single row decides.
        """
        check_is_fitted(self)
        k = rank_needed(coverage, self.n_calibration_)
        if self.conformity not in ("distance", "scaled"):
            raise ValueError('Only `conformity="distance"` and "scaled" make balls.')
        return self._like(self._scores.radius(self._inputs(X), k))

    def band(self, X: Any, coverage: float = 0.9) -> Array:
        """[low, high] for every coordinate of y, (m, q, 2), or (m, 2) for numbers: all of y lies between, as often.

        For numbers it is the set (its hull for "jackknife+"). For vectors and curves it is ŷ ± Qσ_t with the score
        sup_t |y_t − ŷ_t|/σ_t over the coordinates of y, of curves their values at the nodes, σ_t the leave-one-out
        deviation at t: not with "full"; and as σ_t comes from the same rows, nothing is proved of it but with "split".
        """
        check_is_fitted(self)
        k = rank_needed(coverage, self.n_calibration_)
        model = self.model_
        structured = isinstance(model, StructuredEstimator)
        if structured and not isinstance(model.embedding_, EuclideanEmbedding):
            raise ValueError("Outputs known through their kernel have no coordinates to bound; use `predict_set`.")
        if self.conformity not in ("distance", "scaled"):
            raise ValueError('Only `conformity="distance"` and "scaled" make bands.')
        if self.method == "full" and self._scores.left_out.q > 1:
            raise ValueError(
                'A full conformal set of vectors is no band; use `method="jackknife+"`, "jackknife" or "split".'
            )
        both = np.sort(np.stack(self._scores.band(self._inputs(X), k), axis=-1), axis=-1)
        numbers = model.outputs_.shape == () if structured else both.shape[1] == 1
        return self._like(both[:, 0, :] if numbers else both)

    def _inputs(self, X: Any) -> Any:
        """X; of a Gram matrix with a column for every row of `fit`, those of the rows that the model has kept."""
        columns = getattr(self, "_columns", None)
        if columns is None or tuple(getattr(X, "shape", ()))[1:] != (self._width,):
            return X
        return X[:, asarray_like(columns, X)] if is_array(X) else X

    def _like(self, values: np.ndarray) -> Array:
        """Answers in the library and the precision of the model."""
        model = self.model_
        return (
            in_kind(model, asarray_like(values, model.solution_.C)) if isinstance(model, KernelRegression) else values
        )
