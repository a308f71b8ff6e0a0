"""Curves of rankings are drawn, one line each."""

import numpy as np
import pytest

from iokr.apps.report import OURS, THEIRS
from iokr.metrics.curves import GRID, Curves

pytest.importorskip("matplotlib")
from iokr.apps.report.rankings import ranking_figures


def test_two_drawings_name_every_ranking():
    curves = {"ours": Curves(GRID, 1 - GRID), "theirs": Curves(GRID**2, 1 - GRID**2)}
    styles = {"ours": (OURS, "-"), "theirs": (THEIRS, "--")}
    roc, precision = ranking_figures(curves, styles, prevalence=5.0, top=50.0)
    for figure in (roc, precision):
        assert "<svg" in figure.svg
    assert "ROC" in roc.caption and "Precision" in precision.caption
    assert np.all(np.diff(GRID) > 0)
