"""Reduced rank: cost and accuracy against the number of components, beside full IOKR and components of the outputs.

bibtex, official split: label sets under Tanimoto's kernel from words, tf-idf; the answer is the nearest label set seen
in training. Spectra: 490 fingerprints under the same kernel from a given kernel, 350 for training; all 490 molecules
are candidates. Components are those of the fitted values, P̂ = V_pV_pᵀ, or, as a rival, those of the outputs. alpha
and the rank are chosen by folds on the training part.
"""

from __future__ import annotations

from dataclasses import dataclass
from time import thread_time
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
from iokr_lab.ranks.hand import Split, coordinates, curves
from iokr_lab.study import Case, Plan, Results, Study

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]

BIBTEX, SPECTRA = "bibtex", "spectra"
SHARES = (0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0)  # of the coordinates
ALPHAS = {BIBTEX: (0.1, 0.3, 1.0), SPECTRA: (0.01, 0.1, 1.0)}
FOLDS = 3
FITTED, OUTPUTS = "fitted values", "outputs"
TENTH = 0.1


@dataclass(frozen=True)
class Ranks(Plan):
    """How many draws of spectra, and how many rows of bibtex."""

    repeat: int = 10
    rows: int | None = None  # None is the official split


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
    """The model that users call, with all coordinates and with a tenth of them, timed in turns."""

    alpha: float
    what: str = "two models, timed"


@dataclass(frozen=True)
class Draw(Case):
    """350 spectra for training."""

    draw: int


@dataclass(frozen=True)
class Data:
    """Both sets."""

    words: Any  # (n, p), rows of unit length, tf-idf of the training part
    Y: Matrix
    n_train: int
    spectra: Spectra


