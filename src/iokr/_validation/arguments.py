"""Checks of user input; messages say what must hold, what was given and what to do."""

from __future__ import annotations

import difflib
import importlib
import math
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import partial
from numbers import Integral, Real
from typing import Any, TypeVar

import numpy as np

from iokr._array import (
    Array,
    array_namespace,
    detached,
    is_array,
    is_numpy,
    is_sparse,
    same_home,
    to_numpy,
    unwarned,
)
from iokr._component import Check, Component
from iokr._state import arguments
from iokr.data.frames import check_aligned, column_names, read
from iokr.data.objects import BadObject, distinct, error_context, key, keys, n_objects

__all__ = [
    "COUNT",
    "DECAY",
    "FLAG",
    "NATURAL",
    "NOT_NEGATIVE",
    "POSITIVE",
    "SHARE",
    "check_choice",
    "check_component",
    "check_computed",
    "check_entries",
    "check_folds",
    "check_groups",
    "check_home",
    "check_integer",
    "check_mask",
    "check_not_tiny",
    "check_number",
    "check_numbers",
    "check_random",
    "check_rows",
    "check_same_length",
    "check_stops",
    "check_vectors",
    "check_weight",
    "either",
    "one_of",
    "trusted",
    "way_to_compare",
    "way_to_write",
]

C = TypeVar("C", bound=Component)

_TINY = float(np.finfo(np.float64).tiny)
_TINIEST = _TINY**0.5 / float(np.finfo(np.float64).eps)  # squares of relative errors of eps do not underflow, either
_LARGEST = float(np.finfo(np.float64).max)
_INPUTS = ("X", "X_unlabeled", "fingerprints")
_OUTPUTS = ("y", "candidates")
_OTHER_NAMES = {"gaussian": "RBF", "poly": "Polynomial"}  # of components, in other libraries


def check_number(
    value: Any, name: str, *, minimum: float = -_LARGEST, maximum: float = _LARGEST, strict: bool = False
) -> float:
    """A finite real number from `minimum` to `maximum`; with `strict` above `minimum`."""
    if maximum < _LARGEST:
        wanted = f"a number {'above' if strict else 'from'} {minimum:g} {'and at most' if strict else 'to'} {maximum:g}"
    elif minimum == 0 and strict:
        wanted = "a positive number"
    elif minimum > -_LARGEST:
        wanted = f"a number {'above' if strict else 'of at least'} {minimum:g}"
    else:
        wanted = "a finite number"
    if not _plain(value, Real):
        raise TypeError(f"`{name}` must be {wanted}, got {value!r:.60}.")
    number = float(value) if isinstance(value, np.floating) else value  # NumPy would round the limits to its type
    if not minimum <= number <= maximum or (strict and number == minimum):
        raise ValueError(f"`{name}` must be {wanted}, got {value!r:.60}.")
    return float(number)


def _plain(value: Any, kind: type) -> bool:
    """Whether a value is a number of this kind; booleans and durations are not, unlike for `isinstance`."""
    return isinstance(value, kind) and not isinstance(value, (bool, np.timedelta64))


def check_integer(value: Any, name: str, *, minimum: int) -> int:
    """An integer of at least `minimum`."""
    if not _plain(value, Integral):
        raise TypeError(f"`{name}` must be an integer of at least {minimum}, got {value!r:.60}.")
    if value < minimum:
        raise ValueError(f"`{name}` must be an integer of at least {minimum}, got {value!r}.")
    return int(value)


def check_stops(tol: Any, max_iter: Any, default: int) -> tuple[float, int]:
    """`tol` > 0 and `max_iter` ≥ 1 of an iteration, `default` for None."""
    limit = default if max_iter is None else check_integer(max_iter, "max_iter", minimum=1)
    return check_number(tol, "tol", minimum=0.0, strict=True), limit


def check_choice(value: Any, name: str, choices: tuple[Any, ...]) -> Any:
    """One of `choices`."""
    value = value.item() if isinstance(value, np.bool_) else value
    if not any(value is choice or (isinstance(value, type(choice)) and value == choice) for choice in choices):
        raise ValueError(f"`{name}` must be one of {', '.join(map(repr, choices))}, got {value!r}.")
    return value


