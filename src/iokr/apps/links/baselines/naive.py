"""Similar inputs are linked."""

from __future__ import annotations

from iokr._array import Array
from iokr._component import component
from iokr.apps.links.baselines.base import LinkBaseline, Nodes

__all__ = ["Naive"]


@component
class Naive(LinkBaseline):
    """s(u, v) = k(u, v): similar inputs are linked; the graph is not looked at.

    Parameters
    ----------
    kernel : Kernel, default=None
        On the inputs; None is `RBF()`.

    References
    ----------
    Yamanishi, Vert, Kanehisa, Bioinformatics 20, 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.apps.links.baselines import Naive
    >>> X, graph = np.array([[0.0], [0.1], [3.0]]), np.array([[0, 1, 0], [1, 0, 0], [0, 0, 0]])
    >>> scores = Naive().fit(X, graph).decision_function()
    >>> bool(scores[0, 1] > scores[0, 2])
    True
    """

    def learn(self, K: Array, W: Array) -> None:
        pass

    def compare(self, U: Nodes, V: Nodes) -> Array:
        return self.kernel_.block(U.R, V.R)
