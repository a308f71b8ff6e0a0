"""B16 Figures 6 and 7: activity of molecules against 59 cancer cell lines, tasks that should help each other.

Run as published over λ₂ and μ_t, errors in the published metric beside errors on y; then every parameter chosen on the
labelled molecules, coupled tasks against independent ones, split by split.
"""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from iokr.report import MUTED, OURS, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.report.progress import Progress, silent
from iokr_lab.data.nci import load_nci_cancer
from iokr_lab.tasks.figures import claims_table, figure6, figure7, figure7_table, sweep_table
from iokr_lab.tasks.protocol import (
    ALONE,
    LAMBDA1,
    LAMBDA2,
    LEARNED,
    MEAN,
    METHODS,
    NEIGHBORS,
    OUTPUTS,
    OWN,
    POWER,
    SHARES,
    SIMILAR,
    Comparison,
    Matrix,
    Sweep,
    centred_gain,
    compare,
    holm,
    molecules,
    paired_p,
    sweep,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["run"]

COUPLED = (SIMILAR, LEARNED)
HEADLINE = ("±1", True)  # outputs as in the data author's own table, with an intercept
Gains = dict[tuple[str, bool, float], list[float]]


def run(*, seed: int = 0, repeat: int | None = None, progress: Progress = silent) -> Report:
    """Run Figures 6 and 7, then coupled against independent tasks with every parameter chosen on the labelled part.

    Parameters
    ----------
    seed : int, default=0
        Of the first split; the others follow it.
    repeat : int, default=10
        How many sets of labelled molecules are drawn.
    progress : callable, optional
    """
    seeds = [seed + i for i in range(repeat or 10)]
    n_steps = 2 + len(seeds) * len(SHARES) * len(OUTPUTS) * 3
    steps = itertools.count()

    def step(what: str) -> None:
        progress(next(steps), n_steps, what)

    step("the kernel of the molecules and the spectrum of its graph")
    data = load_nci_cancer()
    modes = molecules(data)
    swept = sweep(data, modes, seeds, step)
    compared = compare(data, modes, seeds, step)
    step("model 0 on centred outputs")
    gains = centred_gain(data, modes, seeds)
    progress(n_steps, n_steps, "drawing the page")
    return Report(
        "NCI-Cancer: 59 cell lines that should help each other",
        _summary(compared),
        (
            Text("Coupled against independent tasks", (_CHOICE, _verdict(compared))),
            _paired_table(compared),
            _paired_figure(compared),
            _splits_table(compared, seeds),
            Text("Where coupling does not help", (_cause(compared),)),
            _cause_table(compared),
            _shares_table(compared),
            Text("Figures 6 and 7 as published", (_PROTOCOL, _metrics(swept))),
            claims_table(swept),
            *(figure6(swept, kind, model) for kind in OUTPUTS for model in (2, 1)),
            *(figure7(swept, kind, metric) for kind in OUTPUTS for metric in ("published", "y")),
            figure7_table(swept),
            Text("What the unlabelled molecules give", (_intercept(gains),)),
            _centred_table(gains),
            sweep_table(swept),
            _chosen_table(compared),
        ),
        (
            f"Errors are means over the unlabelled molecules of the squared norm over {data.score.shape[1]} cell "
            f"lines. {len(data.score)} molecules (the paper has 2303), {len(seeds)} random choices of the labelled "
            f"ones, seeds {seeds[0]} to {seeds[-1]}; ± is the standard deviation over them.",
            "p: paired t-test over the splits, two-sided; Holm's correction is over all comparisons of the table. The "
            "splits share molecules, so they are not independent, which no such test knows.",
            "The paper prints no number, only curves, and does not say whether outputs are ±1 or scores: both are run.",
            "M_pq = exp(−γ‖Yᵖ − Y^q‖²) from the labelled outputs, 1/γ the median of these squared distances; the paper "
            "takes γ from an information criterion that it does not define.",
        ),
    )


# --------------------------------------------------------------------------------------------------------------- text

_CHOICE = (
    "Supervised, Tanimoto kernel. `alpha`, and the strength of the coupling, are chosen by exact leave-one-out on the "
    "labelled molecules, from the same grid of alphas for every method; the unlabelled ones are only used to measure. "
    f"“{ALONE}” shares one alpha between all tasks, “{OWN}” gives each task its own. “{SIMILAR}” is the paper's model "
    f"2 with the similarity of labelled outputs, “{LEARNED}” learns the operator instead."
)
_PROTOCOL = (
    f"λ₁ = {LAMBDA1:g}, transductive, the graph of {NEIGHBORS} nearest neighbours of the Tanimoto kernel, symmetrised "
    f"by the mean, its Laplacian to the power {POWER}. Model 0 has independent tasks, model 1 couples them through the "
    "output kernel, A₁ = μ_t M + (1−μ_t)I, model 2 through the input kernel, A₂ = (μ_t L_M + (1−μ_t)I)⁻¹."
)


def _metrics(swept: Sweep) -> str:
    plain, metric = (swept.of("±1", SHARES[0], 1, 0.0, mu_t, "published").mean() for mu_t in (0.0, 1.0))
    return (
        "The published error of model 1 is measured in the metric A₁, which changes with μ_t and is another one than "
        "that of models 0 and 2. On y, model 1 predicts exactly what model 0 predicts, whatever μ_t: a curve of model "
        "1 over μ_t shows how the ruler changes, not how predictions do. In the paper that curve falls. Here it rises, "
        f"with {SHARES[0]:.0%} labelled and outputs ±1 from {plain:.1f} at μ_t = 0 to {metric:.0f} at μ_t = 1: the "
        "errors on a molecule mostly agree in sign over the lines, and a similarity M with ones on its diagonal and no "
        "negative entry then adds them up. To fall, M must be scaled in a way that the paper does not describe."
    )


def _name(kind: str, centred: bool) -> str:
    return f"{kind}, {'centred' if centred else 'as they are'}"


def _gain(compared: Comparison, kind: str, centred: bool, share: float, method: str) -> Matrix:
    """Error of independent tasks minus that of coupled ones, split by split."""
    return compared.of(kind, centred, share, ALONE) - compared.of(kind, centred, share, method)


def _summary(compared: Comparison) -> str:
    parts = []
    for method in COUPLED:
        gain = _gain(compared, *HEADLINE, SHARES[0], method)
        p = paired_p(compared.of(*HEADLINE, SHARES[0], method), compared.of(*HEADLINE, SHARES[0], ALONE))
        parts.append(
            f"{method} {compared.of(*HEADLINE, SHARES[0], method).mean():.2f} (ahead in {_wins(gain)}, p = {p:.1g})"
        )
    alone = compared.of(*HEADLINE, SHARES[0], ALONE).mean()
    return (
        f"Mean squared error on y with {SHARES[0]:.0%} of the molecules labelled, outputs {_name(*HEADLINE)}: "
        f"independent tasks {alone:.2f}, {' and '.join(parts)}. "
        "Output coupling as in the paper's model 1 changes nothing on y."
    )


def _wins(gain: Matrix) -> str:
    return f"{int((gain > 0).sum())} of {len(gain)}"


def _tests(compared: Comparison) -> dict[tuple[str, bool, str], tuple[float, float]]:
    """p and Holm's p of every comparison at the smallest share."""
    keys = list(itertools.product(OUTPUTS, (False, True), COUPLED))
    p = [
        paired_p(compared.of(kind, centred, SHARES[0], method), compared.of(kind, centred, SHARES[0], ALONE))
        for kind, centred, method in keys
    ]
    return dict(zip(keys, zip(p, holm(p), strict=True), strict=True))


def _verdict(compared: Comparison) -> str:
    tests = _tests(compared)
    better: list[str] = []
    same: list[str] = []
    worse: list[str] = []
    for (kind, centred, method), (_, p) in tests.items():
        gain = _gain(compared, kind, centred, SHARES[0], method).mean()
        (same if p > 0.05 else better if gain > 0 else worse).append(f"{method} on {_name(kind, centred)}")
    lists = {"Better": better, "Worse": worse, "Undecided": same}
    return f"At {SHARES[0]:.0%} labelled, at the 5 % level after correction. " + " ".join(
        f"{word}: {'; '.join(names)}." for word, names in lists.items() if names
    )


def _cause(compared: Comparison) -> str:
    kind, centred = "score", True
    chosen = -_gain(compared, kind, centred, SHARES[0], SIMILAR).mean()
    alone, coupled = (np.array(compared.best[kind, centred, method]) for method in (ALONE, SIMILAR))
    lost = (compared.of(kind, centred, SHARES[0], ALONE) - alone).mean()
    p = paired_p(coupled, alone)
    return (
        f"On centred scores coupling changes the error by {chosen:+.2f}. The scores of a molecule against the 59 lines "
        "are nearly one number, so there is little that one task could tell another, and the choice of parameters from "
        f"{SHARES[0]:.0%} of the molecules costs more than that: {lost:.2f} for independent tasks alone. When the "
        "parameters are the best ones for the unlabelled molecules, for both models alike, the difference is "
        f"{(coupled - alone).mean():+.2f} (p = {p:.1g}). Nothing but the choice of parameters changes between the two "
        "rows of each pair."
    )


def _intercept(gains: Gains) -> str:
    low = {
        (kind, centred): min(np.mean(gains[kind, centred, lam2]) for lam2 in LAMBDA2[1:]) for kind, centred, _ in gains
    }
    rows = [
        f"{_name(kind, centred)}: {np.mean(gains[kind, centred, 0.0]):.2f} without, {best:.2f} with"
        for (kind, centred), best in low.items()
    ]
    return (
        "The paper finds that unlabelled molecules lower the error. Model 0 at its best λ₂ > 0: "
        + "; ".join(rows)
        + ". "
        "Where they help, it is as an intercept: the graph penalty leaves constant functions free, while λ₁‖h‖² "
        "shrinks h towards zero, far from scores near six. Centring the outputs does the same without "
        "any unlabelled molecule."
    )


# ------------------------------------------------------------------------------------------------------------- tables


def _paired_table(compared: Comparison) -> Table:
    rows = []
    for (kind, centred, method), (p, corrected) in _tests(compared).items():
        gain = _gain(compared, kind, centred, SHARES[0], method)
        rows.append(
            {
                "outputs": _name(kind, centred),
                "coupled by": method,
                "independent": Spread.of(compared.of(kind, centred, SHARES[0], ALONE), digits=2),
                "coupled": Spread.of(compared.of(kind, centred, SHARES[0], method), digits=2),
                "gain": Spread.of(gain, digits=2),
                "ahead in": _wins(gain),
                "p": f"{p:.1g}",
                "p, Holm": f"{corrected:.1g}",
            }
        )
    return Table(f"{SHARES[0]:.0%} labelled, mean squared error on y: independent minus coupled", rows, ours=("gain",))


def _splits_table(compared: Comparison, seeds: list[int]) -> Table:
    rows = [
        {
            "outputs": _name(kind, centred),
            "seed": seed,
            **{method: f"{compared.of(kind, centred, SHARES[0], method)[i]:.2f}" for method in METHODS},
        }
        for kind, centred in itertools.product(OUTPUTS, (False, True))
        for i, seed in enumerate(seeds)
    ]
    return Table(f"Every split: mean squared error on y, {SHARES[0]:.0%} labelled", rows, ours=COUPLED)


def _cause_table(compared: Comparison) -> Table:
    rows = []
    for kind, centred in itertools.product(OUTPUTS, (False, True)):
        chosen = {method: compared.of(kind, centred, SHARES[0], method) for method in (ALONE, SIMILAR)}
        best = {method: np.array(compared.best[kind, centred, method]) for method in (ALONE, SIMILAR)}
        for how, errors in (("leave-one-out on the labelled", chosen), ("the unlabelled themselves", best)):
            gain = errors[ALONE] - errors[SIMILAR]
            rows.append(
                {
                    "outputs": _name(kind, centred),
                    "parameters chosen on": how,
                    ALONE: Spread.of(errors[ALONE], digits=2),
                    SIMILAR: Spread.of(errors[SIMILAR], digits=2),
                    "gain": Spread.of(gain, digits=2),
                    "ahead in": _wins(gain),
                    "p": f"{paired_p(errors[SIMILAR], errors[ALONE]):.1g}",
                }
            )
    note = "The second row of each pair is no method, as it looks at the answers; it says what there is to gain."
    return Table(
        f"One cause alone: who chooses the parameters, {SHARES[0]:.0%} labelled", rows, note=note, ours=("gain",)
    )


def _shares_table(compared: Comparison) -> Table:
    rows = []
    for kind, centred, share in itertools.product(OUTPUTS, (False, True), SHARES):
        row: dict[str, object] = {"outputs": _name(kind, centred), "labelled": f"{share:.0%}"}
        for method in (MEAN, ALONE, *COUPLED):
            row[method] = Spread.of(compared.of(kind, centred, share, method), digits=2)
        for method in COUPLED:
            p = paired_p(compared.of(kind, centred, share, method), compared.of(kind, centred, share, ALONE))
            row[f"p, {method}"] = f"{p:.1g}"
        rows.append(row)
    return Table("All shares: mean squared error on y, parameters chosen on the labelled", rows, ours=COUPLED)


def _centred_table(gains: Gains) -> Table:
    rows = [
        {
            "outputs": _name(kind, centred),
            **{f"λ₂ = {lam2:g}": Spread.of(gains[kind, centred, lam2], digits=2) for lam2 in LAMBDA2},
        }
        for kind, centred in itertools.product(OUTPUTS, (False, True))
    ]
    return Table(f"Model 0, λ₁ = {LAMBDA1:g}, {SHARES[0]:.0%} labelled: mean squared error on y", rows)


def _chosen_table(compared: Comparison) -> Table:
    rows = []
    for (kind, centred, share, method), parameters in compared.chosen.items():
        alphas, strengths = zip(*parameters, strict=True)
        rows.append(
            {
                "outputs": _name(kind, centred),
                "labelled": f"{share:.0%}",
                "method": method,
                "alpha": f"{np.median(alphas):.3g} ({min(alphas):.3g} to {max(alphas):.3g})",
                "μ_t": None
                if method != SIMILAR
                else f"{np.median(strengths):.3g} ({min(strengths)} to {max(strengths)})",
            }
        )
    return Table("What was chosen: median (smallest to largest) over the splits", rows, folded=True)


# ------------------------------------------------------------------------------------------------------------ figures


def _paired_figure(compared: Comparison) -> Figure:
    readings = list(itertools.product(OUTPUTS, (False, True)))

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        for place, (kind, centred) in enumerate(readings):
            for method, colour, shift in zip(COUPLED, (OURS, THEIRS), (-0.15, 0.15), strict=True):
                gain = _gain(compared, kind, centred, SHARES[0], method)
                at = [place + shift] * len(gain)
                axes.plot(gain, at, "|", color=colour, alpha=0.6, markersize=9)
                axes.plot(gain.mean(), place + shift, "o", color=colour, label=None if place else method)
        axes.axvline(0, color=MUTED, linewidth=1)
        axes.set_yticks(range(len(readings)), [_name(*reading) for reading in readings])
        axes.invert_yaxis()
        axes.set_xlabel("independent minus coupled, error on y")
        canvas.legend(loc="outside upper center", ncols=2)

    caption = (
        f"{SHARES[0]:.0%} labelled: what coupling gains, a stroke per split, a dot at their mean; right of 0 it helps."
    )
    return plot(draw, caption=caption, size=(4.8, 3.4))
