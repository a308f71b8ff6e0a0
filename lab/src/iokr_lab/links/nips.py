"""B16 Table 3 and Figure 5, B11 Table 1: who wrote NIPS papers with whom, from the words of their papers."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import Report, Table, Text
from iokr.estimators.links.cv import LinkPredictorCV
from iokr.kernels import RBF, Diffusion
from iokr.manifolds import Heat
from iokr_lab.cells import memoized
from iokr_lab.data.networks import NIPSAuthors, load_nips_coauthorship
from iokr_lab.links import nips_along, protocol, semi
from iokr_lab.links.few import BOTH_NEW, MAXIMUM, ONE_NEW, Chosen, Draw, Few, few_labels, labeled_draw, with_maximum
from iokr_lab.links.protocol import MEASURES, LinkPlan, Matrix, spread
from iokr_lab.links.rules import ALPHAS
from iokr_lab.links.semi import EM, IOKR, KMR, NAIVE, PAIRS, PERCENTS, SMOOTH, SUPERVISED, areas_row, at_percents
from iokr_lab.published import published
from iokr_lab.study import Case, Results, Study
from iokr_lab.tables import beside

__all__ = ["STUDY"]

N_TEST = 500  # of the paper
N_ALL = 2026
LAST_YEAR = 1999  # of papers with words
COUNTS = "counts"
FREQUENCIES = "frequencies"
ROOTS = "square roots of frequencies"
SEMI = "exp(−L), as printed"
UNSCALED = "K_Y not scaled"
B11_ROWS = (
    *((f"{name}{rule}", COUNTS) for name in (SUPERVISED, SEMI) for rule in ("", MAXIMUM)),
    *((SUPERVISED, FREQUENCIES), (SEMI, FREQUENCIES), (SUPERVISED, ROOTS)),
)
B11_MODELS = with_maximum(
    {
        SUPERVISED: LinkPredictorCV(alphas=ALPHAS),
        SEMI: LinkPredictorCV(alphas=ALPHAS, manifold_weights=semi.STRENGTHS, manifold=Heat(1.0, 1.0, literal=True)),
    }
)
NAMES = {  # of the methods whose curves are drawn
    NAIVE: NAIVE,
    EM: "EM",
    KMR: "PKMR",
    PAIRS: protocol.PAIR_MODEL,
    IOKR: "IOKR, as printed",
    SUPERVISED: "IOKR, supervised",
    ROOTS: f"IOKR, {ROOTS}",
}


@dataclass(frozen=True)
class B11(Case):
    """All other authors unlabelled, chosen by ROC; the graph of the penalty is the whole kernel."""

    penalty: str
    words: str
    fraction: float
    draw: int

    def __str__(self) -> str:
        return f"B11, {super().__str__()}"


@dataclass(frozen=True)
class Data:
    """Authors, links, kernels; `given` are pairs with a joint paper whose words are at hand."""

    read: NIPSAuthors
    W: Matrix
    grams: Mapping[str, Matrix]
    given: NDArray[np.bool_]
    methods: Mapping[str, Any]
    n_test: int
    along: Callable[[], list[protocol.Lookup]]  # kernels along λ₂


def load(plan: LinkPlan) -> Data:
    """All of B16's methods on word frequencies; without a penalty on their square roots, too."""
    read = load_nips_coauthorship()
    chosen, W, grams = authors(read)
    n_test = round(len(W) * N_TEST / N_ALL)
    methods = semi.semi_methods(len(W) - n_test) | {
        UNSCALED: LinkPredictorCV(alphas=ALPHAS, output_kernel=Diffusion(1.0)),
        ROOTS: LinkPredictorCV(alphas=ALPHAS),
    }

    @memoized(1)
    def along() -> list[protocol.Lookup]:
        return nips_along.along_kernels(grams[FREQUENCIES])

    return Data(read, W, grams, joint_words(read, chosen), methods, n_test, along)


def cases(plan: LinkPlan, data: Data) -> list[Case]:
    """Draws of labelled authors, for B16 and for B11, and along λ₂."""
    along = [nips_along.Along(f, i) for f in nips_along.SHARES for i in range(plan.repeat)]
    b11 = [B11(*row, f, i) for f in plan.fractions for i in range(plan.repeat) for row in B11_ROWS]
    return [*semi.few_cases(data.methods, plan, plan.repeat), *b11, *along]


def work(case: Few | B11 | nips_along.Along, plan: LinkPlan, data: Data) -> Mapping[str, Any]:
    """One method on one draw."""
    seed = plan.seed, case.draw
    if isinstance(case, nips_along.Along):
        return nips_along.work_along(data.along(), data.W, labeled_draw(data.W, 0, case.fraction, seed))
    if isinstance(case, B11):
        draw = labeled_draw(data.W, 0, case.fraction, seed)
        return few_labels(B11_MODELS[case.penalty], data.grams[case.words], data.W, draw, ("roc_auc",)).metrics
    draw = labeled_draw(data.W, data.n_test, case.fraction, seed)
    K = data.grams[ROOTS if case.method == ROOTS else FREQUENCIES]
    found = few_labels(data.methods[case.method], K, data.W, draw)
    if case.method not in NAMES:
        return found.metrics
    curves = _curves(found, data.W, draw) if (case.fraction, case.draw) == (plan.fractions[-1], 0) else {}
    return {**found.metrics, "later": _later(found, data, draw), **curves}


