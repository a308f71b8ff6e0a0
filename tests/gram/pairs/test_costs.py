"""The form of a product, chosen from sizes."""

import numpy as np

from iokr.gram import PairGram

rng = np.random.default_rng(0)


def test_the_form_of_a_product_follows_from_the_sizes(route):
    m = 400
    every = np.stack(np.divmod(np.arange(m * m), m), axis=1)
    for pairs, forms in ((every[rng.permutation(m * m)[:4000]], (True, True)), (every, (False, False))):
        gram = PairGram(np.eye(m), pairs)
        assert gram._forms == forms
        assert gram.prefers_products
    assert not PairGram(np.eye(m), every[:900]).prefers_products
