"""Rankings of labels from features on public data sets: kernels on rankings with exact decoding, and baselines."""

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

FOLDS = 10
LARGE = 1000
FEW = 400  # maximal number of training rows on which the input kernel is chosen
MORE = 1000  # maximal number of training rows on which λ is chosen
GAMMAS = {
    RBF: (0.03, 0.1, 0.3, 1.0, 3.0, 10.0),
    Laplacian: (0.1, 0.3, 1.0, 3.0, 10.0),
}  # divided by the number of features
ALPHAS = tuple(np.logspace(-4, 2, 13))
NEIGHBORS = (1, 2, 3, 5, 7, 10, 15, 20, 30, 50, 100, 200)
LEAVES = (1, 5, 25)  # minimal number of rows in a leaf
KENDALL = "IOKR, Kendall"
SPEARMAN = "IOKR, Spearman"
FOREST = "forest, Kendall"
RISK = "IOKR, MinimumRisk"
NEAR = "neighbours"
LINEAR = "linear ridge"
ALWAYS = "mean ranking"
OURS = (KENDALL, RISK, SPEARMAN, FOREST)


@dataclass(frozen=True)
class RankingPlan(Plan):
    """Data sets of at most `largest` rows; folds are drawn `repeat` times, those of large sets once unless `full`."""

    full: bool = False
    largest: int = 5000

    def times(self, n: int) -> int:
        """The number of draws of folds for a set of n rows."""
        if n > LARGE and not self.full:
            return 1
        return self.repeat

    def key(self) -> dict[str, Any]:
        """A fold depends only on the seed."""
        return {"seed": self.seed}


@dataclass(frozen=True)
class Fold(Case):
    """A fold of one draw of folds of a data set."""

    name: str
    repeat: int
    fold: int


def load(plan: RankingPlan) -> Sets:
    """The data sets of the plan by increasing size."""
    sets = {name: load_label_ranking(name) for name in label_ranking_sets()}
    small = {name: data for name, data in sets.items() if len(data) <= plan.largest}
    return dict(sorted(small.items(), key=lambda item: len(item[1])))


def cases(plan: RankingPlan, sets: Sets) -> list[Fold]:
    """Every fold."""
    return [
        Fold(name, repeat, fold)
        for name, data in sets.items()
        for repeat in range(plan.times(len(data)))
        for fold in range(FOLDS)
    ]


# ------------------------------------------------------------------------------------------------------------- methods


@dataclass(frozen=True)
class Prediction:
    """Rankings of the test rows, and a description of the chosen parameters."""

    ranks: Any
    chosen: str
    fitted: tuple[Any, Matrix] | None = None  # a model, and its training rankings in the order of its training rows


Method = Callable[[Matrix, Matrix, Matrix, Generator], Prediction]


def ranks_of(values: Matrix) -> Matrix:
    """Ranks of labels by increasing value, from 1; ties are broken by the order of the labels."""
    order = np.argsort(values, axis=1, kind="stable")
    return np.argsort(order, axis=1).astype(np.float64) + 1


def chosen_iokr(output_kernel: Kernel, X: Matrix, Y: Matrix, rng: Generator) -> tuple[IOKR | IOKRCV, Matrix]:
    """Input kernel and width by leave-one-out on `FEW` rows, λ on `MORE`; the model of all rows and its rankings."""
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


def _iokr(output_kernel: Kernel) -> Method:
    def predicted(X: Matrix, Y: Matrix, X_test: Matrix, rng: Generator) -> Prediction:
        model, rankings = chosen_iokr(output_kernel, X, Y, rng)
        kernel = model.kernel_
        alpha = model.alpha_ if isinstance(model, IOKRCV) else model.alpha
        chosen = f"{type(kernel).__name__}, γp = {kernel.gamma * X.shape[1]:.2g}, λ = {alpha:.2g}"
        return Prediction(model.predict(X_test), chosen, (model, rankings))

    return predicted


def by_risk(kendall: Prediction, X_test: Matrix) -> Prediction:
    """The minimiser of Σ_i β_i(x) (1 − τ(y_i, y))/2 over all rankings, exactly, with β(x) of the Kendall model.

    The parameters of that model were chosen by leave-one-out; only the decoder differs.
    """
    assert kendall.fitted is not None
    model, rankings = kendall.fitted
    decoder = MinimumRisk("kendall").fit(rankings, model.embedding_)
    return Prediction(decoder.decode(model.weights(X_test), model.embedding_), kendall.chosen)


