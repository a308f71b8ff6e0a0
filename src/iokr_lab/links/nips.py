"""B16 Table 3 and B11 Table 1: who wrote NIPS papers with whom, from the words of their papers."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.estimators.links.cv import LinkPredictorCV
from iokr.kernels import RBF, Diffusion
from iokr.manifolds import Heat
from iokr.metrics.curves import Curves
from iokr.report import Report, Spread, Table, Text
from iokr.report.progress import Progress, silent
from iokr_lab.data.nips import NIPSAuthors, load_nips_coauthorship
from iokr_lab.links.few import (
    BOTH_NEW,
    ONE_NEW,
    Draw,
    few_labels,
    labelled_draws,
)
from iokr_lab.links.protocol import PAIR_MODEL, Matrix, Step, curves_figure, measures_of, spread
from iokr_lab.links.rules import ALPHAS
from iokr_lab.links.semi import (
    EM,
    IOKR,
    KMR,
    NAIVE,
    PAIRS,
    PERCENTS,
    SHARES,
    SMOOTH,
    STRENGTHS,
    SUPERVISED,
    UNSEEN,
    Few,
    few_draws,
    parse,
    penalties_table,
    published_table,
    semi_methods,
)

__all__ = ["run"]

N_TEST, N_ALL = 500, 2026  # of the paper
LAST_YEAR = 1999  # of papers with words
TABLE_3 = {
    "roc_auc": parse(
        f"""{EM} | 87.3 2.4 | 92.9 1.7 | 96.4 0.8
        {KMR} | 85.7 4.1 | 92.4 1.6 | 96.4 0.4
        {IOKR} | 83.6 5.9 | 93.6 1.0 | 96.5 0.4
        {UNSEEN} | 86.0 2.7 | 93.3 0.7 | 95.7 1.4""",
        PERCENTS,
    ),
    "average_precision": parse(
        f"""{EM} | 13.8 4.5 | 22.5 6.6 | 41.1 2.5
        {KMR} | 9.7 2.8 | 20.0 4.8 | 38.8 2.0
        {IOKR} | 12.0 3.0 | 24.5 2.9 | 43.7 1.9
        {UNSEEN} | 7.6 2.3 | 13.8 1.7 | 25.3 3.0""",
        PERCENTS,
    ),
}
COUNTS, FREQUENCIES, ROOTS = "counts", "frequencies", "square roots of frequencies"
SEMI, UNSCALED = "exp(−L), as printed", "K_Y not scaled"
TABLE_1 = {
    (SUPERVISED, "roc_auc"): ((71.1, 1.1), (77.5, 0.7), (82.2, 0.8)),
    (SEMI, "roc_auc"): ((75.9, 1.3), (80.7, 0.8), (84.7, 0.3)),
    (SUPERVISED, "average_precision"): ((7.7, 1.8), (15.9, 1.2), (29.3, 2.7)),
    (SEMI, "average_precision"): ((8.3, 1.3), (17.2, 1.2), (29.0, 0.9)),
}
B11_ROWS = ((SUPERVISED, COUNTS), (SEMI, COUNTS), (SUPERVISED, FREQUENCIES), (SEMI, FREQUENCIES), (SUPERVISED, ROOTS))
Rows = dict[tuple[str, str, float], list[Any]]


def run(*, seed: int = 0, repeat: int | None = None, progress: Progress = silent) -> Report:
    """Tables 3 of B16 and 1 of B11, with few labelled authors.

    Parameters
    ----------
    seed : int, default=0
    repeat : int, default=3
        How many draws of labelled authors; the published number is 10.
    progress : callable, optional
    """
    data = load_nips_coauthorship()
    kept, W, grams = authors(data)
    told = joint_words(data, kept)
    draws = [(seed, i) for i in range(repeat or 3)]
    n_test = round(len(W) * N_TEST / N_ALL)
    methods = semi_methods(len(W) - n_test)
    methods[UNSCALED] = LinkPredictorCV(alphas=ALPHAS, output_kernel=Diffusion(1.0))
    today = {ROOTS: LinkPredictorCV(alphas=ALPHAS)}
    n_steps = len(SHARES) * len(draws) * (len(methods) + 1 + len(B11_ROWS))
    steps = itertools.count()

    def step(what: str) -> None:
        progress(next(steps), n_steps, what)

    few, _ = few_draws(methods, grams[FREQUENCIES], W, n_test, draws, step)
    few |= few_draws(today, grams[ROOTS], W, n_test, draws, step)[0]
    b11 = _b11(grams, W, draws, step)
    progress(n_steps, n_steps, "drawing the page")
    prevalence = float(W.sum() / (len(W) * (len(W) - 1)))
    last = labelled_draws(W, n_test, SHARES[-1], draws[:1])[0]
    caption = (
        f"{PERCENTS[-1]} labelled, first draw: ROC and precision–recall curves of pairs with at least one unlabelled "
        "author, models chosen by PR."
    )
    return Report(
        "Who wrote NIPS papers with whom, from their words",
        _summary(few),
        (
            Text("Data", (_data(data, W, grams[COUNTS], told), _MIND)),
            Text("B16, Table 3", (_protocol(W, labelled_draws(W, n_test, SHARES[0], draws)),)),
            *(
                published_table(f"Table 3: {name}, percent", TABLE_3[measure], few, measure, note)
                for measure, name, note in (
                    ("roc_auc", "ROC", ""),
                    ("average_precision", "PR", f"At random {100 * prevalence:.1f}."),
                )
            ),
            curves_figure(_curves(few, W, last), prevalence, caption, ours=_NAMES[IOKR]),
            Text("Links that the words do not give away", (_LATER,)),
            _later_table(few, W, told, n_test, draws),
            Text("What we would do today", (_TODAY,)),
            penalties_table(
                few,
                {
                    UNSCALED: "none, frequencies, K_Y not scaled",
                    SUPERVISED: "none, frequencies",
                    IOKR: "exp(−L) as printed, frequencies",
                    SMOOTH: f"{SMOOTH}, frequencies",
                    ROOTS: f"none, {ROOTS}",
                },
            ),
            Text("B11, Table 1", (_B11,)),
            *(_table_1(b11, measure, name) for measure, name in (("roc_auc", "ROC"), ("average_precision", "PR"))),
            _both_new(b11),
        ),
        (f"± over {len(draws)} random choices of labelled authors (the papers: ten; `--repeat 10`).",),
    )


# ------------------------------------------------------------------------------------------------------ data and runs


def authors(data: NIPSAuthors) -> tuple[NDArray[np.intp], Matrix, dict[str, Matrix]]:
    """Authors with words and at least two links, their links, and Gaussian kernels of median width on the words."""
    adjacency = data.adjacency
    kept = np.flatnonzero((adjacency.sum(axis=0) >= 2) & (data.words.sum(axis=1) > 0))
    counts = data.words[kept].toarray()
    frequencies = counts / counts.sum(axis=1, keepdims=True)
    views = {COUNTS: counts, FREQUENCIES: frequencies, ROOTS: np.sqrt(frequencies)}
    return kept, adjacency[kept][:, kept].toarray(), {name: RBF()(view) for name, view in views.items()}


def joint_words(data: NIPSAuthors, kept: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Pairs with a joint paper among those whose words are at hand, which both have then."""
    papers = data.papers[data.year <= LAST_YEAR][:, kept]
    return np.asarray((papers.T @ papers).toarray() > 0)