def _later(found: Chosen, data: Data, draw: Draw) -> dict[str, float]:
    """ROC of pairs that the words do not give away, and how many of them are links."""
    both = np.ix_(draw.nodes, draw.nodes)
    where = draw.one_new & ~data.given[both]
    roc = protocol.measures_of(data.W[both], found.model.decision_function(), where)["roc_auc"]
    return {"roc_auc": roc, "links": int((data.W[both] * where).sum() / 2)}


def _curves(found: Chosen, W: Matrix, draw: Draw) -> dict[str, Any]:
    pairs = np.triu(draw.one_new, k=1)
    cell = protocol.scored(W[np.ix_(draw.nodes, draw.nodes)][pairs], found.model.decision_function()[pairs])
    return {name: cell[name] for name in ("found", "precision")}


def page(results: Results, plan: LinkPlan, data: Data) -> Report:
    """Tables 3 of B16 and 1 of B11, with few labelled authors."""
    linked = protocol.prevalence(data.W)
    curves = {label: protocol.mean_curves([results[Few(name, plan.fractions[-1], 0)]]) for name, label in NAMES.items()}
    caption = (
        f"{PERCENTS[-1]} labelled, first draw: ROC and precision–recall curves of pairs with at least one unlabelled "
        "author, models chosen by PR."
    )
    return Report(
        "Who wrote NIPS papers with whom, from their words",
        _summary(results, plan),
        (
            Text("Data", (_data(data.read, data.W, data.grams[COUNTS], data.given), _MIND)),
            Text("B16, Table 3", (_protocol(data, plan),)),
            *(
                semi.published_table(
                    "b16_table3", f"Table 3: {MEASURES[measure]}, percent", results, plan, measure, note
                )
                for measure, note in (("roc_auc", ""), ("average_precision", f"At random {100 * linked:.1f}."))
            ),
            protocol.curves_figure(curves, linked, caption, ours=NAMES[IOKR]),
            Text("Links that the words do not give away", (_LATER,)),
            _later_table(results, plan),
            Text("What we would do today", (_TODAY,)),
            semi.penalties_table(
                results,
                plan,
                {
                    UNSCALED: "none, frequencies, K_Y not scaled",
                    SUPERVISED: "none, frequencies",
                    IOKR: "exp(−L) as printed, frequencies",
                    SMOOTH: f"{SMOOTH}, frequencies",
                    ROOTS: f"none, {ROOTS}",
                },
            ),
            Text("B11, Table 1", (_B11,)),
            *(_table_1(results, plan, measure) for measure in MEASURES),
            _both_new(results, plan),
            *nips_along.items(results),
            Text("What is here, and what is not", _COVERED),
        ),
        (f"± over {plan.repeat} random choices of labelled authors (the papers: ten; `--repeat 10`).",),
    )


# --------------------------------------------------------------------------------------------------------------- data


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


# --------------------------------------------------------------------------------------------------- text and tables

_MIND = (
    "An author's words are those of all of that author's papers, so co-authors share the words of their joint "
    "papers: the inputs hold a good part of the answer, in the papers as here. Similar words alone, the row "
    "Naive, say much. EM completes K_Y by K_Y's regression on the inputs plus their conditional covariance, and in "
    "that covariance authors of one paper stand out: with few labels its numbers are mostly those of similar words, "
    "whatever fraction is labelled. The published ones rise with the labels and are far lower; with the covariance "
    "left out, in a row of its own, EM comes much closer to them. Either it was not part of the scores there, or the "
    "inputs were such that similar words say less: on yeast the paper's EM hardly rises with the labels, as with it."
)
_COVERED = (
    "Of B16: Table 3 and Figure 5. Of B11: Table 1. Figures 3, 4 and 8 of B16 and Figure 1 of B11 are on the page of "
    "`synthetic-networks`.",
    "B11 printed σ = 5.7 for all its data and searched β and β₂; here the width is the median, as with relative word "
    "frequencies ‖x − z‖² ≤ 2, so that σ = 5.7 would make all authors alike, and β = β₂ = 1, as in B16.",
)
_LATER = (
    "Almost all links are joint papers whose words both authors have. What is left when pairs with such a paper are "
    "not evaluated: links by papers after the last year with words, against pairs without a link. The models are those "
    "above, chosen by PR."
)
_TODAY = (
    "K_Y of unit diagonal, no penalty, and the square roots of word frequencies: they tame the few frequent words, and "
    "all authors get vectors of one length. The table shows what each of these and the unlabelled authors are worth. "
    "On a graph of so many neighbours exp(−L) is all but the mean over its nodes, so the penalty as printed shrinks "
    "what is common to all; the one that smooths is the Laplacian of the ten nearest neighbours."
)
_B11 = (
    "All authors that are not labelled are unlabelled, and every pair with one of them is evaluated; parameters by "
    "ROC, weighted, or the largest, which is the better choice on counts: the best λ is far below most eigenvalues of "
    "their kernel, where the weights see few degrees of freedom. The paper does not say what the words were turned "
    "into: counts come closest to its numbers, and to what its unlabelled authors gain; frequencies to those of B16. "
    "On counts the kernel mostly tells how much an author wrote, and the penalty, which weighs smooth functions most, "
    "takes some of that back."
)


