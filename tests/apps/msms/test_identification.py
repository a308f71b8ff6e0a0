"""With many candidates the reverse model scores only the best candidates by the forward model."""

import numpy as np
import pytest

from iokr import CandidateSets, Identification
from iokr.apps.msms.identification import all_scores
from iokr.kernels import RBF

RNG = np.random.default_rng(0)
BITS = (RNG.uniform(size=(40, 30)) < 0.4).astype(np.uint8)
X = RNG.normal(size=(12, 3)) + 2 * BITS[:12, :3]
SETS = [np.arange(3, 30), np.arange(20, 24)]


@pytest.mark.parametrize("method", ["reverse", "fusion", "forward"])
def test_only_the_best_by_the_forward_model_have_scores(method):
    model = Identification(RBF(0.3), method=method, alphas=(0.2,), reverse_alphas=(1.0,))
    model.fit(X, BITS[:12], groups=[f"m{i}" for i in range(12)])
    sets, names = CandidateSets([BITS[some] for some in SETS]), [[f"m{i}" for i in some] for some in SETS]
    whole = all_scores(model, X[:2], sets, names)
    few = all_scores(model, X[:2], sets, names, best=5)
    assert set(whole) == set(few) == {"forward", "reverse", method}
    for f, r, s in zip(few["forward"], few["reverse"], whole["reverse"], strict=True):
        kept = np.isfinite(r)
        assert kept.sum() == min(5, len(f))
        assert not kept.all() or len(f) <= 5
        assert f[kept].min() >= f[~kept].max(initial=-np.inf)
        np.testing.assert_allclose(r[kept], s[kept], atol=1e-12)
    for f, g in zip(few["forward"], whole["forward"], strict=True):
        np.testing.assert_array_equal(f, g)
