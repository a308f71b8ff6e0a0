"""Time and memory against n on logarithmic axes, with the law."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from importlib import util
from typing import Any

import numpy as np

from iokr.apps.report import MUTED, OURS, Figure, Table, plot

__all__ = ["growth_items"]


def growth_items(
    what: str, rows: Sequence[Mapping[str, Any]], *, time_power: float = 3.0, memory: str = "n²/2 doubles"
) -> list[Table | Figure]:
    """A table of `n`, `seconds` and `bytes`, and its picture with n³ through the last point and the memory law.

    The law of memory is n²/2 doubles, or n^0 through the last point where `memory` is "constant".
    """
    n = np.array([row["n"] for row in rows], dtype=float)
    seconds = np.array([row["seconds"] for row in rows], dtype=float)
    held = np.array([row["bytes"] for row in rows], dtype=float)
    constant = memory == "constant"
    slopes = [None, *np.diff(np.log(seconds)) / np.diff(np.log(n))]
    shown = [
        {"n": int(k), "seconds": float(t), "MB": float(b) / 1e6, "exponent of time": slope}
        | ({} if constant else {"n² doubles": float(b) / (8 * k * k)})
        for k, t, b, slope in zip(n, seconds, held, slopes, strict=True)
    ]
    table = Table(
        f"Growth: {what}", shown, "Exponent: log of the ratio of times over that of sizes, from the line above."
    )
    if util.find_spec("matplotlib") is None:
        return [table]
    law = seconds[-1] * (n / n[-1]) ** time_power
    law_bytes = np.full_like(n, held[-1]) if constant else 4 * n * n

    def draw(canvas: Any) -> None:
        left, right = canvas.subplots(1, 2)
        panels = (
            (left, seconds, law, f"n^{time_power:g} through the last point", "seconds"),
            (right, held / 1e9, law_bytes / 1e9, memory, "GB"),
        )
        for axes, values, line, words, label in panels:
            axes.loglog(n, line, color=MUTED, linestyle="--", label=words)
            axes.loglog(n, values, color=OURS, marker="o", label="measured")
            axes.set_xlabel("n")
            axes.set_ylabel(label)
            axes.legend(frameon=False)

    caption = f"Time and memory of {what} against n, both axes logarithmic, with the law (dashed)."
    return [table, plot(draw, caption=caption, size=(7.2, 3.0))]
