"""Label sets from features, six data sets on their official splits: IOKR and output-kernel forests beside rivals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from iokr.apps.report import MUTED, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.apps.report import OURS as COLOUR
from iokr.apps.report.figures import Canvas
from iokr.data.objects import keys
from iokr_lab.data.multilabel import MultiLabel, load_multilabel
from iokr_lab.label_sets import protocol
from iokr_lab.label_sets.protocol import (
    FOREST_F1,
    IOKR_F1,
    IOKR_RBF,
    IOKR_TANIMOTO,
    METHODS,
    OURS,
    RISK_F1,
    Seeds,
    seen_sets,
)
from iokr_lab.study import Results, Study
from iokr_lab.tables import chosen

__all__ = ["STUDY"]

RIVALS = tuple(method for method in METHODS if method not in OURS)
SHOWN = (IOKR_F1, IOKR_TANIMOTO, IOKR_RBF, FOREST_F1)  # beside the rivals with chosen thresholds
Data = dict[str, MultiLabel]


def _page(results: Results, plan: Seeds, data: Data) -> Report:
    frame, seeds = _tidy(results), ", ".join(map(str, plan.seeds))
    return Report(
        "Label sets on official splits",
        _summary(frame, plan, seeds),
        (
            Text("The question", (_QUESTION, _METHODS)),
            _data_table(data),
            _metric_table(frame, "f1", "Example-F1 on the test part (%), higher is better"),
            _dots(frame, plan),
            _metric_table(frame, "hamming", "Hamming loss on the test part (%), lower is better", digits=2),
            Text("What decides", (_DECIDES, _decoding_text(frame, plan), _risk_text(frame, plan))),
            _seen_figure(frame, plan, data),
            Text("How everything was chosen", (_CHOICE,)),
            chosen(frame, by={"set": "set", "method": "method"}, what={"chosen": "chosen"}, title="What was chosen"),
            _metric_table(frame, "seconds", "Seconds", note=_SECONDS, folded=True),
        ),
        (
            "Example-F1 is the mean over test rows of 2|y ∩ ŷ| / (|y| + |ŷ|), 1 where both are empty; Hamming loss is "
            "the fraction of wrong labels. All choices are for F1, so Hamming is that of the same answers; the rows "
            "with threshold ½ are those that care for it.",
            f"Seeds {seeds}, of the forests and of the folds of logistic regression; ± is the standard deviation over "
            "several seeds. Kernel ridge and IOKR have no chance in them.",
            f"On sparse sets at most {protocol.INPUT_RANK} training rows stand for all inputs, and at most "
            f"{protocol.OUTPUT_RANK} label sets for all outputs (pivoted Cholesky), for which leave-one-out is exact.",
            "Kernel ridge is IOKR with linear outputs, and its answers are those of scikit-learn's `KernelRidge`.",
        ),
    )


def _tidy(results: Results) -> pd.DataFrame:
    """A row per method, set and seed, in the order of sets and methods; metrics in percent."""
    rows = [
        {"set": run.set, "seed": run.seed, "method": method, **cell}
        for run, cells in results.of(protocol.Run).items()
        for method, cell in cells.items()
    ]
    frame = pd.DataFrame(rows)
    percent = [name for name in frame if name.startswith(("f1", "hamming"))]
    frame[percent] *= 100
    order = {name: i for i, name in enumerate((*frame["set"].unique(), *METHODS))}
    return frame.sort_values(["set", "method"], key=lambda column: column.map(order), kind="stable")


# --------------------------------------------------------------------------------------------------------------- text

_QUESTION = (
    "Each row has a set of labels. The first rows of each file are the official training part, the others are the test "
    "part, and are used once."
)
_METHODS = (
    "IOKR predicts h(x) in the feature space of a kernel on label sets and answers with the nearest set: for Tanimoto "
    "and Gaussian outputs among the sets seen in training, for F1 outputs, the kernel 2|y ∩ z| / (|y| + |z|), among "
    "all sets, exactly. `MinimumRisk` takes the weights β(x) of ridge alone, no output kernel, and answers with the "
    "set of least Σ_i β_i(x) Δ(y_i, y) over all sets, Δ = 1 − F1 or Hamming loss, exactly; with F1 outputs that is "
    "the same risk in features, of which those of tiny eigenvalues are dropped, and answers larger than any training "
    "set are not tried. Output-kernel forests weigh training sets by leaves that they share; the same weights serve "
    "both ways. The rivals score each label and keep those above one threshold, ½ or chosen."
)
_DECIDES = (
    "With a linear output and a threshold every label is decided by itself. Tanimoto and F1 outputs are near to the "
    "measure, and the answer is one set as a whole. Where test sets were seldom seen in training, a search among "
    "seen sets cannot be right, and a search among all can."
)
_CHOICE = (
    "Always by F1 on rows of the training part that had no say in their own answer. Kernel ridge and IOKR: exact "
    "leave-one-out, for the input kernel (by kernel ridge, then kept), alpha, the width of Gaussian outputs and the "
    f"threshold; a set that only the row itself has is no candidate. Forests ({protocol.N_TREES} trees, √p features a "
    f"split, {protocol.SPLIT_RANK} coordinates of the output kernel for splits): rows that a tree did not draw, for "
    f"the least size of leaves and the threshold. Logistic regression: {protocol.N_FOLDS} folds, for C, the threshold "
    "and, on sparse sets, rows of unit length or tf-idf."
)
_SECONDS = "With the choice of parameters. IOKR goes on from the factorisation that kernel ridge has paid for."


def _means(frame: pd.DataFrame, name: str) -> pd.Series:
    """Mean F1 on a set, by method."""
    return frame[frame["set"] == name].groupby("method")["f1"].mean()


def _rival(frame: pd.DataFrame, name: str) -> str:
    """The rival with the best F1 on a set."""
    return str(_means(frame, name)[list(RIVALS)].idxmax())


def _summary(frame: pd.DataFrame, plan: Seeds, seeds: str) -> str:
    headline = plan.sets[0]
    f1, rival = _means(frame, headline), _rival(frame, headline)
    ours = ", ".join(f"{f1[method]:.1f} by {method}" for method in (IOKR_F1, IOKR_TANIMOTO, IOKR_RBF))
    return (
        f"Example-F1 on {headline}, official split, all parameters chosen on the training part: {ours}; the best "
        f"rival, {rival}, has {f1[rival]:.1f}. Seeds: {seeds}."
    )


def _risk_text(frame: pd.DataFrame, plan: Seeds) -> str:
    """What deciding by the loss itself brings, against the best output kernel."""
    f1 = {name: _means(frame, name) for name in plan.sets}
    kernels = (IOKR_F1, IOKR_TANIMOTO, IOKR_RBF)
    shown = "; ".join(
        f"{name} {f1[name][RISK_F1]:.1f} against {f1[name][list(kernels)].max():.1f}" for name in plan.sets
    )
    return f"`MinimumRisk` with F1 against the best output kernel, F1 in percent: {shown}."


def _decoding_text(frame: pd.DataFrame, plan: Seeds) -> str:
    f1 = {name: _means(frame, name) for name in plan.sets}
    ahead = [name for name in plan.sets if f1[name][list(OURS)].max() > f1[name][list(RIVALS)].max()]
    names = ", ".join(ahead) or "none"
    return f"The best of our rows is ahead of the best rival, in F1, on {len(ahead)} of {len(f1)} sets: {names}."


# ------------------------------------------------------------------------------------------------------------- tables


def _data_table(data: Data) -> Table:
    rows = [
        {
            "set": name,
            "training rows": one.n_train,
            "test rows": len(one.Y) - one.n_train,
            "features": one.X.shape[1],
            "labels": one.Y.shape[1],
            "labels a row": Spread(float(one.Y.sum(axis=1).mean()), float("nan"), digits=2),
            "label sets": len(set(keys(one.Y[: one.n_train]))),
            "test sets seen in training": f"{seen_sets(one).mean():.0%}",
        }
        for name, one in data.items()
    ]
    return Table("The data", rows)


def _metric_table(frame: pd.DataFrame, metric: str, title: str, digits: int = 1, **more: Any) -> Table:
    spreads = frame.groupby(["method", "set"], sort=False)[metric].agg(lambda values: Spread.of(values, digits=digits))
    rows = [{"method": method, **{name: spreads[method, name] for name in frame["set"].unique()}} for method in METHODS]
    return Table(title, rows, **more)


# ------------------------------------------------------------------------------------------------------------ figures


def _dots(frame: pd.DataFrame, plan: Seeds) -> Figure:
    tuned = [method for method in RIVALS if "½" not in method]

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        for methods, colour, filled, shift in ((tuned, THEIRS, "none", -0.12), (SHOWN, COLOUR, COLOUR, 0.12)):
            for method, marker in zip(methods, "os^D", strict=False):
                values = [_means(frame, name)[method] for name in plan.sets]
                style: dict[str, Any] = {"color": colour, "markerfacecolor": filled, "markersize": 5, "label": method}
                axes.plot(np.arange(len(plan.sets)) + shift, values, marker, **style)
        axes.set_xticks(range(len(plan.sets)), plan.sets)
        axes.set(ylabel="example-F1 (%)")
        canvas.legend(loc="outside upper center", ncols=1, fontsize=7)

    caption = "Example-F1 on the test parts: ours filled, rivals with chosen thresholds as rings."
    return plot(draw, caption=caption, size=(4.8, 4.6))


def _seen_figure(frame: pd.DataFrame, plan: Seeds, data: Data) -> Figure:
    headline = plan.sets[0]
    seen, methods = seen_sets(data[headline]), [*SHOWN, _rival(frame, headline)]
    first = frame[(frame["set"] == headline) & (frame["seed"] == plan.seed)].set_index("method").loc[methods]
    parts = {
        f"set seen in training ({int(seen.sum())} rows)": first["f1 of seen sets"],
        f"set not seen ({int((~seen).sum())} rows)": first["f1 of other sets"],
    }

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        rows = np.arange(len(methods))[::-1]
        for (label, values), colour, shift in zip(parts.items(), (COLOUR, MUTED), (0.18, -0.18), strict=True):
            axes.barh(rows + shift, values, height=0.34, color=colour, label=label)
        axes.set_yticks(rows, methods, fontsize=7)
        axes.set(xlabel=f"example-F1 on {headline} (%)")
        canvas.legend(loc="outside upper center", ncols=1, fontsize=7)

    caption = f"{headline}: test rows whose label set some training row has, and the others; last, the best rival."
    return plot(draw, caption=caption, size=(4.8, 3.6))


STUDY = Study(
    plans={"short": Seeds(sets=("emotions", "birds")), "default": Seeds()},
    load=lambda plan: {name: load_multilabel(name) for name in plan.sets},
    cases=protocol.cases,
    work=protocol.work,
    page=_page,
    ignored=("Label not .* is present in all training examples",),
)
