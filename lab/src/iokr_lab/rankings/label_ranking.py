"""Rankings of labels from features: structured kernels and exact decoding beside plain rivals, on public sets."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import KFold
from sklearn.neighbors import NearestNeighbors
from sklearn.preprocessing import MinMaxScaler

from iokr.apps.report import INK, MUTED, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.apps.report import OURS as COLOUR
from iokr.apps.report.figures import Canvas
from iokr.decoders.assignment import Assignment
from iokr.decoders.risk import MinimumRisk
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.estimators.trees.forest import OutputKernelForest
from iokr.kernels.base import Kernel
from iokr.kernels.structured.rankings import Kendall, Spearman
from iokr.kernels.vectors import RBF, Laplacian
from iokr.metrics import kendall_tau
from iokr_lab.data.label_ranking import LabelRanking, label_ranking_sets, load_label_ranking
from iokr_lab.study import Case, Plan, Results, Study
from iokr_lab.tables import difference, frequent

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]
Sets = dict[str, LabelRanking]

FOLDS, LARGE = 10, 1000
FEW, MORE = 400, 1000  # training rows on which the input kernel, and then λ, is chosen, at most
GAMMAS = {RBF: (0.03, 0.1, 0.3, 1.0, 3.0, 10.0), Laplacian: (0.1, 0.3, 1.0, 3.0, 10.0)}  # over the number of features
ALPHAS = tuple(np.logspace(-4, 2, 13))
NEIGHBORS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200)
LEAVES = (1, 5, 25)  # rows in a leaf, at least
KENDALL, SPEARMAN, FOREST = "IOKR, Kendall", "IOKR, Spearman", "forest, Kendall"
RISK = "IOKR, MinimumRisk"
NEAR, LINEAR, ALWAYS = "neighbours", "linear ridge", "one for all"
OURS = (KENDALL, RISK, SPEARMAN, FOREST)


@dataclass(frozen=True)
class RankingPlan(Plan):
    """Sets of at most `largest` rows; their folds are drawn `repeat` times, large ones once unless `full`."""

    full: bool = False
    largest: int = 5000

    def times(self, n: int) -> int:
        """How often the folds of a set of n rows are drawn."""
        return 1 if n > LARGE and not self.full else self.repeat

    def key(self) -> dict[str, Any]:
        """A fold depends on the seed alone."""
        return {"seed": self.seed}


@dataclass(frozen=True)
class Fold(Case):
    """A fold of a drawing of folds of a set."""

    name: str
    repeat: int
    fold: int


def load(plan: RankingPlan) -> Sets:
    """The sets of the plan, the smallest first."""
    sets = {name: load_label_ranking(name) for name in label_ranking_sets()}
    small = {name: data for name, data in sets.items() if len(data) <= plan.largest}
    return dict(sorted(small.items(), key=lambda item: len(item[1])))


def cases(plan: RankingPlan, sets: Sets) -> list[Fold]:
    """Every fold to run."""
    return [
        Fold(name, repeat, fold)
        for name, data in sets.items()
        for repeat in range(plan.times(len(data)))
        for fold in range(FOLDS)
    ]


# ------------------------------------------------------------------------------------------------------------- methods


@dataclass(frozen=True)
class Answer:
    """Rankings of the test rows, and what was chosen, in words."""

    ranks: Any
    chosen: str
    fitted: tuple[Any, Matrix] | None = None  # a model, and its training rankings in its order


def completed(values: Matrix) -> Matrix:
    """Labels sorted by value, the smallest first: ranks from 1, ties by the order of the labels."""
    order = np.argsort(values, axis=1, kind="stable")
    return np.argsort(order, axis=1).astype(np.float64) + 1


def chosen_iokr(output_kernel: Kernel, X: Matrix, Y: Matrix, rng: Generator) -> tuple[IOKR | IOKRCV, Matrix]:
    """Input kernel and width by leave-one-out on `FEW` rows, λ on `MORE`, the model on all; and Y in its order."""
    kernels = [kernel(gamma / X.shape[1]) for kernel, gammas in GAMMAS.items() for gamma in gammas]
    rows = rng.permutation(len(X))
    shared: dict[str, Any] = {"output_kernel": output_kernel, "decoder": Assignment()}
    model: IOKR | IOKRCV = IOKRCV(kernels, alphas=ALPHAS, **shared).fit(X[rows[:FEW]], Y[rows[:FEW]])
    if len(X) > FEW:
        kernel = kernels[model.best_index_[0]]
        model = IOKRCV(kernel, alphas=ALPHAS, **shared).fit(X[rows[:MORE]], Y[rows[:MORE]])
        if len(X) > MORE:
            return IOKR(kernel, alpha=model.alpha_, **shared).fit(X, Y), Y
    return model, Y[rows[:MORE]]


def _iokr(output_kernel: Kernel) -> Callable[[Matrix, Matrix, Matrix, Generator], Answer]:
    def answer(X: Matrix, Y: Matrix, X_test: Matrix, rng: Generator) -> Answer:
        model, rankings = chosen_iokr(output_kernel, X, Y, rng)
        kernel, alpha = model.kernel_, getattr(model, "alpha_", None) or model.alpha
        chosen = f"{type(kernel).__name__}, γp = {kernel.gamma * X.shape[1]:.2g}, λ = {alpha:.2g}"
        return Answer(model.predict(X_test), chosen, (model, rankings))

    return answer


def by_risk(answer: Answer, X_test: Matrix) -> Answer:
    """The order of least Σ_i β_i(x) (1 − τ(y_i, y))/2 over all orders, exactly; β of the model with Kendall's kernel.

    What that model chose was chosen by leave-one-out, and is kept: only the decoder differs.
    """
    assert answer.fitted is not None
    model, rankings = answer.fitted
    decoder = MinimumRisk("kendall").fit(rankings, model.embedding_)
    return Answer(decoder.decode(model.weights(X_test), model.embedding_), answer.chosen)


def by_neighbors(X: Matrix, Y: Matrix, X_test: Matrix, rng: Generator) -> Answer:
    """Labels by their mean rank among the k nearest rows, k by leave-one-out."""
    most = min(NEIGHBORS[-1], len(X) - 1)
    near = NearestNeighbors(n_neighbors=most).fit(X)
    own, new = near.kneighbors(return_distance=False), near.kneighbors(X_test, return_distance=False)
    sizes = [k for k in NEIGHBORS if k <= most]
    taus = [kendall_tau(Y, completed(np.nanmean(Y[own[:, :k]], axis=1))) for k in sizes]
    k = sizes[int(np.argmax(taus))]
    return Answer(completed(np.nanmean(Y[new[:, :k]], axis=1)), f"k = {k}")


def by_ridge(X: Matrix, Y: Matrix, X_test: Matrix, rng: Generator) -> Answer:
    """A linear model of the rank of each label, then sorted."""
    model = RidgeCV(np.logspace(-3, 3, 13)).fit(X, Y)
    return Answer(completed(model.predict(X_test)), f"α = {model.alpha_:.2g}")


def by_forest(X: Matrix, Y: Matrix, X_test: Matrix, rng: Generator) -> Answer:
    """Trees in the feature space of Kendall's kernel, decoded exactly; leaves by the rows that trees do not draw."""
    few, seed = rng.permutation(len(X))[:MORE], int(rng.integers(2**31))
    shared: dict[str, Any] = {"n_estimators": 100, "decoder": Assignment(), "bootstrap": True, "random_state": seed}
    tried = [OutputKernelForest(Kendall(), min_samples_leaf=leaf, oob_score=True, **shared) for leaf in LEAVES]
    forest = max((one.fit(X[few], Y[few]) for one in tried), key=lambda one: float(one.oob_score_))
    if len(few) < len(X):
        forest = forest.set_params(oob_score=False).fit(X, Y)
    return Answer(forest.predict(X_test), f"at least {forest.min_samples_leaf} rows in a leaf")


