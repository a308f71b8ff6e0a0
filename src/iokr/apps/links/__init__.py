"""Link prediction from tables to a list of links: read, fit, predict, cross-validate, save.

>>> import numpy as np
>>> from iokr.apps import links
>>> X = np.linspace(0, 6, 40)[:, None]
>>> network = links.read(nodes=X, edges=np.argwhere(np.triu(abs(X - X.T) < 0.5, 1)))
>>> result = links.predict(network, method="iokr", alphas=(0.01, 0.1), top=20)
>>> result.table.columns[:5].tolist()
['rank', 'source', 'target', 'score', 'probability']
"""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.apps.links.cross_validation import LinkScores, cross_validate
    from iokr.apps.links.data import LinkData
    from iokr.apps.links.model import LinkModel, fit
    from iokr.apps.links.model_file import load, save
    from iokr.apps.links.prediction import LinkResult, predict
    from iokr.apps.links.reading import read
    from iokr.apps.links.settings import FitOptions, check_arguments
    from iokr.model_selection.nodes import TooFewLinks

__all__ = [
    "FitOptions",
    "LinkData",
    "LinkModel",
    "LinkResult",
    "LinkScores",
    "TooFewLinks",
    "check_arguments",
    "cross_validate",
    "fit",
    "load",
    "predict",
    "read",
    "save",
]

__getattr__, __dir__ = lazy_names(__name__)
