"""The outcome of a case in one word, and whether two answers are the same."""

from __future__ import annotations

import dis
import re
import traceback
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import numpy as np
from scipy import sparse

import iokr
import iokr_lab
from tolerance import rounding

__all__ = ["BAD", "Case", "Outcome", "Wrong", "check_finite", "check_same", "judge"]

BAD = ("wrong", "traceback", "unclear", "warning", "memory", "hang", "crash", "broken")
_SOURCES = (str(Path(iokr.__file__).parent), str(Path(iokr_lab.__file__).parent))
_REFUSALS = (
    "ValueError",
    "TypeError",
    "MemoryError",
    "ImportError",
    "ModuleNotFoundError",
    "NotFittedError",
    "TooFewLinks",
    "NotImplementedError",
    "BadFile",
    "BadMolecule",
    "BadObject",
    "BadObjectType",
    "FileNotFoundError",
    "FileExistsError",
    "IsADirectoryError",
    "NotADirectoryError",
    "PermissionError",
    "OSError",
    "DataNotFound",
    "InvalidParameterError",
)
# scikit-learn's words where we leave checking to it: its own estimator checks ask for them.
_THEIRS = (
    "sklearn/utils/validation.py",
    "sklearn/utils/_param_validation.py",
    "sklearn/utils/_metadata_requests.py",
    "sklearn/utils/__init__.py",
    "sklearn/model_selection/_split.py",
    "sklearn/base.py",
)
# NumPy's words for rows of different lengths.
_RAGGED = "setting an array element with a sequence"
LOOSE = 1e-6  # iterations stop at their own tolerance
TIGHT = rounding(20, 1e5)  # n eps κ of the small problems here


class Wrong(AssertionError):
    """An answer that a relation contradicts."""


@dataclass(frozen=True)
class Case:
    """`run` answers, refuses, or raises `Wrong`; `arguments` are the names of which a refusal may speak."""

    name: str
    run: Callable[[], Any]
    arguments: tuple[str, ...] = ()
    seconds: float = 20.0
    prepare: Callable[[], Any] | None = None  # once, before the fork: the answer to compare with

    @property
    def callable(self) -> str:
        """The public name under attack."""
        return self.name.partition("/")[0]


@dataclass(frozen=True)
class Outcome:
    """What came of a case: right, refused, or one of `BAD`; `what` says more."""

    word: str
    what: str = ""
    where: str = ""