def _b11(grams: dict[str, Matrix], W: Matrix, draws: list[tuple[int, int]], step: Step) -> Rows:
    """All other authors unlabelled, chosen by ROC; the graph of the penalty is the whole kernel."""
    models = {
        SUPERVISED: LinkPredictorCV(alphas=ALPHAS),
        SEMI: LinkPredictorCV(alphas=ALPHAS, strengths=STRENGTHS, manifold=Heat(1.0, 1.0, literal=True)),
    }
    found: Rows = {}
    for share in SHARES:
        for draw in labelled_draws(W, 0, share, draws):
            for model, view in B11_ROWS:
                step(f"B11, {share:.0%} labelled")
                figures = few_labels(models[model], grams[view], W, draw, ("roc_auc",)).figures
                found.setdefault((model, view, share), []).append(figures)
    return found


def _curves(few: Few, W: Matrix, draw: Draw) -> dict[str, Curves]:
    """Of the models fitted on the first draw, at the largest share."""
    truth = W[np.ix_(draw.nodes, draw.nodes)]
    new = np.arange(len(truth)) >= len(draw.labeled)
    pairs = np.triu(new[:, None] | new[None, :], k=1)
    return {
        label: Curves.of(truth[pairs], few[name, SHARES[-1]][0].model.decision_function()[pairs])
        for name, label in _NAMES.items()
    }