def by_mean(X: Matrix, Y: Matrix, X_test: Matrix, rng: Generator) -> Answer:
    """The labels by their mean rank, whatever the input."""
    return Answer(np.repeat(completed(np.nanmean(Y, axis=0, keepdims=True)), len(X_test), axis=0), "")


METHODS: dict[str, Callable[[Matrix, Matrix, Matrix, Generator], Answer]] = {
    KENDALL: _iokr(Kendall()),
    RISK: lambda X, Y, X_test, rng: by_risk(_iokr(Kendall())(X, Y, X_test, rng), X_test),
    SPEARMAN: _iokr(Spearman()),
    FOREST: by_forest,
    NEAR: by_neighbors,
    LINEAR: by_ridge,
    ALWAYS: by_mean,
}


# ---------------------------------------------------------------------------------------------------------------- runs


def work(case: Fold, plan: RankingPlan, sets: Sets) -> dict[str, Any]:
    """Kendall's τ on the test fold and what was chosen, by method; features scaled to [−1, 1] on the training part."""
    data = sets[case.name]
    split = KFold(FOLDS, shuffle=True, random_state=plan.seed + case.repeat).split(data.X)
    train, test = list(split)[case.fold]
    scaler = MinMaxScaler((-1, 1)).fit(data.X[train])
    X, X_test = scaler.transform(data.X[train]), scaler.transform(data.X[test])
    tau, chosen = {}, {}
    answers: dict[str, Answer] = {}
    for name, method in METHODS.items():
        if name == RISK:
            answer = by_risk(answers[KENDALL], X_test)
        else:
            answer = method(X, data.ranks[train], X_test, np.random.default_rng([plan.seed, case.repeat, case.fold]))
        answers[name] = answer
        tau[name], chosen[name] = kendall_tau(data.ranks[test], answer.ranks), answer.chosen
    return {"tau": tau, "chosen": chosen}


