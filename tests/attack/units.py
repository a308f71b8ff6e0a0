"""Units of outputs, weights and kernels, and how far away an outlier is: what must not change."""

from __future__ import annotations

import copy
import inspect
import warnings
from collections.abc import Iterator
from typing import Any

import numpy as np

import members
from attack.estimators import REFUSED, arguments, build
from attack.judge import Case, Wrong, check_same, plain
from attack.problems import NEW, PROBLEMS, WEIGHT, N, X, Y, estimators, fitting, methods
from attack.targets import parameters
from iokr import IOKR
from iokr.kernels import RBF, Nystroem, Scaled
from iokr.solvers import LBFGS, ReducedRank

__all__ = ["unit_cases"]

OUTPUTS, WEIGHTS, KERNELS = (-450, -41, 41, 450), (-700, -41, 41, 700), (-300, 40, 300)
FAR = (1e4, 1e6, 1e8)
ROBUST = ("Huber", "EpsilonInsensitive", "Pinball")  # no row pulls with more than a constant
LEVELS = 2  # outputs here


def unit_cases() -> Iterator[Case]:
    """All of them."""
    for name, loss, solver in _posed():
        start = f"losses.{name}/{type(solver).__name__}"
        for k in OUTPUTS:
            yield Case(f"{start} outputs times 2**{k}", lambda a=loss, s=solver, k=k: outputs(a, s, k), ("y",))
        for j in WEIGHTS:
            yield Case(f"{start} weights times 2**{j}", lambda a=loss, s=solver, j=j: weights(a, s, j), ("alpha",))
        for i in KERNELS:
            yield Case(f"{start} kernel times 2**{i}", lambda a=loss, s=solver, i=i: kernels(a, s, i), ("alpha",))
        for size in FAR if name in ROBUST else ():
            yield Case(f"{start} an outlier of {size:g}", lambda a=loss, s=solver, r=size: outlier(a, s, r), ("y",))
    for name, cls in estimators().items():
        for problem in set(fitting(cls)) & {"vectors", "numbers"}:
            for method in methods(cls):
                for k in (-600, -450, 450, 600):
                    case = f"{name}/{problem} {method} units 2**{k}"
                    yield Case(case, lambda c=cls, p=problem, m=method, k=k: method_units(c, p, m, k), ("y",))


def _posed() -> Iterator[tuple[str, Any, Any]]:
    """A loss and a solver that takes it."""
    for name, rows in members.LOSSES.items():
        loss = rows[0]
        for solvers in members.SOLVERS.values():
            solver = LBFGS(1e-8) if isinstance(solvers[0], LBFGS) else solvers[0]
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # asked only whether the solver takes the loss
                try:
                    _model(loss, solver).fit(X, Y)
                except ValueError:
                    continue
            yield name, loss, solver


def _model(loss: Any, solver: Any, alpha: float = 0.5, kernel: Any = None) -> IOKR:
    low = type(solver).__name__ == "LowRank"
    kernel = RBF(0.5) if kernel is None else kernel
    return IOKR(Nystroem(kernel, 4, random_state=0) if low else kernel, loss=loss, alpha=alpha, solver=solver)


def _tol(solver: Any) -> float:
    """Closed forms round; iterations see the same numbers, LBFGS begins with a step that rounds."""
    return 1e-5 if isinstance(solver, LBFGS) else 1e-9


def outputs(loss: Any, solver: Any, k: int) -> None:
    """y times 2ᵏ with the lengths of the loss, α times 2^(k(d − 2e)): h times 2ᵏᵉ."""
    e, d = loss.homogeneity
    alpha = np.ldexp(0.5, k * (d - 2 * e))
    if alpha in (0.0, np.inf) or (isinstance(solver, ReducedRank) and solver.alpha is not None):
        return
    expected = np.ldexp(_model(loss, solver).fit(X, Y).decision_function(NEW), k * e)
    found = _model(loss.in_units(2.0**-k), solver, alpha).fit(X, np.ldexp(Y, k)).decision_function(NEW)
    check_same(found, expected, f"outputs times 2**{k}", _tol(solver))


def weights(loss: Any, solver: Any, j: int) -> None:
    """w and α times 2ʲ: the same h."""
    if isinstance(solver, ReducedRank) and solver.alpha is not None:
        return
    expected = _model(loss, solver).fit(X, Y, sample_weight=WEIGHT).decision_function(NEW)
    other = _model(loss, solver, np.ldexp(0.5, j)).fit(X, Y, sample_weight=np.ldexp(WEIGHT, j))
    check_same(other.decision_function(NEW), expected, f"weights times 2**{j}", _tol(solver))


