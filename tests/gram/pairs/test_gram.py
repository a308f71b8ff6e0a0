"""Products with the Gram of pairs beside its entries, in every form."""

import numpy as np
import pytest

from iokr._system.compile import compiling
from iokr.gram import PairGram
from iokr.gram.pairs import loops
from reference import assert_close

rng = np.random.default_rng(0)
NODES = rng.normal(size=(9, 3))
K = np.exp(-0.3 * ((NODES[:, None] - NODES[None]) ** 2).sum(axis=-1))
PAIRS = np.array([(a, b) for a in range(9) for b in range(9)])[rng.permutation(81)[:40]]


@pytest.mark.parametrize("route", ["fused", "compiled", "narrow", "wide"])
@pytest.mark.parametrize("forms", [(True, True), (True, False), (False, True), (False, False)])
@pytest.mark.parametrize("ordered", [True, False])
@pytest.mark.parametrize("mix", [0.0, 0.4, 1.0])
def test_every_form_of_a_product(route, forms, ordered, mix, monkeypatch):
    if route in ("fused", "compiled"):
        pytest.importorskip("numba")
    monkeypatch.setattr("iokr.gram.pairs.gram._FUSED", np.inf if route == "fused" else 0)
    monkeypatch.setattr(loops, "_STRIP", 4)
    monkeypatch.setattr(loops, "_NARROW", 200 if route == "narrow" else 0)
    monkeypatch.setattr(PairGram, "_forms", forms)
    left, c = rng.integers(4, size=(11, 2)), rng.normal(size=40)
    some = np.array([2, 8, 0, 5])
    with compiling(route in ("fused", "compiled")):
        for gram in (
            PairGram(K, PAIRS, mix=mix, ordered=ordered),
            PairGram(K[some], left, PAIRS, mix=mix, ordered=ordered, same=some),
        ):
            assert_close(gram.product(c), gram._entries(gram.left, PAIRS) @ c, 1e-12)


def test_gather_reads_rows_in_the_order_of_the_pairs(route):
    A, B = rng.normal(size=(9, 4)), rng.normal(size=(9, 4))
    assert_close(PairGram(K, PAIRS).gather(A, B), (A[PAIRS[:, 0]] * B[PAIRS[:, 1]]).sum(axis=1), 1e-13)


def test_the_form_of_a_product_follows_from_the_sizes(route):
    m = 400
    every = np.stack(np.divmod(np.arange(m * m), m), axis=1)
    for pairs, forms in ((every[rng.permutation(m * m)[:4000]], (True, True)), (every, (False, False))):
        gram = PairGram(np.eye(m), pairs)
        assert gram._forms == forms
        assert gram.prefers_products
    assert not PairGram(np.eye(m), every[:900]).prefers_products
