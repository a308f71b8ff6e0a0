"""{y : fewer than ⌈c(n + 1)⌉ of n scores are below that of (x, y)}: prediction sets with a guaranteed coverage."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any, ClassVar

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, asarray_like, is_array
from iokr._component import Limits, component
from iokr._validation.arguments import check_choice, check_number, check_random, check_same_length, one_of
from iokr.data.candidates import CandidateSets
from iokr.data.objects import as_objects
from iokr.estimators.base import KernelModel
from iokr.estimators.conformal.answers import NO_BALL, answers_of, check_complete
from iokr.estimators.conformal.closed import ClosedScores
from iokr.estimators.conformal.guarantee import (
    OF_PAIRS,
    SELECTED,
    estimated,
    fixed_model,
    guarantee,
    node_guarantee,
    selects,
    split_guarantee,
)
from iokr.estimators.conformal.scores import (
    NodeScores,
    Scores,
    SplitScores,
    fits_network,
    rank_needed,
    rows_of,
    second_argument,
    some,
    takes_gram,
)
from iokr.estimators.inputs import copy_features
from iokr.estimators.links.network import check_network
from iokr.estimators.outputs import check_columns, require_y
from iokr.estimators.regression.base import KernelRegression
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR

__all__ = ["Conformal"]

_METHODS = ("full", "jackknife+", "jackknife", "split")
_SEPARABLE = (IOKR, IOKRCV)  # whose parameters can be selected on other rows, and then be given
_SPLIT = 'use `method="split"`, which takes any model.'


@component
class Conformal(KernelModel):
    """C(x) = {y : #{i : s_i < s(x, y)} < ⌈c(n + 1)⌉}: outputs whose score is at most the calibration quantile.

    s(x, y) is a nonconformity score, how far ψ(y) is from h(x), and c the requested coverage. If rows are exchangeable,
    the prediction set of a new row contains its output with the probability that `guarantee_` states, for any
    distribution and any model; the errors of the model only make the sets larger. For ridge regression, leaving rows
    out has a closed form: one inverse, n³ flops, then 2n² per input and n per candidate.

    Parameters
    ----------
    model : IOKR, IOKRCV, Functional, MultiTask or another kernel regression, or any model with `method="split"`
        Cloned and fitted. With a model of links, such as `LinkPredictor`, rows are nodes: `fit(X, adjacency)` learns
        from the links between some of them, and the set of a new node contains all of its partners among these.
    method : {"full", "jackknife+", "jackknife", "split"}, default="full"
        "full": the scores of all rows after (x, y) has been added to them. "jackknife+": each row is left out, and x is
        predicted without it. "jackknife": each row is left out, and x is predicted by all. "split": the model is fitted
        on some rows, the training set, and the scores are those of the others, the calibration set.
    conformity : {"distance", "scaled", "relative"} or callable, default="distance"
        s: ‖ψ(y) − h(x)‖; the same over √v, v the variance of h(x) with noise, so that sets are larger away from the
        data; ‖ψ(y) − h(x)‖² minus its minimum over the candidates (not with "full"); or a function of residuals (n, q)
        and of inputs that returns a number for each row.
    selected : {None, "separately"}, default=None
        "separately" selects the parameters of `IOKR` and `IOKRCV`, and what kernels estimate, on rows that are then not
        used again. Without it, "full" rejects models that select.
    fraction : float, default=0.5
        The fraction of the rows used for calibration by "split", or for selecting parameters separately.
    random_state : int or None, default=None
        Random seed for the choice of these rows.

    Attributes
    ----------
    model_ : the fitted model
    guarantee_ : str
        What is proved of the coverage; "no guarantee: ..." and the reason otherwise.
    n_features_in_ : int
        When X is an array.
    n_calibration_ : int
        n. A coverage c needs at least c/(1 − c) rows.
    nodes_ : array of int
        The nodes of a network whose links the model was fitted to: prediction sets consist of these.

    Notes
    -----
    Rows are exchangeable if they have no order in time, no duplicates (the same molecule twice), and are not pairs that
    share a node. In a network the nodes are exchangeable, the pairs are not: sets are for a new node and its whole row
    of links, with "split" only, as the output kernel of the other nodes depends on the links of a node left out.
    Selection on the same rows, kernels that are estimated from them and sample weights invalidate the proof;
    `guarantee_` states this.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR, Conformal
    >>> from iokr.kernels import RBF
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(0, 6, size=(60, 1))
    >>> y = np.sin(X[:, 0]) + 0.1 * rng.normal(size=60)
    >>> sets = Conformal(IOKR(RBF(1.0), alpha=0.1)).fit(X, y)
    >>> sets.band([[1.5]], coverage=0.9).round(2)
    array([[0.78, 1.15]])
    >>> sets.contains([[1.5], [1.5]], [1.0, 2.0])
    array([ True, False])
    >>> for part in sets.guarantee_.split(", "):
    ...     print(part)
    coverage of at least the requested level
    at most 1/61 above it without ties
    if the 60 rows and the new one are exchangeable
    """

    model: Any
    _: KW_ONLY
    method: str = "full"
    conformity: Any = "distance"
    selected: str | None = None
    fraction: float = 0.5
    random_state: Any = None

    limits: ClassVar[Limits] = {"method": one_of(*_METHODS), "selected": one_of(None, "separately")}
    _columns = None

    def _stored(self) -> dict[str, Any]:
        return {"scores": self._scores, "columns": self._columns, "width": self._width}

    def fit(self, X: Any, y: Any) -> Conformal:
        """Fit the model, and score the rows.

        Parameters
        ----------
        X : array or sequence of n objects
        y : array or sequence of n outputs, or the adjacency matrix (n, n) of n nodes
        """
        self._check_parameters()
        require_y(y)
        self.__dict__.pop("nodes_", None)  # of an earlier fit
        if fits_network(self.model):
            return self._fit_nodes(X, y)
        n = check_same_length(X, y)
        check_complete(y)
        if self.method == "split":
            return self._fit_split(X, y, n)
        return self._fit_closed(X, y, n)

    def _fit_split(self, X: Any, y: Any, n: int) -> Conformal:
        """Fit the model on some rows, score the others."""
        training, calibration = self._split_rows(n, "calibrate")
        model = clone(self.model)
        known = some(y, training)
        self.model_ = model.fit(rows_of(X, training, model), known)
        answers = answers_of(self.model_)
        answers.check_targets()
        scores = SplitScores(
            self.model_,
            self.conformity,
            rows_of(X, calibration, model, training),
            some(y, calibration),
            answers.left_out_residuals(known),
        )
        text = OF_PAIRS if answers.of_pairs else split_guarantee(scores.n)
        return self._set_scores(scores, text, n, training if takes_gram(model) else None)

    def _fit_closed(self, X: Any, y: Any, n: int) -> Conformal:
        """Fit the model on all rows, or on those that parameters were not selected on, and leave each of them out."""
        model = clone(self.model)
        chosen = selects(model)
        self._check_closed(model, chosen)
        columns = None
        if self.selected == "separately":
            training, selection = self._split_rows(n, "select")
            columns = training if takes_gram(model) else None
            model = fixed_model(model.fit(rows_of(X, selection, model), some(y, selection)))
            X = rows_of(X, training, model)
            y = some(y, training)
            chosen = False
        self.model_ = model.fit(X, y)
        self._check_fitted(self.model_)
        scores = ClosedScores(self.model_, self.method, self.conformity, X, y)
        if answers_of(self.model_).of_pairs:
            text = OF_PAIRS
        elif chosen:
            text = SELECTED
        else:
            text = guarantee(self.method, scores.n, estimated(self.model_), separable=type(self.model) in _SEPARABLE)
        return self._set_scores(scores, text, n, columns)

    def _fit_nodes(self, X: Any, adjacency: Any) -> Conformal:
        """Learn from the links between some nodes, score the rows of links of the others to these."""
        if self.method != "split" or self.conformity != "distance":
            raise ValueError(
                "The output kernel of a network depends on the links of every node, so nodes cannot be left out in "
                'closed form; use `method="split"` and `conformity="distance"` with a model of links.'
            )
        graph = check_network(X, adjacency).graph
        n = graph.shape[0]
        self.nodes_, calibration = self._split_rows(n, "calibrate")
        model = clone(self.model)
        self.model_ = model.fit(rows_of(X, self.nodes_, model), graph[self.nodes_][:, self.nodes_])
        scores = NodeScores(
            self.model_, self.nodes_, n, rows_of(X, calibration, model, self.nodes_), graph[calibration]
        )
        return self._set_scores(scores, node_guarantee(len(self.nodes_), scores.n), n, None)

    def _set_scores(self, scores: Scores, guarantee: str, n: int, columns: np.ndarray | None) -> Conformal:
        """Keep the scores; `columns` of a Gram matrix over all n rows are those of the rows that the model has."""
        copy_features(self.model_, self)
        self._scores = scores
        self._columns = columns
        self._width = n
        self.n_calibration_ = scores.n
        self.guarantee_ = guarantee
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.model)
        tags.input_tags = inner.input_tags
        tags.target_tags = inner.target_tags
        return tags

    def _check_parameters(self) -> None:
        self._check_components()
        if not callable(self.conformity):
            check_choice(self.conformity, "conformity", ("distance", "scaled", "relative"))
        if not 0 < check_number(self.fraction, "fraction") < 1:
            raise ValueError(f"`fraction` must lie between 0 and 1, both excluded, got {self.fraction!r}.")
        if second_argument(self.model) not in ("y", "adjacency"):
            raise TypeError(
                f"`model` must be fitted to rows (X, y) or to a network (X, adjacency), got {self.model!r:.60}: nodes "
                "are exchangeable, pairs of them are not, so there is no guarantee pair by pair."
            )

    def _split_rows(self, n: int, purpose: str) -> tuple[np.ndarray, np.ndarray]:
        """Row numbers of two parts, the second with `fraction` of all rows."""
        second = round(self.fraction * n)
        if not 0 < second < n:
            smaller = min(self.fraction, 1 - self.fraction)
            needed = max(2, int(np.ceil(1 / smaller / 2)) + 1)
            raise ValueError(
                f"`fraction` = {self.fraction:g} of n_samples = {n} leaves {second} rows to {purpose} on, {n - second} "
                f"to fit: each part needs at least one, so give at least {needed} rows (a coverage c needs c/(1 − c) "
                "calibration rows)."
            )
        order = check_random(self.random_state).permutation(n)
        return np.sort(order[second:]), np.sort(order[:second])

    def _check_closed(self, model: Any, chosen: bool) -> None:
        """Before the fit: what "full", "jackknife+" and "jackknife" require of the model."""
        if not isinstance(model, KernelRegression):
            raise TypeError(
                f"`model` must be `IOKR` or `IOKRCV` to leave rows out in closed form, got {model!r:.60}; {_SPLIT}"
            )
        if self.method == "full" and chosen and self.selected is None:
            raise ValueError(
                f"{type(model).__name__} selects its parameters on the rows that a full conformal set compares, which "
                'invalidates its guarantee; set `selected="separately"`, or another `method`.'
            )
        if self.method == "full" and self.conformity == "relative":
            raise ValueError(
                '`conformity="relative"` compares all candidates for every row and every added candidate; use '
                '`method="jackknife+"` or "jackknife".'
            )
        if self.selected == "separately" and type(model) not in _SEPARABLE:
            raise TypeError(
                f'`selected="separately"` is for the parameters of `IOKR` and `IOKRCV`, got {model!r:.60}; select them '
                f"beforehand on other rows, or {_SPLIT}"
            )
        if model.manifold is not None:
            raise ValueError(f"A point cannot be added to or removed from the graph of a manifold; {_SPLIT}")

    def _check_fitted(self, model: KernelRegression) -> None:
        """After it: what the closed forms require of kernels, outputs and loss."""
        embedding = model.embedding_
        if not model.loss_.quadratic:
            raise ValueError(
                f"Rows are left out in closed form for quadratic losses only, got {model.loss_!r}; {_SPLIT}"
            )
        answers_of(model).check_targets()
        if model.projected:
            raise ValueError(f"{model.solver_!r:.60} selects directions by all labels; {_SPLIT}")
        operator = model.kernel_.gram(model.inputs_.points).operator
        if operator is None or operator.oblique:
            raise ValueError(f"{model.kernel_!r:.60} has no closed form here; {_SPLIT}")
        if not (embedding.is_identity or embedding.has_vectors):
            raise ValueError(f"{embedding!r:.60} is not an exact embedding of new outputs; leave it out, or {_SPLIT}")
        if operator.scale is None and self.conformity == "scaled":
            raise ValueError(NO_BALL)
        if embedding.is_identity and callable(self.conformity):
            raise ValueError(
                "`conformity` is a function of residual vectors, which outputs known through their kernel do not have; "
                'use "distance", "scaled" or "relative".'
            )

    def predict(self, X: Any, candidates: Any = None) -> Any:
        """Predictions of the model; for a model of links, its scores of each node with the nodes `nodes_`."""
        check_is_fitted(self)
        return self._scores.predict(self._inputs(X), candidates)

    def p_values(self, X: Any, y: Any, candidates: Any = None) -> Array:
        """(1 + #{i : s_i ≥ s(x, y)})/(n + 1), (m,): y is in the set while this is above one minus the coverage.

        Uniform for exchangeable rows with "full" and "split"; small where y does not conform at x.
        """
        counts = self._counts(X, y, candidates)
        n = self.n_calibration_
        return self._scores.answers.in_kind((1 + n - counts) / (n + 1))

    def contains(self, X: Any, y: Any, coverage: float = 0.9, candidates: Any = None) -> Array:
        """Whether the prediction set of x contains y, (m,), for each row of X and y.

        Parameters
        ----------
        X : array or sequence of m objects
        y : array or sequence of m outputs
        coverage : float, default=0.9
            Between 0 and 1.
        candidates : sequence of outputs, default=None
            What y is compared with, for `conformity="relative"`.
        """
        check_is_fitted(self)
        k = rank_needed(coverage, self.n_calibration_)
        return self._scores.answers.in_kind(self._counts(X, y, candidates) < k)

    def _counts(self, X: Any, y: Any, candidates: Any) -> np.ndarray:
        check_is_fitted(self)
        check_same_length(X, y)
        check_complete(y)
        check_columns(self._scores.answers.frame, y, "y")
        if self.conformity == "relative" and (candidates is None or isinstance(candidates, CandidateSets)):
            raise ValueError('`conformity="relative"` needs one list of `candidates` for all rows.')
        if self.conformity != "relative" and candidates is not None:
            raise ValueError(
                f'`candidates` are for `conformity="relative"`; they would change nothing with {self.conformity!r:.40}.'
            )
        return np.asarray(self._scores.counts(self._inputs(X), y, candidates))

    def predict_set(self, X: Any, candidates: Any = None, coverage: float = 0.9) -> np.ndarray:
        """The candidates in the prediction set of each x.

        Parameters
        ----------
        X : array or sequence of m objects
        candidates : sequence of c outputs, `SharedCandidates`, or `CandidateSets`
            None for a model of links, whose candidates are the nodes of `fit`.
        coverage : float, default=0.9

        Returns
        -------
        sets : object array of shape (m,)
            Indices of candidates, ascending. The guarantee holds if the true output is among the candidates. For a
            network, numbers of nodes among `nodes_`; the guarantee is for all partners of the new node together.
        """
        check_is_fitted(self)
        k = rank_needed(coverage, self.n_calibration_)
        if self.conformity == "relative" and isinstance(candidates, CandidateSets):
            raise ValueError('`conformity="relative"` needs one list of `candidates` for all rows.')
        if candidates is None and self._scores.needs_candidates:
            raise ValueError("`candidates` must be given: prediction sets are subsets of them.")
        check_columns(self._scores.answers.frame, candidates, "candidates")
        counts = self._scores.candidate_counts(self._inputs(X), candidates)
        return as_objects(np.flatnonzero(row < k) for row in counts)

    def radius(self, X: Any, coverage: float = 0.9) -> Array:
        """The radius, (m,), of a ball around h(x) in the space of ψ that contains the prediction set.

        The ball is the set for "jackknife" and "split"; it is slightly larger for the other two, and infinite where a
        single row dominates.
        """
        check_is_fitted(self)
        k = rank_needed(coverage, self.n_calibration_)
        if self.conformity not in ("distance", "scaled"):
            raise ValueError('Only `conformity="distance"` and "scaled" make balls.')
        return self._scores.answers.in_kind(self._scores.radius(self._inputs(X), k))

    def band(self, X: Any, coverage: float = 0.9) -> Array:
        """[low, high] for every coordinate of y, (m, q, 2), or (m, 2) for numbers: all of y lies between.

        For numbers the band is the prediction set (its hull for "jackknife+"). For vectors and curves it is ŷ ± Qσ_t
        with the score sup_t |y_t − ŷ_t|/σ_t over the coordinates of y, for curves their values at the nodes, and σ_t
        the leave-one-out deviation at t. Not for vectors with "full"; as σ_t comes from the same rows, the guarantee
        holds with "split" only.
        """
        check_is_fitted(self)
        k = rank_needed(coverage, self.n_calibration_)
        if self.conformity not in ("distance", "scaled"):
            raise ValueError('Only `conformity="distance"` and "scaled" make bands.')
        return self._scores.answers.in_kind(self._scores.band(self._inputs(X), k))

    def _inputs(self, X: Any) -> Any:
        """X; of a Gram matrix with a column for every row of `fit`, the columns of the rows that the model has."""
        if self._columns is None or not is_array(X) or tuple(X.shape)[1:] != (self._width,):
            return X
        return X[:, asarray_like(self._columns, X)]
