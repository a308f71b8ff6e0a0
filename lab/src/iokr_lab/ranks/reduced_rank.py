"""Reduced rank: cost and accuracy against the number of components, compared with full IOKR and output components.

bibtex, official split: label sets under Tanimoto's kernel from tf-idf words; the prediction is the nearest training
label set. Spectra: 490 fingerprints under the same kernel from a given kernel, 350 for training; all 490 molecules are
candidates. Components are those of the fitted values, P̂ = V_pV_pᵀ, or, as a baseline, those of the outputs. alpha and
the rank are chosen by folds of the training part.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import MUTED, OURS, THEIRS, Figure, Report, Spread, Table, plot
from iokr.apps.report.figures import Canvas
from iokr.data.objects import distinct
from iokr.embeddings.eigen import Eigen
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.vectors import Linear
from iokr.metrics import f1_samples
from iokr.solvers.reduced_rank import ReducedRank
from iokr_lab.data.msms import Spectra, load_msms_fp490
from iokr_lab.data.multilabel import MultiLabel, load_multilabel
from iokr_lab.ranks.values import Values, coordinates, nearest_by_rank
from iokr_lab.study import Case, Plan, Results, Study
from iokr_lab.timing import timed

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]

BIBTEX = "bibtex"
SPECTRA = "spectra"
SHARES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)  # shares of the coordinates
ALPHAS = {BIBTEX: (0.1, 0.3, 1.0), SPECTRA: (0.01, 0.1, 1.0)}
FOLDS = 3
FITTED = "fitted values"
OUTPUTS = "outputs"
TENTH = 0.1
TOPS = {"first": 1, "among ten": 10}


@dataclass(frozen=True)
class Ranks(Plan):
    """The number of draws of spectra and of rows of bibtex."""

    repeat: int = 10
    rows: int | None = None  # None: the official split


@dataclass(frozen=True)
class Fold(Case):
    """A fold of the training part of bibtex, with one alpha."""

    alpha: float
    fold: int


@dataclass(frozen=True)
class Test(Case):
    """The test part of bibtex, with one alpha."""

    alpha: float


@dataclass(frozen=True)
class Model(Case):
    """`IOKR` with all coordinates and with a tenth of them, timed in turns."""

    alpha: float
    what: str = "two models, timed"


@dataclass(frozen=True)
class Draw(Case):
    """A draw of 350 training spectra."""

    draw: int


@dataclass(frozen=True)
class Data:
    """Both data sets."""

    words: Any  # (n, p), normalised rows, tf-idf weights of the training part
    Y: Matrix
    n_train: int
    spectra: Spectra


def load(plan: Ranks) -> Data:
    """Both data sets; words are weighted by the training part."""
    from sklearn.feature_extraction.text import TfidfTransformer

    found: MultiLabel = load_multilabel("bibtex")
    X = found.X
    Y = found.Y
    n = found.n_train
    if plan.rows is not None:
        rows = np.r_[: plan.rows, n : n + plan.rows // 2]
        X = X[rows]
        Y = Y[rows]
        n = plan.rows
    words = TfidfTransformer().fit(X[:n]).transform(X).toarray()
    return Data(words, Y, n, load_msms_fp490())


def cases(plan: Ranks, data: Data) -> list[Case]:
    """Folds and test part for every alpha, the two models, draws of spectra."""
    folds = [Fold(alpha, k) for alpha in ALPHAS[BIBTEX] for k in range(FOLDS)]
    tests = [Test(alpha) for alpha in ALPHAS[BIBTEX]]
    return [*folds, *tests, Model(ALPHAS[BIBTEX][1]), *(Draw(i) for i in range(plan.repeat))]


# ---------------------------------------------------------------------------------------------------------------- work


def work(case: Case, plan: Ranks, data: Data) -> dict[str, Any]:
    """F1, or how often the correct molecule is first, by rank."""
    if isinstance(case, Draw):
        return spectra(case, plan, data.spectra)
    if isinstance(case, Model):
        return model(case, data)
    rows = np.arange(data.n_train)
    if isinstance(case, Fold):
        order = np.random.default_rng(plan.seed).permutation(data.n_train)
        test = np.sort(order[case.fold :: FOLDS])
        return label_sets(data, np.setdiff1d(rows, test), test, case.alpha)
    assert isinstance(case, Test)
    return label_sets(data, rows, np.arange(data.n_train, len(data.Y)), case.alpha)


def label_sets(
    data: Data, train: NDArray[np.integer[Any]], test: NDArray[np.integer[Any]], alpha: float
) -> dict[str, Any]:
    """F1 by rank, for components of the fitted values and of the outputs."""
    Y = data.Y[train]
    truth = data.Y[test]
    Phi = data.words[train]
    new = data.words[test]
    first, _ = distinct(Y)
    Z, S = coordinates(Y, Y[first])
    D = np.linalg.solve(Phi.T @ Phi + alpha * np.eye(Phi.shape[1]), Phi.T @ Z)
    values = Values(Phi @ D, new @ D, Z, S, np.ones(len(first)))

    def f1(best: NDArray[np.integer[Any]]) -> float:
        return float(100 * f1_samples(truth, Y[first][best[:, 0]]))

    return {"q": int(Z.shape[1]), **_by_rank(values, f1, 1)}


def _by_rank(values: Values, measure: Any, k: int) -> dict[str, list[Any]]:
    ranks = ranks_of(values.Z.shape[1])
    directions = {FITTED: values.fitted_directions(), OUTPUTS: values.output_directions()}
    return {name: [measure(best) for best in nearest_by_rank(values, V, ranks, k)] for name, V in directions.items()}


def ranks_of(q: int) -> list[int]:
    """The ranks for q coordinates."""
    return [max(1, round(share * q)) for share in SHARES]


def model(case: Model, data: Data) -> dict[str, Any]:
    """`IOKR` on the official split: processor seconds to fit and to rank all candidates for all test rows, and F1."""
    n = data.n_train
    X = data.words[:n]
    Y = data.Y[:n]
    new = data.words[n:]
    candidates = Y[distinct(Y)[0]]
    q = coordinates(Y, candidates)[0].shape[1]
    parts: dict[str, Any] = {"output_kernel": Tanimoto(), "embedding": Eigen(), "alpha": case.alpha}
    tenth = round(TENTH * q)
    unfitted = {
        "full": IOKR(Linear(), **parts),
        "tenth": IOKR(Linear(), solver=ReducedRank(tenth), **parts),
    }
    found: dict[str, Any] = {"full": {"p": q}, "tenth": {"p": tenth}}
    models = {}
    for name, estimator in unfitted.items():
        models[name], found[name]["fit"] = timed(partial(estimator.fit, X, Y))
    times: dict[str, list[float]] = {name: [] for name in models}
    for _ in range(6):  # in turns; the first round loads lazy imports
        for name, fitted in models.items():
            (best, _), seconds = timed(partial(fitted.rank, new, candidates, k=10))
            times[name].append(seconds)
            found[name]["f1"] = float(100 * f1_samples(data.Y[n:], candidates[np.asarray(best)[:, 0]]))
    for name, cell in found.items():
        cell["rank"] = float(np.median(times[name][1:]))
    return found


def spectra(case: Draw, plan: Ranks, found: Spectra) -> dict[str, Any]:
    """Share of spectra whose molecule is first, and among ten, by rank; alpha and rank by inner folds."""
    order = np.random.default_rng((plan.seed, case.draw)).permutation(len(found.K))
    train = order[:350]
    test = order[350:]
    inner = [train[k::FOLDS] for k in range(FOLDS)]
    by_alpha = {}
    for alpha in ALPHAS[SPECTRA]:
        shares = [_molecules(found, np.setdiff1d(train, held_out), held_out, alpha)[FITTED] for held_out in inner]
        by_alpha[alpha] = np.mean(shares, axis=0)[:, 0]
    alpha = max(by_alpha, key=lambda a: by_alpha[a][-1])
    chosen = int(np.argmax(by_alpha[alpha]))
    return {"alpha": alpha, "chosen": chosen, **_molecules(found, train, test, alpha)}


def _molecules(
    found: Spectra, train: NDArray[np.integer[Any]], test: NDArray[np.integer[Any]], alpha: float
) -> dict[str, Any]:
    Y = found.fingerprints
    K = found.K
    Z, S = coordinates(Y[train], Y)
    C = np.linalg.solve(K[np.ix_(train, train)] + alpha * np.eye(len(train)), Z)
    values = Values(K[np.ix_(train, train)] @ C, K[np.ix_(test, train)] @ C, Z, S, np.ones(len(Y)))
    same = (Y[test][:, None, :] == Y[None, :, :]).all(axis=2)  # molecules with equal fingerprints count as equal

    def shares(best: NDArray[np.integer[Any]]) -> list[float]:
        hits = np.take_along_axis(same, best, axis=1)
        return [float(100 * hits[:, :k].any(axis=1).mean()) for k in TOPS.values()]

    return {"q": int(Z.shape[1]), **_by_rank(values, shares, 10)}


# ---------------------------------------------------------------------------------------------------------------- page


def page(results: Results, plan: Ranks, data: Data) -> Report:
    """The choice by folds, F1 against the rank, seconds, and the spectra."""
    folds = {alpha: np.mean(results.numbers(Fold, FITTED, alpha=alpha), axis=0) for alpha in ALPHAS[BIBTEX]}
    alpha = max(ALPHAS[BIBTEX], key=lambda a: folds[a][-1])
    best = int(np.argmax(folds[alpha]))
    cell = results[Test(alpha)]
    full = cell[FITTED][-1]
    chosen = cell[FITTED][best]
    ranks = ranks_of(cell["q"])
    whole = results[Model(ALPHAS[BIBTEX][1])]["full"]
    tenth = results[Model(ALPHAS[BIBTEX][1])]["tenth"]
    faster = whole["rank"] / tenth["rank"]
    n_sets = len(distinct(data.Y[: data.n_train])[0])
    return Report(
        "Reduced rank",
        f"bibtex: at the rank chosen by folds, {ranks[best]} of {cell['q']}, F1 is {chosen:.1f}; for full IOKR it is "
        f"{full:.1f}. With a tenth of the coordinates candidates are ranked {faster:.1f} times as fast, at a cost of "
        f"{whole['f1'] - tenth['f1']:.1f} points of F1.",
        (
            Table(
                "bibtex: F1 of the nearest label set, in percent, against the rank",
                [
                    {
                        "rank": p,
                        "share": f"{100 * share:g} %",
                        "folds": round(float(folds[alpha][i]), 1),
                        "test": round(cell[FITTED][i], 1),
                        "test, components of the outputs": round(cell[OUTPUTS][i], 1),
                    }
                    for i, (p, share) in enumerate(zip(ranks, SHARES, strict=True))
                ],
                f"alpha = {alpha:g}, chosen by {FOLDS} folds at full rank; the last row is full IOKR.",
                ours=("test",),
            ),
            _figure(cell, folds[alpha], ranks),
            Table(
                "bibtex: processor seconds with `IOKR`, and F1",
                [_seconds("full", whole), _seconds(f"ReducedRank({tenth['p']})", tenth)],
                f"Ranking: the ten best of {n_sets} label sets for {len(data.Y) - data.n_train} test rows, including "
                "the computation of their coordinates; medians of five runs in turns.",
                our_rows=(1,),
            ),
            _spectra(results),
        ),
        (
            "Coordinates are those of `Eigen()` on distinct training outputs. Components of the fitted values drop "
            "directions that the inputs do not predict, components of the outputs drop directions of small variance.",
            f"Spectra: mean ± standard deviation over {plan.repeat} draws; alpha and the rank are chosen by {FOLDS} "
            "folds of the 350 training spectra, by how often the correct molecule is first.",
        ),
    )


def _seconds(name: str, cell: Any) -> dict[str, Any]:
    return {"model": name, "coordinates": cell["p"], "fit": cell["fit"], "rank": cell["rank"], "F1": cell["f1"]}


def _figure(cell: Any, folds: Matrix, ranks: list[int]) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.axhline(cell[FITTED][-1], color=MUTED, linewidth=0.8, label="full IOKR")
        axes.plot(ranks, cell[FITTED], "o-", color=OURS, markersize=3, label="components of the fitted values")
        axes.plot(ranks, cell[OUTPUTS], "s--", color=THEIRS, markersize=3, label="components of the outputs")
        axes.plot(ranks, folds, ":", color=OURS, linewidth=1.0, label="fitted values, folds")
        axes.set(xscale="log", xlabel="rank", ylabel="F1 (%)")
        axes.legend(fontsize=7)

    return plot(draw, caption="bibtex: F1 of the nearest label set against the rank.")


def _spectra(results: Results) -> Table:
    cells = list(results.of(Draw).values())
    lines: list[dict[str, Any]] = []
    for i, share in enumerate(SHARES):
        line: dict[str, Any] = {"share": f"{100 * share:g} %"}
        for kind in (FITTED, OUTPUTS):
            for j, top in enumerate(TOPS):
                line[f"{kind}, {top}"] = Spread.of([cell[kind][i][j] for cell in cells], digits=1)
        lines.append(line)
    line = {"share": "chosen by folds"}
    for j, top in enumerate(TOPS):
        line[f"{FITTED}, {top}"] = Spread.of([cell[FITTED][cell["chosen"]][j] for cell in cells], digits=1)
    return Table(
        "Spectra: how often the correct molecule is first, and among ten, in percent",
        [*lines, line],
        "By the share of coordinates, for components of the fitted values and of the outputs.",
        our_rows=(len(lines),),
    )


PLANS = {"short": Ranks(repeat=2, rows=400), "default": Ranks()}
STUDY = Study(plans=PLANS, load=load, cases=cases, work=work, page=page)
