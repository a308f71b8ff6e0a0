"""Inputs of estimators: checked against the kernel's domain, with scikit-learn's bookkeeping of features."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_array, validate_data

from iokr._array import Array, is_array, is_numpy, is_sparse, same_home
from iokr._component import Component
from iokr._validation.arguments import check_entries, check_vectors, trusted, way_to_compare, way_to_write
from iokr.data.candidates import Unlabeled
from iokr.data.frames import column_names, read
from iokr.data.objects import BadObject, error_context, n_objects
from iokr.estimators.outputs import in_precision, known_rows, single_precision
from iokr.kernels.base import Kernel
from iokr.kernels.vectors import RBF
from iokr.operator_kernels.base import OperatorKernel
from iokr.solvers.auto import Auto
from iokr.solvers.base import Solver

__all__ = [
    "InputAdapter",
    "Sample",
    "adapt",
    "check_isotropic",
    "check_kernel",
    "check_names",
    "check_scalar",
    "check_table",
    "check_unlabeled",
    "copy_features",
    "fit_points",
    "fresh_solver",
    "is_pairwise",
    "represent",
]


@dataclass(frozen=True, eq=False)
class Sample:
    """Inputs, checked once: vectors are float64 (n, p) or CSR, other objects as they came."""

    X: Any
    single: bool  # whether they were given as 32-bit or shorter floats, so that answers are float32


@dataclass(frozen=True, eq=False)
class InputAdapter:
    """Where inputs come in to a fitted model and answers go out: nothing is moved silently, answers are cast."""

    kernel: Kernel | OperatorKernel  # fitted
    home: Array  # any one of the library and device of the model; a fresh empty one costs nothing to keep
    single: bool = False  # whether answers are float32

    def _stored(self) -> dict[str, Any]:
        return {"kernel": self.kernel, "home": self.home, "single": self.single}

    def check(self, estimator: Any, X: Any) -> Any:
        """New inputs, checked against those of `fit`."""
        X = adapt(estimator, X, self.kernel, reset=False).X
        if self.kernel.numeric and is_array(X) and not same_home(X, self.home):
            raise TypeError(
                f"The model was fitted on arrays of another library or device than X, {type(X).__name__}; "
                "nothing is moved silently: convert X."
            )
        return X

    def read(self, estimator: Any, X: Any) -> Any:
        """New inputs, checked, as the kernel holds them."""
        return represent(self.kernel, self.check(estimator, X))

    def cast(self, H: Array) -> Array:
        """Answers in the precision of the data."""
        return in_precision(H, self.single)


def adapt(estimator: Any, X: Any, kernel: Kernel | OperatorKernel, *, reset: bool, name: str = "X") -> Sample:
    """Inputs of any form, checked against the domain of their kernel: the one place where users' inputs are read.

    Tables and lists become arrays, numbers float64 matrices of their own library and device. At fit (`reset`) features
    are counted and named, later they are compared. What follows trusts the result (`fit_points`, `represent`).
    """
    single = single_precision(X)
    given = X
    names = column_names(X) if name == "X" else None
    numbers = kernel.numeric or kernel.pairwise
    if numbers:
        X = check_table(X, name, kernel=True)
    if names is not None and (reset or numbers or "feature_names_in_" in vars(estimator)):
        check_names(estimator, names, reset=reset)
    if numbers:
        X = _adapt_numbers(estimator, X, name, given, reset=reset, named=names is not None)
        if kernel.domain == "vectors" and not kernel.pairwise:
            X = check_vectors(X, name)
    elif names is None:
        _check_objects(estimator, X, reset)
    if n_objects(X, name) == 0:
        raise ValueError(f"`{name}` is empty; at least one object is needed.")
    return Sample(X, single)


def _adapt_numbers(estimator: Any, X: Any, name: str, given: Any, *, reset: bool, named: bool) -> Any:
    """A matrix of numbers, validated as by scikit-learn; its columns are counted unless they are `named`.

    Entries are checked here, so that an error gives the row, and the name of the column in the table that was `given`.
    """
    if name != "X":
        return check_vectors(X, name)
    if is_array(X) and not is_numpy(X):
        X = check_vectors(X, name)
        _count_features(estimator, X, reset)
        return X
    sparse = False if named else "csr"
    X = check_array(
        X, accept_sparse=sparse, dtype="numeric", input_name=name, estimator=estimator, ensure_all_finite=False
    )
    if X.dtype.kind == "f":
        check_entries(X, name, table=given)
    return X if named else validate_data(estimator, X, reset=reset, skip_check_array=True)


def represent(kernel: Kernel | OperatorKernel, X: Any, name: str = "X") -> Any:
    """Adapted inputs as a fitted kernel holds them."""
    with trusted(X), error_context(name):
        return kernel.represent(X)


def fit_points(
    kernel: Any, X: Any, weight: np.ndarray | None = None, learned_from: tuple[Any, ...] = ()
) -> tuple[Any, Any]:
    """A clone of a kernel, fitted to adapted inputs with positive weight, and all of them as it represents them.

    X is the Gram matrix itself for a pairwise kernel, whose points are row numbers.
    """
    known, number = (X, None) if kernel.pairwise else known_rows(X, weight)
    with trusted(X):
        with error_context("X", number):
            fitted = clone(kernel).fit(known, *learned_from)
        points = represent(fitted, np.arange(n_objects(X)) if kernel.pairwise else X)
    return fitted, points


def fresh_solver(solver: Solver | None) -> Solver:
    """A solver to be used once: a clone of the one given, `Auto()` by default."""
    return Auto() if solver is None else clone(solver)


def check_kernel(kernel: Any, name: str = "kernel") -> Kernel | OperatorKernel:
    """The kernel, `RBF()` by default."""
    kernel = RBF() if kernel is None else kernel
    if isinstance(kernel, (Kernel, OperatorKernel)):
        return kernel
    advice = "wrap a function as `FromFunction(f)` and a matrix as `Precomputed(matrix)`."
    if isinstance(kernel, Component) and kernel.refusal:
        advice = f"{kernel.refusal}."
    if isinstance(kernel, (str, type)):
        written = way_to_write(kernel, "kernels") or way_to_write(kernel, "operator_kernels")
        advice = f"{written or 'kernels are objects, such as `RBF()` of `iokr.kernels`'}."
    if isinstance(kernel, (list, tuple)):
        advice = "to search a list of kernels use `IOKRCV`."
    raise TypeError(
        f"`{name}` must be a component of `iokr.kernels` or `iokr.operator_kernels`, got {kernel!r:.80}; {advice}"
    )


def check_scalar(kernel: Any, name: str = "kernel", *, objects: str | None = None) -> Kernel:
    """A scalar kernel, `RBF()` by default; with the name of its `objects`, one for which they are not a Gram matrix."""
    kernel = check_kernel(kernel, name)
    if not isinstance(kernel, Kernel):
        raise TypeError(f"`{name}` must be a scalar kernel of `iokr.kernels`, got {kernel!r:.80}.")
    if objects is not None and kernel.pairwise:
        raise ValueError(
            f"`{name}` must be a scalar kernel on objects, got {kernel!r:.80}; for a Gram matrix use "
            f"`Precomputed(matrix)` and row numbers as {objects}."
        )
    return kernel


def is_pairwise(kernel: Any) -> bool:
    """Whether X is the Gram matrix, for what users give as `kernel`: one, a list, or something that `fit` rejects."""
    first = kernel[0] if isinstance(kernel, (list, tuple)) and kernel else kernel
    return isinstance(first, (Kernel, OperatorKernel)) and first.pairwise


def check_isotropic(kernel: OperatorKernel) -> None:
    """Refuse an operator that acts on coordinates where the outputs have none, unless it is A = a·I."""
    if not kernel.isotropic:
        raise ValueError(
            f"{type(kernel).__name__} acts on coordinates of the outputs, but with an `output_kernel` these are "
            "implicit and have no preferred basis; use A = a·I, vector outputs (`output_kernel=None`), or an explicit "
            "embedding."
        )


def _check_objects(estimator: Any, X: Any, reset: bool) -> None:
    """Bookkeeping of inputs that are not a table of features, or rows of numbers in an array."""
    if reset:
        for name in ("feature_names_in_", "n_features_in_"):
            vars(estimator).pop(name, None)
    shape = tuple(X.shape) if is_array(X) or is_sparse(X) else ()
    if 0 in shape[1:]:
        raise ValueError(f"`X` has shape {shape}: its objects have no entries.")
    if len(shape) == 2:
        _count_features(estimator, X, reset)


def check_names(estimator: Any, names: list[Any], *, reset: bool) -> None:
    """Scikit-learn's bookkeeping of the names of columns: kept at fit, the same in the same order afterwards."""
    from pandas import DataFrame

    try:
        validate_data(estimator, DataFrame(columns=names), reset=reset, skip_check_array=True)
    except ValueError as error:
        known = list(vars(estimator).get("feature_names_in_", []))
        raise ValueError(f"{str(error).rstrip()}\nColumns at fit: {known[:20]}; columns of X: {names[:20]}.") from None


