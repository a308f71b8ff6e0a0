"""ROC and precision-recall curves on a grid are scikit-learn's."""

import numpy as np
import pytest
from sklearn.metrics import precision_recall_curve, roc_curve

from iokr.metrics.curves import GRID, Curves


def test_curves_are_scikit_learns():
    rng = np.random.default_rng(0)
    truth, scores = rng.random(500) < 0.2, rng.normal(size=500)
    curves = Curves.of(truth, scores)
    fpr, tpr, _ = roc_curve(truth, scores, drop_intermediate=False)
    np.testing.assert_allclose(curves.roc, np.interp(GRID, fpr, tpr), atol=0.02)
    precision, recall, _ = precision_recall_curve(truth, scores)
    for level in (0.25, 0.5, 0.75, 1.0):
        at = curves.precision[np.searchsorted(GRID, level)]
        assert at == pytest.approx(precision[np.flatnonzero(recall >= level - 1e-9)[-1]], abs=1e-12)
    mean = Curves.mean([curves, Curves(0 * curves.roc, 0 * curves.precision)])
    np.testing.assert_allclose(mean.roc, curves.roc / 2)
