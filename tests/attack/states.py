"""Fitting again, after a failure, in threads; answers that are written to; parameters that there are not."""

from __future__ import annotations

import copy
import threading
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from attack.estimators import answer, build
from attack.judge import Case, Wrong, check_same, plain
from attack.problems import NEW, PROBLEMS, estimators, fitting
from attack.targets import parameters

__all__ = ["state_cases"]

THREADS = 4


def state_cases() -> Iterator[Case]:
    """All of them."""
    for name, cls in estimators().items():
        for problem in fitting(cls)[:2]:
            for what, check in STATES.items():
                yield Case(f"{name}/{problem} {what}", lambda c=cls, p=problem, f=check: f(c, p), ("X", "y", "sets"))


def _data(cls: type, problem: str) -> dict[str, Any]:
    known = parameters(cls.fit)
    return {name: copy.deepcopy(value) for name, value in PROBLEMS[problem][1].items() if name in known}


def other_shapes(cls: type, problem: str) -> None:
    """Fitted again to fewer rows of more features: as a fresh model."""
    if problem not in ("vectors", "numbers", "classes"):
        return
    model = build(cls, problem).fit(**_data(cls, problem))
    data = {name: value[:9] for name, value in _data(cls, problem).items()}
    data["X"] = np.c_[data["X"], data["X"][:, 0]]
    new = np.c_[NEW, NEW[:, 0]]
    expected = build(cls, problem).fit(**data).predict(new)
    check_same(model.fit(**data).predict(new), expected, "fitted again to other shapes", 1e-12)


def _spoiled(value: Any) -> Any:
    if isinstance(value, np.ndarray) and value.dtype.kind in "fiub":
        return np.full(value.shape, np.inf)
    return [object()] * len(value)


def failed(cls: type, problem: str, argument: str | None = None) -> None:
    """A fit that is refused leaves the model as it was, or not fitted; never between the two."""
    data = _data(cls, problem)
    model = build(cls, problem).fit(**data)
    before = copy.deepcopy(plain(answer(model, problem)))
    chosen = argument or next(name for name in ("X", "sets") if name in data)
    try:
        model.fit(**{**data, chosen: _spoiled(data[chosen])})
    except (ValueError, TypeError):
        pass
    else:
        return
    try:
        after = answer(model, problem)
    except NotFittedError:
        return
    check_same(after, before, "after a fit that was refused", 1e-12)


def failed_outputs(cls: type, problem: str) -> None:
    """The same for outputs that are refused."""
    failed(cls, problem, next(name for name in ("y", "adjacency", "links") if name in _data(cls, problem)))


def _side_by_side(call: Callable[[], Any], expected: Any) -> None:
    found: list[Any] = []

    def run() -> None:
        try:
            found.append(plain(call()))
        except BaseException as error:
            found.append(error)

    threads = [threading.Thread(target=run) for _ in range(THREADS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for one in found:
        if isinstance(one, BaseException):
            raise Wrong(f"in a thread: {type(one).__name__}: {one}")
        check_same(one, expected, "in threads", 1e-12)


def asked_in_threads(cls: type, problem: str) -> None:
    model = build(cls, problem).fit(**_data(cls, problem))
    _side_by_side(lambda: answer(model, problem), plain(answer(model, problem)))


def fitted_in_threads(cls: type, problem: str) -> None:
    model = build(cls, problem)
    expected = plain(answer(clone(model).fit(**_data(cls, problem)), problem))
    _side_by_side(lambda: answer(clone(model).fit(**_data(cls, problem)), problem), expected)


def written_to(cls: type, problem: str) -> None:
    """Who writes into an answer does not write into the model."""
    model = build(cls, problem).fit(**_data(cls, problem))
    first = plain(answer(model, problem))
    expected = copy.deepcopy(first)
    if isinstance(first, np.ndarray) and first.flags.writeable:
        first[...] = 3.25
    check_same(answer(model, problem), expected, "after the answer was written to", 1e-12)


def set_afterwards(cls: type, problem: str) -> None:
    """Parameters that are set after a fit change nothing before the next, and those that there are not are refused."""
    model = build(cls, problem).fit(**_data(cls, problem))
    expected = plain(answer(model, problem))
    known = model.get_params()
    for name in ("kernel__gamma", "alpha"):
        if name in known:
            model.set_params(**{name: 97.0})
    check_same(answer(model, problem), expected, "after parameters were set", 1e-12)
    try:
        model.set_params(no_such_parameter=1)
    except ValueError:
        return
    raise Wrong("a parameter that there is not was set")


STATES = {
    "other shapes": other_shapes,
    "a fit that is refused": failed,
    "outputs that are refused": failed_outputs,
    "asked in threads": asked_in_threads,
    "fitted in threads": fitted_in_threads,
    "answers written to": written_to,
    "parameters set afterwards": set_afterwards,
}
