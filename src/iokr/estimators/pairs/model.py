"""f({a, b}) on unordered pairs of nodes: one kernel on pairs, two examples per pair, or one machine per node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, array_namespace, asarray_like, is_array, same_home, take_rows, to_numpy
from iokr._progress import CallbackSupportMixin, begin, end, with_callbacks
from iokr._validation import check_choice, check_number
from iokr.estimators.inputs import check_inputs, check_kernel
from iokr.estimators.outputs import single_precision
from iokr.estimators.pairs.data import PairData, check_pair_data
from iokr.estimators.pairs.leave_out import fold_scores, leave_node_out, leave_pair_out
from iokr.estimators.pairs.local import solve_local
from iokr.gram.pairs.gram import PairGram
from iokr.kernels.base import Kernel, check_gram
from iokr.kernels.pairs import check_mix, check_pairs
from iokr.losses.base import Loss
from iokr.losses.margin import MaxMargin
from iokr.losses.square import Square
from iokr.operator_kernels.base import OperatorKernel
from iokr.problem import Problem, Solution
from iokr.solvers.auto import Auto
from iokr.solvers.base import Solver

__all__ = ["PairModel"]

_STRATEGIES = ("kernel", "duplicate", "local")


class PairModel(CallbackSupportMixin, BaseEstimator):  # type: ignore[misc]
    """min_f Σ_p ℓ(f(p), y_p) + (α/2)‖f‖² over pairs p = {a, b} of nodes, with 2[δ1{a=c} + (1 − δ)k(a, c)]k(b, d).

    Three ways to learn from pairs without order. `"kernel"`: one example per pair, the kernel averaged over both
    orders. `"duplicate"`: both orders as examples of weight ½, f the mean of the two predictions. `"local"`: one
    machine per node on its mates, f the mean of two machines. At δ = 0 the first two are the same (TPPK); `"local"` is
    `"duplicate"` at δ = 1. There is no matrix of pairs: ridge is solved by conjugate gradients from products of about
    3nm multiplications (n pairs, m nodes), exactly in O(m³) when all pairs are there, the margin by coordinate descent.

    Parameters
    ----------
    kernel : Kernel, default=None
        k on the nodes' inputs; None is `RBF()` with the median bandwidth.
    strategy : {"kernel", "duplicate", "local"}, default="kernel"
    mix : float, default=0.0
        δ from 0 to 1: how much a pair listens only to pairs that share a node. `"local"` takes 0 or 1, which mean the
        same there.
    loss : Square or MaxMargin, default=None
        None is `Square()`. `MaxMargin()` is the support vector machine without a bias, C = 1/alpha.
    alpha : float, default=1.0
        λ > 0: larger shrinks f more.
    solver : Solver, default=None
        None is `Auto()`; `print(model.solver_)` says what it chose and why.

    Attributes
    ----------
    kernel_ : Kernel
    pairs_ : ndarray of shape (n, 2)
        The distinct pairs, smaller number first.
    classes_ : ndarray of shape (2,)
        The two labels of a binary y, coded −1 and 1.
    solution_ : Solution
        `C` has a coefficient per pair, or per order of a pair.
    solver_ : Solver
    n_features_in_ : int
        When X is an array.

    References
    ----------
    Hue, Vert, On learning with kernels for unordered pairs, ICML 2010. Its kernel is half of ours.

    Examples
    --------
    >>> from iokr import PairModel
    >>> X = [[0.0], [0.1], [3.0], [3.1]]
    >>> model = PairModel(alpha=0.1).fit(X, [[0, 1], [2, 3], [0, 2], [1, 3]], [1, 1, 0, 0])
    >>> model.predict([[3, 0], [4, 5]], X=[[0.2], [0.3]])  # 4 and 5 are new nodes
    array([0, 1])
    """

    def __init__(
        self,
        kernel: Kernel | None = None,
        *,
        strategy: str = "kernel",
        mix: float = 0.0,
        loss: Loss | None = None,
        alpha: float = 1.0,
        solver: Solver | None = None,
    ) -> None:
        self.kernel = kernel
        self.strategy = strategy
        self.mix = mix
        self.loss = loss
        self.alpha = alpha
        self.solver = solver

    # ----------------------------------------------------------------------------------------------- fit

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, pairs: Any, y: Any, sample_weight: Any = None) -> PairModel:
        """Learn f.

        Parameters
        ----------
        X : array, sparse matrix, or sequence of m objects that the kernel takes
            The nodes.
        pairs : integer array of shape (n, 2)
            Rows of X; the order within a pair does not matter.
        y : array of shape (n,)
            Two labels of any kind, or numbers. One pair with two different labels is an error.
        sample_weight : array of shape (n,), default=None
            A weight of 2 is the pair twice.

        Returns
        -------
        self
        """
        progress = begin(self, 0, X=X, y=y)
        alpha = check_number(self.alpha, "alpha", minimum=0.0, strict=True)
        data = self._check(X, pairs, y, sample_weight)
        self._solve(data, replace(self._pose(data), alpha=alpha))
        end(progress, self, X=X, y=y)
        return self

    def path(
        self, X: Any, pairs: Any, y: Any, alphas: Sequence[float], sample_weight: Any = None
    ) -> Iterator[PairModel]:
        """A fitted model for each alpha, in the order given, each started from the one before.

        Parameters
        ----------
        X, pairs, y, sample_weight : as in `fit`
        alphas : sequence of float
            From the largest down is quickest.

        Yields
        ------
        PairModel
            A clone with this alpha, fitted.
        """
        first, start = clone(self), None
        data = first._check(X, pairs, y, sample_weight)
        problem = first._pose(data)
        for alpha in alphas:
            checked = check_number(alpha, "alphas", minimum=0.0, strict=True)
            model = clone(self).set_params(alpha=alpha)
            model.__dict__.update(
                {name: value for name, value in vars(first).items() if name not in model.get_params()}
            )
            start = model._solve(data, replace(problem, alpha=checked), start)
            yield model

    def _check(self, X: Any, pairs: Any, y: Any, sample_weight: Any) -> PairData:
        """Parameters and data, checked; the kernel fitted to the nodes."""
        check_choice(self.strategy, "strategy", _STRATEGIES)
        mix = check_mix(self.mix)
        if self.strategy == "local" and mix not in (0.0, 1.0):
            raise ValueError(f'`mix` means nothing for `strategy="local"`; leave it at 0, got {self.mix!r}.')
        self.loss_ = Square() if self.loss is None else clone(self.loss)
        if not isinstance(self.loss_, (Square, MaxMargin)):
            raise ValueError(f"`loss` must be `Square()` or `MaxMargin()`, got {self.loss!r:.60}.")
        if self.solver is not None and not isinstance(self.solver, Solver):
            raise TypeError(f"`solver` must be a component of `iokr.solvers`, got {self.solver!r:.60}.")
        kernel = check_kernel(self.kernel)
        if isinstance(kernel, OperatorKernel):
            raise TypeError(f"`kernel` must be a scalar kernel on nodes, of `iokr.kernels`, got {kernel!r:.60}.")
        self._single_precision = single_precision(X)
        X = check_inputs(self, X, kernel, reset=True)
        self.kernel_ = clone(kernel).fit(X)
        self.R_fit_ = self.kernel_.represent(np.arange(X.shape[0]) if kernel.pairwise else X)
        data = check_pair_data(pairs, y, sample_weight, int(self.R_fit_.shape[0]), binary=not self.loss_.quadratic)
        self.__dict__.pop("classes_", None)
        if data.classes is not None:
            self.classes_ = data.classes
        self.pairs_, self._inverse, self._swapped = data.pairs, data.inverse, data.swapped
        return data

    def _pose(self, data: PairData) -> Problem:
        """The problem at α = 1, on pairs or on points in order."""
        gram = self.kernel_.gram(self.R_fit_)
        check_gram(gram, self.kernel_.trusted, "kernel")
        K = gram.dense()
        self._ordered = self.strategy == "local" or (self.strategy == "duplicate" and float(self.mix) > 0)
        self._mix = 1.0 if self.strategy == "local" else float(self.mix)
        target, weight, points = data.target, data.weight, data.pairs
        if self._ordered:
            points, target, weight = data.both_orders()
        self.points_ = points
        pair_gram = PairGram(K, points, mix=self._mix, ordered=self._ordered)
        return Problem(pair_gram, asarray_like(target[:, None], K), self.loss_, 1.0, weight=weight)

    def _solve(self, data: PairData, problem: Problem, start: Solution | None = None) -> Solution:
        """The coefficients; what is returned also starts the next problem."""
        self.solver_ = Auto() if self.solver is None else clone(self.solver)
        if self.strategy == "local":
            solution = solve_local(problem, self.solver_)
        else:
            solution = self.solver_.solve(problem, start)
        self.solution_ = replace(solution, state=None)
        self._weight, self._target, self._alpha = problem.weight, data.target, problem.alpha
        return solution

    # ------------------------------------------------------------------------------------------- predict

    def decision_function(self, pairs: Any, X: Any = None) -> Array:
        """f({a, b}) for pairs of fitted nodes and, with X, of new ones.

        Parameters
        ----------
        pairs : integer array of shape (k, 2)
            Numbers below m are fitted nodes; m + i is row i of X.
        X : as at fit, default=None
            New nodes. With `strategy="local"` a pair of one node without a machine is scored by the other's machine,
            and two such nodes are an error.

        Returns
        -------
        f : array of shape (k,)
        """
        check_is_fitted(self)
        new = None if X is None else self._new_nodes(X)
        m = int(self.R_fit_.shape[0])
        size = m + (0 if new is None else int(new.shape[0]))
        where = "fitted nodes" if new is None else "fitted nodes and the rows of X"
        return self._cast(self._score(check_pairs(pairs, size, where=where), new))

    def _new_nodes(self, X: Any) -> Any:
        X = check_inputs(self, X, self.kernel_, reset=False)
        follows = self.kernel_.domain in ("vectors", "fingerprints")
        if follows and is_array(X) and not same_home(X, self.solution_.C):
            raise TypeError(
                f"The model was fitted on arrays of another library or device than X, {type(X).__name__}; "
                "nothing is moved silently: convert X."
            )
        return self.kernel_.represent(X)

    def _rows(self, nodes: np.ndarray, new: Any) -> Array:
        """k between some nodes, fitted ones first, and the fitted ones."""
        m = int(self.R_fit_.shape[0])
        known, unseen = nodes[nodes < m], nodes[nodes >= m] - m
        parts = []
        if len(known) or not len(unseen):
            parts.append(self.kernel_.block(take_rows(self.R_fit_, known), self.R_fit_))
        if len(unseen):
            parts.append(self.kernel_.block(take_rows(new, unseen), self.R_fit_))
        return parts[0] if len(parts) == 1 else array_namespace(*parts).concat(parts, axis=0)

    def _score(self, pairs: np.ndarray, new: Any = None) -> Array:
        m = int(self.R_fit_.shape[0])
        nodes, left = np.unique(pairs, return_inverse=True)
        left = left.reshape(pairs.shape)
        same = np.where(nodes < m, nodes, -1)
        K, C = self._rows(nodes, new), self.solution_.C
        if not self._ordered:
            return (PairGram(K, left, self.points_, mix=self._mix, same=same) @ C)[:, 0]
        points = np.concatenate([left, left[:, ::-1]])
        g = (PairGram(K, points, self.points_, mix=self._mix, ordered=True, same=same) @ C)[:, 0]
        one, other = g[: len(pairs)], g[len(pairs) :]
        if self.strategy != "local":
            return (one + other) / 2
        has = np.zeros(max(m, int(nodes.max(initial=0)) + 1), dtype=bool)
        has[self.points_[:, 0]] = True
        first, second = has[pairs[:, 0]], has[pairs[:, 1]]
        if not np.all(first | second):
            a, b = pairs[np.argmin(first | second)].tolist()
            raise ValueError(
                f"Neither {a} nor {b} has a local model: no training pair holds them; "
                'score such pairs with `strategy="kernel"` or `"duplicate"`.'
            )
        share = asarray_like(np.where(first & second, 0.5, 1.0), g)
        return share * (one + other)  # a node without a machine contributes 0

    def _cast(self, f: Array) -> Array:
        if not self._single_precision:
            return f
        xp = array_namespace(f)
        return xp.astype(f, xp.float32)

    def predict(self, pairs: Any, X: Any = None) -> Array:
        """The label on the side of f({a, b}); numbers f where y was not binary.

        Parameters
        ----------
        pairs, X : as in `decision_function`

        Returns
        -------
        y : array of shape (k,)
        """
        f = self.decision_function(pairs, X)
        if not hasattr(self, "classes_"):
            return f
        return self.classes_[(to_numpy(f) > 0).astype(int)]

    # ----------------------------------------------------------------------------------------- leave out

    def loo_decision_function(self, by: str = "pair") -> Array:
        """f₋ₚ(p) for each training pair, by a model that was not told its label; square loss, in closed form.

        Parameters
        ----------
        by : {"pair", "node"}, default="pair"
            What is left out: the pair alone, or all pairs of one of its nodes.

        Returns
        -------
        f : array of shape (n,), or (n, 2) by node
            By node, column j is the score without the pairs of the j-th node of the pair as given to `fit`.
        """
        check_is_fitted(self)
        check_choice(by, "by", ("pair", "node"))
        if not self.loss_.quadratic:
            raise ValueError(
                f"Leaving out has a closed form for quadratic losses only, not {self.loss_!r}; "
                "use `cv_decision_function()`."
            )
        problem = self._problem()
        if by == "pair":
            scores = leave_pair_out(problem, self.pairs_, self._target, local=self.strategy == "local")
            return self._cast(asarray_like(scores[self._inverse], self.solution_.C))
        scores = leave_node_out(problem, self.pairs_, self._target, local=self.strategy == "local")
        return self._given_sides(scores)

    def cv_decision_function(self, cv: int = 5, random_state: int | None = 0) -> Array:
        """Scores of the training pairs when the fold of one of their nodes is left out: K-fold by nodes, any loss.

        Parameters
        ----------
        cv : int, default=5
            Folds of nodes; the pairs of a fold are all that hold one of its nodes.
        random_state : int, default=0
            Draws the folds.

        Returns
        -------
        f : array of shape (n, 2)
            Column j is the score without the fold of the j-th node of the pair; NaN where nothing is left to score it.
        """
        check_is_fitted(self)
        scores = fold_scores(self._problem(), self.pairs_, self._target, self.strategy, self.solver_, cv, random_state)
        return self._given_sides(scores)

    def _problem(self) -> Problem:
        """The fitted problem, from the nodes."""
        K = self.kernel_.gram(self.R_fit_).dense()
        gram = PairGram(K, self.points_, mix=self._mix, ordered=self._ordered)
        target = self._target if not self._ordered else PairData(self.pairs_, self._target, None).both_orders()[1]
        Psi = asarray_like(target[:, None], K)
        return Problem(gram, Psi, self.loss_, self._alpha, weight=self._weight)

    def _given_sides(self, scores: np.ndarray) -> Array:
        """A row per pair as given to `fit`, its columns in the order of the two nodes there."""
        rows = scores[self._inverse]
        rows[self._swapped] = rows[self._swapped, ::-1]
        return self._cast(asarray_like(rows, self.solution_.C))