def judge(case: Case) -> Outcome:
    """Run a case here and name its outcome."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            case.run()
        except Wrong as wrong:
            return Outcome("wrong", str(wrong)[:600])
        except BaseException as error:
            return _refusal(error, case.arguments)
    for warning in caught:  # NumPy's own; ours are in words
        if issubclass(warning.category, RuntimeWarning) and "`" not in str(warning.message):
            said = f"{warning.category.__name__}: {warning.message}"[:300]
            return Outcome("warning", said, _place(warning.filename, warning.lineno))
    return Outcome("right")


def _place(file: str, line: int) -> str:
    return f"{'/'.join(Path(file).parts[-3:])}:{line}"


def _refusal(error: BaseException, arguments: tuple[str, ...]) -> Outcome:
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    words, kind = str(error), type(error).__name__
    said = f"{kind}: {words}"[:400]
    ours = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(_SOURCES)]
    where = _place(ours[-1].filename, ours[-1].lineno or 0) if ours else ""
    if isinstance(error, MemoryError) and "available" not in words and "needs about" not in words:
        return Outcome("memory", said, where)
    if isinstance(error, SystemExit):
        return Outcome("refused" if error.code else "right", said, where)
    if isinstance(error, OSError) and error.errno is not None and error.filename is not None:
        return Outcome("refused", said, where)  # the system's words, and the file
    if isinstance(error, ValueError) and words.startswith(_RAGGED):
        return Outcome("refused", said, where)
    if kind not in _REFUSALS or trace is None:
        return Outcome("traceback", said, where)
    file = trace.tb_frame.f_code.co_filename
    if file.endswith("reference.py"):
        return Outcome("refused", said, "the user's function")
    if file.startswith(_SOURCES) or file.endswith(_THEIRS) or kind in ("FileNotFoundError", "ImportError"):
        raised = _raised_here(trace) or kind in ("FileNotFoundError",)
        if not raised and not file.endswith(_THEIRS):
            return Outcome("traceback", said, where)
        if clear(words, arguments) or kind.startswith(("BadObject", "BadMolecule")) or file.endswith(_THEIRS):
            return Outcome("refused", said, where)
        return Outcome("unclear", said, where)
    return Outcome("traceback", said, where)


def _raised_here(trace: TracebackType) -> bool:
    """Whether the last frame stands at a `raise`, not at an expression that failed."""
    code = trace.tb_frame.f_code.co_code
    return dis.opname[code[trace.tb_lasti]] in ("RAISE_VARARGS", "RERAISE")


def clear(words: str, arguments: tuple[str, ...]) -> bool:
    """Whether a message names an argument, or something else in backticks, and says more than a word."""
    if words.endswith(" does not exist."):
        return True
    if len(words) < 20:
        return False
    named = [name for name in arguments if re.search(rf"(?<!\w){re.escape(name)}(?!\w)", words)]
    return bool(named) or bool(re.search(r"`[^`]+`|(?<!\w)--[a-z]", words)) or "iokr[" in words


# --------------------------------------------------------------------------------------------- are answers the same?


def plain(answer: Any) -> Any:
    """An answer of any library as NumPy arrays, lists and scalars."""
    if sparse.issparse(answer):
        return answer.toarray()
    if hasattr(answer, "detach") and hasattr(answer, "numpy"):
        return answer.detach().cpu().numpy()
    if hasattr(answer, "to_device") and not isinstance(answer, (np.ndarray, np.generic)):
        import array_api_strict as xp

        return np.asarray(answer.to_device(xp.Device("CPU_DEVICE")))
    if hasattr(answer, "to_numpy"):
        return answer.to_numpy()
    return answer


def check_same(answer: Any, expected: Any, what: str = "", tol: float = TIGHT) -> None:
    """Raise `Wrong` unless two answers agree: numbers to `tol` of their size, objects exactly."""
    a, b = plain(answer), plain(expected)
    if isinstance(b, Mapping):
        if set(a) != set(b):
            raise Wrong(f"{what}: keys {sorted(map(str, a))} for {sorted(map(str, b))}")
        for name in b:
            check_same(a[name], b[name], f"{what}[{name}]", tol)
        return
    if isinstance(b, (list, tuple)) and isinstance(a, (list, tuple)) and _holds_arrays(b):
        if len(a) != len(b):
            raise Wrong(f"{what}: {len(a)} parts for {len(b)}")
        for i, (x, y) in enumerate(zip(a, b, strict=True)):
            check_same(x, y, f"{what}[{i}]", tol)
        return
    x, y = np.asarray(a, dtype=_dtype(a)), np.asarray(b, dtype=_dtype(b))
    if x.shape != y.shape:
        raise Wrong(f"{what}: shape {x.shape} for {y.shape}")
    if x.dtype.kind not in "biufc" or y.dtype.kind not in "biufc":
        different = [i for i, (u, v) in enumerate(zip(x.ravel(), y.ravel(), strict=True)) if not _equal(u, v)]
        if different:
            i = different[0]
            raise Wrong(
                f"{what}: {len(different)} of {x.size} differ, first {x.ravel()[i]!r} for {y.ravel()[i]!r}"[:400]
            )
        return
    if np.iscomplexobj(x) or np.iscomplexobj(y):
        raise Wrong(f"{what}: a complex answer")
    if any(v.dtype.kind == "f" and v.dtype.itemsize < 8 for v in (x, y)):
        tol = max(tol, 2e-3 if any(v.dtype.itemsize < 4 for v in (x, y)) else 2e-5)
    if x.dtype.kind in "iu" and y.dtype.kind in "iu":
        if not np.array_equal(x, y):
            raise Wrong(f"{what}: {np.sum(x != y)} of {x.size} integers differ")
        return
    x, y = x.astype(float), y.astype(float)
    if not np.array_equal(np.isnan(x), np.isnan(y)):
        raise Wrong(f"{what}: NaN in other places ({np.isnan(x).sum()} for {np.isnan(y).sum()})")
    known = ~np.isnan(x) & (x != y)
    if known.any():
        with np.errstate(all="ignore"):
            gap, size = float(np.abs(x - y)[known].max()), float(np.abs(y[np.isfinite(y)]).max(initial=0.0))
        if not gap <= tol * size:
            raise Wrong(f"{what}: off by {gap:.3g} where answers are up to {size:.3g} (tolerance {tol:.1g} of it)")


def _holds_arrays(answer: Any) -> bool:
    """Whether arrays are somewhere in the lists of an answer."""
    return any(hasattr(x, "shape") or (isinstance(x, (list, tuple)) and _holds_arrays(x)) for x in answer)


def _dtype(a: Any) -> Any:
    """Objects stay objects: NumPy would make a matrix of equal tuples."""
    if isinstance(a, (list, tuple)) and a and not isinstance(a[0], (int, float, np.number, list, np.ndarray)):
        return object
    return None


def _equal(u: Any, v: Any) -> bool:
    try:
        return bool(u == v) or (u != u and v != v)
    except (ValueError, TypeError):
        return bool(np.array_equal(np.asarray(u), np.asarray(v)))


def check_finite(answer: Any, what: str = "answer") -> None:
    """Raise `Wrong` where an answer of numbers holds NaN or infinity."""
    a = plain(answer)
    if isinstance(a, Mapping):
        a = list(a.values())
    if isinstance(a, (list, tuple)):
        for part in a:
            if isinstance(part, (np.ndarray, float, list, tuple)) or hasattr(part, "shape"):
                check_finite(part, what)
        return
    if isinstance(a, (float, np.ndarray, np.number)):
        values = np.asarray(a)
        if values.dtype.kind == "c":
            raise Wrong(f"{what}: complex numbers")
        if values.dtype.kind == "f" and not np.isfinite(values).all():
            bad = "NaN" if np.isnan(values).any() else "infinity"
            raise Wrong(f"{what} holds {bad} in {np.sum(~np.isfinite(values))} of {values.size} entries")
