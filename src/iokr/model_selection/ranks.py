"""Out-of-fold ranks of the true outputs among their candidates."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import clone

from iokr._validation.arguments import check_folds, check_same_length
from iokr.data.candidates import CandidateSets, ranks_of_truth, shared_sequence
from iokr.data.objects import keys, take

__all__ = ["cross_val_rank"]


def cross_val_rank(model: Any, X: Any, y: Any, candidates: Any, cv: Any = 5) -> np.ndarray:
    """rank_i = rank of y_i among its candidates, by a model that never saw the fold of i.

    `cross_val_predict` does not pass candidates on; this does.

    Parameters
    ----------
    model : estimator with `rank`
    X : array or sequence of n objects
    y : array or sequence of n outputs
    candidates : sequence of outputs, `SharedCandidates`, or `CandidateSets` of n sets
    cv : int or splitter, default=5

    Returns
    -------
    ranks : array of shape (n,)
        1 is best; infinite where y_i is not among its candidates, so `np.mean(ranks <= k)` is top-k accuracy.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.kernels import Delta
    >>> from iokr.model_selection import cross_val_rank
    >>> X, y = np.arange(12.0)[:, None] // 6, ["low"] * 6 + ["high"] * 6
    >>> cross_val_rank(IOKR(output_kernel=Delta()), X, y, ["low", "high"], cv=3).shape
    (12,)
    """
    n = check_same_length(X, y)
    if not hasattr(model, "rank") or isinstance(model, type):
        raise TypeError(f"`model` must be an estimator with a method `rank`, such as `IOKR()`, got {model!r:.60}.")
    own_sets = isinstance(candidates, CandidateSets)
    if own_sets and len(candidates) != n:
        raise ValueError(f"`candidates` has {len(candidates)} sets but X has {n} objects; give one set for each.")
    if not own_sets:
        candidates = shared_sequence(candidates)
    truth = keys(y)
    ranks = np.full(n, np.inf)
    pairwise = bool(getattr(getattr(model, "kernel", None), "pairwise", False))
    for train, test in check_folds(cv, n, truth):
        X_train = take(X, train)
        X_test = take(X, test)
        if pairwise:
            X_train = X_train[:, train]
            X_test = X_test[:, train]
        offered = candidates[test] if own_sets else candidates
        order, _ = clone(model).fit(X_train, take(y, train)).rank(X_test, offered)
        ranks[test] = ranks_of_truth(order, [truth[i] for i in test], offered)
    return ranks
