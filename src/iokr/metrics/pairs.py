"""How well scores rank the linked pairs before the others; always beside the fraction of pairs that are linked.

`truth` and `scores` are two lists with an entry per pair, or two square matrices, of which the entries i < j count:
self-pairs are never scored. A pair is linked where `truth` is positive, and not where it is 0.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from iokr._validation.arguments import check_integer, check_mask, check_numbers

__all__ = [
    "average_precision_pairs",
    "early_precision",
    "pair_metrics",
    "precision_at_k",
    "prevalence_pairs",
    "roc_auc_pairs",
]


def roc_auc_pairs(truth: Any, scores: Any, *, where: Any = None) -> float:
    """P(score of a link > score of a non-link) + ½ P(equal): area under the ROC curve; 0.5 is chance.

    Parameters
    ----------
    truth : array or sparse matrix of shape (p,) or (m, m)
        Positive where a pair is linked, else 0.
    scores : array of the same shape
        Higher means a link.
    where : boolean array of the same shape, default=None
        The pairs that count; None is all. Of matrices only i < j are read.

    Returns
    -------
    auc : float
        NaN when no pair, or every pair, is linked.

    Examples
    --------
    >>> from iokr.metrics import roc_auc_pairs
    >>> roc_auc_pairs([1, 0, 0, 1], [0.9, 0.1, 0.8, 0.8])
    0.875
    """
    return _roc_auc(_curve(truth, scores, where))


def average_precision_pairs(truth: Any, scores: Any, *, where: Any = None) -> float:
    """Σ_k (R_k − R_{k−1}) P_k over the distinct scores, best first: area under the precision-recall curve.

    Arguments are those of `roc_auc_pairs`. Chance is the prevalence, `prevalence_pairs`, so a value says little without
    it; NaN when no pair is linked.

    Examples
    --------
    >>> from iokr.metrics import average_precision_pairs
    >>> average_precision_pairs([1, 0, 0, 1], [0.9, 0.1, 0.8, 0.7]).__round__(4)
    0.8333
    """
    return _average_precision(_curve(truth, scores, where))


def precision_at_k(truth: Any, scores: Any, k: int, *, where: Any = None) -> float:
    """fraction of links among the k pairs with the highest scores; among equal scores, its mean over all orders.

    Arguments are those of `roc_auc_pairs`; k is at most the number of pairs.

    Examples
    --------
    >>> from iokr.metrics import precision_at_k
    >>> precision_at_k([1, 0, 0, 1], [0.9, 0.1, 0.8, 0.7], k=2)
    0.5
    """
    curve = _curve(truth, scores, where)
    check_integer(k, "k", minimum=1)
    if k > curve.pairs[-1]:
        raise ValueError(f"`k` must be at most the number of pairs, {int(curve.pairs[-1])}, got {k}.")
    return _precision_at(curve, k)


def early_precision(truth: Any, scores: Any, *, where: Any = None) -> float:
    """precision among the first E pairs, E the number of links: what fraction of a network of the true size is right.

    Arguments are those of `roc_auc_pairs`. Chance is the prevalence; NaN when no pair is linked.

    Examples
    --------
    >>> from iokr.metrics import early_precision
    >>> early_precision([1, 0, 0, 1], [0.9, 0.1, 0.8, 0.7])
    0.5
    """
    return _early(_curve(truth, scores, where))


def prevalence_pairs(truth: Any, *, where: Any = None) -> float:
    """fraction of pairs that are linked: what average precision and precision are at random.

    Arguments are those of `roc_auc_pairs`.

    Examples
    --------
    >>> from iokr.metrics import prevalence_pairs
    >>> prevalence_pairs([1, 0, 0, 1])
    0.5
    """
    return _prevalence(_curve(truth, np.zeros(_dense(truth, "truth").shape), where))


def pair_metrics(truth: Any, scores: Any, *, where: Any = None) -> dict[str, float]:
    """All metrics of one ranking of pairs, prevalence among them, from one sort.

    Arguments are those of `roc_auc_pairs`; the keys of the result are `roc_auc`, `average_precision`,
    `early_precision`, `prevalence`, `n_pairs` and `n_links`.

    Examples
    --------
    >>> from iokr.metrics import pair_metrics
    >>> pair_metrics([1, 0, 0, 1], [0.9, 0.1, 0.8, 0.8])["prevalence"]
    0.5
    """
    curve = _curve(truth, scores, where)
    return {
        "roc_auc": _roc_auc(curve),
        "average_precision": _average_precision(curve),
        "early_precision": _early(curve),
        "prevalence": _prevalence(curve),
        "n_pairs": int(curve.pairs[-1]),
        "n_links": int(curve.links[-1]),
    }


class _Curve(NamedTuple):
    """How many pairs, and how many links among them, score above, and at least as high as, each link; then all pairs.

    Scores best first, equal ones once. Between these points the number of links stays, or, among equal scores, grows
    evenly: no curve bends elsewhere.
    """

    pairs: np.ndarray
    links: np.ndarray


def _curve(truth: Any, scores: Any, where: Any) -> _Curve:
    found, values = _dense(truth, "truth"), _dense(scores, "scores")
    linked = found != 0
    if linked.shape != values.shape:
        raise ValueError(f"`truth` has shape {linked.shape} but `scores` has {values.shape}; they must be the same.")
    counted = np.ones(linked.shape, dtype=bool) if where is None else check_mask(where, "where", linked.shape)
    if linked.ndim == 2:
        if linked.shape[0] != linked.shape[1]:
            raise ValueError(
                f"Matrices of pairs must be square, got shape {linked.shape}; for a block pass lists, `matrix.ravel()`."
            )
        _check_above(linked, "truth")
        _check_above(counted, "where")
        counted = np.triu(counted, k=1)
    if not np.isfinite(found[counted]).all():
        odd = "NaN" if np.isnan(found[counted]).any() else "infinity"
        raise ValueError(f"`truth` contains {odd}: some pairs are neither linked nor not; leave them out with `where`.")
    if np.any(found[counted] < 0):
        raise ValueError(
            "`truth` must be 0 where a pair is not linked, and positive where it is, but some entries are "
            "negative; for -1 and 1 write `truth > 0`."
        )
    linked, values = linked[counted], values[counted].astype(np.float64)
    if not len(values):
        raise ValueError("There are no pairs to rank.")
    if np.isnan(values).any():
        raise ValueError("`scores` contains NaN: some pairs have no score; leave them out with `where`.")
    levels, counts = np.unique(values[linked], return_counts=True)
    order, n = np.sort(values), len(values)  # values alone: several times faster than their order
    above, least = (n - np.searchsorted(order, levels[::-1], side=side) for side in ("right", "left"))
    links = np.cumsum(counts[::-1])
    pairs = np.append(np.column_stack([above, least]).ravel(), n)
    found = np.append(np.column_stack([links - counts[::-1], links]).ravel(), links[-1] if len(links) else 0)
    there = np.append(pairs[1:] > pairs[:-1], True) & (pairs > 0)
    return _Curve(pairs[there], found[there])


def _check_above(matrix: np.ndarray, name: str) -> None:
    """Symmetric, or only above the diagonal: entries below it alone would be overlooked."""
    if np.any(np.tril(matrix, k=-1).T & ~matrix):
        raise ValueError(
            f"`{name}` has entries below the diagonal that are not above it, but pairs are read at i < j only; give a "
            "symmetric matrix."
        )


def _dense(values: Any, name: str) -> np.ndarray:
    found = check_numbers(values, name)
    if found.ndim not in (1, 2):
        raise ValueError(
            f"`{name}` must hold numbers, a list with an entry per pair or a square matrix, got shape {found.shape}."
        )
    return found


def _roc_auc(curve: _Curve) -> float:
    links, others = np.append(0.0, curve.links), np.append(0.0, curve.pairs - curve.links)
    if not links[-1] or not others[-1]:
        return float("nan")
    return float(np.sum(np.diff(others) * (links[1:] + links[:-1])) / (2 * links[-1] * others[-1]))


def _average_precision(curve: _Curve) -> float:
    if not curve.links[-1]:
        return float("nan")
    return float(np.sum(np.diff(curve.links, prepend=0) * (curve.links / curve.pairs)) / curve.links[-1])


def _precision_at(curve: _Curve, k: int) -> float:
    return float(np.interp(k, np.append(0, curve.pairs), np.append(0, curve.links)) / k)


def _early(curve: _Curve) -> float:
    return _precision_at(curve, int(curve.links[-1])) if curve.links[-1] else float("nan")


def _prevalence(curve: _Curve) -> float:
    return float(curve.links[-1] / curve.pairs[-1])