POSITIVE: Check = partial(check_number, minimum=0.0, strict=True)
NOT_NEGATIVE: Check = partial(check_number, minimum=0.0)
SHARE: Check = partial(check_number, minimum=0.0, maximum=1.0)
DECAY: Check = partial(check_number, minimum=0.0, maximum=1.0, strict=True)
COUNT: Check = partial(check_integer, minimum=1)
NATURAL: Check = partial(check_integer, minimum=0)
FLAG: Check = partial(check_choice, choices=(True, False))


def one_of(*choices: Any) -> Check:
    """The check that a value is one of `choices`."""
    return partial(check_choice, choices=choices)


def either(usual: Any, check: Check) -> Check:
    """The check that a value is `usual`, None for example, or passes another check."""

    def check_either(value: Any, name: str) -> Any:
        if isinstance(value, type(usual)) and value == usual:
            return value
        return check(value, name)

    return check_either


def check_component(value: Any, kind: type[C], name: str, folder: str) -> C:
    """`value`, if it is a component of this kind; `folder` is the package that has such components."""
    if isinstance(value, kind):
        return value
    advice = value.refusal if isinstance(value, Component) else way_to_write(value, folder)
    reason = f"; {advice}" if advice else ""
    raise TypeError(f"`{name}` must be a component of `iokr.{folder}`, got {value!r:.80}{reason}.")


def way_to_write(value: Any, folder: str) -> str:
    """How to write a component that was given as a class or by its name; empty for anything else."""
    package = importlib.import_module(f"iokr.{folder}")
    found: Any = None
    if isinstance(value, type) and value.__name__ in package.__all__:
        found = value
    elif isinstance(value, str):
        names = {name.lower(): name for name in package.__all__}
        close = difflib.get_close_matches(value.lower(), names, n=1, cutoff=0.8)
        name = _OTHER_NAMES.get(value.lower()) or (names[close[0]] if close else "")
        found = getattr(package, name, None)
    if found is None:
        return ""
    needed = any(given.default is given.empty for given in arguments(found).values())
    call = f"{found.__name__}({'…' if needed else ''})"
    return f"write `{call}`, with `from iokr.{folder} import {found.__name__}`"


def check_random(random_state: Any) -> np.random.RandomState:
    """The `RandomState` of a seed, None or a `RandomState`."""
    from sklearn.utils import check_random_state

    if isinstance(random_state, Integral) and not 0 <= int(random_state) < 2**32:
        raise ValueError(f"`random_state` must be an integer from 0 to 2**32 - 1, got {random_state!r:.60}.")
    return check_random_state(random_state)  # type: ignore[no-any-return]  # scikit-learn is untyped


def check_same_length(X: Any, Y: Any, x: str = "X", y: str = "y") -> int:
    """The number of objects in `X`, which must be that in `Y` and at least one; indices of pandas must agree."""
    n, m = n_objects(X, x), n_objects(Y, y)
    if n != m:
        raise ValueError(f"{x} has {n} objects but {y} has {m}; they must have the same length.")
    check_aligned(X, Y, x, y)
    if n == 0:
        raise ValueError(f"`{x}` is empty; at least one object is needed.")
    return n


def check_home(R: Any, S: Any, what: str) -> None:
    """Raise unless objects are of one library and device; lists and tables count as NumPy."""
    a, b = (A if is_array(A) and not is_sparse(A) else np.empty(0) for A in (R, S))
    if not same_home(a, b):
        kinds = f"{type(a).__name__} and {type(b).__name__}"
        raise TypeError(f"{what} are in different libraries or on different devices, {kinds}; convert one of them.")


_TRUSTED: ContextVar[tuple[Any, ...]] = ContextVar("trusted", default=())


@contextmanager
def trusted(*checked: Any) -> Iterator[None]:
    """Inside, `check_vectors` returns these very objects as they are: an estimator checks its inputs once."""
    before = _TRUSTED.set((*_TRUSTED.get(), *checked))
    try:
        yield
    finally:
        _TRUSTED.reset(before)


