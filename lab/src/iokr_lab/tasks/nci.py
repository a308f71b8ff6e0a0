"""B16 Figures 6 and 7: activity of molecules against 59 cancer cell lines with coupled tasks.

The published grid over λ₂ and μ_t, with errors in the published metric and on y; and coupled against independent tasks
with all parameters chosen on the labelled molecules, split by split.
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
HEADLINE = ("±1", True)  # outputs as in the table of the authors of the data, with an intercept
SETTINGS = tuple(itertools.product(OUTPUTS, (False, True)))  # outputs, centred
Gains = dict[tuple[str, bool], list[Matrix]]  # errors of model 0: setting → λ₂ → a value per split


def page(results: Results, plan: Plan, data: protocol.Data) -> Report:
    """Coupled against independent tasks with all parameters chosen on the labelled part, then Figures 6 and 7."""
    errors = swept_errors(results)
    gains = _gains(results, errors)
    seeds = range(plan.seed, plan.seed + plan.repeat)
    n, d = data.nci.score.shape
    return Report(
        "NCI-Cancer: 59 coupled cell lines",
        _summary(results),
        (
            Text("Coupled against independent tasks", (_CHOICE, _verdict(results))),
            _paired_table(results),
            _paired_figure(results),
            _splits_table(results, seeds),
            Text("Outputs on which coupling does not help", (_cause(results),)),
            _cause_table(results),
            _fractions_table(results),
            Text("Figures 6 and 7 as published", (_PROTOCOL, _metrics(errors))),
            claims_table(errors),
            *(figure6(errors, kind, model) for kind in OUTPUTS for model in (2, 1)),
            *(figure7(errors, kind, metric) for kind in OUTPUTS for metric in ("published", "y")),
            figure7_table(errors),
            Text("Effect of the unlabelled molecules", (_intercept(gains),)),
            _centred_table(gains),
            sweep_table(errors),
            Text("Kernel from structures", (_structures(data),)),
            *_structures_tables(results),
            _chosen_table(results),
        ),
        (
            f"Errors are means over the unlabelled molecules of the squared norm over {d} cell lines. {n} molecules "
            f"(the paper has 2303), {plan.repeat} random draws of the labelled ones, seeds {seeds[0]} to {seeds[-1]}; "
            "± is the standard deviation over them.",
            "p: paired t-test over the splits, two-sided; Holm's correction is over all comparisons of a table. The "
            "labelled molecules are drawn independently for every split, so p concerns these molecules, not others.",
            "The paper prints curves without numbers, and does not state whether outputs are ±1 or scores: both are "
            "run.",
            "M_pq = exp(−γ‖Yᵖ − Y^q‖²) from the labelled outputs, with 1/γ the median of these squared distances; the "
            "paper chooses γ by an information criterion that it does not define.",
        ),
    )


def _of(results: Results, kind: str, centred: bool, method: str, what: str = "error", at: int = 0) -> Matrix:
    """A value per split, at the smallest fraction or another."""
    same: dict[str, Any] = {"outputs": kind, "centred": centred, "fraction": FRACTIONS[at]}
    return np.array(results.numbers(protocol.Comparison, f"{what}.{method}", **same))


def _gain(results: Results, kind: str, centred: bool, method: str, what: str = "error", at: int = 0) -> Difference:
    """Error of independent tasks minus that of coupled ones; splits are drawn anew."""
    alone = _of(results, kind, centred, ALONE, what, at)
    coupled = _of(results, kind, centred, method, what, at)
    return difference(alone, coupled, ratio=0)


def _gains(results: Results, errors: Errors) -> Gains:
    """Model 0 at the smallest fraction, on outputs as they are and centred."""
    gains: Gains = {}
    for kind, centred in SETTINGS:
        found = np.array(results.numbers(protocol.Sweep, "centred", outputs=kind, fraction=FRACTIONS[0]))
        as_they_are = [errors[kind, FRACTIONS[0], 1, lam2, 0.0, "y"] for lam2 in LAMBDA2]
        gains[kind, centred] = list(found.T) if centred else as_they_are
    return gains


# --------------------------------------------------------------------------------------------------------------- text

_CHOICE = (
    "Supervised models with the Tanimoto kernel. `alpha` and the task weight of the coupling are chosen by exact "
    "leave-one-out on the labelled molecules, from the same grid of alphas for every method; the unlabelled molecules "
    f"are used for evaluation only. “{ALONE}” uses one alpha for all tasks, “{OWN}” one per task. “{SIMILAR}” is the "
    f"paper's model 2 with the similarity of labelled outputs, “{LEARNED}” learns the operator. “Centred” models have "
    "an intercept for every task."
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
        "The published error of model 1 uses the metric A₁, which depends on μ_t and differs from that of models 0 and "
        "2. On y, model 1 makes exactly the predictions of model 0 for every μ_t: its curve over μ_t reflects the "
        f"metric, not the predictions. In the paper this curve decreases. Here it increases, with {FRACTIONS[0]:.0%} "
        f"labelled and outputs ±1 from {plain:.1f} at μ_t = 0 to {metric:.0f} at μ_t = 1: the errors of a molecule "
        "have mostly the same sign over the cell lines, and a similarity M with unit diagonal and without negative "
        "entries adds them up. For a decreasing curve, M would have to be scaled in a way that the paper does not "
        "describe."
    )


def _name(kind: str, centred: bool) -> str:
    return f"{kind}, {'centred' if centred else 'not centred'}"


def _summary(results: Results) -> str:
    parts = []
    for method in COUPLED:
        gain = _gain(results, *HEADLINE, method)
        error = _of(results, *HEADLINE, method).mean()
        parts.append(f"{method} {error:.2f} (wins {gain.wins} of {gain.n}{_p(gain)})")
    alone = _of(results, *HEADLINE, ALONE).mean()
    return (
        f"Mean squared error on y with {FRACTIONS[0]:.0%} of the molecules labelled, outputs {_name(*HEADLINE)}: "
        f"independent tasks {alone:.2f}, {' and '.join(parts)}. Output coupling as in the paper's model 1 has no "
        "effect on y."
    )


def _p(found: Difference) -> str:
    return "" if math.isnan(found.p) else f", p = {found.p:.1g}"


def _verdict(results: Results) -> str:
    keys = list(itertools.product(SETTINGS, COUPLED))
    gains = [_gain(results, *setting, method) for setting, method in keys]
    lists: dict[str, list[str]] = {"Better": [], "Worse": [], "Not significant": []}
    for (setting, method), gain, p in zip(keys, gains, holm([gain.p for gain in gains]), strict=True):
        verdict = "Not significant"
        if p <= 0.05:
            verdict = "Better" if gain.mean > 0 else "Worse"
        lists[verdict].append(f"{method} on {_name(*setting)}")
    parts = [f"{verdict}: {'; '.join(names)}." for verdict, names in lists.items() if names]
    return f"{FRACTIONS[0]:.0%} labelled, at the 5 % level after correction. {' '.join(parts)}"


def _cause(results: Results) -> str:
    setting = ("score", True)
    chosen = -_gain(results, *setting, SIMILAR, "error").mean
    best = _gain(results, *setting, SIMILAR, "best")
    lost = (_of(results, *setting, ALONE) - _of(results, *setting, ALONE, "best")).mean()
    return (
        f"On centred scores, coupling changes the error by {chosen:+.2f}. The scores of a molecule are nearly equal "
        f"for the 59 cell lines, so tasks share little information, and the choice of parameters on {FRACTIONS[0]:.0%} "
        f"of the molecules costs more: {lost:.2f} for independent tasks. With the best parameters for the unlabelled "
        f"molecules in both models, the difference is {-best.mean:+.2f}{_p(best)}. The two rows of each pair differ "
        "only in the choice of parameters."
    )


def _intercept(gains: Gains) -> str:
    rows = []
    for setting, errors in gains.items():
        best = min(error.mean() for error in errors[1:])
        rows.append(f"{_name(*setting)}: {errors[0].mean():.2f} without, {best:.2f} with")
    return (
        f"In the paper unlabelled molecules lower the error. Model 0 at its best λ₂ > 0: {'; '.join(rows)}. If they "
        "help, it is by acting as an intercept: the graph penalty does not penalise constant functions, while λ₁‖h‖² "
        "shrinks h towards zero, far from scores near six. Centring the outputs has the same effect without unlabelled "
        "molecules."
    )


def _structures(data: protocol.Data) -> str:
    if isinstance(data.structures, str):
        return f"The kernel was not computed from the structures of the molecules. {data.structures}"
    apart = float(np.abs(data.structures - data.modes.K).max())
    kernel = f"TanimotoOf(Paths({protocol.BONDS}))"
    comparison = "identical" if apart == 0 else f"different by at most {apart:.2g}"
    return (
        f"The kernel above uses the features of `nci_cancer/paths.npz`. `{kernel}` computes it from the molecules' "
        f"SMILES; over all pairs of the {len(data.modes.K)} molecules the two kernels are {comparison}. The table "
        "shows errors of independent tasks with both."
    )


# ------------------------------------------------------------------------------------------------------------- tables


_INDEPENDENT = "The labelled molecules are drawn independently for every split, so no correction is needed (ρ = 0)."


def _comparison(
    results: Results, setting: tuple[str, bool], method: str, what: str = "error", name: str = "coupled", **more: str
) -> tuple[dict[str, Any], Difference]:
    """A row of a paired table: the two errors and their difference."""
    alone = Spread.of(_of(results, *setting, ALONE, what), digits=2)
    coupled = Spread.of(_of(results, *setting, method, what), digits=2)
    row = {"outputs": _name(*setting), **more, ALONE: alone, name: coupled}
    return row, _gain(results, *setting, method, what)


def _paired_table(results: Results) -> Table:
    rows = [
        _comparison(results, setting, method, **{"coupled by": method})
        for setting, method in itertools.product(SETTINGS, COUPLED)
    ]
    title = f"{FRACTIONS[0]:.0%} labelled, mean squared error on y: independent minus coupled"
    return paired(title, rows, note=_INDEPENDENT, digits=2, ours=("difference",))


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
    ways = {"error": "labelled molecules, by leave-one-out", "best": "unlabelled molecules"}
    rows = [
        _comparison(results, setting, SIMILAR, what, SIMILAR, **{"parameters chosen on": way})
        for setting in SETTINGS
        for what, way in ways.items()
    ]
    note = "The second row of each pair uses the test outputs; it shows the possible gain and is not a method."
    title = f"Effect of the choice of parameters, {FRACTIONS[0]:.0%} labelled"
    return paired(title, rows, note=f"{note} {_INDEPENDENT}", digits=2, ours=("difference",))


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
    return Table(
        "All labelled fractions: mean squared error on y, parameters chosen on the labelled molecules",
        rows,
        ours=COUPLED,
    )


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
    """Errors with the features of the data set and from structures, if the latter was run."""
    if not results.of(protocol.FromStructures):
        return []
    rows = []
    for kind, centred in SETTINGS:
        shipped = _of(results, kind, centred, ALONE)
        ours = np.array(results.numbers(protocol.FromStructures, "error", outputs=kind, centred=centred))
        rows.append(
            {
                "outputs": _name(kind, centred),
                "features of the data set": Spread.of(shipped, digits=2),
                "from structures": Spread.of(ours, digits=2),
                "largest difference on a split": f"{np.abs(ours - shipped).max():.2g}",
            }
        )
    title = f"Independent tasks by source of the paths: mean squared error on y, {FRACTIONS[0]:.0%} labelled"
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
        for case, cell in results.of(protocol.Comparison).items()
        for method, alpha in cell["alpha"].items()
    ]
    return chosen(
        pd.DataFrame(every),
        by={name: name for name in ("outputs", "labelled", "method")},
        what={name: name for name in ("alpha", "μ_t")},
        title="Chosen parameters: median (smallest to largest) over the splits",
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
        f"{FRACTIONS[0]:.0%} labelled: gain by coupling, a mark per split, dots at the means; positive values favour "
        "coupling."
    )
    return plot(draw, caption=caption, size=(4.8, 3.4))


PLANS = {"short": Plan(repeat=1), "default": Plan(repeat=10)}
STUDY = Study(plans=PLANS, load=protocol.load, cases=protocol.cases, work=protocol.work, page=page)
