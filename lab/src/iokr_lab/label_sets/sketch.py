"""Error against rank and time: landmarks, sketches and random frequencies beside the exact fit and two rivals."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from time import thread_time
from typing import Any

import numpy as np
import pandas as pd
from sklearn.kernel_approximation import Nystroem as SklearnNystroem
from sklearn.linear_model import RidgeCV

from iokr import IOKRCV
from iokr.apps.report import Figure, Report, Table, Text, plot
from iokr.apps.report.figures import Canvas
from iokr.kernels import RBF, Fourier, Nystroem, Sketch
from iokr.metrics import f1_samples
from iokr.solvers import LowRank
from iokr_lab.bench.scale.low_rank import falkon
from iokr_lab.data.massbank import load_massbank_msms
from iokr_lab.data.multilabel import load_multilabel
from iokr_lab.study import Case, Plan, Results, Study

__all__ = ["STUDY"]

EXACT, FALKON, SKLEARN = "exact", "Falkon, 20 steps", "scikit-learn Nystroem + RidgeCV"
KERNELS: dict[str, Any] = {
    "Nystroem, uniform": lambda base, m, seed: Nystroem(base, m, pivots="uniform", random_state=seed),
    "Nystroem, random pivots": lambda base, m, seed: Nystroem(base, m, random_state=seed),
    "Nystroem, greedy": lambda base, m, seed: Nystroem(base, m, pivots="greedy", random_state=seed),
    "Sketch": lambda base, m, seed: Sketch(base, m, random_state=seed),
    "Fourier": lambda base, m, seed: Fourier(base, m, random_state=seed),
}
_ONCE = ("Nystroem, greedy", FALKON)  # nothing is drawn, or it is long and its landmarks are those of another row
ALPHAS = tuple(float(a) for a in np.logspace(-4, 2, 13))
_METRICS = {"error": "squared error", "f1": "example-F1 (%)", "seconds": "CPU seconds of a fit"}
_WIDTH, _HEAVIEST, _MACCS = 1.0, 1000, 167  # daltons of a bin, bins, and bits of a fingerprint


@dataclass(frozen=True)
class Ranks(Plan):
    """Which sets, how many training rows at most, and which ranks."""

    sets: tuple[str, ...] = ("bibtex", "massbank")
    rows: int = 4000
    ranks: tuple[int, ...] = (125, 250, 500, 1000)


@dataclass(frozen=True)
class Fit(Case):
    """A method at a rank; 0 is the exact fit."""

    set: str
    method: str
    rank: int
    draw: int


@dataclass(frozen=True)
class Split:
    """Rows to learn from, and rows that are used once."""

    X: np.ndarray
    Y: np.ndarray
    X_test: np.ndarray
    Y_test: np.ndarray


def _load(plan: Ranks) -> dict[str, Split]:
    return {name: (_bibtex if name == "bibtex" else _massbank)(plan) for name in plan.sets}


def _bibtex(plan: Ranks) -> Split:
    """Words of a bibliography entry, and its tags; the official split, unit rows."""
    data = load_multilabel("bibtex")
    X = np.asarray(data.X.todense())
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
    n = data.n_train
    return Split(X[:n][: plan.rows], data.Y[:n][: plan.rows], X[n:], data.Y[n:])


def _massbank(plan: Ranks) -> Split:
    """Peaks in bins of one dalton, √intensity, unit rows; the MACCS keys of the molecule. A fifth is test."""
    data = load_massbank_msms()
    spectra, n = data.spectra, len(data.spectra)
    X = np.zeros((n, _HEAVIEST))
    owner = np.repeat(np.arange(n), np.diff(spectra.indptr))
    bins = np.minimum((spectra.mz / _WIDTH).astype(int), _HEAVIEST - 1)
    np.add.at(X, (owner, bins), np.sqrt(spectra.intensity))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    Y, test = data.bits(np.arange(n))[:, :_MACCS].astype(float), data.folds(5, plan.seed) == 0
    return Split(X[~test][: plan.rows], Y[~test][: plan.rows], X[test], Y[test])


def _cases(plan: Ranks, data: dict[str, Split]) -> list[Fit]:
    cases = []
    for name in plan.sets:
        cases.append(Fit(name, EXACT, 0, 0))
        for method in (*KERNELS, SKLEARN, FALKON):
            draws = 1 if method in _ONCE else plan.repeat
            cases += [Fit(name, method, m, draw) for m in plan.ranks for draw in range(draws)]
    return cases


def _work(case: Fit, plan: Ranks, data: dict[str, Split]) -> Mapping[str, Any]:
    """F1 of labels above ½ on the test part, the error there, and seconds of the fit with the choice of alpha.

    Seconds are of the processor, one thread, so that other work on the machine does not count.
    """
    d, seed = data[case.set], plan.seed + case.draw
    base = RBF(1.0)  # unit rows: ‖x − z‖² ≤ 2
    start, chosen = thread_time(), {}
    if case.method == SKLEARN:
        features = SklearnNystroem(gamma=1.0, n_components=case.rank, random_state=seed)
        ridge = RidgeCV(ALPHAS, fit_intercept=False).fit(features.fit_transform(d.X), d.Y)
        seconds, H = thread_time() - start, ridge.predict(features.transform(d.X_test))
        chosen["alpha"] = float(ridge.alpha_)
    elif case.method == FALKON:
        landmarks = Nystroem(base, case.rank, pivots="uniform", random_state=seed)
        direct = IOKRCV(landmarks, alphas=ALPHAS, solver=LowRank()).fit(d.X, d.Y)
        P = d.X[direct.kernel_.pivots_]
        chosen["alpha"] = alpha = float(direct.alpha_)  # the iteration has no leave-one-out to choose it by
        start = thread_time()
        weights = falkon(d.X, d.Y, P, 1.0, alpha)
        seconds, H = thread_time() - start, RBF(1.0).fit(P)(d.X_test, P) @ weights
    else:
        used = base if case.method == EXACT else KERNELS[case.method](base, case.rank, seed)
        model = IOKRCV(used, alphas=ALPHAS, solver=None if case.method == EXACT else LowRank()).fit(d.X, d.Y)
        seconds, H = thread_time() - start, model.decision_function(d.X_test)
        chosen["alpha"] = float(model.alpha_)
    return {
        "f1": float(100 * f1_samples(d.Y_test, (H > 0.5).astype(float))),
        "error": float(np.mean(np.sum((H - d.Y_test) ** 2, axis=1))),
        "seconds": seconds,
        "chosen": chosen,
    }


def _page(results: Results, plan: Ranks, data: dict[str, Split]) -> Report:
    frame = results.frame()
    items: list[Any] = [Text("The question", (_QUESTION, _WHEN))]
    for name in plan.sets:
        part = frame[frame["set"] == name]
        for metric, title in (
            ("error", "squared error"),
            ("f1", "example-F1 (%)"),
            ("seconds", "CPU seconds of a fit"),
        ):
            items.append(Table(f"{name}: {title} by rank", _rows(part, metric, plan)))
        items.append(Table(f"{name}: what it takes to come near the exact fit", _enough(part), _ENOUGH))
        items.append(_figure(part, name))
    summary = " ".join(_in_words(frame[frame["set"] == name], name) for name in plan.sets)
    return Report("Sketches of kernels", summary, tuple(items), _NOTES)


def _in_words(part: pd.DataFrame, name: str) -> str:
    """What comes near the exact fit in the least time, or that nothing does: there exact is the answer."""
    exact, *others = _enough(part)
    near = [row for row in others if "rank" in row and row["CPU seconds"] < exact["CPU seconds"]]
    if not near:
        return f"{name}: use the exact fit; at no rank tried does low rank come near it and take less time."
    best = min(near, key=lambda row: row["CPU seconds"])
    what = f"{name}: {best['method']} comes within 5 % of the exact error at rank {best['rank']}"
    return f"{what}, in {100 * best['× the exact fit']:.0f} % of its time."


def _rows(part: pd.DataFrame, metric: str, plan: Ranks) -> list[dict[str, Any]]:
    means = part.groupby(["method", "rank"])[metric].mean()
    exact = float(means[EXACT, 0])
    rows: list[dict[str, Any]] = [{"method": EXACT, **{f"m = {m}": exact for m in plan.ranks}}]
    for method in (*KERNELS, SKLEARN, FALKON):
        rows.append({"method": method, **{f"m = {m}": float(means[method, m]) for m in plan.ranks}})
    return rows


def _enough(part: pd.DataFrame) -> list[dict[str, Any]]:
    """For each method the first rank whose error is at most 5 % above the exact one, and its seconds."""
    means = part.groupby(["method", "rank"])[["error", "seconds"]].mean()
    exact = means.loc[EXACT].iloc[0]
    rows: list[dict[str, Any]] = [{"method": EXACT, "CPU seconds": float(exact["seconds"]), "× the exact fit": 1.0}]
    for method in (*KERNELS, SKLEARN, FALKON):
        near = means.loc[method]
        near = near[near["error"] <= (1 + _NEAR) * exact["error"]]
        if len(near):
            seconds = float(near["seconds"].iloc[0])
            share = seconds / float(exact["seconds"])
            rows.append(
                {"method": method, "rank": int(near.index[0]), "CPU seconds": seconds, "× the exact fit": share}
            )
        else:
            rows.append({"method": f"{method} (at no rank tried)"})
    return rows


def _figure(part: pd.DataFrame, name: str) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        for method in (*KERNELS, SKLEARN, FALKON):
            means = part[part["method"] == method].groupby("rank")[["seconds", "error"]].mean()
            axes.plot(means["seconds"], means["error"], "o-", markersize=3, label=method)
        exact = part[part["method"] == EXACT]
        axes.plot(exact["seconds"], exact["error"], "k*", markersize=9, label=EXACT)
        axes.set(xscale="log", xlabel="CPU seconds of a fit", ylabel="squared error on the test part")
        canvas.legend(loc="outside upper center", ncols=2, fontsize=7)

    return plot(draw, caption=f"{name}: error against time, ranks from left to right.", size=(4.8, 4.0))


_QUESTION = (
    "How many features replace a kernel matrix, and which? The same Gaussian kernel on unit rows for all; alpha by "
    "exact leave-one-out on the training part, features held fixed."
)
_WHEN = (
    "When to use which: read the tables of what it takes to come near the exact fit. A method that comes near at a "
    "small rank and in a fraction of the time is worth it, more so the more rows there are: low rank grows as n, the "
    "exact fit as n³. Uniform landmarks cost the least at a rank, random pivots look at the data while they choose, a "
    "sketch evaluates four times as many objects for the same rank, Fourier keeps no object and can be drawn without "
    "any. Where the error still falls at the largest rank, no rank replaces the exact fit."
)
_ENOUGH = "The first rank tried whose squared error on the test part is at most 5 % above that of the exact fit."
_NEAR = 0.05
_NOTES = (
    "bibtex: the official split. massbank: binned spectra to the MACCS keys of their molecules, a fifth is test.",
    "Seconds are of the processor, one thread, with the choice of alpha among 13 by leave-one-out.",
    "scikit-learn chooses alpha by leave-one-out, too. The Falkon iteration is written here; it has no leave-one-out "
    "and is given the alpha that the same landmarks choose, whose time is not counted.",
)

STUDY: Study[Ranks, dict[str, Split]] = Study(
    plans={"short": Ranks(rows=800, ranks=(50, 200)), "default": Ranks(repeat=2)},
    load=_load,
    cases=_cases,
    work=_work,
    page=_page,
)