def check_vectors(X: Any, name: str = "X", *, sparse: bool = True, missing: bool = False) -> Array:
    """A finite float64 matrix with a row per object: dense on its own device, or CSR."""
    known = any(X is checked for checked in _TRUSTED.get()) and (sparse or not is_sparse(X))
    if known and str(getattr(X, "dtype", "")).endswith("float64"):  # checked inputs may be integers: fingerprints
        return X
    given = X
    with error_context(name):
        X = read(X, matrix=True)
    if is_sparse(X) and not sparse:
        raise TypeError(f"`{name}` must be dense, got a sparse matrix; pass `{name}.toarray()`.")
    if not is_sparse(X):
        X = detached(_as_array(X, name, "be a matrix of numbers"))
    xp = array_namespace(X)
    if xp.isdtype(X.dtype, "complex floating"):
        raise ValueError(f"Complex data not supported: `{name}` must be real.")
    if X.ndim != 2:
        hint = f" Reshape your data: `{name}.reshape(-1, 1)` for one feature." if X.ndim < 2 else ""
        raise ValueError(
            f"Expected 2D array, got {X.ndim}D array instead: `{name}` must have a row per object and a column per "
            f"feature, got shape {tuple(X.shape)}.{hint}"
        )
    if is_sparse(X):
        X = X.tocsr().astype(np.float64)
        if not X.has_canonical_format:  # duplicate entries are summed
            X.sum_duplicates()
        check_entries(X, name, missing=missing)
        return X
    X = xp.astype(X, xp.float64, copy=False)
    check_entries(X, name, missing=missing, table=given)
    return X


