"""`iokr links predict`: the pairs most likely to be linked that are not known to be."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any

from iokr.apps.links.clock import Clock
from iokr.apps.links.comparison import FOLDS, Evaluated, compared_table
from iokr.apps.links.explanation import explain
from iokr.apps.links.learning import RANK, WRITE, learn, work
from iokr.apps.links.methods import METHODS, STACKED, Learned
from iokr.apps.links.model import Options, Task
from iokr.apps.links.page import live_parts, precision_parts
from iokr.apps.links.placed import Asked, Placed
from iokr.apps.links.ranking import ranked, rows_of, threshold_of
from iokr.apps.links.scores import Scored
from iokr.apps.links.words import chosen_table, link_files, live_links
from iokr.apps.report import Network, Report, run_info
from iokr.apps.report.progress import Progress

__all__ = ["Found", "predict_links"]

READ = "reading files"


def predict_links(options: Options, *, top: int, seed: int, progress: Progress) -> Report:
    """The best pairs that are not known to be linked."""
    start = perf_counter()
    progress(0, 100, READ)
    task = Task.of(options)
    asked, placed = options.asked(top), task.placed
    asked.lists(placed)  # refused before the work
    clock = Clock(progress, work(task))
    outcome = learn(task, clock, seed)
    clock.at(RANK)
    scored = Scored.of(outcome.learned, placed)
    threshold = threshold_of(placed, scored, outcome.evaluated)
    found = Found.of(outcome.learned, placed, scored, outcome.evaluated, threshold, asked)
    clock.at(WRITE)
    learned, evaluated = outcome.learned, outcome.evaluated
    labeled = task.network.labeled
    tables = (
        *([compared_table(evaluated, outcome.n_evaluated, len(labeled), options.scoring)] if evaluated else []),
        task.input_table(),
        chosen_table(task, learned),
    )
    report = Report(
        "New links of a network",
        f"{len(task.ids)} nodes, {task.network.n_learned} known links between {len(labeled)} of them; the "
        f"{found.in_words(asked)}.",
        (*found.parts(seed, safe=options.spreadsheet_safe), *tables),
        (*found.notes(), *task.notes(), options.in_words(*learned.used)),
        files={**found.files(options.cell), "rejected.tsv": task.rejected()},
    )
    return report.with_info(run_info(seed=seed, seconds=perf_counter() - start, files=options.paths()))


@dataclass(frozen=True, eq=False)
class Found:
    """The list of predicted links, with all that a page tells of it."""

    learned: Learned
    placed: Placed
    scored: Scored
    evaluated: Sequence[Evaluated]
    threshold: float
    pairs: Any
    rows: list[dict[str, Any]]
    unevaluated: str = (
        "There are too few links for folds of nodes, so no probability is told, and the threshold is optimistic."
    )

    @classmethod
    def of(
        cls,
        learned: Learned,
        placed: Placed,
        scored: Scored,
        evaluated: Sequence[Evaluated],
        threshold: float,
        asked: Asked,
    ) -> Found:
        """Rank the pairs that are asked for."""
        pairs, scores = ranked(placed, scored, asked.lists(placed), asked.top)
        rows = rows_of(placed, scored, evaluated, threshold, pairs, scores)
        return cls(learned, placed, scored, evaluated, threshold, pairs, rows)

    def in_words(self, asked: Asked) -> str:
        """How many there are."""
        above = sum(row["above threshold"] for row in self.rows)
        some = f"{len(self.rows)} best {'pairs with a new node' if self.placed.n_later else 'other pairs'}"
        if asked.of_whom():
            some = f"{len(self.rows)} best other pairs{asked.of_whom()}"
        return f"{some}, {above} of them above the threshold {self.threshold:.3g}"

    def parts(self, seed: int, *, safe: bool) -> tuple[Any, ...]:
        """The network, the list and the expected precision."""
        table = live_links(self.rows, explain(self.placed, self.scored, self.pairs), safe=safe)
        placed = self.placed
        live = live_parts(placed.ids, placed.adjacency, placed.kinds(), table, self.pairs, seed)
        return (*live, *precision_parts(self.evaluated, self.rows))

    def files(self, cell: Callable[[Any], str]) -> dict[str, str]:
        """The list, and the network with it."""
        return link_files(self.rows, self._network(), cell)

    def notes(self) -> tuple[str, ...]:
        """What scores, probabilities and kinds of pairs mean."""
        return _notes(self.evaluated, self.learned, self.unevaluated)

    def _network(self) -> Network:
        """Known and predicted links."""
        placed = self.placed
        labeled = set(placed.labeled.tolist())
        nodes = {str(name): {"labeled": i in labeled} for i, name in enumerate(placed.ids)}
        links: list[tuple[str, str, dict[str, Any]]] = [
            (str(placed.ids[i]), str(placed.ids[j]), {"kind": "known", "weight": weight})
            for i, j, weight in placed.links()
        ]
        told = ("score", "rank", "probability")
        for row in self.rows:
            values = {name: row[name] for name in told if name in row}
            links.append((row["source"], row["target"], {"kind": "predicted", **values}))
        return Network(nodes, links)


_SCORE = {
    "iokr": "A score is ⟨h(u), h(v)⟩: h places nodes by their features so that linked ones are close.",
    "pairs": "A score is a sum over training pairs, each weighed by how alike it is to the pair (`PairModel`).",
    "stack": "A score is the sum of those of two models, `LinkPredictor` and `PairModel`, each with the weight that "
    "nodes left out give it (`LinkStack`).",
}


def _score_words(learned: Learned) -> str:
    """What a score is; of a stack in which one model weighs nothing, that of the other."""
    used = list(learned.parts)
    if learned.method != "stack" or len(used) > 1:
        return f"{_SCORE[learned.method]} Scores rank; they are no probabilities."
    idle = next(name for name in STACKED if name not in used)
    return (
        f"{_SCORE[used[0]]} Scores rank; they are no probabilities. In the stack of the two models `{METHODS[idle]}` "
        f"has the weight 0: it was not learned from all links, and `{METHODS[used[0]]}` is used alone."
    )


def _notes(evaluated: Sequence[Evaluated], learned: Learned, unevaluated: str) -> tuple[str, ...]:
    folds = (
        f"Probability, expected precision and threshold come from {FOLDS} folds of nodes: pairs with a new node, "
        "scored by models that never saw its links. The expected precision is the fraction of links among those that "
        "scored at least as high; the threshold that of the largest F1."
    )
    return (
        _score_words(learned),
        folds if evaluated else unevaluated,
        "Pairs: both nodes labelled (all links between them were said to be known, so such a pair may be a link "
        "that was missed), one of them new, or both new.",
        "What speaks for a link: the largest terms of its score, over the training nodes most like either end. Others "
        "may speak against it; shares need not add up to 100 %.",
    )
