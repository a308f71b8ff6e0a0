"""What output-kernel trees share: inputs in float32, coordinates of the outputs to split on, weights from leaves."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar

import numpy as np
from scipy.sparse import csc_array, csr_array
from sklearn.utils.parallel import Parallel, delayed
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from iokr._array import Array, asarray_like, blocks, is_array, is_numpy, is_sparse, to_numpy, unwarned
from iokr._component import Limits, component
from iokr._system.memory import check_matrix
from iokr._validation.arguments import (
    COUNT,
    NOT_NEGATIVE,
    check_entries,
    check_same_length,
    check_weight,
    either,
    one_of,
)
from iokr.data.frames import check_aligned, column_names, frame_of, read
from iokr.data.objects import distinct, error_context, n_objects, take
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.estimators.base import StructuredEstimator
from iokr.estimators.inputs import check_names, check_table
from iokr.estimators.outputs import as_outputs, encode, require_y, single_precision
from iokr.estimators.trees.growing import Partition, SplitSpace, check_projection, indicator, leaf_weights
from iokr.kernels.base import Kernel

__all__ = [
    "OutputTrees",
    "TreeData",
    "as_float32",
    "column_middles",
    "fractions",
    "mean_outputs",
    "numbers_of",
    "warn_of_narrow_features",
    "weight_blocks",
]

_APART = 1e-7  # scikit-learn's trees do not separate values that are nearer than this
_FAR = 2.0**8  # beyond this multiple of its range, float32 keeps too few digits of a column
_ENTRIES = 1 << 22  # of a block of β
_LARGEST_INTEGER = 2**31  # scikit-learn's trees count in 32 bits
_SHARED = (  # parameters of scikit-learn's tree
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
class TreeData:
    """What trees are grown on."""

    X: Any  # float32, in C order or CSC
    rows: Any  # the same in C order or CSR
    weight: np.ndarray | None
    space: SplitSpace  # coordinates of the distinct outputs, or of vectors row by row
    which: Any  # from rows to the rows of `space.Z`: integers, or a slice

    @property
    def n(self) -> int:
        """The number of rows."""
        return int(self.rows.shape[0])

    @property
    def normalized_weight(self) -> np.ndarray:
        """w/Σw."""
        return np.full(self.n, 1 / self.n) if self.weight is None else self.weight / self.weight.sum()


@component
class OutputTrees(StructuredEstimator):
    """Trees on coordinates of the outputs; h is the mean over the trees, β(x) = (1/T) Σ_t β of the leaf of x in tree t.

    Boosting, which adds up its trees, overrides `_values`, `weights` and `feature_importances_`.
    """

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

    limits: ClassVar[Limits] = {
        "min_impurity_decrease": NOT_NEGATIVE,
        "ccp_alpha": NOT_NEGATIVE,
        "projection": one_of("principal", "random"),
        "n_components": either(None, COUNT),
    }
    embedding = None  # the kernel trick over the distinct outputs, or the vectors themselves
    loss = None  # the square: a leaf predicts the mean of its ψ(y_i)
    _middle = None  # what `fit` subtracts from columns far from the origin

    def _stored(self) -> dict[str, Any]:
        return {"middle": self._middle, "starts": self._starts}

    def _prepare(self, X: Any, y: Any, sample_weight: Any) -> TreeData:
        """Check all arguments of `fit`, encode the outputs, and choose the coordinates to split on."""
        self._check_components()
        check_projection(self.n_components, self.tol, self.projection)
        for name, value in self._tree_parameters().items():
            if isinstance(value, int) and abs(value) >= _LARGEST_INTEGER:
                raise ValueError(f"`{name}` must be below 2**31, got an integer of {value.bit_length()} bits.")
        require_y(y)
        self._single_precision = single_precision(X, y)
        numbers = numbers_of(X)
        check_aligned(X, y)
        n = check_same_length(numbers, y)
        weight = check_weight(sample_weight, n, X)
        self._middle = column_middles(numbers, slice(None) if weight is None else weight > 0)
        rows = as_float32(self, numbers, column_names(X), self._middle, reset=True)
        warn_of_narrow_features(X, rows)
        space, which = self._encode(X, y, weight)
        return TreeData(csc_array(rows) if is_sparse(rows) else rows, rows, weight, space, which)

    def _encode(self, X: Any, y: Any, weight: np.ndarray | None) -> tuple[SplitSpace, Any]:
        """Embed the outputs, each of the distinct ones once; the space to split in, and where each row is in it."""
        frame = frame_of(y)
        y = as_outputs(y, self.output_kernel, X)
        n = n_objects(y)
        which: Any = slice(None)
        embed = None
        if self.output_kernel is not None:
            which, embed = _distinct_outputs(y, weight)
        outputs, targets = encode(y, weight, embed=embed, frame=frame, **self._output_parts())
        if targets.mask is not None:
            raise ValueError("`y` contains NaN, which trees cannot split on; drop these rows, or use `IOKR`.")
        self._set_outputs(outputs)
        Z = np.ascontiguousarray(to_numpy(self.embedding_.euclidean(targets.Psi)), dtype=np.float64)
        w = np.ones(n) if weight is None else weight
        vectors = self.output_kernel_ is None
        if vectors:
            self.Psi_: Any = np.ascontiguousarray(to_numpy(targets.Psi), dtype=np.float64)
        else:
            self.Psi_ = csr_array((np.ones(n), which, np.arange(n + 1)), shape=(n, len(Z)))
            w = np.bincount(which, w, minlength=len(Z))
        return SplitSpace(Z, w, self.n_components, self.tol, self.projection, given=vectors), which

    def _tree_parameters(self) -> dict[str, Any]:
        """The parameters of scikit-learn's tree."""
        return {name: getattr(self, name) for name in _SHARED}

    def _rows(self, X: Any) -> Any:
        """New inputs as scikit-learn's trees read them."""
        check_is_fitted(self)
        return as_float32(self, numbers_of(X), column_names(X), self._middle, reset=False)

    def _keep_trees(self, partitions: Sequence[Partition], lost: Sequence[float]) -> None:
        """Keep what prediction needs of the trees, and the mean of the variance that they lost."""
        self.trees_ = [partition.tree for partition in partitions]
        self.leaf_weights_ = leaf_weights(partitions)
        self._starts = np.concatenate([[0], np.cumsum([tree.node_count for tree in self.trees_])])
        self.lost_variance_ = float(np.mean(lost))

    def _threads(self, n_trees: int) -> int | None:
        """How many of the trees are read at a time. May be overridden."""
        return None

    def _leaves(self, X: Any) -> np.ndarray:
        rows = self._rows(X)
        jobs = Parallel(n_jobs=self._threads(len(self.trees_)), require="sharedmem")
        return np.column_stack(jobs(delayed(tree.apply)(rows) for tree in self.trees_))

    def _weight_blocks(self, X: Any) -> Iterator[tuple[slice, csr_array]]:
        """β, some rows at a time."""
        return weight_blocks(indicator(self._leaves(X), self._starts), self.leaf_weights_)

    def _values(self, X: Any) -> Array:
        return asarray_like(mean_outputs(self._weight_blocks(X), self.Psi_, n_objects(X)), X)

    def weights(self, X: Any) -> Array:
        """β (m, n) with h(x) = Σ_i β_i(x) ψ(y_i): the mean over trees of w_i/Σw in the leaf of x.

        Weights are not negative; rows sum to one.
        """
        check_is_fitted(self)
        B = np.empty((n_objects(X), self.leaf_weights_.shape[1]))
        for rows, part in self._weight_blocks(X):
            B[rows] = part.toarray()
        return self._cast(asarray_like(B, X))

    def _weights(self, X: Any) -> Array:
        return self.weights(X)

    def apply(self, X: Any) -> np.ndarray:
        """The leaf of each row in each tree, (m, T), by node number."""
        return self._leaves(X)

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

    @property
    def feature_importances_(self) -> np.ndarray:
        """The fraction of the decrease of variance due to each feature, (p,), summing to one."""
        check_is_fitted(self)
        parts = [tree.compute_feature_importances() for tree in self.trees_ if tree.node_count > 1]
        return fractions(np.mean(parts, axis=0)) if parts else np.zeros(self.n_features_in_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _distinct_outputs(y: Any, weight: np.ndarray | None) -> tuple[Any, Callable[[Embedding, Kernel | None], Array]]:
    """The distinct output of each row, and a function that embeds each of them once, none of weight zero."""
    known = np.arange(n_objects(y)) if weight is None else np.flatnonzero(weight)
    first, which = distinct(take(y, known))
    rows = np.zeros(n_objects(y), dtype=np.intp)
    rows[known] = which

    def embed(embedding: Embedding, kernel: Kernel | None) -> Array:
        with error_context("y", lambda i: int(known[first[i]])):
            return embedding.fit_transform(take(y, known[first]), kernel)

    return rows, embed


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


def fractions(amounts: np.ndarray) -> np.ndarray:
    """Amounts divided by their sum, or zeros."""
    return np.asarray(amounts / amounts.sum() if amounts.any() else amounts)


def numbers_of(X: Any) -> Any:
    """X as a matrix of numbers of NumPy or SciPy, finite but for NaN, not yet validated."""
    given = X
    X = check_table(X, "X")
    if is_array(X) and not is_numpy(X):
        X = to_numpy(X)
    if is_sparse(X) and X.ndim == 2:
        X = X.tocsr()
    if (is_array(X) or is_sparse(X)) and X.ndim == 2 and X.dtype.kind == "f":
        check_entries(X, "X", missing=not is_sparse(X), table=given)
    return X


def column_middles(X: Any, known: Any) -> np.ndarray | None:
    """What to subtract from each column: the middle of its range where float32 would round it to a few values.

    Time stamps are such columns. The range is that of the rows `known`; None where nothing is to be subtracted.
    """
    wide = isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind in "iuf" and X.dtype.itemsize == 8
    if not wide or not X.size:
        return None
    low = np.fmin.reduce(X[known], axis=0).astype(float)
    high = np.fmax.reduce(X[known], axis=0).astype(float)
    with np.errstate(all="ignore"):
        far = np.maximum(abs(low), abs(high)) > _FAR * (high - low)
        move = far & np.isfinite(high - low) & (high > low)
        middle = np.where(move, low + (high - low) / 2, 0.0)
    return middle if middle.any() else None


def as_float32(model: Any, X: Any, names: list[Any] | None, middle: np.ndarray | None, *, reset: bool) -> Any:
    """X − middle as float32, in C order or CSR, with the bookkeeping of scikit-learn; NaN is a missing value."""
    if middle is not None:
        X = _less(X, middle)
    finite = True if is_sparse(X) else "allow-nan"
    checks = {"accept_sparse": "csr", "dtype": np.float32, "order": "C", "ensure_all_finite": finite}
    if names is not None:
        check_names(model, names, reset=reset)
    with unwarned():  # numbers beyond float32 are an error, not a warning
        if names is None:
            X = validate_data(model, X, reset=reset, **checks)
        else:
            X = check_array(X, input_name="X", estimator=model, **checks)
    if is_sparse(X):
        X.sort_indices()
        X.indices = X.indices.astype(np.int32, copy=False)
        X.indptr = X.indptr.astype(np.int32, copy=False)
    return X


def _less(X: Any, middle: np.ndarray) -> Any:
    """X − middle; X itself where shapes or kinds differ, which the validation that follows reports."""
    values = X.toarray() if is_sparse(X) else np.asarray(X)
    fits = values.ndim == 2 and values.shape[1] == len(middle) and values.dtype.kind in "iuf"
    return values - middle if fits else X


def warn_of_narrow_features(X: Any, rows: Any) -> None:
    """Warn of features that vary, but by less than scikit-learn's trees separate (1e-7, or the digits of float32)."""
    if is_sparse(rows):
        return
    narrow = np.flatnonzero(_ranges(rows) <= _APART)
    given = read(X, matrix=True)
    if not (isinstance(given, np.ndarray) and given.dtype.kind in "buif"):
        given = rows
    lost = narrow[_ranges(np.asarray(given[:, narrow], dtype=np.float64)) > 0]
    if len(lost):
        warnings.warn(
            f"Feature {int(lost[0])} of X ({len(lost)} in all) varies by less than trees can separate (1e-7, and the "
            "digits of float32), so it is not used; centre it and scale it up.",
            UserWarning,
            stacklevel=3,
        )


def _ranges(X: np.ndarray) -> np.ndarray:
    """max − min of each column over its known entries, −∞ where there are none."""
    return np.asarray(np.nanmax(X, axis=0, initial=-np.inf) - np.nanmin(X, axis=0, initial=np.inf))
