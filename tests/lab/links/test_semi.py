"""The methods of B16 with few labels."""

import numpy as np

from iokr import LinkPredictor
from iokr.kernels import RBF
from iokr_lab.links.semi import BARE_EM, semi_methods
from link_samples import N, W, X


def test_em_without_its_covariance_is_ridge_for_two_new_nodes():
    known, new = np.arange(20), np.arange(20, N)
    bare = semi_methods(N)[BARE_EM][0].set_params(kernel=RBF(0.5), alpha=0.3)
    ours = bare.fit(X, W, labeled=known).decision_function(X[new], X[new])
    theirs = LinkPredictor(RBF(0.5), alpha=0.3).fit(X, W, labeled=known).decision_function(X[new], X[new])
    np.testing.assert_allclose(ours, theirs, atol=1e-10)