_NAMES = {
    NAIVE: NAIVE,
    EM: "EM",
    KMR: "PKMR",
    PAIRS: PAIR_MODEL,
    IOKR: "IOKR, as printed",
    SUPERVISED: "IOKR, supervised",
    ROOTS: f"IOKR, {ROOTS}",
}


# --------------------------------------------------------------------------------------------------- text and tables

_MIND = (
    "An author's words are those of all of that author's papers, so co-authors share the words of their joint "
    "papers: the inputs hold a good part of the answer, in the papers as here. Similar words alone, the row "
    "Naive, say much. EM completes K_Y by K_Y's regression on the inputs plus their conditional covariance, and in "
    "that covariance authors of one paper stand out: with few labels its figures are mostly those of similar words, "
    "whatever share is labelled. The published ones rise with the labels and are far lower; with the covariance left "
    "out, in a row of its own, EM comes much closer to them. Either it was not part of the scores there, or the inputs "
    "were such that similar words say less: on yeast the paper's EM hardly rises with the labels, as with it."
)
_LATER = (
    "Almost all links are joint papers whose words both authors have. What is left when pairs with such a paper are "
    "not judged: links by papers after the last year with words, against pairs without a link. The models are those "
    "above, chosen by PR."
)
_TODAY = (
    "K_Y of unit diagonal, no penalty, and the square roots of word frequencies: they tame the few frequent words, and "
    "all authors get vectors of one length. The table shows what each of these and the unlabelled authors are worth. "
    "On a graph of so many neighbours exp(−L) is all but the mean over its nodes, so the penalty as printed shrinks "
    "what is common to all; the one that smooths is the Laplacian of the ten nearest neighbours."
)
_B11 = (
    "All authors that are not labelled are unlabelled, and every pair with one of them is judged; parameters by "
    "ROC. The paper does not say what the words were turned into: counts come closest to its figures, and to what its "
    "unlabelled authors gain; frequencies to those of B16. On counts the kernel mostly tells how much an author wrote, "
    "and the penalty, which weighs smooth functions most, takes some of that back."
)


def _data(data: NIPSAuthors, W: Matrix, K: Matrix, told: NDArray[np.bool_]) -> str:
    several = int((data.adjacency.sum(axis=0) >= 2).sum())
    same = np.argwhere(np.triu(K > 1 - 1e-9, k=1))  # counts are integers: other vectors are further apart
    return (
        f"{several} of the {len(data.author)} authors have at least two links, the paper's number. Words are at "
        f"hand for the papers up to {LAST_YEAR} only: {len(W)} of the {several} authors have any, with "
        f"{int(W.sum() / 2)} links among them. So the network is smaller than the paper's, and its inputs are others. "
        f"{len(same)} pairs of authors have the very same words, {int(W[tuple(same.T)].sum())} of them linked; "
        f"{int((W * told).sum() / 2)} of the links are between authors of a joint paper whose words are at hand."
    )


