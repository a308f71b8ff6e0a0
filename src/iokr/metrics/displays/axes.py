"""Where a display draws: on the axis it is given, or on a new one."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["MUTED", "OURS", "axis", "check_estimator", "check_labels", "check_name", "finish"]

OURS, MUTED = "#0f7b6c", "#888888"  # what is measured or was chosen; what it is compared with


def axis(ax: Any, size: tuple[float, float] = (5.2, 3.6)) -> Any:
    """The axis given, or that of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("displays need matplotlib: pip install 'iokr[report]'") from None
    return plt.subplots(figsize=size, layout="constrained")[1]


def check_estimator(estimator: Any, method: str, wanted: str) -> None:
    """It answers this method, and is no class."""
    if isinstance(estimator, type) or not hasattr(estimator, method):
        raise TypeError(f"`estimator` must be {wanted}, got {estimator!r:.60}.")


def check_labels(labels: Any, n: int) -> list[str]:
    """A name for each of n."""
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable) or getattr(labels, "shape", None) == ():
        raise TypeError(f"`labels` must be a list of {n} names, got {labels!r:.60}.")
    names = list(labels)
    if len(names) != n:
        raise ValueError(f"`labels` must be a list of {n} names, got {len(names)}.")
    return names


def check_name(name: Any) -> None:
    """What the legend says, or None."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"`name` must be a string, got {name!r:.60}.")


def finish(display: Any, ax: Any) -> Any:
    """Keep axis and figure as scikit-learn's displays do."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    display.ax_, display.figure_ = ax, ax.figure
    return display
