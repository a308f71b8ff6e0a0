"""`PairModel` as a link predictor: all pairs of labelled nodes as examples."""

from __future__ import annotations

from dataclasses import KW_ONLY

import numpy as np

from iokr._array import Array, array_namespace, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_number
from iokr.apps.links.baselines.base import LinkBaseline, Nodes
from iokr.estimators.pairs.data import PairData
from iokr.estimators.pairs.model import choose_strategy
from iokr.losses.square import Square
from iokr.solvers.auto import Auto

__all__ = ["PairLinks"]


@component
class PairLinks(LinkBaseline):
    """s(u, v) = Σ_p c_p κ({u, v}, p): ridge of `PairModel` on all pairs of labelled nodes, a node being like itself.

    Pairs are labelled 1 if linked and `unlinked` if not; all from one eigendecomposition of K. With
    ``strategy="local"`` two nodes without known links have no score: NaN, an error between lists that hold no other.

    Parameters
    ----------
    kernel : Kernel, default=None
        On the nodes' inputs; None is `RBF()`.
    strategy : {"kernel", "duplicate", "local"}, default="kernel"
        As in `PairModel`.
    mix : float, default=0.0
        δ of the pair kernel, as in `PairModel`; 0 is TPPK.
    alpha : float, default=1.0
        λ > 0: larger shrinks.
    unlinked : float, default=0.0
        Label of pairs without a link. There is no intercept: with 0, far from all data means "no link".

    Examples
    --------
    >>> import numpy as np
    >>> from iokr_lab.baselines import PairLinks
    >>> X, graph = np.array([[0.0], [0.1], [3.0], [3.1]]), np.kron(np.eye(2), 1 - np.eye(2))
    >>> scores = PairLinks(alpha=0.1).fit(X, graph).decision_function([[0.2]], [[0.0], [3.0]])
    >>> bool(scores[0, 0] > scores[0, 1])
    True
    """

    _: KW_ONLY
    strategy: str = "kernel"
    mix: float = 0.0
    alpha: float = 1.0
    unlinked: float = 0.0

    def check_parameters(self) -> None:
        choose_strategy(self.strategy, self.mix)
        check_number(self.alpha, "alpha", minimum=0.0, strict=True)
        if check_number(self.unlinked, "unlinked") >= 1:
            raise ValueError(f"`unlinked` must be below 1, the label of links, got {self.unlinked!r}.")

    def learn(self, K: Array, W: Array) -> None:
        a, b = np.triu_indices(K.shape[0])
        target = np.where((a == b) | (to_numpy(W)[a, b] != 0), 1.0, self.unlinked)
        weight = np.where(a == b, 0.5, 1.0)  # all ordered pairs weigh the same: the closed form
        data = PairData(np.stack([a, b], axis=1), target, weight, None, np.arange(len(a)), a > b)
        posed = choose_strategy(self.strategy, self.mix).pose(data, K, Square()).at(self.alpha)
        self.points_ = posed.examples.points
        self.coefficients_ = posed.strategy.solve(posed.gram, posed.problem, Auto()).C

    def compare(self, U: Nodes, V: Nodes) -> Array:
        xp = array_namespace(U.K)
        m = len(U.index)
        q = len(V.index)
        K, same = (U.K, U.index) if V is U else (xp.concat([U.K, V.K], axis=0), np.append(U.index, V.index))
        second = np.arange(q) + (0 if V is U else m)
        pairs = np.stack([np.repeat(np.arange(m), q), np.tile(second, m)], axis=1)
        strategy = choose_strategy(self.strategy, self.mix)
        if strategy.silent(pairs, self.points_, same).all():
            raise ValueError("Local models are of labelled nodes: leave X1 or X2 out to mean the fitted nodes.")
        return xp.reshape(strategy.score(K, pairs, self.points_, self.coefficients_, same), (m, q))
