"""The demo: a network is reconstructed from features of its nodes and the links between a tenth of them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.links.baselines import PKMR, Naive
from iokr.apps.links.data import Matrix, Numbers
from iokr.apps.links.settings import ALPHAS, NEIGHBORS, STRENGTHS, WIDTHS
from iokr.apps.report import INK, MUTED, OURS, THEIRS, Figure, Report, Spread, Table, Text, draw_network, plot, run_info
from iokr.apps.report.figures import Canvas
from iokr.apps.report.progress import Progress, silent
from iokr.apps.report.rankings import ranking_figures
from iokr.datasets.communities import CommunityNetwork, make_communities
from iokr.estimators.links.cv import LinkPredictorCV
from iokr.estimators.links.predictor import LinkPredictor
from iokr.kernels.vectors import RBF, Cosine
from iokr.manifolds.laplacian import Laplacian
from iokr.metrics import pair_metrics
from iokr.metrics.curves import GRID, Curves
from iokr.model_selection import cross_validate_links

__all__ = ["demonstrate", "run"]

FRACTION = 0.1  # of the nodes are labelled

SUPERVISED, SEMI = "IOKR", "IOKR, semi-supervised"
ANGLE = "IOKR, semi-supervised, by angle"
GAUSSIAN, COSINE = "similarity of features, Gaussian", "similarity of features, cosine"
BASELINE = "PKMR"
STYLES: dict[str, tuple[str, str]] = {
    SEMI: (OURS, "-"),
    ANGLE: (OURS, ":"),
    SUPERVISED: (OURS, "--"),
    BASELINE: (THEIRS, "-"),
    COSINE: (MUTED, "--"),
    GAUSSIAN: (MUTED, "-"),
}


def demonstrate(*, seed: int = 0, progress: Progress = silent) -> Report:
    """`run` with one BLAS thread, which is fastest for many small matrices, and with information about the run."""
    from threadpoolctl import threadpool_limits

    start = perf_counter()
    with threadpool_limits(1):
        report = run(seed=seed, progress=progress)
    return report.with_info(run_info(seed=seed, seconds=perf_counter() - start))


def run(*, seed: int = 0, repeat: int = 5, progress: Progress = silent) -> Report:
    """Reconstruct a network of 700 nodes from the links between 70 of them.

    Metrics are means over `repeat` sets of labelled nodes; drawings show the first.
    """
    n_models = len(STYLES) - 1
    total = n_models * repeat + 1
    network = make_communities(seed=seed)
    draws = []
    for r in range(repeat):
        draw = _Draw.of(network, np.random.default_rng([seed, r]))
        for name, model in _models(draw):
            progress(n_models * r + len(draw.models), total, f"{name}, labelled set {r + 1} of {repeat}")
            draw.models[name] = model
            draw.scores[name] = draw.fit(model)
        draw.scores[ANGLE] = _cosines(draw.scores[SEMI])
        draws.append(draw)
    progress(total - 1, total, "drawing the page")
    first = draws[0]
    path = _path(first)
    return Report(
        "Network reconstruction from a tenth of the nodes",
        _summary(draws),
        (
            _table(draws),
            _true_figure(first),
            _predicted_figure(first),
            Text("Ranking of links", (_RANKED,)),
            *_curve_figures(first),
            _settings_table(draws),
            Text("Choice of parameters", (_CHOSEN,)),
            _path_figure(first, *path),
            _path_table(first, *path),
        ),
        (
            "AUC-ROC is the probability that a link is ranked before a pair that is not linked; that of a random "
            "ranking is 50 %. AUC-PR is the average precision; that of a random ranking is the prevalence, the "
            "fraction of linked pairs.",
            "Only pairs with at least one new node, whose links are unknown, are evaluated.",
            f"± is the standard deviation over {repeat} random sets of labelled nodes; drawings show the first.",
            "Links depend on latent positions, which methods do not see and which are used to draw the network. The "
            "features are a noisy function of the positions, and some are noise alone. Whether two close nodes are "
            f"linked is partly random, so even the true distances reach an AUC-PR of {_ceiling(first):.0f} % only.",
            "h(u) is longer where more links are known, so inner products ⟨h(u), h(v)⟩ favour such regions. The angle "
            "between h(u) and h(v) does not; the predicted network is drawn from it.",
            f"The parameters of {BASELINE} (Yamanishi and Vert 2007) are chosen by five folds of labelled nodes.",
        ),
    )


# -------------------------------------------------------------------------------------------------------------- models


@dataclass(frozen=True)
class _Draw:
    """A random set of labelled nodes, and the scores of all methods."""

    network: CommunityNetwork
    linked: NDArray[np.bool_]
    labeled: Numbers
    new: NDArray[np.bool_]
    scores: dict[str, Matrix]
    models: dict[str, Any]

    @classmethod
    def of(cls, network: CommunityNetwork, rng: np.random.Generator) -> _Draw:
        n = len(network.X)
        labeled = np.sort(rng.permutation(n)[: round(FRACTION * n)])
        new = ~np.isin(np.arange(n), labeled)
        return cls(network, network.adjacency.toarray() > 0, labeled, new, {}, {})

    @property
    def evaluated(self) -> NDArray[np.bool_]:
        """Pairs with a new node, whose links are unknown."""
        return self.new[:, None] | self.new[None, :]

    @property
    def graph(self) -> Matrix:
        """Links between labelled nodes."""
        return self.linked[np.ix_(self.labeled, self.labeled)].astype(float)

    def fit(self, model: Any) -> Matrix:
        """Fit a model to the links between labelled nodes; the scores of all pairs."""
        model.fit(self.network.X, self.graph, labeled=self.labeled)
        return np.asarray(model.decision_function())

    def metrics(self, scores: Matrix, where: str = "evaluated") -> dict[str, float]:
        """AUC-ROC, AUC-PR and others of scores, on some of the pairs with a new node."""
        one, other = self.new[:, None], self.new[None, :]
        pairs = {"evaluated": one | other, "labelled–new": one ^ other, "new–new": one & other}
        return pair_metrics(self.linked, scores, where=pairs[where])


def _models(draw: _Draw) -> Iterator[tuple[str, Any]]:
    """The methods by name, fast ones first."""
    X = draw.network.X
    gamma = float(RBF().fit(X[draw.labeled]).gamma_)
    kernels = [RBF(gamma * width) for width in WIDTHS]
    yield GAUSSIAN, Naive(RBF(gamma))
    yield COSINE, Naive(Cosine())
    yield BASELINE, _best_pkmr(draw, kernels)
    yield SUPERVISED, LinkPredictorCV(kernels, alphas=ALPHAS)
    manifold = Laplacian(n_neighbors=NEIGHBORS)
    yield SEMI, LinkPredictorCV(kernels, alphas=ALPHAS, manifold=manifold, manifold_weights=STRENGTHS)


def _best_pkmr(draw: _Draw, kernels: list[RBF]) -> PKMR:
    """The best kernel and penalty in five folds of labelled nodes."""
    X = draw.network.X[draw.labeled]

    def score(model: PKMR) -> float:
        folds = cross_validate_links(model, X, draw.graph, settings=("known-new",))
        return float(folds.roc_auc.mean())

    return max((PKMR(kernel, alpha=alpha) for kernel in kernels for alpha in ALPHAS[4:10]), key=score)


def _cosines(S: Matrix) -> Matrix:
    """⟨h(u), h(v)⟩ / ‖h(u)‖‖h(v)‖ from the inner products."""
    length = np.sqrt(np.diag(S))
    return np.asarray(S / length[:, None] / length[None, :])


# -------------------------------------------------------------------------------------------------------------- tables


def _percent(draws: list[_Draw], name: str, measure: str, where: str = "evaluated") -> Spread:
    return Spread.of([100 * draw.metrics(draw.scores[name], where)[measure] for draw in draws], digits=1)


def _ceiling(draw: _Draw) -> float:
    """AUC-PR in percent of a ranking by the true distances."""
    squares = ((draw.network.positions[:, None, :] - draw.network.positions[None, :, :]) ** 2).sum(axis=2)
    return 100 * draw.metrics(-squares)["average_precision"]


def _table(draws: list[_Draw]) -> Table:
    prevalence = _percent(draws, GAUSSIAN, "prevalence").mean
    precisions = {name: _percent(draws, name, "average_precision") for name in STYLES}
    rows = [
        {
            "method": name,
            "AUC-ROC %": _percent(draws, name, "roc_auc"),
            "AUC-PR %": precision,
            "times prevalence": round(precision.mean / prevalence, 1),
        }
        for name, precision in precisions.items()
    ]
    n, known = len(draws[0].new), len(draws[0].labeled)
    title = f"Links among {n} nodes, known between {known} of them; {prevalence:.1f} % of the pairs are linked"
    return Table(title, rows, our_rows=tuple(i for i, name in enumerate(STYLES) if name in (SEMI, ANGLE, SUPERVISED)))


def _settings_table(draws: list[_Draw]) -> Table:
    rows = [
        {
            "pairs": where,
            "method": name,
            "AUC-ROC %": _percent(draws, name, "roc_auc", where),
            "AUC-PR %": _percent(draws, name, "average_precision", where),
        }
        for where in ("labelled–new", "new–new")
        for name in STYLES
    ]
    note = "New nodes are those whose links are unknown; most pairs are new–new."
    return Table("Labelled–new and new–new pairs separately", rows, note=note, folded=True)


# ---------------------------------------------------------------------------------------------------------------- text

_RANKED = (
    "Pairs of nodes are ranked by their scores. The first curve shows the fraction of links found against the "
    "fraction of false alarms, the second the fraction of links among the first pairs. The thin lines are a random "
    "ranking."
)
_CHOSEN = (
    "Bandwidth, `alpha` and the manifold weight are chosen by the AUC of leave-one-out scores between labelled nodes, "
    "in closed form. With few links the largest AUC is partly noise: `alpha` is an average of the values whose AUC is "
    "within that noise of the largest, so the dot need not be at the maximum. Caveat: the output kernel contains the "
    "links of the node that is left out, so the level of the leave-one-out curve is optimistic. The AUC on held-out "
    "pairs is not used."
)


def _summary(draws: list[_Draw]) -> str:
    first = draws[0]
    n, known = len(first.new), int(first.graph.sum() / 2)
    ours, alone = _percent(draws, SEMI, "roc_auc").mean, _percent(draws, SUPERVISED, "roc_auc").mean
    naive = _percent(draws, COSINE, "roc_auc").mean
    links = f"{known} links between {len(first.labeled)} of them{' (in the first draw)' if len(draws) > 1 else ''}"
    return (
        f"Given are the features of {n} nodes and the {links}. Semi-supervised IOKR ranks a link before another pair "
        f"with probability {ours:.0f} % (supervised: {alone:.0f} %), similarity of features with {naive:.0f} %."
    )


# ------------------------------------------------------------------------------------------------------------- figures


def _true_figure(draw: _Draw) -> Figure:
    pairs = draw.network.edges
    known = ~draw.evaluated[pairs[:, 0], pairs[:, 1]]
    return draw_network(
        draw.network.positions,
        {"hidden": pairs[~known], "known": pairs[known]},
        names={"hidden": "held out", "known": "known", "stressed": "labelled"},
        classes=draw.network.communities,
        stressed=~draw.new,
        caption=f"The true network: {len(pairs)} links, of which {known.sum()} are known. Colours are communities, "
        "which methods do not see.",
    )


def _predicted_figure(draw: _Draw) -> Figure:
    density = draw.graph.mean() * len(draw.graph) / (len(draw.graph) - 1)
    top = round(density * np.triu(draw.evaluated, k=1).sum())
    evaluated = np.argwhere(np.triu(draw.evaluated, k=1))
    pairs = evaluated[np.argsort(-draw.scores[ANGLE][evaluated[:, 0], evaluated[:, 1]], kind="stable")[:top]]
    right = draw.linked[pairs[:, 0], pairs[:, 1]]
    near = draw.network.communities[pairs]
    same = np.mean(near[:, 0] == near[:, 1])
    known = draw.network.edges
    return draw_network(
        draw.network.positions,
        {"wrong": pairs[~right], "right": pairs[right], "known": known[~draw.evaluated[known[:, 0], known[:, 1]]]},
        names={
            "right": "predicted, linked",
            "wrong": "predicted, not linked",
            "known": "known",
            "stressed": "labelled",
        },
        classes=draw.network.communities,
        stressed=~draw.new,
        caption=f"The predicted network, nodes in the same places: the {top} best pairs, as many as the density among "
        f"labelled nodes suggests. {100 * right.mean():.0f} % of them are links (random pairs: "
        f"{100 * draw.metrics(draw.scores[SEMI])['prevalence']:.1f} %), {100 * same:.0f} % are within a community.",
    )


def _curve_figures(draw: _Draw) -> tuple[Figure, Figure]:
    pairs = np.triu(draw.evaluated, k=1)
    curves = {name: Curves.of(draw.linked[pairs], draw.scores[name][pairs]) for name in STYLES}
    top = max(100 * curve.precision[GRID > 0.02].max() for curve in curves.values())  # the first pairs are few
    guessing = 100 * draw.metrics(draw.scores[SEMI])["prevalence"]
    return ranking_figures(curves, STYLES, prevalence=guessing, top=1.2 * top, height=4.6)


def _path(draw: _Draw) -> tuple[Matrix, list[float]]:
    """Leave-one-out AUC over alpha at the chosen kernel and manifold weight, and AUC on held-out pairs, in percent."""
    chosen = draw.models[SEMI]
    kernel, manifold_weight, _ = chosen.best_index_
    manifold = Laplacian(chosen.manifold_weight_, n_neighbors=NEIGHBORS)
    gamma = RBF(chosen.kernel_.gamma)
    models = [LinkPredictor(gamma, alpha=alpha, manifold=manifold) for alpha in ALPHAS]
    held_out = [100 * draw.metrics(draw.fit(model))["roc_auc"] for model in models]
    return 100 * np.asarray(chosen.scores_)[kernel, manifold_weight], held_out


def _path_figure(draw: _Draw, loo: Matrix, held_out: list[float]) -> Figure:
    alone = draw.models[SUPERVISED]
    chosen = draw.models[SEMI]
    supervised = 100 * alone.scores_[alone.best_index_[0]]

    def draw_path(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.semilogx(ALPHAS, loo, color=OURS, label="leave-one-out, semi-supervised")
        axes.semilogx(ALPHAS, supervised, "--", color=OURS, label="leave-one-out, supervised")
        axes.semilogx(ALPHAS, held_out, "-.", color=THEIRS, label="held-out pairs, semi-supervised")
        for model, path, label in ((chosen, loo, "chosen"), (alone, supervised, None)):
            height = np.interp(np.log(model.alpha_), np.log(ALPHAS), path)  # alpha_ lies between values of the grid
            axes.plot(model.alpha_, height, "o", color=INK, label=label)
        axes.set(xlabel="alpha", ylabel="AUC-ROC (%)")
        canvas.legend(loc="outside upper center", ncols=1)

    caption = f"AUC against `alpha` at the chosen bandwidth and manifold weight; alpha = {chosen.alpha_:.3g} is chosen."
    return plot(draw_path, caption=caption, size=(4.8, 4.4))


def _path_table(draw: _Draw, loo: Matrix, held_out: list[float]) -> Table:
    chosen = draw.models[SEMI].best_index_[2]
    rows = [
        {
            "alpha": alpha,
            "leave-one-out AUC-ROC %": float(loo[i]),
            "held-out pairs, AUC-ROC %": held_out[i],
            "chosen": i == chosen,
        }
        for i, alpha in enumerate(ALPHAS)
    ]
    return Table("AUC against alpha, semi-supervised", rows, ours=("leave-one-out AUC-ROC %",), folded=True)
