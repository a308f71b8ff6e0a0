"""What output-kernel trees share: inputs in, coordinates of the outputs to split on, weights from leaves."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any

import numpy as np
from scipy.sparse import csc_array, csr_array
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from iokr._array import Array, asarray_like, blocks, is_array, is_numpy, is_sparse, to_numpy, unwarned
from iokr._component import component
from iokr._system.memory import check_matrix
from iokr._validation.arguments import check_number, check_same_length, check_weight
from iokr.data.frames import column_names, frame_of, read
from iokr.data.objects import distinct, error_context, n_objects, take
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.estimators.base import StructuredEstimator
from iokr.estimators.inputs import check_names, check_table
from iokr.estimators.outputs import as_outputs, encode, require_y, single_precision
from iokr.estimators.trees.growing import Grown, indicator, leaf_weights
from iokr.estimators.trees.split_space import SplitSpace
from iokr.kernels.base import Kernel

__all__ = ["AveragedTrees", "OutputTrees", "Training", "mean_outputs", "weight_blocks"]

_ENTRIES = 1 << 22  # of a block of β
_APART = 1e-7  # what scikit-learn's trees do not split
_FAR = 2.0**8  # beyond this multiple of their range, float32 keeps too few digits of columns
_SHARED = (  # parameters that scikit-learn's tree has too
    "splitter",
    "max_depth",
    "min_samples_split",
    "min_samples_leaf",
    "min_weight_fraction_leaf",
    "max_features",
    "max_leaf_nodes",
    "min_impurity_decrease",
    "ccp_alpha",
)


@dataclass(frozen=True)
class Training:
    """What trees are grown on."""

    X: Any  # float32, in C order or CSC
    rows: Any  # the same in C order or CSR
    weight: np.ndarray | None
    space: SplitSpace  # coordinates of the distinct outputs, or of vectors row by row
    which: Any  # from rows to the rows of `space.Z`: integers, or a slice

    @property
    def n(self) -> int:
        """How many rows."""
        return int(self.rows.shape[0])

    @property
    def normalized_weight(self) -> np.ndarray:
        """w/Σw."""
        return np.full(self.n, 1 / self.n) if self.weight is None else self.weight / self.weight.sum()


@component
class OutputTrees(StructuredEstimator):
    """What a tree, a forest and boosting share: inputs in, coordinates to split on, inner products of h with h."""

    output_kernel: Kernel | None = None
    _: KW_ONLY
    splitter: str = "best"
    max_depth: int | None = None
    min_samples_split: int | float = 2
    min_samples_leaf: int | float = 1
    min_weight_fraction_leaf: float = 0.0
    max_features: int | float | str | None = None
    max_leaf_nodes: int | None = None
    min_impurity_decrease: float = 0.0
    ccp_alpha: float = 0.0
    n_components: int | None = None
    tol: float | None = None
    projection: str = "principal"
    decoder: Decoder | None = None
    random_state: Any = None

    embedding = None  # the kernel trick over the distinct outputs, or the vectors themselves
    loss = None  # the square: a leaf's prediction is the mean of its ψ(y_i)
    _middle = None  # of the range of columns far from the origin, as `fit` finds it

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> Training:
        """Everything that `fit` is given, checked, the outputs encoded, and the coordinates to split on."""
        self._check_components()
        SplitSpace.check(self.n_components, self.tol, self.projection)
        check_number(self.min_impurity_decrease, "min_impurity_decrease", minimum=0.0)
        check_number(self.ccp_alpha, "ccp_alpha", minimum=0.0)
        for name, value in self._parameters().items():
            if isinstance(value, int) and abs(value) >= 2**31:
                raise ValueError(f"`{name}` must be below 2**31, got an integer of {value.bit_length()} bits.")
        require_y(y)
        self._single_precision = single_precision(X, y)
        rows = self._check_X(X, reset=True)
        n = check_same_length(rows, y)
        weight = check_weight(sample_weight, n, X)
        if weight is not None and not np.all(weight):  # rows of weight zero are read, but move nothing
            rows = self._check_X(X, reset=True, known=weight > 0)
        _warn_of_narrow(X, rows)
        frame, y = frame_of(y), as_outputs(y, self.output_kernel, X)
        which: Any = slice(None)
        embed = None
        if self.output_kernel is not None:
            which, embed = _distinct_outputs(y, weight)
        outputs, targets = encode(y, weight, embed=embed, frame=frame, **self._output_parts())
        self._keep_outputs(outputs)
        Z = np.ascontiguousarray(to_numpy(self.embedding_.euclidean(targets.Psi)), dtype=np.float64)
        if targets.mask is not None:
            raise ValueError("`y` contains NaN, which trees cannot split on; drop these rows, or use `IOKR`.")
        w = np.ones(n) if weight is None else weight
        if self.output_kernel_ is None:
            self.Psi_: Any = np.ascontiguousarray(to_numpy(targets.Psi), dtype=np.float64)
        else:
            self.Psi_ = csr_array((np.ones(n), which, np.arange(n + 1)), shape=(n, len(Z)))
            w = np.bincount(which, w, minlength=len(Z))
        columns = csc_array(rows) if is_sparse(rows) else rows
        space = SplitSpace(Z, w, self.n_components, self.tol, self.projection, given=self.output_kernel_ is None)
        return Training(columns, rows, weight, space, which)

    def _check_X(self, X: Any, *, reset: bool, known: Any = slice(None)) -> Any:
        """Inputs as scikit-learn's trees read them: float32, in C order or CSR; NaN is a missing value.

        The rows `known` say which columns lie far from the origin.
        """
        names = column_names(X)
        X = check_table(X, "X")
        if is_array(X) and not is_numpy(X):
            X = to_numpy(X)
        if isinstance(X, np.ndarray) and X.dtype.kind in "SU":
            raise ValueError("`X` must be a matrix of numbers, got strings; convert them.")
        if reset:
            self._middle = None
        X = self._centred(X, reset, known)
        finite = True if is_sparse(X) else "allow-nan"
        checks = {"accept_sparse": "csr", "dtype": np.float32, "order": "C", "ensure_all_finite": finite}
        if names is not None:
            check_names(self, names, reset=reset)
        with unwarned():  # what does not fit into float32 is refused
            if names is None:
                X = validate_data(self, X, reset=reset, **checks)
            else:
                X = check_array(X, input_name="X", estimator=self, **checks)
        if is_sparse(X):
            X.sort_indices()
            X.indices, X.indptr = X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int32, copy=False)
        return X

    def _centred(self, X: Any, reset: bool, known: Any) -> Any:
        """Columns that float32 would round to a few values, such as time stamps, less the middle of their range."""
        numbers = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf" and X.dtype.itemsize == 8
        if reset and numbers and X.size:
            low, high = (end.reduce(X[known], axis=0).astype(float) for end in (np.fmin, np.fmax))
            with np.errstate(all="ignore"):
                far = np.maximum(abs(low), abs(high)) > _FAR * (high - low)
                middle = np.where(far & np.isfinite(high - low) & (high > low), low + (high - low) / 2, 0.0)
            self._middle = middle if middle.any() else None
        if self._middle is None:
            return X
        values = X.toarray() if is_sparse(X) else np.asarray(X)
        fits = values.ndim == 2 and values.shape[1] == len(self._middle) and values.dtype.kind in "iuf"
        return values - self._middle if fits else X

    def _parameters(self) -> dict[str, Any]:
        """The parameters of scikit-learn's tree."""
        return {name: getattr(self, name) for name in _SHARED}

    @abstractmethod
    def weights(self, X: Any) -> Array:
        """β (m, n) with h(x) = Σ_i β_i(x) ψ(y_i); rows sum to one."""

    def similarities(self, X1: Any, X2: Any = None) -> Array:
        """⟨h(x), h(x')⟩ = β(x)ᵀ K_Y β(x'), for two leaves the mean of K_Y over their pairs of members: link prediction.

        Parameters
        ----------
        X1, X2 : arrays of m1 and m2 rows; without X2, of X1 with itself

        Returns
        -------
        similarities : array of shape (m1, m2)
        """
        check_matrix(n_objects(X1), n_objects(X1 if X2 is None else X2), X1, 2.0, "A similarity for every pair")
        H1 = self._values(X1)
        H2 = H1 if X2 is None else asarray_like(self._values(X2), H1)
        if self.output_kernel_ is not None:
            H1 = self.embedding_.inner(H1, self.embedding_.S_fit_)  # H K_Y
        return self._cast(H1 @ H2.T)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.input_tags.allow_nan = True
        return tags


