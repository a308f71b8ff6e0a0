"""HV10 Table 1 and Fig. 2: kernels for unordered pairs between TPPK and local models, on two yeast networks."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold

from iokr.apps.report import INK, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.apps.report.figures import Canvas
from iokr.estimators.pairs.cv import PairModelCV
from iokr.estimators.pairs.model import PairModel
from iokr.losses.margin import MaxMargin
from iokr.solvers.iterative.coordinate_descent import CoordinateDescent
from iokr_lab.data.networks import load_yeast_metabolic, load_yeast_ppi
from iokr_lab.lookup import Lookup
from iokr_lab.pairs.data import Matrix, labelled_pairs, node_gram
from iokr_lab.pairs.significance import significance_table
from iokr_lab.published import published
from iokr_lab.study import Case, Plan, Results, Study
from iokr_lab.timing import timed

__all__ = ["STUDY"]

KERNEL = "kernel"
DUPLICATE = "duplicate"
BOTH = "both"  # the two strategies are equal at δ = 0
_DIGITS = 9  # scores are rounded, as many pairs have identical localisations


@dataclass(frozen=True)
class Row:
    """A row of HV10 Table 1: the best strategy and its δ."""

    network: str
    inputs: str
    strategy: str
    mix: float

    def __str__(self) -> str:
        return f"{self.network}, {self.inputs}"


def _published_rows() -> Iterator[Row]:
    for name, columns in published("hv10_table1").items():
        network, inputs = name.split(", ")
        for strategy, best in columns.items():
            yield Row(network, inputs, strategy, best.mean)


PUBLISHED = tuple(_published_rows())
POSSIBLE = tuple(row for row in PUBLISHED if row.inputs != "phy")  # phylogenetic profiles are not available


@dataclass(frozen=True)
class PairsPlan(Plan):
    """The part of the published protocol that is run; decoys and folds are drawn once.

    `inner` is the number of inner folds used to choose C; 1 is a single split. `tol_inner` and `tol` are the duality
    gaps at which SVMs stop there and in the final fit, `steps` the maximal number of steps for one C.
    """

    repeat: int = 0
    mixes: tuple[float, ...] = (0.0, 0.5, 1.0)
    decoys: int = 2
    inner: int = 1
    costs: tuple[float, ...] = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0)
    folds: int = 5
    tol_inner: float = 5e-3
    tol: float = 2e-3
    steps: int = 600

    @property
    def description(self) -> str:
        """The size of the run, for the page."""
        choice = "one inner split" if self.inner == 1 else f"{self.inner} inner folds"
        return f"{len(self.mixes)} values of δ, {self.decoys} decoys per edge, C by {choice}"


PLANS = {
    "short": PairsPlan(mixes=(0.0, 1.0), decoys=1, costs=(1.0, 8.0), folds=2, tol_inner=2e-2, tol=1e-2),
    "default": PairsPlan(),
    "full": PairsPlan(mixes=tuple(round(0.1 * i, 1) for i in range(11)), decoys=9, inner=5, tol_inner=2e-3, tol=1e-3),
}


@dataclass(frozen=True)
class Fold(Case):
    """One fold for one strategy and δ."""

    network: str
    inputs: str
    strategy: str
    mix: float
    fold: int

    def __str__(self) -> str:
        return f"{self.network}, {self.inputs}, {self.strategy}, δ = {self.mix:g}, fold {self.fold}"


def cases(plan: PairsPlan, data: object) -> list[Fold]:
    """Every fold; at δ = 0 both strategies are equal and only one is run."""
    return [
        Fold(row.network, row.inputs, strategy, mix, fold)
        for row, mix in itertools.product(POSSIBLE, plan.mixes)
        for strategy in ((KERNEL, DUPLICATE) if mix > 0 else (KERNEL,))
        for fold in range(plan.folds)
    ]


# ------------------------------------------------------------------------------------------------------------- data


@dataclass(frozen=True)
class Data:
    """Gram matrices by network and inputs; pairs and their labels by network."""

    grams: dict[tuple[str, str], Matrix]
    pairs: dict[str, tuple[NDArray[np.int64], Matrix]]


def load(plan: PairsPlan) -> Data:
    """Both networks, their kernels, and the decoys of the plan."""
    networks = {"interaction": load_yeast_ppi(), "metabolic": load_yeast_metabolic()}
    return Data(
        {(row.network, row.inputs): node_gram(networks[row.network], row.inputs) for row in POSSIBLE},
        {name: labelled_pairs(network, plan.decoys, plan.seed) for name, network in networks.items()},
    )


# ------------------------------------------------------------------------------------------------------------- runs


def alpha_of(cost: float) -> float:
    """α = 2/C: the published C belongs to a kernel that is half of ours."""
    return 2 / cost


def work(case: Fold, plan: PairsPlan, data: Data) -> dict[str, Any]:
    """ROC of one fold with C chosen by inner splits of its training pairs."""
    cell, seconds = timed(lambda: _fold(case, plan, data))
    return {**cell, "seconds": round(seconds, 2)}


def _fold(case: Fold, plan: PairsPlan, data: Data) -> dict[str, Any]:
    K = Lookup(data.grams[case.network, case.inputs])
    pairs, y = data.pairs[case.network]
    nodes = np.arange(len(K.matrix))
    folds = StratifiedKFold(plan.folds, shuffle=True, random_state=plan.seed)
    train, test = list(folds.split(pairs, y))[case.fold]
    alphas = [alpha_of(cost) for cost in plan.costs]

    inner = StratifiedKFold(max(plan.inner, 5), shuffle=True, random_state=plan.seed + 1)
    search = PairModelCV(
        K,
        strategies=(case.strategy,),
        mixes=(case.mix,),
        alphas=alphas,
        loss=MaxMargin(),
        cv=list(itertools.islice(inner.split(pairs[train], y[train]), plan.inner)),
        solver=CoordinateDescent(plan.tol_inner, plan.steps),
        refit=False,
    ).fit(nodes, pairs[train], y[train])
    best = alphas.index(search.alpha_)
    # Warm starts from C = 1 upwards: an SVM with a large C converges faster from one with a smaller C.
    solver = CoordinateDescent(plan.tol, plan.steps)
    model = PairModel(K, strategy=case.strategy, mix=case.mix, loss=MaxMargin(), solver=solver)
    *_, fitted = model.path(nodes, pairs[train], y[train], alphas[: best + 1])
    return {
        "roc": roc(y[test], fitted.decision_function(pairs[test])),
        "C": plan.costs[best],
        "gap": float(fitted.solution_.gap),
    }


def roc(y: Matrix, f: Any) -> float:
    """Area under the ROC curve; scores equal up to rounding are ties."""
    f = np.asarray(f)
    return float(roc_auc_score(y, np.round(f / max(float(np.abs(f).max()), 1e-300), _DIGITS)))


# ---------------------------------------------------------------------------------------------------------------- page

NAMES = {KERNEL: "pair kernel", DUPLICATE: "duplicate", BOTH: "both (TPPK)"}
SHOWN = (("metabolic", "loc"), ("interaction", "exp"), ("interaction", "integrated"))  # Fig. 2
Curve = dict[str, list[list[float]]]  # strategy → δ → ROC of every fold
Curves = dict[Row, Curve]


def page(results: Results, plan: PairsPlan, data: object) -> Report:
    """Mean ROC of support vector machines on pairs along δ, for both strategies."""
    found = {row: curve(results, row, plan) for row in POSSIBLE}
    figures = {row: _curve_figure(row, found[row], plan) for row in POSSIBLE}
    return Report(
        "Unordered pairs: between TPPK and local models",
        _summary(found, plan),
        (
            Text("The setting", (_SETTING, _extent(results, plan))),
            winners_table(found, plan),
            significance_table({str(row): _compared(found[row], plan) for row in POSSIBLE}, plan.folds),
            *(figure for row, figure in figures.items() if (row.network, row.inputs) in SHOWN),
            roc_table(found, plan),
            *(figure for row, figure in figures.items() if (row.network, row.inputs) not in SHOWN),
            Text("Differences to the paper", _DIFFERENCES),
            _cells_table(results),
        ),
        (
            f"± is the standard deviation over the {plan.folds} folds of one draw of decoys.",
            "The best strategy and δ are chosen on the folds that evaluate them; leads that are small compared with ± "
            "are not meaningful.",
            "The paper prints no ROC, only the best strategy and δ of each row.",
            "Pairs with identical localisations are ties: scores are compared to nine digits.",
            "HV10: Table 1 without the two rows of phylogenetic profiles, its test of significance, and Figure 2.",
        ),
    )


def curve(results: Results, row: Row, plan: PairsPlan) -> Curve:
    """ROC of every fold along δ, for each strategy."""

    def folds(strategy: str, mix: float) -> list[float]:
        run = strategy if mix > 0 else KERNEL
        return results.numbers(Fold, "roc", network=row.network, inputs=row.inputs, strategy=run, mix=mix)

    return {strategy: [folds(strategy, mix) for mix in plan.mixes] for strategy in (KERNEL, DUPLICATE)}


# ------------------------------------------------------------------------------------------------------------- text

_SETTING = (
    "Links of yeast proteins against random pairs without a link (decoys). A support vector machine without intercept, "
    "with the kernel 2[δ1{a=c} + (1 − δ)k(a, c)]k(b, d) on pairs: averaged over the orders of both pairs (pair "
    "kernel), or on both orders as examples of weight ½ (duplicate). δ = 0 is the tensor product kernel TPPK, where "
    "both are equal; duplicate at δ = 1 is one local model per protein. Five folds over pairs, C from 1 to 32 by "
    "ROC on the training part."
)
_DIFFERENCES = (
    "Interactions: the network is that of the paper, 984 proteins and 2438 links; expression (Gaussian kernel, median "
    "width), localisation (cosine) and yeast two-hybrid (diffusion, β = 1, unit diagonal) were rebuilt from the "
    "original studies, as the published kernels are not specified. Phylogenetic profiles are not available, so "
    "these two rows cannot be run, and “integrated” is the sum of the others.",
    "Metabolic: a reconstruction from the genome-scale model iMM904, 666 genes and 2589 links, instead of the "
    "published network of 668 and 2782. Its numbers cannot be compared directly.",
    "The paper used libsvm, which has an intercept, and does not give the weights of duplicates; here there is no "
    "intercept and both orders have weight ½, as in its theory.",
)


def _extent(results: Results, plan: PairsPlan) -> str:
    full = PLANS["full"].description
    published = "" if plan.description == full else f" The published protocol ({full}) is `--full`."
    hours = sum(results.numbers(Fold, "seconds")) / 3600
    gap = max(results.numbers(Fold, "gap"))
    return (
        f"This run: {plan.description}; {len(results)} cells, {hours:.2g} processor hours. The relative duality gap of "
        f"every SVM is at most {gap:.1e}.{published}"
    )


def _best(curve: Curve, plan: PairsPlan) -> tuple[str, float, list[float]]:
    """The strategy and δ of the largest mean ROC."""
    means = {strategy: [float(np.mean(folds)) for folds in values] for strategy, values in curve.items()}
    strategy = max(means, key=lambda name: max(means[name]))
    place = int(np.argmax(means[strategy]))
    mix = plan.mixes[place]
    name = strategy if mix > 0 else BOTH
    return name, mix, curve[strategy][place]


def _compared(curve: Curve, plan: PairsPlan) -> tuple[str, list[float], dict[str, list[float]]]:
    """The name of the best setting, its folds, and those of the settings it is tested against."""
    strategy, mix, folds = _best(curve, plan)
    return _label(strategy, mix), folds, {"TPPK": curve[KERNEL][0], "local models": curve[DUPLICATE][-1]}


def _label(strategy: str, mix: float) -> str:
    """A name with line breaks at the comma only."""
    name = NAMES[strategy].replace(" ", "\N{NO-BREAK SPACE}")
    return f"{name}, δ\N{NO-BREAK SPACE}=\N{NO-BREAK SPACE}{mix:g}"


def _summary(found: Curves, plan: PairsPlan) -> str:
    same = [row for row, curve in found.items() if _best(curve, plan)[0] == row.strategy]
    return (
        f"Hue and Vert (2010), Table 1: the best strategy is the published one in {len(same)} of {len(found)} rows "
        f"that can be run. {plan.description[0].upper()}{plan.description[1:]}."
    )


# ----------------------------------------------------------------------------------------------------------- tables


def winners_table(found: Curves, plan: PairsPlan) -> Table:
    rows = []
    for row in PUBLISHED:
        cells: dict[str, Any] = {"network, inputs": str(row), "published": _label(row.strategy, row.mix)}
        if row in found:
            strategy, mix, folds = _best(found[row], plan)
            at_zero = found[row][KERNEL][0]
            local = found[row][DUPLICATE][-1]
            cells |= {
                "ours": _label(strategy, mix),
                "ROC": Spread.of(folds, digits=3),
                "TPPK": Spread.of(at_zero, digits=3),
                "local models": Spread.of(local, digits=3),
            }
            if folds not in (at_zero, local):
                ahead = int(np.sum(np.array(folds) > np.maximum(at_zero, local)))
                cells["folds better than both"] = f"{ahead} of {len(folds)}"
        rows.append(cells)
    note = (
        "Phylogenetic profiles are not available. Local models are duplicate at δ = 1. The last column counts the "
        "folds in which the best setting is better than both TPPK and local models, if it is neither of them."
    )
    return Table("The best strategy and δ of each row", rows, note, ours=("ours", "ROC"))


def roc_table(found: Curves, plan: PairsPlan) -> Table:
    narrow = len(plan.mixes) > 5
    delta = "" if narrow else "δ = "

    def cell(folds: list[float]) -> Spread:
        if narrow:
            return Spread.of([100 * float(np.mean(folds))], digits=1)
        return Spread.of(folds, digits=3)

    rows = [
        {
            "network, inputs": str(row),
            "strategy": NAMES[strategy],
            **{f"{delta}{mix:g}": cell(folds) for mix, folds in zip(plan.mixes, values, strict=True)},
        }
        for row, curve in found.items()
        for strategy, values in curve.items()
    ]
    return Table("ROC of every curve along δ", rows, "Means over the folds, in percent." if narrow else "")


def _cells_table(results: Results) -> Table:
    rows = [
        {
            "network": case.network,
            "inputs": case.inputs,
            "strategy": NAMES[case.strategy],
            "δ": case.mix,
            "fold": case.fold,
            "ROC": cell["roc"],
            "C": cell["C"],
            "gap": f"{cell['gap']:.1e}",
            "processor seconds": cell["seconds"],
        }
        for case, cell in results.of(Fold).items()
    ]
    return Table("Every cell", rows, folded=True)


# ---------------------------------------------------------------------------------------------------------- figures


def _curve_figure(row: Row, curve: Curve, plan: PairsPlan) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        for strategy, colour, marker in ((DUPLICATE, THEIRS, "s-"), (KERNEL, INK, "o-")):
            values = np.array(curve[strategy])
            axes.plot(plan.mixes, values.mean(axis=1), marker, color=colour, label=NAMES[strategy], markersize=4)
            low = values.min(axis=1)
            high = values.max(axis=1)
            axes.fill_between(plan.mixes, low, high, color=colour, alpha=0.08, linewidth=0)
        if row.strategy != BOTH:
            colour = THEIRS if row.strategy == DUPLICATE else INK
            axes.axvline(row.mix, color=colour, linewidth=0.8, linestyle=":")
        axes.set(xlabel="δ", ylabel="ROC")
        canvas.legend(loc="outside upper center", ncols=2)

    best = f"{NAMES[row.strategy]} at δ = {row.mix:g} (dotted)"
    if row.strategy == BOTH:
        best = "δ = 0 (TPPK)"
    caption = (
        f"{row.network.capitalize()}, {row.inputs}: mean over the folds, bands from smallest to largest; published "
        f"best: {best}."
    )
    return plot(draw, caption=caption)


STOPPED = (".* stopped after",)  # warnings; the page reports the gap
STUDY = Study(plans=PLANS, load=load, cases=cases, work=work, page=page, ignored=STOPPED)
