"""Progress callbacks of long computations."""

from collections.abc import Callable

__all__ = ["Progress", "silent", "stage"]

Progress = Callable[[int, int, str], None]
"""Called with the numbers of finished and of all steps, and the current step, "stage" or "stage: detail"."""


def silent(done: int, total: int, what: str) -> None:
    """No-op progress callback.

    Examples
    --------
    >>> from iokr.apps.report import silent
    >>> silent(1, 3, "working")
    """


def stage(progress: Progress, name: str, start: float, end: float) -> Progress:
    """The progress of a stage by its own steps, in percent of all work, of which the stage is `start` to `end`.

    Examples
    --------
    >>> from iokr.apps.report.progress import stage
    >>> fitting = stage(print, "fitting", 0.5, 1.0)
    >>> fitting(1, 2, "fold 1")
    75 100 fitting: fold 1
    """

    def stage_progress(done: int, total: int, what: str) -> None:
        progress(round(100 * (start + (end - start) * done / total)), 100, f"{name}: {what}" if what else name)

    return stage_progress
