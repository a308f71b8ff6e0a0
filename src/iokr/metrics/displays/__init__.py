"""Plots of fitted models, with the interface of scikit-learn's displays: `from_estimator`, and axes can be passed."""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.metrics.displays.coverage import CoverageDisplay
    from iokr.metrics.displays.path import PathDisplay
    from iokr.metrics.displays.prediction import PredictionDisplay
    from iokr.metrics.displays.ranks import RankDisplay
    from iokr.metrics.displays.weights import WeightsDisplay

__all__ = ["CoverageDisplay", "PathDisplay", "PredictionDisplay", "RankDisplay", "WeightsDisplay"]

__getattr__, __dir__ = lazy_names(__name__)
