"""K12 Table 2: the lower half of a USPS digit from its upper half, by four methods.

Run as published, under every reading that the paper leaves open, and again with every parameter chosen on the training
part and one loss for all.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from iokr.estimators.regression.cv import IOKRCV
from iokr.report import INK, MUTED, OURS, THEIRS, Figure, Pictures, Report, Spread, Table, Text, plot
from iokr.report.progress import Progress, silent
from iokr_lab.data.usps import load_usps
from iokr_lab.images.halves import hidden, whole
from iokr_lab.images.usps_methods import (
    BASELINES,
    FEW_SIGMAS,
    IDENTITY,
    METHODS,
    Common,
    at_published_parameters,
    baselines,
    chosen_model,
    chosen_on_training_part,
    chosen_parameters,
    differences,
)
from iokr_lab.images.usps_protocol import (
    AS_DISTRIBUTED,
    COMMON,
    DRAWN,
    DRAWN_FROM,
    FOLDS,
    PIXELS,
    PUBLISHED,
    SHOWN,
    SIGMAS_K,
    Reading,
    Split,
    as_published,
    published_model,
    splits,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["run"]

FIRST_ROW = PUBLISHED[0]
Readings = dict[tuple[int, str], Reading]


def run(*, seed: int = 0, repeat: int | None = None, progress: Progress = silent) -> Report:
    """Run Table 2 as published, then again with everything chosen on the training part, under one loss.

    Parameters
    ----------
    seed : int, default=0
    repeat : int, default=5
        How many times 600 digits are drawn; a figure is over the folds of all draws.
    progress : callable, optional
    """
    images = load_usps().X_train[:DRAWN_FROM]
    draws = [(seed, i) for i in range(repeat or 5)]
    n_steps = len(draws) * (len(FOLDS) * len(PIXELS) + 1 + len(METHODS) * sum(FOLDS))
    steps = itertools.count()

    def step(what: str) -> None:
        progress(next(steps), n_steps, what)

    readings = as_published(images, draws, step)
    rows = at_published_parameters(images, draws, step)
    common = chosen_on_training_part(images, draws, step)
    progress(n_steps, n_steps, "drawing the page")
    example = next(splits(images, 3, AS_DISTRIBUTED, draws[0]))
    models = {method.name: chosen_model(method, example.X, example.Y) for method in METHODS if not method.by_folds}
    return Report(
        "USPS digits: the lower half from the upper half",
        _summary(readings, rows, common),
        (
            Text("As published", (_PROTOCOL,)),
            _parameters_table(rows),
            _readings_table(readings),
            _readings_figure(readings),
            _loss_figure(),
            Text("Why the figures differ", (_pixel_scale(readings), _NOT_COMPARABLE)),
            Text("Everything chosen on the training part, one loss", (_CHOICE, _ranking(common))),
            _common_table(common),
            _ranking_figure(common),
            _pictures(example, models),
            _path_figure(models[IDENTITY.name]),
            _chosen_table(common),
        ),
        (
            f"± is the standard deviation over all folds of {len(draws)} random draws of {DRAWN} digits; in the paper, "
            "over the folds of one. Behind a difference, ± is its standard error over the draws; they come from the "
            f"same {DRAWN_FROM} digits, so it is a little too small.",
            "The paper tried parameters by hand and kept the best, on the reported error as far as its text says.",
            "Leave-one-out holds the covariance operators fixed, which favours them; “by folds” estimates them anew.",
            "“No pre-image” answers with any image, not only with one seen in training; “one answer for all” is the "
            "training output with the lowest loss on the training part.",
        ),
    )


# ------------------------------------------------------------------------------------------------------------- text


def _pointwise(sq_distance: float, sigma: float) -> float:
    """2 − 2 exp(−d² / (2σ²))."""
    return float(2 - 2 * np.exp(-sq_distance / (2 * sigma**2)))


_PROTOCOL = (
    f"{DRAWN} digits of the first {DRAWN_FROM}; Gaussian kernels exp(−‖·‖²/(2σ²)) on both sides; the pre-image is the "
    "closest training output; the loss is 2 − 2 exp(−‖y − ŷ‖²/(2σ_l²)). The paper says five folds, training on one of "
    "them, but also 200 digits to train on, which is three folds; and it does not say on which scale the pixels are. "
    "So each reading has a row."
)
_NOT_COMPARABLE = (
    "The rows of Table 2 are not comparable with each other either, as each is measured with its own σ_l. For one and "
    "the same answer, at ‖y − ŷ‖² = 100, the loss is "
    + ", ".join(f"{_pointwise(100, sigma):.3f} with σ_l = {sigma}" for sigma in SHOWN)
    + ". The first table gives the parameters of each row to the identity operator too: what is left between the two "
    "columns is the method, the rest comes with σ_k and σ_l."
)
_CHOICE = (
    "σ_k, λ and ε by leave-one-out in the output feature space; σ_l of the output kernel and the number of components "
    f"by the loss, at σ = {COMMON}, of training digits completed while left out. For the covariance operators once "
    "more by five folds of the training part, refitting everything, from "
    f"{len(FEW_SIGMAS[0])} σ_k and {len(FEW_SIGMAS[1])} σ_l. The test part is never looked at, and all methods are "
    "measured by the same losses on the same splits."
)


def _summary(readings: Readings, rows: dict[tuple[str, str], list[float]], common: Common) -> str:
    ours = Spread.of(readings[5, AS_DISTRIBUTED].losses)
    published = "; ".join(
        f"{row.method} {row.loss} published, {Spread.of(rows[row.method, 'own'])} ours" for row in PUBLISHED[1:]
    )
    return (
        f"Kadri, Ghavamzadeh and Preux (2012), Table 2. At the published parameters, five folds, pixels in "
        f"{AS_DISTRIBUTED}: identity {FIRST_ROW.loss} published, {ours} ours; {published}. {_ranking(common)}"
    )


def _ranking(common: Common, n_folds: int = 5) -> str:
    """The order of the methods under the common loss, and what of it is clear."""
    gaps = differences(common, n_folds)
    means = {m.name: float(np.mean(common.losses[m.name, n_folds, COMMON])) for m in METHODS}
    order = sorted(means, key=lambda name: means[name])
    listed = ", ".join(
        f"{name} {means[name]:.4f}" + ("" if name == IDENTITY.name else f" ({gaps[name]})") for name in order
    )
    clear = [f"{name} ({'better' if gaps[name].mean < 0 else 'worse'})" for name in order if gaps[name].clear]
    verdict = f"clear at 95 %: {', '.join(clear)}" if clear else "none is clear at 95 %"
    return (
        f"With everything chosen on the training part and the common loss at σ = {COMMON} ({FOLDS[n_folds]}), best "
        f"first, in brackets the difference to the identity operator ± its standard error: {listed}. Of these "
        f"differences {verdict}."
    )


def _pixel_scale(readings: Readings) -> str:
    """Why the identity row is not met, in the figures of this run."""
    folds, pixels = min(readings, key=lambda key: abs(np.mean(readings[key].losses) - FIRST_ROW.loss.mean))
    nearest = readings[folds, pixels]
    return (
        f"Most likely the pixel scale. With pixels in {AS_DISTRIBUTED} and σ_k = {FIRST_ROW.sigma_k}, k(x, xᵢ) is 0 in "
        f"double precision for every training digit xᵢ at {np.mean(readings[5, AS_DISTRIBUTED].tied):.0%} of the test "
        "digits. There h(x) = 0, every training output is equally close, and the answer is the one that comes first. "
        "Such arbitrary answers would also explain the published deviation, the largest of the table. On scales where "
        f"σ_k = {FIRST_ROW.sigma_k} is a sensible width, as with images of unit length, the loss at "
        f"σ_l = {FIRST_ROW.sigma_l} is far below the published one. The nearest reading is {folds} folds with pixels "
        f"{pixels}: {Spread.of(nearest.losses)}, with {np.mean(nearest.tied):.0%} arbitrary answers. λ hardly matters: "
        "K is close to I, and scaling h(x) does not change which output is closest."
    )


# ----------------------------------------------------------------------------------------------------------- tables


def _readings_table(readings: Readings) -> Table:
    return Table(
        f"Identity operator, λ = {FIRST_ROW.lam}, σ_k = {FIRST_ROW.sigma_k}, σ_l = {FIRST_ROW.sigma_l}: RBF loss",
        [
            {
                "reading": FOLDS[n_folds],
                "pixels": pixels,
                "published": FIRST_ROW.loss,
                "ours": Spread.of(reading.losses),
                "arbitrary answers": f"{np.mean(reading.tied):.0%}",
            }
            for (n_folds, pixels), reading in readings.items()
        ],
        note="Arbitrary: k(x, xᵢ) = 0 in double precision for every training digit xᵢ.",
        ours=("ours",),
    )


def _parameters_table(rows: dict[tuple[str, str], list[float]]) -> Table:
    return Table(
        "Table 2 at its own parameters: RBF loss at each row's σ_l",
        [
            {
                "row": row.method,
                "λ": row.lam,
                "σ_k": row.sigma_k,
                "σ_l": row.sigma_l,
                "published": row.loss,
                "ours": Spread.of(rows[row.method, "own"]),
                "ours, identity instead": Spread.of(rows[row.method, "identity"]),
            }
            for row in PUBLISHED
        ],
        note=f"Five folds, pixels in {AS_DISTRIBUTED}. All components in the second row; ε of the last is a hundredth "
        "of the largest eigenvalue of K/n: the paper gives neither.",
        ours=("ours",),
    )


def _common_table(common: Common) -> Table:
    rows = []
    for n_folds in FOLDS:
        gaps = differences(common, n_folds)
        for name in (*(method.name for method in METHODS), *BASELINES):
            losses = {sigma: np.concatenate(common.losses[name, n_folds, sigma]) for sigma in SHOWN}
            gap = None if name == IDENTITY.name else f"{gaps[name]}{' *' if gaps[name].clear else ''}"
            spreads = {f"σ = {sigma}": Spread.of(losses[sigma]) for sigma in SHOWN}
            rows.append({"reading": FOLDS[n_folds], "method": name, **spreads, "minus identity": gap})
    return Table(
        "One loss for all: RBF loss, every parameter chosen on the training part",
        rows,
        note=f"Chosen and compared at σ = {COMMON}; the other two only to read ours in the units of the other "
        "published rows. “Minus identity”: mean difference on the same splits ± its standard error over the draws; * "
        "where 0 is outside its 95 % interval.",
        ours=(f"σ = {COMMON}",),
    )


def _chosen_table(common: Common) -> Table:
    rows = []
    for (name, n_folds), found in sorted(common.chosen.items(), key=lambda item: -item[0][1]):
        cells: dict[str, str] = {"reading": FOLDS[n_folds], "method": name}
        for parameter in dict.fromkeys(key for parameters in found for key in parameters):
            values = [parameters[parameter] for parameters in found]
            cells[parameter] = f"{np.median(values):.3g} ({min(values):.3g} to {max(values):.3g})"
        rows.append(cells)
    return Table("What was chosen: median (smallest to largest) over the training parts", rows, folded=True)


# --------------------------------------------------------------------------------------------- pictures and figures


def _pictures(split: Split, models: dict[str, IOKRCV], n: int = 12) -> Pictures:
    some = Split(split.X, split.Y, split.X_test[:n], split.Y_test[:n])
    answers = {name: model.predict(some.X_test) for name, model in models.items()} | baselines(some)
    answers["parameters as published"] = published_model(FIRST_ROW).fit(some.X, some.Y).predict(some.X_test)
    rows = {"given": hidden(some.X_test), "true": whole(some.X_test, some.Y_test)}
    for name, lower in answers.items():
        rows[name] = whole(some.X_test, np.clip(lower, -1, 1))
    return Pictures(rows, f"The first {n} test digits of the first split into three folds.", low=-1, high=1)


def _ranking_figure(common: Common) -> Figure:
    names = [method.name for method in METHODS[1:]]

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.axvline(0, color=INK, linewidth=0.8, linestyle=":")
        for n_folds, colour, shift in ((5, OURS, -0.12), (3, THEIRS, 0.12)):
            gaps = differences(common, n_folds)
            errors = [gaps[name].half_width for name in names]
            axes.errorbar(
                [gaps[name].mean for name in names],
                np.arange(len(names)) + shift,
                xerr=errors if np.all(np.isfinite(errors)) else None,
                fmt="o",
                color=colour,
                markersize=4,
                label=FOLDS[n_folds],
            )
        axes.set_yticks(range(len(names)), names)
        axes.invert_yaxis()
        axes.locator_params(axis="x", nbins=5)
        axes.set(xlabel="RBF loss minus identity")
        canvas.legend(loc="outside upper center", ncols=2)

    caption = (
        f"RBF loss at σ = {COMMON}, minus that of the identity operator on the same splits, with 95 % intervals over "
        "the draws; left of 0 is better."
    )
    return plot(draw, caption=caption)


def _readings_figure(readings: Readings) -> Figure:
    theirs = FIRST_ROW.loss

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.axvspan(theirs.mean - theirs.std, theirs.mean + theirs.std, color=THEIRS, alpha=0.15, linewidth=0)
        axes.axvline(theirs.mean, color=THEIRS, linewidth=1, label="published")
        for place, reading in enumerate(readings.values()):
            axes.plot(reading.losses, [place] * len(reading.losses), "|", color=OURS, alpha=0.5, markersize=8)
            axes.plot(np.mean(reading.losses), place, "o", color=OURS, label=None if place else "ours")
        axes.set_yticks(range(len(readings)), [f"{folds} folds, {pixels}" for folds, pixels in readings])
        axes.invert_yaxis()
        axes.set(xlabel="RBF loss", xlim=(-0.03, None))
        canvas.legend(loc="outside upper center", ncols=2)

    caption = "Every fold a mark, their mean a dot; the band is the published mean ± deviation."
    return plot(draw, caption=caption)


def _loss_figure() -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        squares = np.linspace(0, 300, 200)
        for sigma, colour in zip(SHOWN, (MUTED, THEIRS, OURS), strict=True):
            axes.plot(squares, [_pointwise(d, sigma) for d in squares], color=colour, label=f"$\\sigma_l$ = {sigma}")
        axes.axvline(100, color=INK, linewidth=0.8, linestyle=":")
        axes.set(xlabel="squared distance ‖y − ŷ‖²", ylabel="RBF loss", xlim=(0, 300), ylim=(0, 2))
        axes.legend(loc="lower right")

    return plot(draw, caption="The losses of the published rows: one and the same answer gets three figures.")


def _path_figure(model: IOKRCV) -> Figure:
    sigma_k, lam, sigma_l = chosen_parameters(model).values()

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        for sigma, errors in zip(SIGMAS_K, model.loo_errors_, strict=True):
            if np.isclose(sigma, sigma_k):
                axes.semilogx(model.alphas, errors, color=OURS, zorder=3, label=f"$\\sigma_k$ = {sigma:g}, chosen")
            else:
                axes.semilogx(model.alphas, errors, color=MUTED, linewidth=0.7)
        axes.plot(lam, model.loo_errors_[model.best_index_], "o", color=OURS, zorder=3)
        axes.set(xlabel="λ", ylabel="leave-one-out error")
        canvas.legend(loc="outside upper center")

    caption = (
        f"Leave-one-out error over λ on the 200 training digits of the pictures, a curve for every σ_k tried; chosen: "
        f"λ = {lam:.3g}, σ_k = {sigma_k:.3g}, and σ_l = {sigma_l:.3g} for the output kernel."
    )
    return plot(draw, caption=caption)