def _protocol(W: Matrix, few: list[Draw]) -> str:
    links = [int(W[np.ix_(draw.labeled, draw.labeled)].sum() / 2) for draw in few]
    return (
        "A quarter of the authors unseen (500 of 2026 in the paper, the same share here), 5, 10 or 20 % of the others "
        "labelled. Gaussian kernel of median width on word frequencies, K_Y the diffusion kernel with unit diagonal, "
        "β = 1. Parameters are chosen for ROC and for PR separately, by five folds of the labelled authors, as in the "
        "paper; for IOKR the strength of its penalty exp(−L) on the graph of the nearest tenth, 0 among its values. "
        f"At {PERCENTS[0]} labelled the draws know {', '.join(map(str, links))} links: what is chosen there is mostly "
        "chance. Transductive: pairs with at least one unlabelled author; semi-supervised: pairs of two unseen ones. "
        "Much of the fall of PR from the one to the other is a change of the pairs: see the rows of both unlabelled "
        "below."
    )


def _later_table(few: Few, W: Matrix, told: NDArray[np.bool_], n_test: int, draws: list[tuple[int, int]]) -> Table:
    rows, links = [], []
    for name, label in _NAMES.items():
        row: dict[str, Any] = {"method": label}
        for percent, share in zip(PERCENTS, SHARES, strict=True):
            found = []
            for draw, chosen in zip(labelled_draws(W, n_test, share, draws), few[name, share], strict=True):
                both = np.ix_(draw.nodes, draw.nodes)
                new = np.arange(len(draw.nodes)) >= len(draw.labeled)
                judged = (new[:, None] | new[None, :]) & ~told[both]
                links.append(int((W[both] * judged).sum() / 2))
                found.append(measures_of(W[both], chosen.model.decision_function(), judged)["roc_auc"])
            row[f"ROC, {percent}"] = spread(found)
        rows.append(row)
    note = f"{min(links)} to {max(links)} links among the pairs that are judged in a draw."
    return Table("Pairs without a joint paper whose words are at hand, percent", rows, note=note)


def _summary(few: Few) -> str:
    def cell(name: str) -> str:
        return " / ".join(
            f"{np.mean([c.figures[ONE_NEW]['roc_auc'] for c in few[name, share]]):.1f}" for share in SHARES
        )

    return (
        "Brouard, Szafranski and d'Alché-Buc (2016), Table 3, AUC-ROC at 5, 10 and 20 % labelled: IOKR published "
        f"83.6 / 93.6 / 96.5, ours {cell(IOKR)}; with {ROOTS} and no penalty {cell(ROOTS)}."
    )


def _table_1(found: Rows, measure: str, name: str) -> Table:
    rows = []
    for model, view in B11_ROWS:
        row: dict[str, Any] = {"penalty": model, "words": view}
        printed = TABLE_1.get((model, measure)) if view == COUNTS else None
        for i, (percent, share) in enumerate(zip(PERCENTS, SHARES, strict=True)):
            row[f"{percent}, published"] = Spread(*printed[i], digits=1) if printed else None
            row[f"{percent}, ours"] = spread(f[ONE_NEW][measure] for f in found[model, view, share])
        rows.append(row)
    return Table(f"Table 1: {name}, percent", rows, ours=tuple(f"{percent}, ours" for percent in PERCENTS))


def _both_new(found: Rows) -> Table:
    rows = []
    for model, view in B11_ROWS:
        row: dict[str, Any] = {"penalty": model, "words": view}
        for measure, short in (("roc_auc", "ROC"), ("average_precision", "PR")):
            for percent, share in zip(PERCENTS, SHARES, strict=True):
                row[f"{short}, {percent}"] = spread(f[BOTH_NEW][measure] for f in found[model, view, share])
        rows.append(row)
    return Table("Ours on pairs of two unlabelled authors alone, percent", rows)