def by_neighbors(X: Matrix, Y: Matrix, X_test: Matrix, rng: Generator) -> Prediction:
    """Labels sorted by their mean rank among the k nearest rows, k by leave-one-out."""
    most = min(NEIGHBORS[-1], len(X) - 1)
    near = NearestNeighbors(n_neighbors=most).fit(X)
    own = near.kneighbors(return_distance=False)
    new = near.kneighbors(X_test, return_distance=False)
    sizes = [k for k in NEIGHBORS if k <= most]
    taus = [kendall_tau(Y, ranks_of(np.nanmean(Y[own[:, :k]], axis=1))) for k in sizes]
    k = sizes[int(np.argmax(taus))]
    return Prediction(ranks_of(np.nanmean(Y[new[:, :k]], axis=1)), f"k = {k}")


def by_ridge(X: Matrix, Y: Matrix, X_test: Matrix, rng: Generator) -> Prediction:
    """A linear ridge of the rank of each label, then sorted."""
    model = RidgeCV(np.logspace(-3, 3, 13)).fit(X, Y)
    return Prediction(ranks_of(model.predict(X_test)), f"α = {model.alpha_:.2g}")


def by_forest(X: Matrix, Y: Matrix, X_test: Matrix, rng: Generator) -> Prediction:
    """Trees in the feature space of Kendall's kernel, decoded exactly; the leaf size by out-of-bag scores."""
    few = rng.permutation(len(X))[:MORE]
    seed = int(rng.integers(2**31))
    shared: dict[str, Any] = {"n_estimators": 100, "decoder": Assignment(), "bootstrap": True, "random_state": seed}
    tried = [OutputKernelForest(Kendall(), min_samples_leaf=leaf, oob_score=True, **shared) for leaf in LEAVES]
    forest = max((one.fit(X[few], Y[few]) for one in tried), key=lambda one: float(one.oob_score_))
    if len(few) < len(X):
        forest = forest.set_params(oob_score=False).fit(X, Y)
    return Prediction(forest.predict(X_test), f"at least {forest.min_samples_leaf} rows in a leaf")


def by_mean(X: Matrix, Y: Matrix, X_test: Matrix, rng: Generator) -> Prediction:
    """The labels sorted by their mean rank, for every input."""
    ranks = ranks_of(np.nanmean(Y, axis=0, keepdims=True))
    return Prediction(np.repeat(ranks, len(X_test), axis=0), "")


