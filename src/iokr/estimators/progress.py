"""Progress of `fit`, through scikit-learn's callbacks where it has them (1.9), silent before that.

An estimator inherits `CallbackSupportMixin`, decorates `fit` with `with_callbacks`, calls `begin` and `end`, and in
between `track` or, for a search, `report`.
"""

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

T = TypeVar("T")

try:
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:  # scikit-learn < 1.9

    class CallbackSupportMixin:  # type: ignore[no-redef]
        """Replaces scikit-learn's mixin: no callbacks can be set."""

    def with_callbacks(method: Any) -> Any:
        """Return `method` unchanged."""
        return method


__all__ = ["CallbackSupportMixin", "Progress", "begin", "end", "inside", "report", "track", "with_callbacks"]

Progress = Callable[[int, int, str], None]
"""(done, total, what): how many values are known, of how many, and which came last."""


def begin(estimator: Any, n_tasks: int | None = 0, **data: Any) -> Any:
    """Open the task "fit" of n_tasks sub-tasks (None: unknown); first line of `fit`. None without callbacks."""
    if not hasattr(estimator, "_init_callback_context"):
        return None
    return estimator._init_callback_context(max_subtasks=n_tasks).call_on_fit_task_begin(estimator=estimator, **data)


def track(context: Any, estimator: Any, tasks: Iterable[T], name: str) -> Iterator[T]:
    """Yield every task, reporting it as a sub-task of `context` when the caller comes back for the next."""
    for task in tasks:
        if context is None:
            yield task
            continue
        step = context.subcontext(task_name=name).call_on_fit_task_begin(estimator=estimator)
        yield task
        step.call_on_fit_task_end(estimator=estimator)


def report(context: Any, estimator: Any, progress: Progress | None = None) -> Progress | None:
    """The callback of a search: a sub-task of `context` ends for every known value, then `progress` is called."""
    if context is None:
        return progress
    before = 0

    def call(done: int, total: int, what: str) -> None:
        nonlocal before
        for _ in range(before, done):
            step = context.subcontext(task_name="point").call_on_fit_task_begin(estimator=estimator)
            step.call_on_fit_task_end(estimator=estimator)
        before = done
        if progress is not None:
            progress(done, total, what)

    return call


def end(context: Any, estimator: Any, **data: Any) -> None:
    """Close the task "fit"; last line of `fit`, when the estimator can predict."""
    if context is not None:
        context.call_on_fit_task_end(estimator=estimator, reconstruction_attributes={}, **data)


@contextmanager
def inside(context: Any, estimator: Any, part: Any) -> Iterator[None]:
    """With this, `part.fit` reports as a sub-task of `context`: progress of a model inside another."""
    if context is None:
        yield
        return
    step = context.subcontext(task_name="fit").call_on_fit_task_begin(estimator=estimator)
    with step.propagate_callback_context(part):
        yield
    step.call_on_fit_task_end(estimator=estimator)
