"""f({a, b}) on unordered pairs of nodes: one kernel on pairs, two examples per pair, or one local model per node."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, array_namespace, asarray_like, is_array, take_rows, to_numpy
from iokr._component import component
from iokr._system.memory import check_matrix
from iokr._validation.arguments import SHARE, check_choice, check_number, check_same_length
from iokr.data.frames import check_aligned
from iokr.estimators.base import KernelModel
from iokr.estimators.inputs import InputAdapter, adapt, check_scalar, fit_points, fresh_solver
from iokr.estimators.pairs.leave_out import random_folds, refit_scores
from iokr.estimators.pairs.strategies import BothOrders, OnePerNode, OnePerPair, PairProblem, Strategy, check_pair_data
from iokr.estimators.progress import CallbackSupportMixin, begin, end, with_callbacks
from iokr.estimators.search.result import check_values
from iokr.kernels.base import Kernel, check_gram
from iokr.kernels.pairs import check_pairs
from iokr.losses.base import Loss
from iokr.losses.margin import MaxMargin
from iokr.losses.square import Square
from iokr.metrics.pairs import roc_auc_pairs
from iokr.problem import Solution
from iokr.solvers.base import Solver

__all__ = ["PairModel", "choose_strategy"]


@component
class PairModel(CallbackSupportMixin, KernelModel):  # type: ignore[misc]
    """min_f Σ_p ℓ(f(p), y_p) + (α/2)‖f‖² over pairs p = {a, b} of nodes, with 2[δ1{a=c} + (1 − δ)k(a, c)]k(b, d).

    Three ways to learn from pairs without order. `"kernel"`: one row per pair, the kernel averaged over both
    orders. `"duplicate"`: both orders as rows of weight ½, f the mean of the two predictions. `"local"`: one
    local model per node on its partners, f the mean of two. At δ = 0 the first two are the same (TPPK); `"local"` is
    `"duplicate"` at δ = 1. There is no matrix of pairs: ridge is solved by conjugate gradients from products of about
    3nm multiplications (n pairs, m nodes), exactly in O(m³) when all pairs are there, the margin by coordinate descent.

    Parameters
    ----------
    kernel : Kernel, default=None
        k on the nodes' inputs; None is `RBF()` with the median bandwidth.
    strategy : {"kernel", "duplicate", "local"}, default="kernel"
    mix : float, default=0.0
        δ from 0 to 1: larger gives more weight to pairs that share a node. `"local"` takes 0 or 1, which mean the same
        there.
    loss : Square or MaxMargin, default=None
        None is `Square()`. `MaxMargin()` is the support vector machine without a bias, C = 1/alpha.
    alpha : float, default=1.0
        λ > 0: larger shrinks f more.
    solver : Solver, default=None
        None is `Auto()`; `print(model.solver_)` shows the choice and its reason.

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

    kernel: Kernel | None = None
    _: KW_ONLY
    strategy: str = "kernel"
    mix: float = 0.0
    loss: Loss | None = None
    alpha: float = 1.0
    solver: Solver | None = None

    def _stored(self) -> dict[str, Any]:
        return {"fitted_strategy": self._strategy, "data": self._data, "fitted_alpha": self._alpha}

    @property
    def pairs_(self) -> np.ndarray:
        """The distinct pairs, smaller number first."""
        return self._data.pairs

    @property
    def points_(self) -> np.ndarray:
        """What the coefficients belong to: the pairs, or every order of every pair."""
        return self._strategy.examples(self._data).points

    @property
    def classes_(self) -> np.ndarray:
        """The two labels of a binary y."""
        if self._data.classes is None:
            raise AttributeError("`classes_` needs a binary `y`; this model was fitted to numbers.")
        return self._data.classes

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
        self._solve(self._pose(X, pairs, y, sample_weight).at(alpha))
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
        posed = first._pose(X, pairs, y, sample_weight)
        inputs = {name: value for name, value in vars(first).items() if name not in first.get_params()}
        for alpha in check_values(alphas, "alphas", strict=True):
            model = clone(self).set_params(alpha=alpha)
            vars(model).update(inputs)
            start = model._solve(posed.at(alpha), start)
            yield model

    def loo_path(
        self, X: Any, pairs: Any, y: Any, alphas: Sequence[float], sample_weight: Any = None
    ) -> Iterator[np.ndarray]:
        """f₋ₚ(p) of each pair for each alpha, in closed form from one eigendecomposition; the model stays unfitted.

        Parameters
        ----------
        X, pairs, y, sample_weight : as in `fit`
        alphas : sequence of float

        Yields
        ------
        f : ndarray of shape (n,)
            As `loo_decision_function()` after `fit` with this alpha; NaN where no local model is left.
        """
        model = clone(self)
        posed = model._pose(X, pairs, y, sample_weight)
        if not model.loss_.quadratic:
            raise ValueError(
                f"Leaving out has a closed form for quadratic losses only, not {model.loss_!r}; set `cv=5`."
            )
        for f in posed.strategy.leave_pair_out_path(posed, check_values(alphas, "alphas", strict=True)):
            yield f[posed.data.inverse]

    def _pose(self, X: Any, pairs: Any, y: Any, sample_weight: Any) -> PairProblem:
        """Parameters and data, checked, as the problem of the strategy at α = 1; the kernel is fitted to the nodes."""
        strategy = choose_strategy(self.strategy, self.mix)
        self._check_components()
        self.loss_ = Square() if self.loss is None else clone(self.loss)
        if not isinstance(self.loss_, (Square, MaxMargin)):
            raise ValueError(f"`loss` must be `Square()` or `MaxMargin()`, got {self.loss!r:.60}.")
        kernel = check_scalar(self.kernel)
        sample = adapt(self, X, kernel, reset=True)
        self._single_precision = sample.single
        fitted, self.R_fit_ = fit_points(kernel, sample.X)
        self.kernel_: Kernel = fitted
        gram = self.kernel_.gram(self.R_fit_)
        data = check_pair_data(pairs, y, sample_weight, gram.size, binary=not self.loss_.quadratic)
        check_gram(gram, self.kernel_.trusted, "kernel")
        return strategy.pose(data, gram.dense(), self.loss_)

    def _solve(self, posed: PairProblem, start: Solution | None = None) -> Solution:
        """Keep the coefficients; what is returned also starts the next problem."""
        self.solver_ = fresh_solver(self.solver)
        solution = posed.strategy.solve(posed.gram, posed.problem, self.solver_, start)
        self.solution_ = replace(solution, state=None)
        self._strategy, self._data, self._alpha = posed.strategy, posed.data, posed.problem.alpha
        return solution

    # ------------------------------------------------------------------------------------------- predict

    def decision_function(self, pairs: Any, X: Any = None) -> Array:
        """f({a, b}) for pairs of fitted nodes and, with X, of new ones.

        Parameters
        ----------
        pairs : integer array of shape (k, 2)
            Numbers below m are fitted nodes; m + i is row i of X.
        X : as at fit, default=None
            New nodes. With `strategy="local"` a pair of one node without a local model is scored by that of the
            other, and two such nodes are an error.

        Returns
        -------
        f : array of shape (k,)
        """
        check_is_fitted(self)
        m = int(self.R_fit_.shape[0])
        new = None if X is None else InputAdapter(self.kernel_, self.solution_.C).read(self, X)
        size = m + (0 if new is None else int(new.shape[0]))
        pairs = check_pairs(pairs, size, where="fitted nodes" if new is None else "fitted nodes and the rows of X")
        nodes, left = np.unique(pairs, return_inverse=True)
        left, points, same = left.reshape(pairs.shape), self.points_, np.where(nodes < m, nodes, -1)
        silent = self._strategy.silent(left, points, same)
        if silent.any():
            a, b = pairs[np.argmax(silent)].tolist()
            raise ValueError(
                f"Neither {a} nor {b} has a local model: no training pair holds them; "
                'score such pairs with `strategy="kernel"` or `"duplicate"`.'
            )
        K = self._rows(nodes[nodes < m], new, nodes[nodes >= m] - m)
        return self._cast(self._strategy.score(K, left, points, self.solution_.C, same))

    def _rows(self, known: np.ndarray, new: Any, unseen: np.ndarray) -> Array:
        """k between some fitted nodes, then some new ones, and the fitted ones."""
        R = self.R_fit_
        check_matrix(len(known) + len(unseen), int(R.shape[0]), R, 2.0)
        parts = [self.kernel_.block(take_rows(R, known), R)] if len(known) or not len(unseen) else []
        parts += [self.kernel_.block(take_rows(new, unseen), R)] if len(unseen) else []
        return parts[0] if len(parts) == 1 else array_namespace(*parts).concat(parts, axis=0)

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

    def score(self, X: Any, pairs: Any, y: Any) -> float:
        """The area under the ROC curve of f for two labels, R² for numbers.

        Parameters
        ----------
        X : as at fit, or None
            New nodes; None where all pairs are of fitted ones.
        pairs : integer array of shape (k, 2)
            As in `decision_function`: numbers below m are fitted nodes, m + i is row i of X.
        y : array of shape (k,)

        Returns
        -------
        score : float
        """
        from sklearn.metrics import r2_score

        check_aligned(pairs, y, "pairs")
        f = to_numpy(self.decision_function(pairs, X))
        check_same_length(f, y, "pairs")
        truth = to_numpy(y) if is_array(y) else np.asarray(y)
        if not hasattr(self, "classes_"):
            return float(r2_score(truth, f))
        if not np.all(np.isin(truth, self.classes_)):
            raise ValueError(f"`y` must hold the labels of `fit`, {self.classes_.tolist()}, and has others.")
        return roc_auc_pairs(truth == self.classes_[1], f)

    # ----------------------------------------------------------------------------------------- leave out

    def loo_decision_function(self, by: str = "pair") -> Array:
        """f₋ₚ(p) for each training pair, by a model that was not given its label; square loss, in closed form.

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
        posed = self._fitted_problem()
        leave_out = self._strategy.leave_pair_out if by == "pair" else self._strategy.leave_node_out
        return self._as_given(leave_out(posed))

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
        posed = self._fitted_problem()
        return self._as_given(refit_scores(posed, clone(self.solver_), random_folds(posed, cv, random_state)))

    def _fitted_problem(self) -> PairProblem:
        """The problem that was solved, from the nodes."""
        K = self.kernel_.gram(self.R_fit_).dense()
        return self._strategy.pose(self._data, K, self.loss_).at(self._alpha)

    def _as_given(self, scores: np.ndarray) -> Array:
        """A row per pair as given to `fit`, two scores in its order, in the library and precision of the answers."""
        rows, swapped = scores[self._data.inverse], self._data.swapped
        if rows.ndim == 2:
            rows[swapped] = rows[swapped, ::-1]
        return self._cast(asarray_like(rows, self.solution_.C))


def choose_strategy(name: str, mix: Any) -> Strategy:
    """The strategy that users call `name`, at this `mix`."""
    check_choice(name, "strategy", ("kernel", "duplicate", "local"))
    delta = SHARE(mix, "mix")
    if name == "local":
        if delta not in (0.0, 1.0):
            raise ValueError(f'`mix` has no effect with `strategy="local"`; leave it at 0, got {delta!r}.')
        return OnePerNode(1.0)
    # At δ = 0 swapping both pairs changes nothing, so one example per pair is the same model as both orders.
    return BothOrders(delta) if name == "duplicate" and delta > 0 else OnePerPair(delta)