def _as_array(X: Any, name: str, wanted: str) -> Array:
    """Numbers in any form as an array of any library; NumPy's objects become floats."""
    if not is_array(X):
        is_text = isinstance(X, (str, bytes, Mapping))
        if is_text or not (hasattr(X, "__len__") or hasattr(X, "__array__") or isinstance(X, Real)):
            raise TypeError(f"`{name}` must {wanted}, got {X!r:.60}.")
        try:
            X = np.asarray(X)
        except (ValueError, OverflowError):
            raise ValueError(f"`{name}` must {wanted}, with rows of equal length; some lengths differ.") from None
    if not is_numpy(X) or X.dtype.kind in "buifc":
        return X
    try:
        if X.dtype.kind != "O":
            raise ValueError(f"dtype {X.dtype}")
        return X.astype(np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        first = _no_number(X)
        got = f"dtype {X.dtype}" if first is None else f"{first!r:.40}"
        reason = f" ({error})" if isinstance(error, OverflowError) else ""
        raise ValueError(f"`{name}` must {wanted}, got {got}{reason}; {way_to_compare(first, name)}.") from error


def _no_number(X: np.ndarray) -> Any:
    """The first entry that is not a number; None if there is none."""
    for entry in X.flat:
        try:
            float(0.0 if entry is None else entry)
        except (TypeError, ValueError, OverflowError):
            return entry.item() if isinstance(entry, np.str_) else entry
    return None


def way_to_compare(first: Any, name: str) -> str:
    """What to do about an argument that holds objects such as `first` in place of numbers."""
    argument = name.split(" ")[0]
    is_set = isinstance(first, (set, frozenset))
    if argument in _INPUTS and is_set:
        return "sets are compared by `Jaccard()`, which is `Tanimoto()` of their elements"
    if argument in _OUTPUTS and (is_set or _is_tags(first)):
        return (
            "sets of labels are compared by `output_kernel=Jaccard()`; or encode them as rows of 0 and 1 by "
            '`sklearn.preprocessing.MultiLabelBinarizer`, with `decoder=MinimumRisk("f1")`; for other objects choose '
            "an `output_kernel` that takes them"
        )
    if argument in _OUTPUTS and isinstance(first, str):
        return (
            "for class labels use `IOKRClassifier`, or `output_kernel=Delta()`; for other objects choose an "
            "`output_kernel` that takes them"
        )
    if argument in _OUTPUTS:
        return "for other objects choose an `output_kernel` that takes them"
    if argument in _INPUTS and isinstance(first, str):
        return "texts are compared by `kernel=Normalized(Spectrum(3))`, for example"
    return "for other objects choose a `kernel` that takes them" if argument in _INPUTS else "convert it"


def _is_tags(x: Any) -> bool:
    """Whether it is a list or tuple of texts."""
    return isinstance(x, (list, tuple)) and all(isinstance(entry, str) for entry in x)


def check_entries(X: Array, name: str, *, missing: bool = False, table: Any = None) -> None:
    """Raise for NaN and infinity in a dense or sparse matrix, with the row and the column of the first.

    Parameters
    ----------
    X : matrix of floats
    name : str
    missing : bool, default=False
        Whether NaN is allowed.
    table : frame, default=None
        What X was read from: its columns are named.
    """
    values = X.data if is_sparse(X) else X
    xp = array_namespace(values)
    if not math.prod(values.shape):
        return
    # One pass: a sum is finite unless some entry is not, or the sum overflows, which a second pass checks.
    with unwarned():
        total = float(xp.sum(values))
    if math.isfinite(total):
        return
    bad = xp.isinf(values) if missing else ~xp.isfinite(values)
    if not bool(xp.any(bad)):
        return
    is_nan = xp.isnan(values) & bad
    kind, wrong = ("NaN", is_nan) if bool(xp.any(is_nan)) else ("infinity", bad)
    places = _places(X, to_numpy(wrong))
    row, column = (int(i) for i in places[0])
    names = column_names(table)
    where = f"row {row}, column {column if names is None else repr(names[column])}"
    raise ValueError(f"`{name}` contains {kind} in {where} ({len(places)} in all); {_way_to_complete(name, kind)}.")


def _places(X: Array, wrong: np.ndarray) -> np.ndarray:
    """(row, column) of the entries that are wrong, in this order; of a sparse matrix, among those that it stores."""
    if not is_sparse(X):
        return np.argwhere(wrong)
    stored = X.tocoo()
    rows, columns = stored.row[wrong], stored.col[wrong]
    return np.column_stack([rows, columns])[np.lexsort((columns, rows))]


def _way_to_complete(name: str, kind: str) -> str:
    if kind == "NaN" and name.split(" ")[0] in _INPUTS:
        return "impute such entries, for example by `sklearn.impute.SimpleImputer` in a pipeline, or drop their rows"
    return "replace such entries, or drop their rows"


def check_weight(weight: Any, n: int, like: Any) -> np.ndarray | None:
    """Sample weights as n non-negative NumPy numbers, not all zero; None when all are one.

    If `like` and the weights are tables of pandas, their indices must agree.
    """
    if weight is None:
        return None
    check_aligned(like, weight, "X", "sample_weight")
    w = check_numbers(weight, "sample_weight")
    if w.ndim == 0:
        w = np.full(n, w)
    if w.ndim != 1:
        raise ValueError(f"Sample weights must be 1D array or scalar: `sample_weight` has shape {w.shape}.")
    if w.shape[0] != n:
        raise ValueError(f"`sample_weight` has {w.shape[0]} entries but X has {n} objects; it needs one each.")
    if not np.all(np.isfinite(w)) or np.any(w < 0):
        raise ValueError("`sample_weight` must be finite numbers of at least 0; drop rows with other weights.")
    if np.any((w > 0) & (w < _TINY)):
        raise ValueError(
            f"`sample_weight` must be zero or at least {_TINY:.2g}, got {w[(w > 0) & (w < _TINY)][0]:.3g}, whose "
            "inverse overflows; scale all weights, or set this one to zero."
        )
    with unwarned():
        if not np.isfinite(w.sum()):
            raise ValueError("The sum of `sample_weight` overflows; divide the weights by a constant.")
    if not np.any(w > 0):
        raise ValueError("`sample_weight` is zero for every row; at least one row must count.")
    return None if np.all(w == 1) else w


def check_groups(groups: Any, n: int, name: str = "groups", rows: str = "X", *, several: bool = False) -> np.ndarray:
    """Which of the distinct groups each of n rows belongs to, integers from 0 in order of appearance.

    With `several`, for leave-group-out errors, there must be at least two groups.
    """
    m = n_objects(groups, name)
    if len(getattr(groups, "shape", (m,))) != 1:
        raise ValueError(f"`{name}` has shape {tuple(groups.shape)}; it must be a list, one group for each row.")
    if m != n:
        raise ValueError(f"`{name}` has {m} entries but {rows} has {n} objects; it needs one each.")
    with error_context(name):
        names = keys(groups)
    nothing = next((i for i, k in enumerate(names) if k is None or k in (key(np.nan), key(np.datetime64("NaT")))), None)
    if nothing is not None:
        raise ValueError(f"`{name}` has no group for row {nothing}; give each such row its own group.")
    found = distinct(names)[1]
    if several and len(found) and not np.any(found):
        raise ValueError(f"`{name}` has one group for all rows: at least two groups are needed.")
    return found


def check_numbers(values: Any, name: str) -> np.ndarray:
    """Real numbers in any form, as a NumPy array of float64 of the same shape; entries may be NaN."""
    with error_context(name):
        values = read(values)
    if is_sparse(values):
        values = values.toarray()
    found = to_numpy(_as_array(values, name, "be numbers"))
    if found.dtype.kind == "c":
        raise ValueError(f"Complex data not supported: `{name}` must be real.")
    return found.astype(np.float64)


def check_rows(values: np.ndarray, size: int, requirement: str) -> np.ndarray:
    """Whole numbers from 0 to `size` − 1, as integers; `requirement` is how the messages begin."""
    kind = values.dtype.kind
    whole = kind in "iu" or (kind == "f" and bool(np.all(np.isfinite(values) & (values == np.floor(values)))))
    if not whole:
        got = f"{values.ravel()[:4]}" if kind == "f" else f"dtype {values.dtype}"
        raise TypeError(f"{requirement}, got {got}.")
    bad = values[(values < 0) | (values >= size)]
    if bad.size:
        raise ValueError(f"{requirement} from 0 to {size - 1}, got {int(bad[0])}.")
    return values.astype(np.intp)


def check_mask(mask: Any, name: str, shape: tuple[int, ...]) -> np.ndarray:
    """True and False, or ones and zeros, of this shape."""
    values = check_numbers(mask, name)
    if values.shape != shape:
        raise ValueError(f"`{name}` has shape {values.shape} but needs {shape}, True or False for each entry.")
    if not np.all((values == 0) | (values == 1)):
        odd = values[(values != 0) & (values != 1)].flat[0]
        raise ValueError(f"`{name}` must be True and False, or ones and zeros, got {odd:g}.")
    return np.asarray(values == 1)


def check_folds(
    cv: Any, n: int, y: Any = None, groups: Any = None, *, classifier: bool = False
) -> list[tuple[np.ndarray, np.ndarray]]:
    """(train, test), row numbers, of each fold of `cv`: a number of folds, a splitter, or such pairs."""
    from sklearn.model_selection import check_cv  # imports much of scikit-learn

    wanted = "`cv` must be a number of folds, a splitter, or pairs (train, test) of row numbers"
    folds = check_cv(cv, y if classifier else None, classifier=classifier).split(np.zeros((n, 1)), y, groups)
    splits = []
    for split in folds:
        try:
            train, test = (np.arange(n)[to_numpy(rows)] for rows in split)
        except (TypeError, ValueError, IndexError) as error:
            raise ValueError(f"{wanted} of {n} rows, but a fold is {split!r:.60} ({error}).") from error
        if not train.size or not test.size:
            raise ValueError(f"{wanted}, but a part of a fold is empty.")
        splits.append((train, test))
    if not splits:
        raise ValueError(f"{wanted}, but it has no folds.")
    return splits


def check_not_tiny(values: Array, name: str) -> None:
    """Raise for dense or sparse numbers that are not all zero, and whose squares all lose digits by underflow."""
    values = values.data if is_sparse(values) else values
    xp = array_namespace(values)
    largest = float(xp.max(xp.abs(values))) if math.prod(values.shape) else 0.0
    if 0 < largest < _TINIEST:
        raise ValueError(
            f"`{name}` has numbers too small, at most {largest:.1e}: their squares underflow; multiply the data by a "
            "constant."
        )


def check_computed(values: Array, kind: str = "Object", what: str = "k(x, x)", *, room: float = 1.0) -> Array:
    """`values`, a number or a row of numbers for each object, if `room` times them is finite.

    The error gives the number of the first object for which it is not.
    """
    xp = array_namespace(values)
    with unwarned():
        if math.isfinite(room * float(xp.sum(values))):
            return values
        bad = ~xp.isfinite(room * values)
    if bool(xp.any(bad)):
        rows = bad if bad.ndim == 1 else xp.any(bad, axis=1)
        row = int(xp.argmax(xp.astype(rows, xp.int8)))
        raise BadObject(kind, row, f" has numbers too large: {what} overflows; divide the data by a constant.")
    return values
