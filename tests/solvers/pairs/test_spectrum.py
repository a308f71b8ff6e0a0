"""The closed form of ridge on all pairs beside the dense system, leaving out included."""

import numpy as np
import pytest

from iokr.gram.pairs.gram import PairGram
from iokr.solvers.pairs.spectrum import CompletePairs
from pair_problems import FORMS, all_pairs, gram
from reference import assert_close


@pytest.mark.parametrize(("mix", "ordered"), FORMS)
def test_all_pairs_in_closed_form(mix, ordered):
    """One common weight of all ordered pairs: unordered pairs weigh as much as their two orders."""
    X = np.random.default_rng(4).normal(size=(7, 3))
    pairs = all_pairs(7) if not ordered else np.array([(i, j) for i in range(7) for j in range(7)])
    alone = ordered | (pairs[:, 0] == pairs[:, 1])
    shift, y = np.where(alone, 0.6, 0.3), np.random.default_rng(0).normal(size=len(pairs))
    pair_gram = PairGram(gram(X), pairs, mix=mix, ordered=ordered)
    form = CompletePairs(pair_gram, shift)
    assert form.exact
    N = np.linalg.inv(pair_gram.dense() + np.diag(shift))
    assert_close(form.solve(y), N @ y, 1e-9)
    if not ordered:
        assert_close(form.loo_residuals(y), (N @ y) / np.diagonal(N), 1e-9)
    else:
        at = {tuple(p): i for i, p in enumerate(pairs.tolist())}
        for i, (a, b) in enumerate(pairs.tolist()):
            F = sorted({at[a, b], at[b, a]})
            assert_close(form.loo_residuals(y)[i], np.linalg.solve(N[np.ix_(F, F)], (N @ y)[F]).mean(), 1e-8)
    if not ordered:
        assert not CompletePairs(pair_gram, np.full(len(pairs), 0.3)).exact  # self-pairs weigh twice as much
    assert not CompletePairs(pair_gram.restrict(np.arange(1, len(pairs))), shift[1:]).exact