def _distinct_outputs(y: Any, weight: np.ndarray | None) -> tuple[Any, Callable[[Embedding, Kernel | None], Array]]:
    """Which of the distinct outputs a row has, and how these are embedded: once each, and none of weight zero."""
    known = np.arange(n_objects(y)) if weight is None else np.flatnonzero(weight)
    first, which = distinct(take(y, known))
    rows = np.zeros(n_objects(y), dtype=np.intp)
    rows[known] = which

    def embed(embedding: Embedding, kernel: Kernel | None) -> Array:
        with error_context("y", lambda i: int(known[first[i]])):
            return embedding.fit_transform(take(y, known[first]), kernel)

    return rows, embed


def _warn_of_narrow(X: Any, rows: Any) -> None:
    """Scikit-learn's trees do not tell inputs apart that differ by less than 1e-7, or only beyond float32."""
    if is_sparse(rows):
        return
    narrow = np.flatnonzero(_ranges(rows) <= _APART)
    given = read(X, matrix=True)
    given = given if isinstance(given, np.ndarray) and given.dtype.kind in "buif" else rows
    lost = narrow[_ranges(np.asarray(given[:, narrow], dtype=np.float64)) > 0]
    if len(lost):
        warnings.warn(
            f"Feature {int(lost[0])} of X ({len(lost)} in all) varies by less than trees tell apart (1e-7, and the "
            "digits of float32), so it is not split on; centre it and scale it up.",
            UserWarning,
            stacklevel=3,
        )