METHODS: dict[str, Method] = {
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
    """Kendall's τ on the test fold and the chosen parameters, by method; features scaled by the training part."""
    data = sets[case.name]
    split = KFold(FOLDS, shuffle=True, random_state=plan.seed + case.repeat).split(data.X)
    train, test = list(split)[case.fold]
    scaler = MinMaxScaler((-1, 1)).fit(data.X[train])
    X = scaler.transform(data.X[train])
    X_test = scaler.transform(data.X[test])
    predictions: dict[str, Prediction] = {}
    for name, method in METHODS.items():
        if name == RISK:
            predictions[name] = by_risk(predictions[KENDALL], X_test)
            continue
        rng = np.random.default_rng([plan.seed, case.repeat, case.fold])
        predictions[name] = method(X, data.ranks[train], X_test, rng)
    return {
        "tau": {name: kendall_tau(data.ranks[test], found.ranks) for name, found in predictions.items()},
        "chosen": {name: found.chosen for name, found in predictions.items()},
    }


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
Taus = dict[str, dict[str, list[float]]]  # data set → method → a value per fold


def page(results: Results, plan: RankingPlan, sets: Sets) -> Report:
    """Kendall's τ of every method on every data set by repeated ten-fold cross-validation."""
    taus = {name: {method: results.numbers(Fold, f"tau.{method}", name=name) for method in METHODS} for name in sets}
    draws = "once" if plan.repeat == 1 else f"{plan.repeat} times"
    if plan.repeat > 1 and not plan.full:
        draws += f", those of data sets with more than {LARGE} rows once (`--full`: {plan.repeat} times)"
    return Report(
        "Label ranking: Kendall's τ by ten folds",
        _summary(taus),
        (
            Text("The setting", (_SETTING, _CHOICE)),
            _tau_table(taus),
            _figure(taus),
            _difference_table(sets, taus),
            Text("The output kernels", (_KERNELS, _risk(taus))),
            _chosen_table(results, sets),
        ),
        (
            f"Folds are drawn {draws}. ± is the standard deviation over all folds; for a difference, the standard "
            "error over all folds, corrected for shared training rows (Nadeau and Bengio, 2003).",
            "The data sets are those of Korba, Garcia and d'Alché-Buc (2018), Table 1, except elevators, which was not "
            "available; neither were the published numbers.",
        ),
    )


# ------------------------------------------------------------------------------------------------------------- text

_SETTING = (
    "The features of a row are numbers, categories as indicators; the output is a ranking of the labels, with ties "
    "in algae. Features are scaled to [−1, 1] on the training part. Kendall's τ is 1 for the true ranking, −1 for its "
    "reverse, 0 on average for a random one; τ_b for tied labels. Every prediction is a complete ranking."
)
_CHOICE = (
    "All parameters are chosen on the training folds. IOKR: Gaussian or Laplacian kernel and its width by "
    f"leave-one-out in the output feature space, on at most {FEW} training rows, λ on at most {MORE}, then fitted to "
    "all rows. The forest, 100 extra-trees in the feature space of Kendall's kernel, decoded exactly: the minimal leaf "
    f"size by out-of-bag scores on at most {MORE} training rows. Baselines: labels sorted by their mean rank among the "
    "nearest rows, whose number is chosen by the leave-one-out τ; a linear ridge of the rank of each label, with α by "
    "leave-one-out; and one ranking for all rows, the labels sorted by their mean rank."
)
_KERNELS = (
    "Kendall's kernel embeds a ranking as the signs of all pairs of labels (Kemeny embedding); the ranking closest to "
    "h(x) solves a linear ordering problem, solved exactly by dynamic programming over sets of labels. Spearman's "
    "kernel embeds it as centred ranks; the closest ranking sorts h(x), so this method is kernel ridge regression of "
    "the rank of each label, and linear ridge is its linear version. MinimumRisk uses the weights β(x) of the first "
    "model and minimises the risk Σ_i β_i(x) (1 − τ(y_i, y))/2. For complete training rankings this gives exactly the "
    "same ranking; tied training rankings, as in algae, are normalised by their own number of untied pairs."
)


def _risk(taus: Taus) -> str:
    """The data sets on which minimising the risk changes τ, and by how much."""
    same = [name for name, found in taus.items() if found[RISK] == found[KENDALL]]
    parts = [f"τ of both is equal in every fold of {', '.join(same)}"] if same else []
    for name, found in taus.items():
        if name not in same:
            gap = difference(found[RISK], found[KENDALL], ratio=1 / (FOLDS - 1))
            p = "" if np.isnan(gap.p) else f", p = {gap.p:.2g}"
            parts.append(f"on {name} MinimumRisk changes τ by {gap.mean:+.4f} ± {gap.error:.4f}{p}")
    return f"In these runs {'; '.join(parts)}."


def _summary(taus: Taus) -> str:
    ours = ", ".join(f"{name} {np.mean(found[KENDALL]):.3f}" for name, found in taus.items())
    ranks = _mean_ranks(taus)
    order = ", ".join(f"{method} {ranks[method]:.1f}" for method in sorted(ranks, key=lambda method: ranks[method]))
    return f"Mean τ with Kendall's kernel: {ours}. Mean rank of the methods over {len(taus)} data sets: {order}."


def _mean_ranks(taus: Taus) -> dict[str, float]:
    """The mean rank of each method over the data sets; 1 is the best."""
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
    rows.append({"set": "mean rank", **{method: round(ranks[method], 2) for method in METHODS}})
    return Table("Kendall's τ on the test folds", rows, ours=OURS)


def _difference_table(sets: Sets, taus: Taus) -> Table:
    rows = []
    for name, found in taus.items():
        row: dict[str, Any] = {"set": name, "rows": len(sets[name]), "labels": sets[name].ranks.shape[1]}
        for method in list(METHODS)[1:]:
            gap = difference(found[KENDALL], found[method], ratio=1 / (FOLDS - 1))
            row[method] = f"{gap.mean:+.3f} ± {gap.error:.3f}"
        rows.append(row)
    return Table("Kendall's kernel minus each other method, on the same folds", rows, "± is the standard error.")


def _chosen_table(results: Results, sets: Sets) -> Table:
    rows = []
    for name, method in itertools.product(sets, METHODS):
        chosen = frequent(results.numbers(Fold, f"chosen.{method}", name=name))
        if chosen:
            rows.append({"set": name, "method": method, "chosen": chosen})
    return Table("Chosen parameters, the four most frequent", rows, folded=True)


# ---------------------------------------------------------------------------------------------------------- figure


TICKS = (0.02, 0.05, 0.1, 0.2, 0.5, 1.0)


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
        axes.set_xticks(TICKS, [f"{tick:g}" for tick in TICKS])
        axes.minorticks_off()
        canvas.legend(loc="outside upper center", ncols=2)

    caption = "1 − τ, mean over the test folds; smaller is better."
    return plot(draw, caption=caption, size=(5.6, 0.35 * len(taus) + 1.8))


PLANS = {
    "short": RankingPlan(repeat=1, largest=250),
    "default": RankingPlan(repeat=5),
    "full": RankingPlan(repeat=5, full=True),
}
STUDY = Study(plans=PLANS, load=load, cases=cases, work=work, page=page)
