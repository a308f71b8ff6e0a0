"""B16 Figures 6 and 7: activity of molecules against 59 cancer cell lines, tasks that should help each other.

Run as published over λ₂ and μ_t, errors in the published metric beside errors on y; then every parameter chosen on the
labelled molecules, coupled tasks against independent ones, split by split.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd

from iokr.apps.report import MUTED, OURS, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.apps.report.figures import Canvas
from iokr_lab.study import Plan, Results, Study
from iokr_lab.tables import Difference, chosen, difference, holm, paired
from iokr_lab.tasks import protocol
from iokr_lab.tasks.figures import Errors, claims_table, figure6, figure7, figure7_table, sweep_table, swept_errors
from iokr_lab.tasks.protocol import ALONE, FRACTIONS, LAMBDA2, LEARNED, MEAN, METHODS, OUTPUTS, OWN, SIMILAR, Matrix

__all__ = ["STUDY"]

COUPLED = (SIMILAR, LEARNED)
HEADLINE = ("±1", True)  # outputs as in the data author's own table, with an intercept
SETTINGS = tuple(itertools.product(OUTPUTS, (False, True)))  # outputs, centred
Gains = dict[tuple[str, bool], list[Matrix]]  # model 0: for each λ₂ a value per split


def page(results: Results, plan: Plan, data: protocol.Data) -> Report:
    """Coupled against independent tasks with every parameter chosen on the labelled part, then Figures 6 and 7."""
    errors = swept_errors(results)
    gains = _gains(results, errors)
    seeds = range(plan.seed, plan.seed + plan.repeat)
    n, d = data.nci.score.shape
    return Report(
        "NCI-Cancer: 59 cell lines that should help each other",
        _summary(results),
        (
            Text("Coupled against independent tasks", (_CHOICE, _verdict(results))),
            _paired_table(results),
            _paired_figure(results),
            _splits_table(results, seeds),
            Text("Where coupling does not help", (_cause(results),)),
            _cause_table(results),
            _fractions_table(results),
            Text("Figures 6 and 7 as published", (_PROTOCOL, _metrics(errors))),
            claims_table(errors),
            *(figure6(errors, kind, model) for kind in OUTPUTS for model in (2, 1)),
            *(figure7(errors, kind, metric) for kind in OUTPUTS for metric in ("published", "y")),
            figure7_table(errors),
            Text("What the unlabelled molecules give", (_intercept(gains),)),
            _centred_table(gains),
            sweep_table(errors),
            Text("From structures", (_structures(results, data),)),
            *_structures_tables(results),
            _chosen_table(results),
        ),
        (
            f"Errors are means over the unlabelled molecules of the squared norm over {d} cell lines. {n} molecules "
            f"(the paper has 2303), {plan.repeat} random choices of the labelled ones, seeds {seeds[0]} to "
            f"{seeds[-1]}; ± is the standard deviation over them.",
            "p: paired t-test over the splits, two-sided; Holm's correction is over all comparisons of the table. The "
            "labelled molecules are drawn anew for every split, so p is about these molecules, not about others.",
            "The paper prints no number, only curves, and does not say whether outputs are ±1 or scores: both are run.",
            "M_pq = exp(−γ‖Yᵖ − Y^q‖²) from the labelled outputs, 1/γ the median of these squared distances; the paper "
            "takes γ from an information criterion that it does not define.",
        ),
    )


def _of(results: Results, kind: str, centred: bool, method: str, what: str = "error", at: int = 0) -> Matrix:
    """A value per split, at the smallest fraction or another."""
    same: dict[str, Any] = {"outputs": kind, "centred": centred, "fraction": FRACTIONS[at]}
    return np.array(results.numbers(protocol.Compared, f"{what}.{method}", **same))


def _gain(results: Results, kind: str, centred: bool, method: str, what: str = "error", at: int = 0) -> Difference:
    """Error of independent tasks minus that of coupled ones; splits are drawn anew."""
    alone = _of(results, kind, centred, ALONE, what, at)
    coupled = _of(results, kind, centred, method, what, at)
    return difference(alone, coupled, ratio=0)


def _gains(results: Results, errors: Errors) -> Gains:
    """Model 0 at the smallest fraction, on outputs as they are and centred."""
    gains: Gains = {}
    for kind, centred in SETTINGS:
        found = np.array(results.numbers(protocol.Swept, "centred", outputs=kind, fraction=FRACTIONS[0]))
        as_they_are = [errors[kind, FRACTIONS[0], 1, lam2, 0.0, "y"] for lam2 in LAMBDA2]
        gains[kind, centred] = list(found.T) if centred else as_they_are
    return gains


# --------------------------------------------------------------------------------------------------------------- text

_CHOICE = (
    "Supervised, Tanimoto kernel. `alpha`, and the task_weight of the coupling, are chosen by exact leave-one-out on "
    "the labelled molecules, from the same grid of alphas for every method; the unlabelled ones are only used to "
    f"measure. “{ALONE}” shares one alpha between all tasks, “{OWN}” gives each task its own. “{SIMILAR}” is the "
    f"paper's model 2 with the similarity of labelled outputs, “{LEARNED}” learns the operator instead."
)
_PROTOCOL = (
    f"λ₁ = {protocol.LAMBDA1:g}, transductive, the graph of {protocol.NEIGHBORS} nearest neighbours of the Tanimoto "
    f"kernel, symmetrised by the mean, its Laplacian to the power {protocol.POWER}. Model 0 has independent tasks, "
    "model 1 couples them through the output kernel, A₁ = μ_t M + (1−μ_t)I, model 2 through the input kernel, A₂ = "
    "(μ_t L_M + (1−μ_t)I)⁻¹."
)


def _metrics(errors: Errors) -> str:
    plain = errors["±1", FRACTIONS[0], 1, 0.0, 0.0, "published"].mean()
    metric = errors["±1", FRACTIONS[0], 1, 0.0, 1.0, "published"].mean()
    return (
        "The published error of model 1 is measured in the metric A₁, which changes with μ_t and is another one than "
        "that of models 0 and 2. On y, model 1 predicts exactly what model 0 predicts, whatever μ_t: a curve of model "
        "1 over μ_t shows how the ruler changes, not how predictions do. In the paper that curve falls. Here it rises, "
        f"with {FRACTIONS[0]:.0%} labelled and outputs ±1 from {plain:.1f} at μ_t = 0 to {metric:.0f} at μ_t = 1: the "
        "errors on a molecule mostly agree in sign over the lines, and a similarity M with ones on its diagonal and no "
        "negative entry then adds them up. To fall, M must be scaled in a way that the paper does not describe."
    )


def _name(kind: str, centred: bool) -> str:
    return f"{kind}, {'centred' if centred else 'as they are'}"


def _summary(results: Results) -> str:
    parts = []
    for method in COUPLED:
        gain = _gain(results, *HEADLINE, method)
        error = _of(results, *HEADLINE, method).mean()
        parts.append(f"{method} {error:.2f} (ahead in {gain.wins} of {gain.n}{_p(gain)})")
    alone = _of(results, *HEADLINE, ALONE).mean()
    return (
        f"Mean squared error on y with {FRACTIONS[0]:.0%} of the molecules labelled, outputs {_name(*HEADLINE)}: "
        f"independent tasks {alone:.2f}, {' and '.join(parts)}. Output coupling as in the paper's model 1 changes "
        "nothing on y."
    )


def _p(found: Difference) -> str:
    return "" if math.isnan(found.p) else f", p = {found.p:.1g}"


def _verdict(results: Results) -> str:
    keys = list(itertools.product(SETTINGS, COUPLED))
    gains = [_gain(results, *setting, method) for setting, method in keys]
    lists: dict[str, list[str]] = {"Better": [], "Worse": [], "Undecided": []}
    for (setting, method), gain, p in zip(keys, gains, holm([gain.p for gain in gains]), strict=True):
        word = "Undecided" if not p <= 0.05 else "Better" if gain.mean > 0 else "Worse"
        lists[word].append(f"{method} on {_name(*setting)}")
    return f"At {FRACTIONS[0]:.0%} labelled, at the 5 % level after correction. " + " ".join(
        f"{word}: {'; '.join(names)}." for word, names in lists.items() if names
    )


def _cause(results: Results) -> str:
    setting = "score", True
    chosen = -_gain(results, *setting, SIMILAR, "error").mean
    best = -_gain(results, *setting, SIMILAR, "best").mean
    lost = (_of(results, *setting, ALONE) - _of(results, *setting, ALONE, "best")).mean()
    return (
        f"On centred scores coupling changes the error by {chosen:+.2f}. The scores of a molecule against the 59 lines "
        "are nearly one number, so there is little that one task could tell another, and the choice of parameters from "
        f"{FRACTIONS[0]:.0%} of the molecules costs more than that: {lost:.2f} for independent tasks alone. When the "
        "parameters are the best ones for the unlabelled molecules, for both models alike, the difference is "
        f"{best:+.2f}{_p(_gain(results, *setting, SIMILAR, 'best'))}. Nothing but the choice of parameters changes "
        "between the two rows of each pair."
    )


def _intercept(gains: Gains) -> str:
    rows = [
        f"{_name(*setting)}: {errors[0].mean():.2f} without, {min(error.mean() for error in errors[1:]):.2f} with"
        for setting, errors in gains.items()
    ]
    return (
        f"The paper finds that unlabelled molecules lower the error. Model 0 at its best λ₂ > 0: {'; '.join(rows)}. "
        "Where they help, it is as an intercept: the graph penalty leaves constant functions free, while λ₁‖h‖² "
        "shrinks h towards zero, far from scores near six. Centring the outputs does the same without any unlabelled "
        "molecule."
    )


def _structures(results: Results, data: protocol.Data) -> str:
    if isinstance(data.structures, str):
        return f"The kernel was not computed from the structures of the molecules. {data.structures}"
    apart = float(np.abs(data.structures - data.modes.K).max())
    kernel = f"TanimotoOf(Paths({protocol.BONDS}))"
    same = "the same to the last digit" if apart == 0 else f"at most {apart:.2g} apart"
    return (
        f"The kernel so far is that of the features of `nci_cancer/paths.npz`. `{kernel}` reads the molecules' SMILES "
        f"instead; over all pairs of the {len(data.modes.K)} molecules the two kernels are {same}. Below, errors of "
        "independent tasks with either."
    )


# ------------------------------------------------------------------------------------------------------------- tables


_ANEW = "The labelled molecules are drawn anew for every split, so there is nothing to correct for (ρ = 0)."


def _comparison(
    results: Results, setting: tuple[str, bool], method: str, what: str = "error", name: str = "coupled", **more: str
) -> tuple[dict[str, Any], Difference]:
    """A row of a paired table: the two errors and their difference."""
    alone = Spread.of(_of(results, *setting, ALONE, what), digits=2)
    coupled = Spread.of(_of(results, *setting, method, what), digits=2)
    return {"outputs": _name(*setting), **more, ALONE: alone, name: coupled}, _gain(results, *setting, method, what)


def _paired_table(results: Results) -> Table:
    rows = [
        _comparison(results, setting, method, **{"coupled by": method})
        for setting, method in itertools.product(SETTINGS, COUPLED)
    ]
    title = f"{FRACTIONS[0]:.0%} labelled, mean squared error on y: independent minus coupled"
    return paired(title, rows, note=_ANEW, digits=2, ours=("difference",))


def _splits_table(results: Results, seeds: range) -> Table:
    errors = {(setting, method): _of(results, *setting, method) for setting in SETTINGS for method in METHODS}
    rows = [
        {
            "outputs": _name(*setting),
            "seed": seed,
            **{method: f"{errors[setting, method][i]:.2f}" for method in METHODS},
        }
        for setting in SETTINGS
        for i, seed in enumerate(seeds)
    ]
    return Table(f"Every split: mean squared error on y, {FRACTIONS[0]:.0%} labelled", rows, ours=COUPLED)


def _cause_table(results: Results) -> Table:
    ways = {"error": "leave-one-out on the labelled", "best": "the unlabelled themselves"}
    rows = [
        _comparison(results, setting, SIMILAR, what, SIMILAR, **{"parameters chosen on": way})
        for setting in SETTINGS
        for what, way in ways.items()
    ]
    note = "The second row of each pair is no method, as it looks at the answers; it says what there is to gain."
    title = f"One cause alone: who chooses the parameters, {FRACTIONS[0]:.0%} labelled"
    return paired(title, rows, note=f"{note} {_ANEW}", digits=2, ours=("difference",))


def _fractions_table(results: Results) -> Table:
    rows = []
    for setting, (at, fraction) in itertools.product(SETTINGS, enumerate(FRACTIONS)):
        row: dict[str, object] = {"outputs": _name(*setting), "labelled": f"{fraction:.0%}"}
        for method in (MEAN, ALONE, *COUPLED):
            row[method] = Spread.of(_of(results, *setting, method, at=at), digits=2)
        for method in COUPLED:
            p = _gain(results, *setting, method, at=at).p
            row[f"p, {method}"] = None if math.isnan(p) else f"{p:.1g}"
        rows.append(row)
    return Table("All shares: mean squared error on y, parameters chosen on the labelled", rows, ours=COUPLED)


def _centred_table(gains: Gains) -> Table:
    rows = [
        {
            "outputs": _name(*setting),
            **{f"λ₂ = {lam2:g}": Spread.of(found, digits=2) for lam2, found in zip(LAMBDA2, errors, strict=True)},
        }
        for setting, errors in gains.items()
    ]
    return Table(f"Model 0, λ₁ = {protocol.LAMBDA1:g}, {FRACTIONS[0]:.0%} labelled: mean squared error on y", rows)


def _structures_tables(results: Results) -> list[Table]:
    """Errors with the shipped features and from structures, if that was run."""
    if not results.of(protocol.FromStructures):
        return []
    rows = []
    for kind, centred in SETTINGS:
        shipped = _of(results, kind, centred, ALONE)
        ours = np.array(results.numbers(protocol.FromStructures, "error", outputs=kind, centred=centred))
        rows.append(
            {
                "outputs": _name(kind, centred),
                "shipped features": Spread.of(shipped, digits=2),
                "from structures": Spread.of(ours, digits=2),
                "largest difference of a split": f"{np.abs(ours - shipped).max():.2g}",
            }
        )
    title = f"Independent tasks by where the paths come from: mean squared error on y, {FRACTIONS[0]:.0%} labelled"
    return [Table(title, rows, ours=("from structures",))]


def _chosen_table(results: Results) -> Table:
    every = [
        {
            "outputs": _name(case.outputs, case.centred),
            "labelled": f"{case.fraction:.0%}",
            "method": method,
            "alpha": alpha,
            "μ_t": cell["task_weight"][method] if method == SIMILAR else None,
        }
        for case, cell in results.of(protocol.Compared).items()
        for method, alpha in cell["alpha"].items()
    ]
    return chosen(
        pd.DataFrame(every),
        by={name: name for name in ("outputs", "labelled", "method")},
        what={name: name for name in ("alpha", "μ_t")},
        title="What was chosen: median (smallest to largest) over the splits",
        numbers="range",
    )


# ------------------------------------------------------------------------------------------------------------- figure


def _paired_figure(results: Results) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        for place, setting in enumerate(SETTINGS):
            for method, colour, shift in zip(COUPLED, (OURS, THEIRS), (-0.15, 0.15), strict=True):
                gain = _of(results, *setting, ALONE) - _of(results, *setting, method)
                axes.plot(gain, [place + shift] * len(gain), "|", color=colour, alpha=0.6, markersize=9)
                axes.plot(gain.mean(), place + shift, "o", color=colour, label=None if place else method)
        axes.axvline(0, color=MUTED, linewidth=1)
        axes.set_yticks(range(len(SETTINGS)), [_name(*setting) for setting in SETTINGS])
        axes.invert_yaxis()
        axes.set_xlabel("independent minus coupled, error on y")
        canvas.legend(loc="outside upper center", ncols=2)

    caption = (
        f"{FRACTIONS[0]:.0%} labelled: what coupling gains, a stroke per split, a dot at the mean; right of 0 it helps."
    )
    return plot(draw, caption=caption, size=(4.8, 3.4))


PLANS = {"short": Plan(repeat=1), "default": Plan(repeat=10)}
STUDY = Study(plans=PLANS, load=protocol.load, cases=protocol.cases, work=protocol.work, page=page)
