"""Label sets on the official splits of six data sets: IOKR, output-kernel forests and baselines."""

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

BASELINES = tuple(method for method in METHODS if method not in OURS)
SHOWN = (IOKR_F1, IOKR_TANIMOTO, IOKR_RBF, FOREST_F1)  # our methods in the figures
Data = dict[str, MultiLabel]


def _page(results: Results, plan: Seeds, data: Data) -> Report:
    frame = _tidy(results)
    seeds = ", ".join(map(str, plan.seeds))
    return Report(
        "Label sets on official splits",
        _summary(frame, plan, seeds),
        (
            Text("The question", (_QUESTION, _METHODS)),
            _data_table(data),
            _metric_table(frame, "f1", "Example-F1 on the test part (%), higher is better"),
            _dots(frame, plan),
            _metric_table(frame, "hamming", "Hamming loss on the test part (%), lower is better", digits=2),
            Text("Effect of decoding", (_DECODING, _best_text(frame, plan), _risk_text(frame, plan))),
            _seen_figure(frame, plan, data),
            Text("Choice of parameters", (_CHOICE,)),
            chosen(frame, by={"set": "set", "method": "method"}, what={"chosen": "chosen"}, title="Chosen parameters"),
            _metric_table(frame, "seconds", "Seconds", note=_SECONDS, folded=True),
        ),
        (
            "Example-F1 is the mean over test rows of 2|y ∩ ŷ| / (|y| + |ŷ|), 1 if both are empty; Hamming loss is the "
            "fraction of wrong labels. All parameters are chosen for F1 and the Hamming loss is that of the same "
            "predictions; a threshold of ½ is the natural choice for the Hamming loss.",
            f"Random seeds {seeds}, for the forests and for the folds of logistic regression; ± is the standard "
            "deviation over the seeds. Kernel ridge and IOKR are deterministic.",
            f"On sparse data sets, at most {protocol.INPUT_RANK} training rows are landmarks for the inputs, and at "
            f"most {protocol.OUTPUT_RANK} label sets for the outputs (pivoted Cholesky); leave-one-out is exact for "
            "this approximation.",
            "Kernel ridge is IOKR with linear outputs; its predictions equal those of scikit-learn's `KernelRidge`.",
        ),
    )


def _tidy(results: Results) -> pd.DataFrame:
    """A row per method, data set and seed, in the order of data sets and methods; metrics in percent."""
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
    "Each row has a set of labels. The first rows of each file are the official training part, the others the test "
    "part, which is used once."
)
_METHODS = (
    "IOKR predicts h(x) in the feature space of a kernel on label sets and decodes to the nearest set: for Tanimoto "
    "and Gaussian outputs among the training sets, for F1 outputs, the kernel 2|y ∩ z| / (|y| + |z|), among all sets, "
    "exactly. `MinimumRisk` uses the weights β(x) of ridge without an output kernel and minimises Σ_i β_i(x) Δ(y_i, y) "
    "exactly over all sets, with Δ = 1 − F1 or the Hamming loss. With F1 outputs this is the same risk in features, "
    "without those of tiny eigenvalues, and restricted to sets no larger than the largest training set. Output-kernel "
    "forests weight training sets by shared leaves; both decodings use the same weights. The baselines score each "
    "label and predict those above one threshold, ½ or chosen."
)
_DECODING = (
    "With linear outputs and a threshold every label is predicted separately. Tanimoto and F1 outputs are close to the "
    "evaluation measure, and the prediction is one complete set. If a test set does not occur in training, a search "
    "among training sets cannot find it, but a search among all sets can."
)
_CHOICE = (
    "All parameters are chosen by F1 of held-out predictions on the training part. Kernel ridge and IOKR: exact "
    "leave-one-out for the input kernel (chosen for kernel ridge, then fixed), alpha, the width of Gaussian outputs "
    "and the threshold; a label set that occurs only in the held-out row is not a candidate. Forests "
    f"({protocol.N_TREES} trees, √p features per split, {protocol.SPLIT_RANK} coordinates of the output kernel for "
    "splits): out-of-bag predictions for the minimal leaf size and the threshold. Logistic regression: "
    f"{protocol.N_FOLDS} folds for C, the threshold and, on sparse data sets, normalised rows or tf-idf."
)
_SECONDS = "Including the choice of parameters. IOKR uses the factorisation whose time is counted for kernel ridge."


def _means(frame: pd.DataFrame, name: str) -> pd.Series:
    """Mean F1 on a data set by method."""
    return frame[frame["set"] == name].groupby("method")["f1"].mean()


def _best_baseline(frame: pd.DataFrame, name: str) -> str:
    """The baseline with the largest F1 on a data set."""
    return str(_means(frame, name)[list(BASELINES)].idxmax())


def _summary(frame: pd.DataFrame, plan: Seeds, seeds: str) -> str:
    headline = plan.sets[0]
    f1 = _means(frame, headline)
    baseline = _best_baseline(frame, headline)
    ours = ", ".join(f"{f1[method]:.1f} by {method}" for method in (IOKR_F1, IOKR_TANIMOTO, IOKR_RBF))
    return (
        f"Example-F1 on {headline}, official split, all parameters chosen on the training part: {ours}; the best "
        f"baseline, {baseline}, has {f1[baseline]:.1f}. Seeds: {seeds}."
    )


def _risk_text(frame: pd.DataFrame, plan: Seeds) -> str:
    """F1 of minimising the risk directly, compared with the best output kernel."""
    f1 = {name: _means(frame, name) for name in plan.sets}
    kernels = (IOKR_F1, IOKR_TANIMOTO, IOKR_RBF)
    shown = [f"{name} {f1[name][RISK_F1]:.1f} and {f1[name][list(kernels)].max():.1f}" for name in plan.sets]
    return f"F1 in percent of `MinimumRisk` with F1 and of the best output kernel: {'; '.join(shown)}."


def _best_text(frame: pd.DataFrame, plan: Seeds) -> str:
    f1 = {name: _means(frame, name) for name in plan.sets}
    ahead = [name for name in plan.sets if f1[name][list(OURS)].max() > f1[name][list(BASELINES)].max()]
    names = ", ".join(ahead) or "none"
    return f"Our best method has a larger F1 than the best baseline on {len(ahead)} of {len(f1)} data sets: {names}."


# ------------------------------------------------------------------------------------------------------------- tables


def _data_table(data: Data) -> Table:
    rows = [
        {
            "set": name,
            "training rows": one.n_train,
            "test rows": len(one.Y) - one.n_train,
            "features": one.X.shape[1],
            "labels": one.Y.shape[1],
            "labels per row": Spread(float(one.Y.sum(axis=1).mean()), float("nan"), digits=2),
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
    tuned = [method for method in BASELINES if "½" not in method]

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

    caption = "Example-F1 on the test parts: our methods filled, baselines with chosen thresholds as rings."
    return plot(draw, caption=caption, size=(4.8, 4.6))


def _seen_figure(frame: pd.DataFrame, plan: Seeds, data: Data) -> Figure:
    headline = plan.sets[0]
    seen = seen_sets(data[headline])
    methods = [*SHOWN, _best_baseline(frame, headline)]
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

    caption = f"{headline}: test rows whose label set occurs in training, and the others; last row: the best baseline."
    return plot(draw, caption=caption, size=(4.8, 3.6))


STUDY = Study(
    plans={"short": Seeds(sets=("emotions", "birds")), "default": Seeds()},
    load=lambda plan: {name: load_multilabel(name) for name in plan.sets},
    cases=protocol.cases,
    work=protocol.work,
    page=_page,
    ignored=("Label not .* is present in all training examples",),
)
