"""The models of a network compared by folds of nodes, and the best one, or the one that was asked for, learned."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from iokr.apps.links.comparison import FOLDS, Evaluated, compare
from iokr.apps.links.methods import CHOOSE, COMPARED, LEARN, Learned, fit_method, sample_size, searches

if TYPE_CHECKING:
    from iokr.apps.links.clock import Clock
    from iokr.apps.links.model import Task

__all__ = ["COMPARE", "KEEP", "RANK", "WRITE", "Outcome", "learn", "work"]

COMPARE, RANK, WRITE, KEEP = "comparing models", "ranking pairs", "writing and drawing", "writing the model"


@dataclass(frozen=True, eq=False)
class Outcome:
    """What was learned, and how the models fared."""

    learned: Learned
    evaluated: tuple[Evaluated, ...]  # best first; none without enough links for folds
    n_evaluated: int  # labelled nodes in the folds


def learn(task: Task, clock: Clock, seed: int) -> Outcome:
    """Compare the models that are asked for, and learn the best from all links."""
    evaluated, n_evaluated = compare(task, clock, COMPARE, seed)
    method = evaluated[0].method if evaluated else next(iter(searches(task)))
    return Outcome(fit_method(task, method, clock, seed), tuple(evaluated), n_evaluated)


def work(task: Task, *, kept: bool = False) -> dict[str, float]:
    """The parts of the command, with their flops; a model that is `kept` lists nothing."""
    N, n = len(task.ids), len(task.network.labeled)
    asked = [method for method in ("iokr", "pairs") if task.options.method in (method, "auto", "stack")]
    sample = sample_size(task)
    learned = sum({"iokr": 8.0, "pairs": 30.0}[method] for method in asked) * float(n) ** 3 if sample else 0.0
    return {
        COMPARE: 1.3 * FOLDS * sum(_search(task, method, 0.8 * min(n, COMPARED)) for method in asked),
        CHOOSE: sum(_search(task, method, sample or n) for method in asked),
        LEARN: learned,
        **({KEEP: 1e9} if kept else {RANK: 2.0 * N * N * n, WRITE: 2e9 + 1e6 * N}),
    }


def _search(task: Task, method: str, n: float) -> float:
    """Flops of a search on n labelled nodes: eigenvectors, which are slower per flop, products, and sorted pairs."""
    kernels, alphas = len(task.model.kernel), len(task.model.alphas)
    if method == "pairs":
        model = searches(replace(task, options=replace(task.options, method="pairs")))["pairs"].model
        grid, n = float(len(model.mixes) * len(model.alphas)), (1 - 1 / float(model.cv)) * n
        return float(kernels * model.cv) * (35 * n**3 + grid * (2.5 * n**3 + 1000 * n**2))
    if task.options.unlabeled:  # one reduction for every manifold weight and alpha
        N = n + min(len(task.ids) - len(task.network.labeled), max(n, COMPARED))
        every = len(task.model.manifold_weights or (0.0,)) * alphas * (2 * N * n**2 + 6 * n**3 + 1000 * n**2)
        return kernels * (15 * N**3 + every)
    return kernels * (30 * n**3 + alphas * (3 * n**3 + 1000 * n**2))
