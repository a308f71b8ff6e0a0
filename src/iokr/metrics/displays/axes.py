"""Where a display draws: on the axis it is given, or on a new one."""

from __future__ import annotations

from typing import Any

__all__ = ["MUTED", "OURS", "axis", "finish"]

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


def finish(display: Any, ax: Any) -> Any:
    """Keep axis and figure as scikit-learn's displays do."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.grid(alpha=0.25, linewidth=0.6)
    display.ax_, display.figure_ = ax, ax.figure
    return display
