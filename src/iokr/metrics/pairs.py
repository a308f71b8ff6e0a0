"""How well scores rank linked pairs before the others; to be read with the prevalence, the fraction of linked pairs.

`truth` and `scores` are two lists with an entry per pair, or two square matrices, of which the entries i < j are used:
self-pairs are never scored. A pair is linked where `truth` is positive, and not linked where it is 0. Ranking by the
sorted values alone is several times faster than by `sklearn.metrics`, which sorts indices, and all metrics share it.
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
        The pairs to use; None is all. Of matrices only entries i < j are used.

    Returns
    -------
    auc : float
        NaN if no pair, or every pair, is linked.

    Examples
    --------
    >>> from iokr.metrics import roc_auc_pairs
    >>> roc_auc_pairs([1, 0, 0, 1], [0.9, 0.1, 0.8, 0.8])
    0.875
    """
    return _roc_auc(_curve(truth, scores, where))


def average_precision_pairs(truth: Any, scores: Any, *, where: Any = None) -> float:
    """Σ_k (R_k − R_{k−1}) P_k over the distinct scores in descending order: area under the precision-recall curve.

    Arguments as in `roc_auc_pairs`. A random ranking has the prevalence, `prevalence_pairs`; compare with it. NaN if no
    pair is linked.

    Examples
    --------
    >>> from iokr.metrics import average_precision_pairs
    >>> average_precision_pairs([1, 0, 0, 1], [0.9, 0.1, 0.8, 0.7]).__round__(4)
    0.8333
    """
    return _average_precision(_curve(truth, scores, where))


def precision_at_k(truth: Any, scores: Any, k: int, *, where: Any = None) -> float:
    """The fraction of links among the k pairs with the highest scores; the mean over all orders of equal scores.

    Arguments as in `roc_auc_pairs`; k is at most the number of pairs.

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
    """Precision among the first E pairs, E the number of links: the accuracy of a predicted network of the true size.

    Arguments as in `roc_auc_pairs`. A random ranking has the prevalence. NaN if no pair is linked.

    Examples
    --------
    >>> from iokr.metrics import early_precision
    >>> early_precision([1, 0, 0, 1], [0.9, 0.1, 0.8, 0.7])
    0.5
    """
    return _early(_curve(truth, scores, where))


def prevalence_pairs(truth: Any, *, where: Any = None) -> float:
    """The fraction of pairs that are linked: average precision and precision of a random ranking.

    Arguments as in `roc_auc_pairs`.

    Examples
    --------
    >>> from iokr.metrics import prevalence_pairs
    >>> prevalence_pairs([1, 0, 0, 1])
    0.5
    """
    return _prevalence(_curve(truth, np.zeros(_dense(truth, "truth").shape), where))


def pair_metrics(truth: Any, scores: Any, *, where: Any = None) -> dict[str, float]:
    """All metrics of a ranking of pairs, including the prevalence, from one sort.

    Arguments as in `roc_auc_pairs`; the keys of the result are `roc_auc`, `average_precision`,
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
    """The numbers of pairs, and of links among them, above and at least at the score of each link; then all pairs.

    Scores descend, equal ones appear once. Between these points the number of links is constant or, among equal scores,
    linear: the curves are piecewise linear with these knots.
    """

    pairs: np.ndarray
    links: np.ndarray


def _curve(truth: Any, scores: Any, where: Any) -> _Curve:
    linked, values = _check_pairs(truth, scores, where)
    levels, counts = np.unique(values[linked], return_counts=True)
    descending = levels[::-1]
    counts = counts[::-1]
    ordered = np.sort(values)
    n = len(values)
    above = n - np.searchsorted(ordered, descending, side="right")
    at_least = n - np.searchsorted(ordered, descending, side="left")
    links = np.cumsum(counts)
    n_links = links[-1] if len(links) else 0
    pairs = np.append(np.column_stack([above, at_least]).ravel(), n)
    found = np.append(np.column_stack([links - counts, links]).ravel(), n_links)
    knots = np.append(pairs[1:] > pairs[:-1], True) & (pairs > 0)
    return _Curve(pairs[knots], found[knots])


def _check_pairs(truth: Any, scores: Any, where: Any) -> tuple[np.ndarray, np.ndarray]:
    """Whether each of the pairs is linked, and its score, as two lists."""
    known = _dense(truth, "truth")
    values = _dense(scores, "scores")
    if known.shape != values.shape:
        raise ValueError(f"`truth` has shape {known.shape} but `scores` has {values.shape}; they must be the same.")
    used = np.ones(known.shape, dtype=bool) if where is None else check_mask(where, "where", known.shape)
    if known.ndim == 2:
        if known.shape[0] != known.shape[1]:
            raise ValueError(
                f"Matrices of pairs must be square, got shape {known.shape}; for a block pass lists, `matrix.ravel()`."
            )
        _check_above(known != 0, "truth")
        _check_above(used, "where")
        used = np.triu(used, k=1)
    known = known[used]
    values = values[used].astype(np.float64)
    if not np.isfinite(known).all():
        odd = "NaN" if np.isnan(known).any() else "infinity"
        raise ValueError(
            f"`truth` contains {odd}: whether some pairs are linked is unknown; exclude them with `where`."
        )
    if np.any(known < 0):
        raise ValueError(
            "`truth` must be 0 where a pair is not linked, and positive where it is, but some entries are "
            "negative; for -1 and 1 write `truth > 0`."
        )
    if not len(values):
        raise ValueError("There are no pairs to rank.")
    if np.isnan(values).any():
        raise ValueError("`scores` contains NaN: some pairs have no score; exclude them with `where`.")
    return known != 0, values


def _check_above(matrix: np.ndarray, name: str) -> None:
    """Symmetric, or zero below the diagonal, where entries are not used."""
    if np.any(np.tril(matrix, k=-1).T & ~matrix):
        raise ValueError(
            f"`{name}` has entries below the diagonal that are not above it, but only pairs i < j are used; give a "
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
    links = np.append(0.0, curve.links)
    others = np.append(0.0, curve.pairs - curve.links)
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
