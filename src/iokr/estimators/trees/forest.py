"""Random forests and extra-trees in the feature space of the outputs."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from numbers import Integral
from typing import Any, ClassVar

import numpy as np
from sklearn.utils.parallel import Parallel, delayed

from iokr._array import to_numpy
from iokr._component import Limits, component
from iokr._validation.arguments import FLAG, check_integer, check_random
from iokr.data.objects import take
from iokr.estimators.outputs import as_outputs, r2
from iokr.estimators.progress import begin, end, track, with_callbacks
from iokr.estimators.trees.base import OutputTrees, TreeData, mean_outputs, weight_blocks
from iokr.estimators.trees.growing import Partition, grow, indicator

__all__ = ["OutputKernelForest"]


@component
class OutputKernelForest(OutputTrees):
    """h(x) = Σ_i β_i(x) ψ(y_i), β(x) = (1/T) Σ_t 1{x_i in the leaf of x in tree t}/|leaf|: the mean of T trees.

    Each tree is an `OutputKernelTree` with its own random numbers. `splitter="random"` draws thresholds (extra-trees),
    `splitter="best", bootstrap=True` draws rows (random forests). The trees are those that scikit-learn's forests grow
    on the same coordinates with the same `random_state`.

    Parameters
    ----------
    output_kernel : Kernel, default=None
        On the outputs; None takes outputs as vectors, ψ(y) = y.
    n_estimators : int, default=100
        T: larger is smoother; the cost is proportional to it.
    splitter : {"random", "best"}, default="random"
    bootstrap : bool, default=False
        Grow each tree on n rows drawn with replacement, by their weights; its leaves then hold these.
    oob_score : bool, default=False
        Evaluate every row by the trees that did not draw it; needs `bootstrap`.
    max_samples : int or float, default=None
        The number of rows drawn for each tree, or the fraction; None is n.
    max_features : int, float, "sqrt", "log2" or None, default=1.0
        Features tried at each split; a smaller fraction is faster and makes the trees differ more.
    max_depth, min_samples_split, min_samples_leaf, min_weight_fraction_leaf, max_leaf_nodes
        As in scikit-learn's `ExtraTreesRegressor`.
    min_impurity_decrease, ccp_alpha : float, default=0.0
        As there, in units of the variance of ψ(y): larger keeps fewer nodes.
    n_components, tol, projection
        As in `OutputKernelTree`: split on fewer coordinates. Each tree draws its own random directions.
    n_jobs : int, default=None
        The number of threads that grow and read trees.
    decoder : Decoder, default=None
        Pre-image; None is `Identity()` without an output kernel, else `Candidates()`.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    trees_ : list of scikit-learn's Tree
    lost_variance_ : float
        The fraction of the variance left out of the coordinates used for splitting, a mean over trees.
    feature_importances_ : array of shape (p,)
    oob_decision_function_ : array of shape (n, q)
        With `oob_score`: h(x_i) by the trees that did not draw row i, NaN if all did.
    oob_error_, oob_score_ : float
        With `oob_score`: mean of ‖ψ(y_i) − h(x_i)‖² and R², by these.
    output_kernel_, embedding_, decoder_ : fitted components
    n_features_in_ : int

    Notes
    -----
    T times the cost of a tree, with `max_features` in place of p; memory T n numbers. Papers: Geurts, Wehenkel,
    d'Alché-Buc, ICML 2006 (splits); Joly, Geurts, Wehenkel, ECML 2014 (random directions).

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import OutputKernelForest
    >>> from iokr.kernels import RBF
    >>> X = np.linspace(0, 1, 40)[:, None]
    >>> forest = OutputKernelForest(RBF(), n_estimators=20, random_state=0).fit(X, np.sin(6 * X))
    >>> forest.weights(X[:3]).shape
    (3, 40)
    >>> round(forest.score(X, np.sin(6 * X)), 3)
    1.0
    """

    _: KW_ONLY
    n_estimators: int = 100
    splitter: str = "random"
    bootstrap: bool = False
    oob_score: bool = False
    max_samples: int | float | None = None
    max_features: int | float | str | None = 1.0
    n_jobs: int | None = None

    limits: ClassVar[Limits] = {**OutputTrees.limits, "bootstrap": FLAG, "oob_score": FLAG}

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> OutputKernelForest:
        """Grow the trees.

        Parameters
        ----------
        X : array or sparse matrix of shape (n, p)
        y : array, sparse matrix, or sequence of n outputs that the output kernel takes
        sample_weight : array of shape (n,), default=None
            Weights of the rows; with `bootstrap`, rows are drawn in proportion to them.

        Returns
        -------
        self
        """
        n_trees = self._check_forest()
        progress = begin(self, n_trees, X=X, y=y)
        data = self._prepare(X, y, sample_weight)
        draws = self._n_draws(data.n)
        rng = check_random(self.random_state)
        seeds = [rng.randint(np.iinfo(np.int32).max) for _ in range(n_trees)]
        shared = None  # the coordinates, where all trees split on the same ones
        if not data.space.random:
            directions, _ = data.space.directions(rng)
            shared = data.space.project(data.space.Z, directions)[data.which]
        workers = Parallel(n_jobs=self._threads(n_trees), prefer="threads", return_as="generator")
        trees = workers(delayed(self._grow)(data, shared, seed, draws) for seed in seeds)
        partitions, lost = zip(*track(progress, self, trees, "tree"), strict=True)
        self._keep_trees(partitions, lost)
        for name in ("oob_decision_function_", "oob_error_", "oob_score_"):
            self.__dict__.pop(name, None)  # of an earlier fit
        if self.oob_score:
            self._evaluate_out_of_bag(partitions, data, y)
        end(progress, self, X=X, y=y)
        return self

    def _check_forest(self) -> int:
        """Check the parameters that a single tree does not have; the number of trees."""
        n_trees = check_integer(self.n_estimators, "n_estimators", minimum=1)
        jobs: Any = self.n_jobs
        if jobs is not None and (not isinstance(jobs, Integral) or int(jobs) == 0):
            raise ValueError(f"`n_jobs` must be None or an integer other than 0, got {jobs!r:.60}.")
        if self.oob_score and not self.bootstrap:
            raise ValueError("`oob_score` needs rows that a tree did not draw; set `bootstrap=True`.")
        if self.max_samples is not None and not self.bootstrap:
            raise ValueError("`max_samples` is the number of rows drawn; set `bootstrap=True`, or leave it out.")
        return n_trees

    def _threads(self, n_trees: int) -> int | None:
        """`n_jobs`, at most one thread per tree."""
        return None if self.n_jobs is None else max(min(int(self.n_jobs), n_trees), -1 - n_trees)

    def _grow(self, data: TreeData, shared: np.ndarray | None, seed: int, draws: int) -> tuple[Partition, float]:
        """A tree, and the fraction of the variance that it lost."""
        directions, lost = data.space.directions(np.random.RandomState(seed))
        Z = data.space.project(data.space.Z, directions)[data.which] if shared is None else shared
        weight = self._bootstrap(data, seed, draws) if self.bootstrap else data.weight
        return grow(data.X, Z, weight, self._tree_parameters(), seed, data.rows), lost

    @staticmethod
    def _bootstrap(data: TreeData, seed: int, draws: int) -> np.ndarray:
        """How often each row is drawn, with replacement, by its weight."""
        rng = np.random.RandomState(seed)
        drawn = rng.choice(data.n, draws, p=None if data.weight is None else data.normalized_weight)
        return np.bincount(drawn, minlength=data.n).astype(np.float64)

    def _n_draws(self, n: int) -> int:
        """How many rows each tree draws."""
        if self.max_samples is None:
            return n
        if isinstance(self.max_samples, float):
            if not 0 < self.max_samples <= 1:
                raise ValueError(f"`max_samples` as a fraction must be in (0, 1], got {self.max_samples!r}.")
            return max(1, round(n * self.max_samples))
        draws = check_integer(self.max_samples, "max_samples", minimum=1)
        if draws > n:
            raise ValueError(f"`max_samples` must be at most the number of rows, {n}, got {draws}.")
        return draws

    def _evaluate_out_of_bag(self, partitions: tuple[Partition, ...], data: TreeData, y: Any) -> None:
        """h(x_i) from the trees that did not draw row i, and its error in the output feature space."""
        out = np.column_stack([partition.weight == 0 for partition in partitions])
        count = out.sum(axis=1)
        leaves = np.column_stack([partition.leaf for partition in partitions])
        where = indicator(leaves, self._starts, out / np.maximum(count, 1)[:, None])
        H = mean_outputs(weight_blocks(where, self.leaf_weights_), self.Psi_, data.n)
        evaluated = np.flatnonzero((count > 0) & (data.normalized_weight > 0))
        n_left = np.count_nonzero(data.normalized_weight) - len(evaluated)
        if n_left:
            warnings.warn(
                f"{n_left} rows were drawn by every tree and have no out-of-bag prediction; grow more trees.",
                UserWarning,
                stacklevel=3,
            )
        H[count == 0] = np.nan
        self.oob_decision_function_ = H
        self.oob_error_ = float("nan")
        self.oob_score_ = float("nan")
        if len(evaluated):
            S = self.embedding_.represent(take(as_outputs(y, self.output_kernel), evaluated))
            w = data.normalized_weight[evaluated]
            residual = float(w @ to_numpy(self.embedding_.sq_residuals(H[evaluated], S)))
            self.oob_error_ = residual / float(w.sum())
            self.oob_score_ = r2(residual, self.embedding_.spread(S, w), len(evaluated))