def check_unlabeled(estimator: Any, X_unlabeled: Any, X: Any, kernel: Kernel | OperatorKernel, manifold: Any) -> Any:
    """Unlabelled inputs, unwrapped and compared with the labelled ones; None without any."""
    if isinstance(X_unlabeled, Unlabeled):
        X_unlabeled = X_unlabeled.X
    if X_unlabeled is None:
        return None
    if manifold is None:
        raise ValueError(
            "`X_unlabeled` was given without a `manifold`, so these points would change nothing; "
            "set `manifold`, for example `iokr.manifolds.Laplacian(0.1, n_neighbors=10)`."
        )
    if kernel.pairwise:
        raise ValueError(
            "`Precomputed()` serves supervised inputs only; with `X_unlabeled` give the Gram over all points, "
            "`Precomputed(matrix)`, and row numbers as X."
        )
    names, known = column_names(X_unlabeled), vars(estimator).get("feature_names_in_")
    checked = adapt(estimator, X_unlabeled, kernel, reset=False, name="X_unlabeled").X
    if names is not None and known is not None and list(names) != list(known):
        raise ValueError(
            f"The columns of X_unlabeled, {names[:5]}, must be those of X in the same order, {list(known)[:5]}."
        )
    if is_array(checked) and is_array(X) and not same_home(checked, X):
        raise TypeError(
            f"`X_unlabeled`, {type(checked).__name__}, and X, {type(X).__name__}, must be arrays of one library and "
            "device; nothing is moved silently: convert X_unlabeled."
        )
    if len(getattr(X, "shape", ())) == 2 and checked.shape[1] != X.shape[1]:
        raise ValueError(f"X has {X.shape[1]} features but X_unlabeled has {checked.shape[1]}; they must be the same.")
    return checked