def _ranges(X: np.ndarray) -> np.ndarray:
    """max − min of each column over its known entries, −∞ where there are none."""
    return np.asarray(np.nanmax(X, axis=0, initial=-np.inf) - np.nanmin(X, axis=0, initial=np.inf))


def weight_blocks(where: csr_array, leaf_weights: csr_array) -> Iterator[tuple[slice, csr_array]]:
    """β = where · leaf weights, some rows at a time."""
    for rows in blocks(where.shape[0], max(1, _ENTRIES // leaf_weights.shape[1])):
        yield rows, where[rows] @ leaf_weights


def mean_outputs(parts: Iterator[tuple[slice, csr_array]], Psi: Any, m: int) -> np.ndarray:
    """β Ψ (m, q), dense, from blocks of β."""
    H = np.empty((m, Psi.shape[1]))
    for rows, B in parts:
        product = B @ Psi
        H[rows] = product.toarray() if is_sparse(product) else product
    return H


class AveragedTrees(OutputTrees):
    """One tree, or the mean of several: β(x) = (1/T) Σ_t β of the leaf of x in tree t."""

    n_jobs: int | None = None  # a parameter of forests; one tree is read in one thread

    def _keep(self, grown: Sequence[Grown], lost: Sequence[float]) -> None:
        """What prediction needs of the trees."""
        self.trees_ = [one.tree for one in grown]
        self.leaf_weights_ = leaf_weights(grown)
        self._starts = np.concatenate([[0], np.cumsum([tree.node_count for tree in self.trees_])])
        self.lost_variance_ = float(np.mean(lost))

    def _threads(self, n_trees: int) -> int | None:
        """`n_jobs`, and no more than there are trees: further threads would have nothing to do."""
        return None if self.n_jobs is None else max(min(int(self.n_jobs), n_trees), -1 - n_trees)

    def _leaves(self, rows: Any) -> np.ndarray:
        """The leaf, by node number, of each row in each tree, (m, T)."""
        jobs = Parallel(n_jobs=self._threads(len(self.trees_)), require="sharedmem")
        return np.column_stack(jobs(delayed(tree.apply)(rows) for tree in self.trees_))

    def _blocks(self, X: Any) -> Iterator[tuple[slice, csr_array]]:
        """β, some rows at a time."""
        where = indicator(self._leaves(self._check_X(X, reset=False)), self._starts)
        return weight_blocks(where, self.leaf_weights_)

    def _values(self, X: Any) -> Array:
        check_is_fitted(self)
        return asarray_like(mean_outputs(self._blocks(X), self.Psi_, n_objects(X)), X)

    def weights(self, X: Any) -> Array:
        """β (m, n) with h(x) = Σ_i β_i(x) ψ(y_i): the mean over trees of w_i/Σw in the leaf of x.

        None is negative; rows sum to one.
        """
        check_is_fitted(self)
        B = np.empty((n_objects(X), self.leaf_weights_.shape[1]))
        for rows, part in self._blocks(X):
            B[rows] = part.toarray()
        return self._cast(asarray_like(B, X))

    def apply(self, X: Any) -> np.ndarray:
        """The leaf of each row in each tree, (m, T), by node number."""
        check_is_fitted(self)
        return self._leaves(self._check_X(X, reset=False))

    @property
    def feature_importances_(self) -> np.ndarray:
        """The fraction of the decrease of variance that each feature brought, of shape (p,), summing to one."""
        check_is_fitted(self)
        parts = [tree.compute_feature_importances() for tree in self.trees_ if tree.node_count > 1]
        mean = np.mean(parts, axis=0) if parts else np.zeros(self.n_features_in_)
        return np.asarray(mean / mean.sum() if mean.any() else mean)
