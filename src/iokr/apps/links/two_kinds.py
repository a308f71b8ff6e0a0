"""The model of two kinds of nodes, and how well it finds links of nodes that are left out."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.links.defaults import ALPHAS
from iokr.apps.links.features import Inputs
from iokr.apps.links.settings import Settings
from iokr.apps.report import Table
from iokr.estimators.areas import areas_of
from iokr.estimators.bipartite import BipartitePredictor

__all__ = ["bipartite", "held_out_across", "left_out_scores", "left_out_table", "new_nodes", "splits_across"]

Matrix = NDArray[np.float64]
Numbers = NDArray[np.int64]

_PARTS = 3  # into which rows, and columns, are cut where both are new


def bipartite(rows: Inputs, columns: Inputs, settings: Settings) -> BipartitePredictor:
    """The model, which chooses kernels and alpha by leaving out rows and columns."""
    alphas = settings.alphas or ALPHAS[::2]
    scoring = None if settings.scoring == "roc_auc" else settings.scoring
    return BipartitePredictor(rows.kernels, columns.kernels, alpha=alphas, scoring=scoring)


def left_out_scores(model: BipartitePredictor, X: Matrix, Z: Matrix, Y: Matrix, seed: int) -> dict[str, Matrix]:
    """The scores of every pair without the links of its row, of its column, and of both."""
    scores = {leave: np.asarray(model.loo_decision_function(leave)) for leave in ("row", "column")}
    return {**scores, "both": _both_left_out(model, X, Z, Y, seed)}


def _both_left_out(model: BipartitePredictor, X: Matrix, Z: Matrix, Y: Matrix, seed: int) -> Matrix:
    """Scores of every pair by a model that knows neither its row nor its column; NaN where too little is left."""
    n, m = Y.shape
    S = np.full((n, m), np.nan)
    rng = np.random.default_rng(seed)
    rows, columns = (np.array_split(rng.permutation(size), min(_PARTS, size)) for size in (n, m))
    kernels = model.row_model_.kernel.kernel, model.column_model_.kernel.kernel
    alone = BipartitePredictor(*kernels, alpha=model.alpha_)
    for one in rows:
        for other in columns:
            i = np.setdiff1d(np.arange(n), one)
            j = np.setdiff1d(np.arange(m), other)
            if len(i) and len(j) and Y[np.ix_(i, j)].any():
                fitted = alone.fit(X[i], Z[j], Y[np.ix_(i, j)])
                S[np.ix_(one, other)] = fitted.decision_function(X[one], Z[other])
    return S


def left_out_table(kinds: tuple[str, str], Y: Matrix, scores: dict[str, Matrix]) -> Table:
    """How well links of a new row, of a new column, and of both are found."""
    words = dict(zip(("row", "column", "both"), new_nodes(kinds), strict=True))
    rows = []
    for leave, S in scores.items():
        seen = ~np.isnan(S)
        truth = Y[seen] > 0
        if truth.any() and not truth.all():
            roc, precision = areas_of(truth, S[seen])
            areas = {"AUC-ROC %": round(100 * roc, 1), "AUC-PR %": round(100 * precision, 1)}
            rows.append({"pairs": words[leave], **areas, "linked %": round(100 * float(truth.mean()), 2)})
    note = (
        "One node of a kind is left out at a time, and thirds of either kind where both are new. Optimistic: kernels "
        "and alpha were chosen by the first two rows."
    )
    return Table("Accuracy on held-out links", rows, ours=("AUC-ROC %",), note=note)


# ----------------------------------------------------------------------------------------------------- cross-validation


def new_nodes(kinds: tuple[str, str]) -> tuple[str, str, str]:
    """The kinds of held-out pairs: what is new in them."""
    return f"new {kinds[0]}", f"new {kinds[1]}", "both new"


def splits_across(shape: tuple[int, int], folds: int, seed: int) -> Iterator[tuple[int, int, Numbers, Numbers]]:
    """(fold, setting, rows and columns that are new), setting 0, 1 or 2 as in `new_nodes`."""
    rng = np.random.default_rng(seed)
    rows, columns = (np.array_split(rng.permutation(size), folds) for size in shape)
    nothing = np.arange(0)
    for fold in range(folds):
        yield fold, 0, rows[fold], nothing
        yield fold, 1, nothing, columns[fold]
        yield fold, 2, rows[fold], columns[fold]


def held_out_across(
    model: BipartitePredictor, X: Matrix, Z: Matrix, Y: Matrix, rows: Numbers, columns: Numbers
) -> tuple[Any, Any] | None:
    """Whether pairs with these new rows and columns are linked, and their scores; None where nothing can be learned."""
    n, m = Y.shape
    i = np.setdiff1d(np.arange(n), rows)
    j = np.setdiff1d(np.arange(m), columns)
    known = Y[np.ix_(i, j)]
    asked_rows = rows if len(rows) else i
    asked_columns = columns if len(columns) else j
    truth = Y[np.ix_(asked_rows, asked_columns)].ravel() > 0
    if not known.any() or known.all() or not truth.any() or truth.all():
        return None
    scores = model.fit(X[i], Z[j], known).decision_function(X[asked_rows], Z[asked_columns])
    return truth, np.asarray(scores).ravel()