def _count_features(estimator: Any, X: Any, reset: bool) -> None:
    if reset:
        estimator.n_features_in_ = int(X.shape[1])
    elif X.shape[1] != vars(estimator).get("n_features_in_", X.shape[1]):
        raise ValueError(
            f"X has {X.shape[1]} features, but {type(estimator).__name__} is expecting "
            f"{estimator.n_features_in_} features as input."
        )


def check_table(X: Any, name: str, *, kernel: bool = False) -> Any:
    """The values of a table of numbers; anything else is an error.

    With `kernel` the estimator has one, so that errors say which kernels take other objects.
    """
    with error_context(name):
        X = _read_columns(X, kernel)
    if is_sparse(X) or (is_array(X) and not is_numpy(X)):
        return X
    if not is_array(X):
        n_objects(X, name)
    try:
        values = np.asarray(X)
    except ValueError:  # rows of different lengths
        values = np.empty(0, dtype=object)
    if values.dtype.kind in "buifc":
        return X
    if values.dtype.kind in "mMV":
        raise ValueError(f"`{name}` must be a matrix of numbers, got dtype {values.dtype}; convert it to numbers.")
    if values.ndim == 2:
        return _as_numbers(values, name, kernel)
    first = X[0] if len(X) else None
    if isinstance(first, np.str_):
        first = str(first)
    if kernel:
        advice = way_to_compare(first, name)
    elif isinstance(first, str):
        advice = "encode texts as numbers, for example by `sklearn.feature_extraction.text.CountVectorizer`"
    else:
        advice = "encode them as numbers, or use an estimator with a `kernel`, such as `IOKR`"
    raise ValueError(
        f"`{name}` must be a matrix of numbers with rows of equal length here, but it holds objects such as "
        f"{first!r:.40}; {advice}."
    )


def _read_columns(X: Any, kernel: bool) -> Any:
    """The values of a table, whose error says how a kernel on some columns is written."""
    try:
        return read(X, matrix=True)
    except BadObject as error:
        if not kernel or not error.kind.startswith("Column"):
            raise
        text = f"{error.text[:-1]}; `Columns(kernel, names)` is a `kernel` on some of them."
        raise type(error)(error.kind, error.index, text) from None


def _as_numbers(values: np.ndarray, name: str, kernel: bool) -> np.ndarray:
    """Rows of objects or texts as float64."""
    try:
        return values.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        wrong = TypeError if isinstance(error, TypeError) else ValueError
        held = f"it holds other objects ({error})"
        for j, column in enumerate(values.T):
            text = next((entry for entry in column if isinstance(entry, str) and not _is_number(entry)), None)
            if text is not None:
                held = f"column {j} holds texts such as {str(text)!r:.40}"
                break
        advice = "encode categories, for example by `sklearn.preprocessing.OneHotEncoder`"
        if kernel:
            advice += ", or choose a `kernel` that takes other objects"
        raise wrong(f"`{name}` must be a matrix of numbers, but {held}; {advice}.") from None


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def copy_features(inner: Any, estimator: Any) -> None:
    """Scikit-learn's bookkeeping of features, taken over from a fitted model inside an estimator."""
    for name in ("n_features_in_", "feature_names_in_"):
        estimator.__dict__.pop(name, None)  # of an earlier fit
        if hasattr(inner, name):
            setattr(estimator, name, getattr(inner, name))