def _data(data: NIPSAuthors, W: Matrix, K: Matrix, given: NDArray[np.bool_]) -> str:
    several = int((data.adjacency.sum(axis=0) >= 2).sum())
    same = np.argwhere(np.triu(K > 1 - 1e-9, k=1))  # counts are integers: other vectors are further apart
    return (
        f"{several} of the {len(data.author)} authors have at least two links, the paper's number. Words are at "
        f"hand for the papers up to {LAST_YEAR} only: {len(W)} of the {several} authors have any, with "
        f"{int(W.sum() / 2)} links among them. So the network is smaller than the paper's, and its inputs are others. "
        f"{len(same)} pairs of authors have the very same words, {int(W[tuple(same.T)].sum())} of them linked; "
        f"{int((W * given).sum() / 2)} of the links are between authors of a joint paper whose words are at hand."
    )


def _protocol(data: Data, plan: LinkPlan) -> str:
    draws = [labeled_draw(data.W, data.n_test, plan.fractions[0], (plan.seed, i)) for i in range(plan.repeat)]
    links = [int(data.W[np.ix_(draw.labeled, draw.labeled)].sum() / 2) for draw in draws]
    return (
        "A quarter of the authors unseen (500 of 2026 in the paper, the same fraction here), 5, 10 or 20 % of the "
        "others labelled. Gaussian kernel of median width on word frequencies, K_Y the diffusion kernel with unit "
        "diagonal, β = 1. Parameters are chosen for ROC and for PR separately, by five folds of the labelled authors, "
        "as in the paper; for IOKR the manifold weight of its penalty exp(−L) on the graph of the nearest tenth, 0 "
        f"among its values. At {PERCENTS[0]} labelled the draws know {', '.join(map(str, links))} links: the largest "
        "score there is mostly chance, so IOKR's λ is the mean of its logarithm, weighted by the degrees of freedom "
        "about it and by how far each score lies below the largest in units of its standard error; choosing by the "
        "largest is beside it. Transductive: pairs with at least one unlabelled author; semi-supervised: pairs of two "
        "unseen ones. Much of the fall of PR from the one to the other is a change of the pairs: see the rows of both "
        "unlabelled below."
    )


def _later_table(results: Results, plan: LinkPlan) -> Table:
    rows = []
    for name, label in NAMES.items():
        roc = at_percents(results, plan, "later.roc_auc", method=name)
        rows.append({"method": label, **{f"ROC, {percent}": spread(values) for percent, values in roc.items()}})
    links = [cell["later"]["links"] for cell in results.of(Few).values() if "later" in cell]
    note = f"{min(links)} to {max(links)} links among the pairs that are evaluated in a draw."
    return Table("Pairs without a joint paper whose words are at hand, percent", rows, note=note)


def _summary(results: Results, plan: LinkPlan) -> str:
    def cell(name: str) -> str:
        values = at_percents(results, plan, f"{ONE_NEW}.roc_auc", method=name).values()
        return " / ".join(f"{np.mean(found):.1f}" for found in values)

    return (
        "Brouard, Szafranski and d'Alché-Buc (2016), Table 3, AUC-ROC at 5, 10 and 20 % labelled: IOKR published "
        f"83.6 / 93.6 / 96.5, ours {cell(IOKR)}; with {ROOTS} and no penalty {cell(ROOTS)}."
    )


def _table_1(results: Results, plan: LinkPlan, measure: str) -> Table:
    short = MEASURES[measure]
    metric = f"{ONE_NEW}.{measure}"
    return beside(
        f"Table 1: {short}, percent",
        {(name, COUNTS): numbers for name, numbers in published("b11_table1", short).items()},
        {row: at_percents(results, plan, metric, B11, penalty=row[0], words=row[1]) for row in B11_ROWS},
        columns=PERCENTS,
        rows=B11_ROWS,
        label=("penalty", "words"),
    )


def _both_new(results: Results, plan: LinkPlan) -> Table:
    names = [{"penalty": penalty, "words": words} for penalty, words in B11_ROWS]
    rows = [{**same, **areas_row(results, plan, BOTH_NEW, B11, **same)} for same in names]
    return Table("Ours on pairs of two unlabelled authors alone, percent", rows)


STUDY = Study(
    plans={"short": LinkPlan(repeat=1), "default": LinkPlan(repeat=3)},
    load=load,
    cases=cases,
    work=work,
    page=page,
)