def kernels(loss: Any, solver: Any, i: int) -> None:
    """k and α times 2ⁱ: the same h."""
    if isinstance(solver, ReducedRank) and solver.alpha is not None:
        return
    expected = _model(loss, solver).fit(X, Y).decision_function(NEW)
    other = _model(loss, solver, np.ldexp(0.5, i), Scaled(RBF(0.5), 2.0**i)).fit(X, Y)
    check_same(other.decision_function(NEW), expected, f"kernel times 2**{i}", _tol(solver))


def outlier(loss: Any, solver: Any, size: float) -> None:
    """A row far away pulls as hard wherever it is: h is that of a row not quite so far, to what a gap of 1e-6 says."""
    found = []
    for far in (1e3, size):
        y = Y.copy()
        y[3] = far
        found.append(_model(loss, solver).fit(X, y).decision_function(NEW))
    gap = 1e-6 * N * float(np.median(loss.value(np.zeros((N, LEVELS)), Y)))
    bound = 2 * np.sqrt(2 * gap / 0.5) + 20 / 1e3  # and the direction, which the distance turns a little
    if np.abs(found[1] - found[0]).max() > bound:
        raise Wrong(f"an outlier of {size:g}: off by {np.abs(found[1] - found[0]).max():.3g}, at most {bound:.3g}")


# ------------------------------------------------------------------------------------------------------------ methods


def method_units(cls: type, problem: str, method: str, k: int) -> None:
    """What a method says is of degree p in the outputs: the same p for units that are doubled and for 2ᵏ."""
    if arguments(cls, getattr(cls, method), problem) is None or not hasattr(build(cls, problem), method):
        return
    if (cls.__name__, method) in REFUSED or "plot" in method:
        return
    first, second = _parts(cls, problem, method, 0), _parts(cls, problem, method, 4)
    last = _parts(cls, problem, method, k)
    for u, v, w in zip(first, second, last, strict=True):
        degrees = [p for p in (0, 1, 2, -1, -2) if u.shape == v.shape and _near(v, u * 16.0**p)]
        if not degrees:
            continue
        p = degrees[0]
        if abs(p * k) > 1000:
            raise Wrong(f"of degree {p}, so no number has these units, but it said {w.ravel()[:3]}")
        check_same(w, u * 2.0 ** (p * k), f"{method} of degree {p}", 1e-8)


def _near(v: np.ndarray, u: np.ndarray) -> bool:
    with np.errstate(all="ignore"):
        return bool(np.allclose(v, u, rtol=1e-9, atol=0, equal_nan=True))


def _parts(cls: type, problem: str, method: str, k: int) -> list[np.ndarray]:
    known = parameters(cls.fit)
    data = {name: copy.deepcopy(value) for name, value in PROBLEMS[problem][1].items() if name in known}
    linear = {"alpha": 0.5 * 2.0**-k, "alphas": (0.1 * 2.0**-k, 2.0**-k)} if problem == "numbers" else {}  # in y
    given = {name: value for name, value in linear.items() if name in parameters(cls)}
    model = build(cls, problem, **given).fit(**{**data, "y": data["y"] * 2.0**k})
    given = copy.deepcopy(arguments(cls, getattr(cls, method), problem) or {})
    if (cls.__name__.startswith("Functional") and method == "score") or (
        cls.__name__ == "Conformal" and method in ("contains", "p_values")
    ):
        given.pop("candidates", None)
    given = {name: value * 2.0**k if name in ("y", "candidates") else value for name, value in given.items()}
    found = getattr(model, method)(**given)
    return list(_numbers(list(found) if inspect.isgenerator(found) else found))


def _numbers(answer: Any) -> Iterator[np.ndarray]:
    """The arrays of numbers in an answer."""
    answer = plain(answer)
    if isinstance(answer, dict):
        answer = list(answer.values())
    if isinstance(answer, (list, tuple)):
        for part in answer:
            yield from _numbers(part)
        return
    values = np.asarray(answer)
    if values.dtype.kind in "biuf":
        yield values.astype(float)
    elif values.dtype == object and values.ndim:
        for part in values.ravel():
            yield from _numbers(part)