# ---------------------------------------------------------------------------------------------------------------- page

MARKS = {
    KENDALL: (COLOUR, "o"),
    RISK: (COLOUR, "."),
    SPEARMAN: (COLOUR, "x"),
    FOREST: (COLOUR, "^"),
    NEAR: (THEIRS, "s"),
    LINEAR: (INK, "+"),
    ALWAYS: (MUTED, "|"),
}
Taus = dict[str, dict[str, list[float]]]  # set, method: a value per fold


def page(results: Results, plan: RankingPlan, sets: Sets) -> Report:
    """Kendall's τ of every method on every set, ten folds, drawn several times."""
    taus = {name: {method: results.numbers(Fold, f"tau.{method}", name=name) for method in METHODS} for name in sets}
    once = f", those of sets of more than {LARGE} rows once (`--full`: as often)"
    return Report(
        "Label ranking: Kendall's τ by ten folds",
        _summary(taus),
        (
            Text("The setting", (_SETTING, _CHOICE)),
            _tau_table(taus),
            _figure(taus),
            _difference_table(sets, taus),
            Text("What the two output kernels mean", (_KERNELS, _risk(taus))),
            _chosen_table(results, sets),
        ),
        (
            f"Folds are drawn {'once' if plan.repeat == 1 else f'{plan.repeat} times'}"
            f"{once if plan.repeat > 1 and not plan.full else ''}. ± is the standard deviation over all folds; behind "
            "a difference, its standard error over all folds, corrected for the training rows that they share (Nadeau "
            "and Bengio, 2003).",
            "The sets are those of Korba, Garcia and d'Alché-Buc (2018), Table 1, without elevators, which was not at "
            "hand; nor were the published numbers.",
        ),
    )


# ------------------------------------------------------------------------------------------------------------- text

_SETTING = (
    "The features of a row are numbers, categories as indicators; the output is an order of the labels, tied in places "
    "in algae. Features are scaled to [−1, 1] on the training part. Kendall's τ is 1 for the true order, −1 for its "
    "reverse, 0 on average for a random one; τ_b where labels are tied. Every answer is a complete order."
)
_CHOICE = (
    "Everything is chosen on the training folds. IOKR: Gaussian or Laplacian kernel and its width by leave-one-out in "
    f"the output feature space, on at most {FEW} training rows, λ on at most {MORE}, then fitted to all. The forest, "
    "100 extra-trees in the feature space of Kendall's kernel, decoded exactly: the least size of a leaf, on at most "
    f"{MORE} training rows, by those that a tree did not draw. Beside them: labels by their mean rank among the "
    "nearest rows, whose number is chosen by the τ of leave-one-out; a linear ridge of the rank of each label, its α "
    "by leave-one-out; and one ranking for all, the labels by their mean rank."
)
_KERNELS = (
    "Kendall's kernel embeds an order as the signs of all pairs of labels (Kemeny embedding); the order closest to "
    "h(x) is a linear ordering problem, solved exactly by dynamic programming over sets of labels. Spearman's kernel "
    "embeds it as centred ranks; there the closest order sorts h(x), so that method is kernel ridge regression of the "
    "rank of each label, and linear ridge is the same without a kernel. MinimumRisk keeps the weights β(x) of the "
    "first model and decides by the loss, Σ_i β_i(x) (1 − τ(y_i, y))/2: over complete orders that is the same order, "
    "exactly; where training orders are tied, as in algae, each counts by its own number of untied pairs."
)


