"""What displays share: axes, colours, names in the legend, checks."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

__all__ = ["MUTED", "OURS", "axis", "check_estimator", "check_labels", "check_name", "finish", "short"]

OURS = "#0f7b6c"  # what is measured or was chosen
MUTED = "#888888"  # what it is compared with
_LONGEST = 40  # characters of a name


def axis(ax: Any, size: tuple[float, float] = (5.2, 3.6)) -> Any:
    """The given axes, or those of a new figure."""
    if ax is not None:
        return ax
    try:
        import matplotlib.pyplot as plt
    except ImportError:
        raise ImportError("displays need matplotlib: pip install 'iokr[report]'") from None
    return plt.subplots(figsize=size, layout="constrained")[1]


def check_estimator(estimator: Any, method: str, wanted: str) -> None:
    """An object with this method, not a class."""
    if isinstance(estimator, type) or not hasattr(estimator, method):
        raise TypeError(f"`estimator` must be {wanted}, got {estimator!r:.60}.")


def check_labels(labels: Any, n: int) -> list[str]:
    """n names."""
    if isinstance(labels, (str, bytes)) or not isinstance(labels, Iterable) or getattr(labels, "shape", None) == ():
        raise TypeError(f"`labels` must be a list of {n} names, got {labels!r:.60}.")
    names = list(labels)
    if len(names) != n:
        raise ValueError(f"`labels` must be a list of {n} names, got {len(names)}.")
    return names


def check_name(name: Any) -> None:
    """A name for the legend, or None."""
    if name is not None and not isinstance(name, str):
        raise TypeError(f"`name` must be a string, got {name!r:.60}.")


def short(kernel: Any) -> str:
    """The repr of a kernel on one line, cut where it is long."""
    text = " ".join(repr(kernel).split())
    return text if len(text) <= _LONGEST else text[: _LONGEST - 1] + "…"


def finish(display: Any, ax: Any, name: str | None = None) -> Any:
    """Set `ax_` and `figure_` as scikit-learn's displays do, with a legend if there is a name."""
    if name is not None:
        ax.legend(frameon=False, loc="lower right")
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    display.ax_ = ax
    display.figure_ = ax.figure
    return display
