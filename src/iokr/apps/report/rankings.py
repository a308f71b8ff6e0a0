"""Figures of the ROC and precision-recall curves of rankings of pairs."""

from __future__ import annotations

from collections.abc import Mapping

from iokr.apps.report import MUTED, Figure, plot
from iokr.apps.report.figures import Canvas
from iokr.metrics.curves import GRID, Curves

__all__ = ["curves_tsv", "ranking_figures"]


def ranking_figures(
    curves: Mapping[str, Curves],
    styles: Mapping[str, tuple[str, str]],
    *,
    prevalence: float | None = None,
    top: float = 100.0,
    height: float = 4.2,
) -> tuple[Figure, Figure]:
    """The ROC and the precision-recall curves of rankings, each with its name, colour and line style.

    `prevalence`, the precision of random guesses, is a thin line; `top` is the largest precision shown; both are in
    percent. The height is in inches, the width that of a narrow screen.
    """

    def roc(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.plot([0, 100], [0, 100], color=MUTED, linewidth=0.6)
        for name, curve in curves.items():
            colour, style = styles[name]
            axes.plot(100 * GRID, 100 * curve.roc, style, color=colour, label=name)
        axes.set(xlabel="false alarms (%)", ylabel="links found (%)", xlim=(0, 100), ylim=(0, 100))
        canvas.legend(loc="outside upper center", ncols=1)

    def precision(canvas: Canvas) -> None:
        axes = canvas.subplots()
        if prevalence is not None:
            axes.axhline(prevalence, color=MUTED, linewidth=0.6)
        for name, curve in curves.items():
            colour, style = styles[name]
            axes.plot(100 * GRID, 100 * curve.precision, style, color=colour, label=name)
        axes.set(xlabel="links found (%)", ylabel="precision (%)", xlim=(0, 100), ylim=(0, top))
        canvas.legend(loc="outside upper center", ncols=1)

    return (
        plot(roc, caption="ROC: links found against false alarms.", size=(4.8, height)),
        plot(precision, caption="Precision against the fraction of links found.", size=(4.8, height)),
    )


def curves_tsv(curves: Mapping[str, Curves]) -> str:
    """Both curves of every ranking, one row for each point."""
    lines = ["setting\tcurve\tx\ty"]
    for setting, curve in curves.items():
        lines += [f"{setting}\troc\t{x:.4g}\t{y:.6g}" for x, y in zip(GRID, curve.roc, strict=True)]
        lines += [f"{setting}\tprecision-recall\t{x:.4g}\t{y:.6g}" for x, y in zip(GRID, curve.precision, strict=True)]
    return "\n".join(lines) + "\n"