def _risk(taus: Taus) -> str:
    """Where deciding by the loss gives another τ than deciding by the kernel, and by how much."""
    same = [name for name, found in taus.items() if found[RISK] == found[KENDALL]]
    parts = [f"τ of the two is the same in every fold of {', '.join(same)}"] if same else []
    for name, found in taus.items():
        if name not in same:
            gap = difference(found[RISK], found[KENDALL], ratio=1 / (FOLDS - 1))
            p = "" if np.isnan(gap.p) else f", p = {gap.p:.2g}"
            parts.append(f"on {name} MinimumRisk changes it by {gap.mean:+.4f} ± {gap.error:.4f}{p}")
    return f"In these runs {'; '.join(parts)}."


def _summary(taus: Taus) -> str:
    ours = ", ".join(f"{name} {np.mean(found[KENDALL]):.3f}" for name, found in taus.items())
    ranks = _mean_ranks(taus)
    order = ", ".join(f"{method} {ranks[method]:.1f}" for method in sorted(ranks, key=lambda method: ranks[method]))
    return f"Mean τ with Kendall's kernel: {ours}. Mean place of the methods over {len(taus)} sets: {order}."


def _mean_ranks(taus: Taus) -> dict[str, float]:
    """The mean place of each method over the sets, 1 the best."""
    values = np.array([[np.mean(found[method]) for method in METHODS] for found in taus.values()])
    places = 1 + (values[:, None, :] > values[:, :, None]).sum(axis=2)
    return dict(zip(METHODS, places.mean(axis=0).tolist(), strict=True))


# ----------------------------------------------------------------------------------------------------------- tables


def _tau_table(taus: Taus) -> Table:
    rows: list[dict[str, Any]] = []
    for name, found in taus.items():
        scores = {method: Spread.of(found[method], digits=3) for method in METHODS}
        rows.append({"set": name, **scores})
    ranks = _mean_ranks(taus)
    rows.append({"set": "mean place", **{method: round(ranks[method], 2) for method in METHODS}})
    return Table("Kendall's τ on the test folds", rows, ours=OURS)


def _difference_table(sets: Sets, taus: Taus) -> Table:
    rows = []
    for name, found in taus.items():
        row: dict[str, Any] = {"set": name, "rows": len(sets[name]), "labels": sets[name].ranks.shape[1]}
        for method in list(METHODS)[1:]:
            gap = difference(found[KENDALL], found[method], ratio=1 / (FOLDS - 1))
            row[method] = f"{gap.mean:+.3f} ± {gap.error:.3f}"
        rows.append(row)
    return Table("Kendall's kernel minus each of the others, on the same folds", rows, "± is the standard error.")


def _chosen_table(results: Results, sets: Sets) -> Table:
    chosen = {
        (name, method): frequent(results.numbers(Fold, f"chosen.{method}", name=name))
        for name, method in itertools.product(sets, METHODS)
    }
    rows = [{"set": name, "method": method, "chosen": often} for (name, method), often in chosen.items() if often]
    return Table("What was chosen, the four most frequent", rows, folded=True)


# ---------------------------------------------------------------------------------------------------------- figure


def _figure(taus: Taus) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        places = np.arange(len(taus))
        for method, (colour, mark) in MARKS.items():
            lost = [1 - np.mean(found[method]) for found in taus.values()]
            axes.plot(lost, places, mark, color=colour, markersize=5, label=method)
        axes.set_yticks(places, list(taus))
        axes.invert_yaxis()
        axes.set(xlabel="1 − τ, logarithmic", xscale="log", ylim=(len(taus) - 0.5, -0.5))
        axes.set_xticks(ticks := [0.02, 0.05, 0.1, 0.2, 0.5, 1.0], [f"{tick:g}" for tick in ticks])
        axes.minorticks_off()
        canvas.legend(loc="outside upper center", ncols=2)

    caption = "What is missing to the true order, 1 − τ, mean over the test folds; to the left is better."
    return plot(draw, caption=caption, size=(5.6, 0.35 * len(taus) + 1.8))


PLANS = {
    "short": RankingPlan(repeat=1, largest=250),
    "default": RankingPlan(repeat=5),
    "full": RankingPlan(repeat=5, full=True),
}
STUDY = Study(plans=PLANS, load=load, cases=cases, work=work, page=page)
