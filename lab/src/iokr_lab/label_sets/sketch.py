"""Error against rank and time of landmarks, sketches and random Fourier features, the exact fit and two baselines."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
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
from iokr_lab.splits import TrainTest
from iokr_lab.study import Case, Plan, Results, Study
from iokr_lab.timing import timed

__all__ = ["STUDY"]

EXACT = "exact"
FALKON = "Falkon, 20 steps"
SKLEARN = "scikit-learn Nystroem + RidgeCV"
KERNELS: dict[str, Any] = {
    "Nystroem, uniform": lambda base, m, seed: Nystroem(base, m, pivots="uniform", random_state=seed),
    "Nystroem, random pivots": lambda base, m, seed: Nystroem(base, m, random_state=seed),
    "Nystroem, greedy": lambda base, m, seed: Nystroem(base, m, pivots="greedy", random_state=seed),
    "Sketch": lambda base, m, seed: Sketch(base, m, random_state=seed),
    "Fourier": lambda base, m, seed: Fourier(base, m, random_state=seed),
}
LOW_RANK = (*KERNELS, SKLEARN, FALKON)
_ONCE = ("Nystroem, greedy", FALKON)  # deterministic, or slow with the landmarks of another row
ALPHAS = tuple(float(a) for a in np.logspace(-4, 2, 13))
METRICS = {"error": "squared error", "f1": "example-F1 (%)", "seconds": "CPU seconds of a fit"}
_BIN = 1.0  # width of a bin in daltons
_N_BINS = 1000
_MACCS = 167  # bits of a fingerprint


@dataclass(frozen=True)
class Ranks(Plan):
    """The data sets, the maximal number of training rows, and the ranks."""

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


def _load(plan: Ranks) -> dict[str, TrainTest]:
    loaders = {"bibtex": _bibtex, "massbank": _massbank}
    return {name: loaders[name](plan) for name in plan.sets}


def _bibtex(plan: Ranks) -> TrainTest:
    """Words of a bibliography entry and its tags; the official split, normalised rows."""
    data = load_multilabel("bibtex")
    X = np.asarray(data.X.todense())
    X = X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)
    n = data.n_train
    return TrainTest(X[:n][: plan.rows], data.Y[:n][: plan.rows], X[n:], data.Y[n:])


def _massbank(plan: Ranks) -> TrainTest:
    """Peaks in bins of one dalton, √intensity, normalised rows; MACCS keys of the molecules; a fifth is for testing."""
    data = load_massbank_msms()
    spectra = data.spectra
    n = len(data.spectra)
    X = np.zeros((n, _N_BINS))
    owner = np.repeat(np.arange(n), np.diff(spectra.indptr))
    bins = np.minimum((spectra.mz / _BIN).astype(int), _N_BINS - 1)
    np.add.at(X, (owner, bins), np.sqrt(spectra.intensity))
    X /= np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1e-12)
    Y = data.bits(np.arange(n))[:, :_MACCS].astype(float)
    test = data.folds(5, plan.seed) == 0
    return TrainTest(X[~test][: plan.rows], Y[~test][: plan.rows], X[test], Y[test])


def _cases(plan: Ranks, data: dict[str, TrainTest]) -> list[Fit]:
    cases = []
    for name in plan.sets:
        cases.append(Fit(name, EXACT, 0, 0))
        for method in LOW_RANK:
            draws = 1 if method in _ONCE else plan.repeat
            cases += [Fit(name, method, m, draw) for m in plan.ranks for draw in range(draws)]
    return cases


def _work(case: Fit, plan: Ranks, data: dict[str, TrainTest]) -> Mapping[str, Any]:
    """F1 of labels with scores above ½ and squared error on the test part; processor seconds of a fit and its alpha."""
    part = data[case.set]
    H, seconds, alpha = _METHODS.get(case.method, _iokr)(case, part, plan.seed + case.draw)
    return {
        "f1": float(100 * f1_samples(part.Y_test, (H > 0.5).astype(float))),
        "error": float(np.mean(np.sum((H - part.Y_test) ** 2, axis=1))),
        "seconds": seconds,
        "chosen": {"alpha": alpha},
    }


Fitted = tuple[np.ndarray, float, float]  # scores of the test part, seconds of the fit, alpha


def _sklearn(case: Fit, part: TrainTest, seed: int) -> Fitted:
    features = SklearnNystroem(gamma=1.0, n_components=case.rank, random_state=seed)
    ridge, seconds = timed(lambda: RidgeCV(ALPHAS, fit_intercept=False).fit(features.fit_transform(part.X), part.Y))
    return ridge.predict(features.transform(part.X_test)), seconds, float(ridge.alpha_)


def _falkon(case: Fit, part: TrainTest, seed: int) -> Fitted:
    """The iteration has no leave-one-out to choose alpha, so it uses the alpha chosen by a direct fit."""
    landmarks = Nystroem(RBF(1.0), case.rank, pivots="uniform", random_state=seed)
    direct = IOKRCV(landmarks, alphas=ALPHAS, solver=LowRank(), intercept=False).fit(part.X, part.Y)
    P = part.X[direct.kernel_.pivots_]
    alpha = float(direct.alpha_)
    weights, seconds = timed(lambda: falkon(part.X, part.Y, P, 1.0, alpha))
    return RBF(1.0).fit(P)(part.X_test, P) @ weights, seconds, alpha


def _iokr(case: Fit, part: TrainTest, seed: int) -> Fitted:
    kernel: Any = RBF(1.0)  # rows of unit length: ‖x − z‖² ≤ 2
    solver = None
    if case.method != EXACT:
        kernel = KERNELS[case.method](kernel, case.rank, seed)
        solver = LowRank()
    model, seconds = timed(lambda: IOKRCV(kernel, alphas=ALPHAS, solver=solver, intercept=False).fit(part.X, part.Y))
    return model.decision_function(part.X_test), seconds, float(model.alpha_)


_METHODS = {SKLEARN: _sklearn, FALKON: _falkon}


def _page(results: Results, plan: Ranks, data: dict[str, TrainTest]) -> Report:
    frame = results.frame()
    items: list[Any] = [Text("The question", (_QUESTION, _WHEN))]
    for name in plan.sets:
        part = frame[frame["set"] == name]
        for metric, title in METRICS.items():
            items.append(Table(f"{name}: {title} by rank", _rows(part, metric, plan)))
        items.append(Table(f"{name}: rank and time to come near the exact fit", _near_rows(part), _NEAR_NOTE))
        items.append(_figure(part, name))
    summary = " ".join(_verdict(frame[frame["set"] == name], name) for name in plan.sets)
    return Report("Sketches of kernels", summary, tuple(items), _NOTES)


def _verdict(part: pd.DataFrame, name: str) -> str:
    """The fastest method near the exact fit, or the advice to use the exact fit."""
    exact, *others = _near_rows(part)
    near = [row for row in others if "rank" in row and row["CPU seconds"] < exact["CPU seconds"]]
    if not near:
        return f"{name}: use the exact fit; no low-rank method comes near its error in less time."
    best = min(near, key=lambda row: row["CPU seconds"])
    found = f"{name}: {best['method']} comes within 5 % of the exact error at rank {best['rank']}"
    return f"{found}, in {100 * best['× the exact fit']:.0f} % of its time."


def _rows(part: pd.DataFrame, metric: str, plan: Ranks) -> list[dict[str, Any]]:
    means = part.groupby(["method", "rank"])[metric].mean()
    exact = float(means[EXACT, 0])
    rows: list[dict[str, Any]] = [{"method": EXACT, **{f"m = {m}": exact for m in plan.ranks}}]
    for method in LOW_RANK:
        rows.append({"method": method, **{f"m = {m}": float(means[method, m]) for m in plan.ranks}})
    return rows


def _near_rows(part: pd.DataFrame) -> list[dict[str, Any]]:
    """For each method the smallest rank whose error is at most 5 % above the exact one, with its seconds."""
    means = part.groupby(["method", "rank"])[["error", "seconds"]].mean()
    exact = means.loc[EXACT].iloc[0]
    rows: list[dict[str, Any]] = [{"method": EXACT, "CPU seconds": float(exact["seconds"]), "× the exact fit": 1.0}]
    for method in LOW_RANK:
        near = means.loc[method]
        near = near[near["error"] <= (1 + _NEAR) * exact["error"]]
        if not len(near):
            rows.append({"method": f"{method} (at no rank)"})
            continue
        seconds = float(near["seconds"].iloc[0])
        share = seconds / float(exact["seconds"])
        rows.append({"method": method, "rank": int(near.index[0]), "CPU seconds": seconds, "× the exact fit": share})
    return rows


def _figure(part: pd.DataFrame, name: str) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        for method in LOW_RANK:
            means = part[part["method"] == method].groupby("rank")[["seconds", "error"]].mean()
            axes.plot(means["seconds"], means["error"], "o-", markersize=3, label=method)
        exact = part[part["method"] == EXACT]
        axes.plot(exact["seconds"], exact["error"], "k*", markersize=9, label=EXACT)
        axes.set(xscale="log", xlabel="CPU seconds of a fit", ylabel="squared error on the test part")
        canvas.legend(loc="outside upper center", ncols=2, fontsize=7)

    return plot(draw, caption=f"{name}: error against time, ranks from left to right.", size=(4.8, 4.0))


_QUESTION = (
    "Which features replace a kernel matrix, and how many are needed? All methods use the same Gaussian kernel on "
    "normalised rows and no intercept; alpha is chosen by exact leave-one-out on the training part with the features "
    "held fixed."
)
_WHEN = (
    "The tables of rank and time to come near the exact fit show when a method is useful: if a small rank is enough "
    "and takes a fraction of the time. The gain grows with the number of rows, as the cost of low rank grows as n and "
    "that of the exact fit as n³. Uniform landmarks are the cheapest, random pivots depend on the data, a sketch "
    "evaluates four times as many objects for the same rank, Fourier features store no objects and can be drawn "
    "without data. If the error still decreases at the largest rank, the exact fit is better."
)
_NEAR_NOTE = "The smallest rank whose squared error on the test part is at most 5 % above that of the exact fit."
_NEAR = 0.05
_NOTES = (
    "bibtex: the official split. massbank: binned spectra to the MACCS keys of their molecules; a fifth is for "
    "testing.",
    "Seconds are processor seconds on one thread, including the choice of alpha among 13 values by leave-one-out.",
    "scikit-learn also chooses alpha by leave-one-out. The Falkon iteration is implemented here; it has no "
    "leave-one-out and uses the alpha chosen with the same landmarks, whose time is not counted.",
)

STUDY: Study[Ranks, dict[str, TrainTest]] = Study(
    plans={"short": Ranks(rows=800, ranks=(50, 200)), "default": Ranks(repeat=2)},
    load=_load,
    cases=_cases,
    work=_work,
    page=_page,
)
