"""`iokr links predict --partners` and `--bipartite`: two kinds of nodes; only pairs across are scored."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from iokr.apps.links.across import Across
from iokr.apps.links.explanation import explain_across
from iokr.apps.links.model import Options, formula_notes
from iokr.apps.links.page import live_parts
from iokr.apps.links.placed import Asked, numbers_of, read_list
from iokr.apps.links.words import link_files, live_links, views_in_words
from iokr.apps.report import Network, Report, Table, run_info
from iokr.apps.report.progress import Progress
from iokr.estimators.areas import areas_of
from iokr.estimators.bipartite import BipartitePredictor
from iokr.estimators.links.probability import fit_logistic

__all__ = ["AcrossOutcome", "FoundAcross", "PlacedAcross", "learn_across", "notes_across", "predict_across"]

Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]
_PARTS = 3  # into which rows, and columns, are cut where both are new


def predict_across(options: Options, *, top: int, seed: int, progress: Progress) -> Report:
    """The best pairs of a node and a partner that are not known to be linked."""
    start = perf_counter()
    progress(0, 4, "reading files")
    task = Across.of(options)
    placed = PlacedAcross((task.rows.ids, task.columns.ids), task.kinds, task.Y)
    asked = options.asked(top)
    placed.asked(asked)  # refused before the work
    outcome = learn_across(task, seed, progress)
    found = FoundAcross.of(placed, (task.X, task.Z), outcome, asked)
    progress(3, 4, "writing and drawing")
    safe = options.spreadsheet_safe
    report = Report(
        "New links between two kinds of nodes",
        f"{placed.in_words()}; the {len(found.rows)} best other pairs{asked.of_whom()}, {placed.each()}.",
        (*found.parts(seed, safe=safe), outcome.evaluated, task.input_table(), outcome.chosen),
        (*notes_across(task.kinds), *formula_notes(placed.names, safe=safe)),
        files={**found.files(options.cell), "rejected.tsv": task.rejected()},
    )
    return report.with_info(run_info(seed=seed, seconds=perf_counter() - start, files=options.paths()))


def notes_across(kinds: tuple[str, str]) -> tuple[str, ...]:
    """What scores and figures of two kinds of nodes mean."""
    one, other = kinds
    return (
        "A score is k₁ᵀ C k₂, ridge regression on all pairs across; nothing within a kind is scored or drawn.",
        f"A new {one} is one all of whose links are left out, a new {other} likewise; both are exact, without "
        "a refit. Where both are new, thirds of either kind are left out. Probabilities: calibrated on new rows.",
        "A pair that is not in the edge list counts as not linked.",
        "What speaks for a link: a score is a sum over the known links, and these have the largest terms. Others may "
        "speak against it; all together are 100 %.",
    )


@dataclass(frozen=True, eq=False)
class AcrossOutcome:
    """A model of two kinds of nodes, what turns its scores into probabilities, and how good it is."""

    model: BipartitePredictor
    logistic: tuple[float, float]
    threshold: float
    evaluated: Table
    chosen: Table


def learn_across(task: Across, seed: int, progress: Progress) -> AcrossOutcome:
    """Choose parameters, learn from all links, evaluate by what is left out."""
    progress(1, 4, "choosing parameters and learning")
    model = task.model.fit(task.X, task.Z, task.Y)
    progress(2, 4, "evaluating and ranking pairs")
    left_out = {leave: np.asarray(model.loo_decision_function(leave)) for leave in ("row", "column")}
    left_out["both"] = _both_left_out(model, task, seed)
    a, b = fit_logistic(task.Y.ravel() > 0, left_out["row"].ravel())
    chosen = Table("Chosen by leaving out rows and columns", _chosen(task, model))
    return AcrossOutcome(model, (float(a), float(b)), model.best_threshold(), _evaluated_table(task, left_out), chosen)


def _both_left_out(model: BipartitePredictor, task: Across, seed: int) -> Matrix:
    """Scores of every pair by a model that knows neither its row nor its column; NaN where too little is left."""
    n, m = len(task.rows.ids), len(task.columns.ids)
    S = np.full((n, m), np.nan)
    rng = np.random.default_rng(seed)
    rows, columns = (np.array_split(rng.permutation(size), min(_PARTS, size)) for size in (n, m))
    alone = BipartitePredictor(model.row_model_.kernel.kernel, model.column_model_.kernel.kernel, alpha=model.alpha_)
    for one in rows:
        for other in columns:
            i, j = np.setdiff1d(np.arange(n), one), np.setdiff1d(np.arange(m), other)
            if len(i) and len(j) and task.Y[np.ix_(i, j)].any():
                fitted = alone.fit(task.X[i], task.Z[j], task.Y[np.ix_(i, j)])
                S[np.ix_(one, other)] = fitted.decision_function(task.X[one], task.Z[other])
    return S


def _evaluated_table(task: Across, left_out: dict[str, Matrix]) -> Table:
    """How well links of a new row, of a new column, and of both are found."""
    one, other = task.kinds
    words = {"row": f"{one}, one at a time", "column": f"{other}, one at a time", "both": "both, by thirds"}
    rows = []
    for leave, S in left_out.items():
        seen = ~np.isnan(S)
        truth = task.Y[seen] > 0
        if truth.any() and not truth.all():
            roc, precision = areas_of(truth, S[seen])
            areas = {"AUC-ROC %": round(100 * roc, 1), "AUC-PR %": round(100 * precision, 1)}
            rows.append({"new": words[leave], **areas, "linked %": round(100 * float(truth.mean()), 2)})
    note = "Kernels and alpha were chosen by the first two; `iokr links cv` chooses them anew in every fold."
    return Table("Links that the model has not seen", rows, ours=("AUC-ROC %",), note=note)


def _chosen(task: Across, model: BipartitePredictor) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = [{"what": "model", "value": "BipartitePredictor"}]
    sides = zip(task.kinds, (model.kernel_, model.partner_kernel_), (task.rows, task.columns), strict=True)
    for kind, kernel, nodes in sides:
        words = views_in_words(kernel, [name for name, _ in nodes.views], task.options.input_kernel)
        found.append({"what": f"kernel of {kind}", "value": words})
    return [
        *found,
        {"what": "alpha", "value": float(model.alpha_)},
        {"what": "threshold", "value": model.best_threshold()},
    ]


@dataclass(frozen=True, eq=False)
class PlacedAcross:
    """Ids of both kinds, and the known links; nodes that came later stand last, without links."""

    ids: tuple[NDArray[np.str_], NDArray[np.str_]]
    kinds: tuple[str, str]
    Y: Matrix
    n_later: tuple[int, int] = (0, 0)

    @property
    def names(self) -> list[str]:
        """Of the nodes of both kinds."""
        return [*self.ids[0].tolist(), *self.ids[1].tolist()]

    def in_words(self) -> str:
        """How many nodes and links there are."""
        (n, m), (one, other) = self.Y.shape, self.kinds
        return f"{n} nodes of the kind {one} and {m} of the kind {other} with {int(self.Y.sum())} known links"

    def each(self) -> str:
        """What every pair is."""
        return f"each of one {self.kinds[0]} and one {self.kinds[1]}"

    def with_later(self, rows: NDArray[np.str_], columns: NDArray[np.str_]) -> PlacedAcross:
        """Beside nodes that came later."""
        ids = np.concatenate([self.ids[0], rows]), np.concatenate([self.ids[1], columns])
        return PlacedAcross(
            ids, self.kinds, np.pad(self.Y, ((0, len(rows)), (0, len(columns)))), (len(rows), len(columns))
        )

    def asked(self, asked: Asked) -> NDArray[np.bool_]:
        """Which pairs are asked for: not known, and of the nodes that are named; else with a later node, if any."""
        n, m = self.Y.shape
        if asked.partners_of:
            rows, columns = self._sides(numbers_of(np.array(self.names), list(asked.partners_of), "--for"))
            wanted = rows[:, None] | columns[None, :]
        elif asked.between:
            one, other = (self._sides(numbers_of(np.array(self.names), *read_list(name))) for name in asked.between)
            wanted = (one[0][:, None] & other[1][None, :]) | (other[0][:, None] & one[1][None, :])
        elif any(self.n_later):
            rows, columns = (np.arange(size) >= size - later for size, later in zip((n, m), self.n_later, strict=True))
            wanted = rows[:, None] | columns[None, :]
        else:
            wanted = np.ones((n, m), dtype=bool)
        wanted &= self.Y == 0
        if not wanted.any():
            raise ValueError("No pair across is left of those that were asked for: they are linked, or of one kind.")
        return wanted

    def _sides(self, numbers: Numbers) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
        n, m = self.Y.shape
        there = np.isin(np.arange(n + m), numbers)
        return there[:n], there[n:]


@dataclass(frozen=True, eq=False)
class FoundAcross:
    """The list of predicted links between two kinds of nodes, with all that a page tells of it."""

    placed: PlacedAcross
    pairs: Numbers  # (k, 2): a row, and a column
    rows: list[dict[str, Any]]
    details: list[tuple[Table | str, ...]]

    @classmethod
    def of(
        cls, placed: PlacedAcross, features: tuple[Matrix, Matrix], outcome: AcrossOutcome, asked: Asked
    ) -> FoundAcross:
        """The best of the pairs that are asked for; `features` of all rows and columns, later ones last."""
        model, (X, Z) = outcome.model, features
        S = np.asarray(model.decision_function(X, Z))
        wanted = np.flatnonzero(placed.asked(asked))
        order = wanted[np.argsort(-S.ravel()[wanted], kind="stable")[: asked.top]]
        pairs = np.column_stack(np.unravel_index(order, S.shape)).astype(np.int64)
        details = explain_across(placed.ids, model, features, pairs)
        return cls(placed, pairs, _rows(placed, pairs, S.ravel()[order], outcome), details)

    def parts(self, seed: int, *, safe: bool) -> tuple[Any, ...]:
        """The network and the list."""
        placed = self.placed
        (n, m), Y = placed.Y.shape, csr_array(placed.Y)
        rows, columns = Y.nonzero()
        half = csr_array((Y.data, (rows, n + columns)), shape=(n + m, n + m))
        ends = np.column_stack([self.pairs[:, 0], n + self.pairs[:, 1]])
        kinds = placed.kinds, np.repeat([0, 1], [n, m])
        table = live_links(self.rows, self.details, safe=safe)
        return live_parts(np.array(placed.names), csr_array(half + half.T), kinds, table, ends, seed, across=True)

    def files(self, cell: Callable[[Any], str]) -> dict[str, str]:
        """The list, and the network with it."""
        return link_files(self.rows, self._network(), cell)

    def _network(self) -> Network:
        placed = self.placed
        sides = zip(placed.ids, placed.kinds, strict=True)
        nodes = {str(name): {"kind": kind} for ids, kind in sides for name in ids}
        links: list[tuple[str, str, dict[str, Any]]] = [
            (str(placed.ids[0][i]), str(placed.ids[1][j]), {"kind": "known"}) for i, j in np.argwhere(placed.Y > 0)
        ]
        for row in self.rows:
            values = {name: row[name] for name in ("score", "rank", "probability")}
            links.append((row["source"], row["target"], {"kind": "predicted", **values}))
        return Network(nodes, links)


def _rows(placed: PlacedAcross, pairs: Numbers, scores: Matrix, outcome: AcrossOutcome) -> list[dict[str, Any]]:
    (a, b), Y, (one, other) = outcome.logistic, placed.Y, placed.kinds
    chance = 1 / (1 + np.exp(-np.clip(a * scores + b, -500, 500)))
    degrees = Y.sum(axis=1), Y.sum(axis=0)
    kinds = np.array([["both new", f"new {one}"], [f"new {other}", "both known"]])
    known = (degrees[0] > 0).astype(int), (degrees[1] > 0).astype(int)
    return [
        {
            "rank": r + 1,
            "source": str(placed.ids[0][i]),
            "target": str(placed.ids[1][j]),
            "score": float(scores[r]),
            "probability": float(chance[r]),
            "pair": str(kinds[known[0][i], known[1][j]]),
            "known links of source": int(degrees[0][i]),
            "known links of target": int(degrees[1][j]),
            "above threshold": bool(scores[r] > outcome.threshold),
        }
        for r, (i, j) in enumerate(pairs)
    ]