def load(plan: Ranks) -> Data:
    """Words weighted by the training part."""
    from sklearn.feature_extraction.text import TfidfTransformer

    found: MultiLabel = load_multilabel("bibtex")
    X, Y, n = found.X, found.Y, found.n_train
    if plan.rows is not None:
        keep = np.r_[: plan.rows, n : n + plan.rows // 2]
        X, Y, n = X[keep], Y[keep], plan.rows
    words = TfidfTransformer().fit(X[:n]).transform(X).toarray()
    return Data(words, Y, n, load_msms_fp490())


def cases(plan: Ranks, data: Data) -> list[Case]:
    """Folds and tests of every alpha, the two models, draws of spectra."""
    folds = [Fold(alpha, k) for alpha in ALPHAS[BIBTEX] for k in range(FOLDS)]
    tests = [Test(alpha) for alpha in ALPHAS[BIBTEX]]
    return [*folds, *tests, Model(ALPHAS[BIBTEX][1]), *(Draw(i) for i in range(plan.repeat))]


# ---------------------------------------------------------------------------------------------------------------- work


def work(case: Case, plan: Ranks, data: Data) -> dict[str, Any]:
    """F1, or how often the right molecule is first, by rank."""
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
    Y, truth = data.Y[train], data.Y[test]
    Phi, new = data.words[train], data.words[test]
    first, _ = distinct(Y)
    Z, S = coordinates(Y, Y[first])
    D = np.linalg.solve(Phi.T @ Phi + alpha * np.eye(Phi.shape[1]), Phi.T @ Z)
    split = Split(Phi @ D, new @ D, Z, S, np.ones(len(first)))

    def f1(best: NDArray[np.integer[Any]]) -> float:
        return float(100 * f1_samples(truth, Y[first][best[:, 0]]))

    return {"q": int(Z.shape[1]), **_by_rank(split, f1, 1)}


def _by_rank(split: Split, measure: Any, k: int) -> dict[str, list[float]]:
    ranks = ranks_of(split.Z.shape[1])
    return {
        FITTED: [measure(best) for best in curves(split, split.fitted_directions(), ranks, k)],
        OUTPUTS: [measure(best) for best in curves(split, split.output_directions(), ranks, k)],
    }


def ranks_of(q: int) -> list[int]:
    """Shares of q coordinates."""
    return [max(1, round(share * q)) for share in SHARES]


def model(case: Model, data: Data) -> dict[str, Any]:
    """`IOKR` on the official split: processor seconds to fit and to rank all candidates for all test rows, and F1."""
    n = data.n_train
    X, Y, new = data.words[:n], data.Y[:n], data.words[n:]
    candidates = Y[distinct(Y)[0]]
    q = coordinates(Y, candidates)[0].shape[1]
    parts: dict[str, Any] = {"output_kernel": Tanimoto(), "embedding": Eigen(), "alpha": case.alpha}
    found: dict[str, Any] = {}
    models = {}
    for name, p in (("full", q), ("tenth", round(TENTH * q))):
        start = thread_time()
        models[name] = IOKR(Linear(), solver=ReducedRank(p) if p < q else None, **parts).fit(X, Y)
        found[name] = {"p": p, "fit": thread_time() - start, "times": []}
    for _ in range(6):  # in turns; the first loads what is loaded lazily
        for name, fitted in models.items():
            start = thread_time()
            best, _ = fitted.rank(new, candidates, k=10)
            found[name]["times"].append(thread_time() - start)
            found[name]["f1"] = float(100 * f1_samples(data.Y[n:], candidates[np.asarray(best)[:, 0]]))
    for cell in found.values():
        cell["rank"] = float(np.median(cell.pop("times")[1:]))
    return found


def spectra(case: Draw, plan: Ranks, found: Spectra) -> dict[str, Any]:
    """Share of spectra whose molecule comes first, and among ten, by rank; alpha and rank by folds inside."""
    order = np.random.default_rng((plan.seed, case.draw)).permutation(len(found.K))
    train, test = order[:350], order[350:]
    inner = [train[k::FOLDS] for k in range(FOLDS)]
    by_alpha = {
        alpha: np.mean([_molecules(found, np.setdiff1d(train, out), out, alpha)[FITTED] for out in inner], axis=0)[:, 0]
        for alpha in ALPHAS[SPECTRA]
    }
    alpha = max(by_alpha, key=lambda a: by_alpha[a][-1])
    chosen = int(np.argmax(by_alpha[alpha]))
    return {"alpha": alpha, "chosen": chosen, **_molecules(found, train, test, alpha)}


def _molecules(
    found: Spectra, train: NDArray[np.integer[Any]], test: NDArray[np.integer[Any]], alpha: float
) -> dict[str, Any]:
    Y, K = found.fingerprints, found.K
    Z, S = coordinates(Y[train], Y)
    C = np.linalg.solve(K[np.ix_(train, train)] + alpha * np.eye(len(train)), Z)
    split = Split(K[np.ix_(train, train)] @ C, K[np.ix_(test, train)] @ C, Z, S, np.ones(len(Y)))
    same = (Y[test][:, None, :] == Y[None, :, :]).all(axis=2)  # molecules with equal fingerprints are one

    def shares(best: NDArray[np.integer[Any]]) -> list[float]:
        hits = np.take_along_axis(same, best, axis=1)
        return [float(100 * hits[:, :k].any(axis=1).mean()) for k in (1, 10)]

    return {"q": int(Z.shape[1]), **_by_rank(split, shares, 10)}


# ---------------------------------------------------------------------------------------------------------------- page


def page(results: Results, plan: Ranks, data: Data) -> Report:
    """The choice by folds, F1 against the rank, seconds, then the spectra."""
    folds = {alpha: np.mean(results.numbers(Fold, FITTED, alpha=alpha), axis=0) for alpha in ALPHAS[BIBTEX]}
    alpha = max(ALPHAS[BIBTEX], key=lambda a: folds[a][-1])
    best = int(np.argmax(folds[alpha]))
    cell = results[Test(alpha)]
    full, chosen = cell[FITTED][-1], cell[FITTED][best]
    ranks = ranks_of(cell["q"])
    whole, tenth = (results[Model(ALPHAS[BIBTEX][1])][name] for name in ("full", "tenth"))
    faster = whole["rank"] / tenth["rank"]
    return Report(
        "Reduced rank",
        f"bibtex: at the rank that folds choose, {ranks[best]} of {cell['q']}, F1 is {chosen:.1f}, of full IOKR "
        f"{full:.1f}. "
        f"At a tenth of the coordinates candidates are ranked {faster:.1f} times as fast, for "
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
                f"Ranking: the ten best of {len(distinct(data.Y[: data.n_train])[0])} label sets for "
                f"{len(data.Y) - data.n_train} test rows, their coordinates computed anew; medians of five, in turns.",
                our_rows=(1,),
            ),
            _spectra(results),
        ),
        (
            "Coordinates are those of `Eigen()`, of distinct training outputs; components of the fitted values leave "
            "out what the inputs say nothing about, components of the outputs what varies little.",
            f"Spectra: mean ± standard deviation over {plan.repeat} draws; alpha and the chosen rank by {FOLDS} folds "
            "of the 350 training spectra, by how often the right molecule comes first.",
        ),
    )


def _seconds(name: str, cell: Any) -> dict[str, Any]:
    return {"model": name, "numbers a candidate": cell["p"], "fit": cell["fit"], "rank": cell["rank"], "F1": cell["f1"]}


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
            for j, top in enumerate(("first", "among ten")):
                line[f"{kind}, {top}"] = Spread.of([cell[kind][i][j] for cell in cells], digits=1)
        lines.append(line)
    line = {"share": "chosen by folds"}
    for j, top in enumerate(("first", "among ten")):
        line[f"{FITTED}, {top}"] = Spread.of([cell[FITTED][cell["chosen"]][j] for cell in cells], digits=1)
    return Table(
        "Spectra: how often the right molecule comes first, and among ten, in percent",
        [*lines, line],
        "By the share of the coordinates, for components of the fitted values and of the outputs.",
        our_rows=(len(lines),),
    )


PLANS = {"short": Ranks(repeat=2, rows=400), "default": Ranks()}
STUDY = Study(plans=PLANS, load=load, cases=cases, work=work, page=page)
