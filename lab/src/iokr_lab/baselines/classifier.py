"""A classifier on features of pairs."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import check_random_state

from iokr._array import Array, asarray_like, blocks, is_sparse, take_rows, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_integer, check_number
from iokr.apps.links.baselines import LinkBaseline, Nodes
from iokr.kernels.base import Kernel
from iokr.kernels.vectors import Linear
from iokr_lab.baselines.vectors import check_features, eigen_basis, node_vectors

__all__ = ["PairClassifier", "pair_features"]

_PANEL = 1 << 23  # maximal number of entries in a block of pair features


@component
class PairClassifier(LinkBaseline):
    """s(u, v) = logit P(link | u∘v, |u − v|, cos(u, v)): a classifier on pairs, by default gradient boosting.

    The features of a pair, products and absolute differences of the features of its nodes and their cosine, do not
    depend on the order of the nodes. As links are rare, `unlinked` other pairs per link are drawn for training, so use
    scores for ranking only; they are not probabilities of links.

    Parameters
    ----------
    kernel : Kernel, default=None
        None: the features are the vectors X. With a kernel on other objects they are its eigen-features diag(s)^(−½) Uᵀ
        k_u, K = U diag(s) Uᵀ; with one on indices of nodes, as `Precomputed(matrix)`, they are `features` if given.
    features : array or sparse matrix with a row for every node index, default=None
    classifier : classifier of scikit-learn, default=None
        None is `HistGradientBoostingClassifier()`.
    n_components : int, default=None
        Number of leading eigen-features; None is all.
    unlinked : float, default=20.0
        Maximal number of pairs without a link per link.
    random_state : int, RandomState or None, default=None
        Seed for the draw of these pairs, and for the classifier if it has none.

    Attributes
    ----------
    classifier_ : the fitted classifier

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import LogisticRegression
    >>> from iokr_lab.baselines import PairClassifier
    >>> X, graph = np.array([[0.0], [0.1], [3.0], [3.1], [0.2]]), np.kron(np.eye(2), 1 - np.eye(2))
    >>> model = PairClassifier(classifier=LogisticRegression()).fit(X, graph, labeled=[0, 1, 2, 3])
    >>> scores = model.decision_function()
    >>> bool(scores[4, 0] > scores[4, 2])
    True
    """

    _: KW_ONLY
    features: Any = None
    classifier: Any = None
    n_components: int | None = None
    unlinked: float = 20.0
    random_state: Any = None

    def _stored(self) -> dict[str, Any]:
        return {"basis": self._basis}

    def check_parameters(self) -> None:
        check_features(self.features, self.kernel)
        check_number(self.unlinked, "unlinked", minimum=0.0, strict=True)
        if self.n_components is not None:
            check_integer(self.n_components, "n_components", minimum=1)
        if self.classifier is not None and not _is_classifier(self.classifier):
            raise TypeError(
                "`classifier` must be an object with `fit` and `decision_function` or `predict_proba`, "
                f"got {self.classifier!r:.60}."
            )

    def input_kernel(self, kernel: Kernel) -> Kernel:
        if self.kernel is None:
            return Linear()  # represents vectors by themselves
        return super().input_kernel(kernel)

    def learn(self, K: Array, W: Array) -> None:
        has_vectors = self.kernel is None or self.features is not None
        self._basis = None if has_vectors else eigen_basis(K, self.n_components)
        x = self._vectors(take_rows(self.R_fit_, self.labeled_), K)
        linked = to_numpy(W) != 0
        rows, columns = np.triu_indices(len(linked), k=1)
        y = linked[rows, columns]
        if y.all():
            raise ValueError("`adjacency` must have labelled nodes without a link; here every two are linked.")
        rng = _random_state(self.random_state)
        others = np.flatnonzero(~y)
        limit = max(1, round(min(self.unlinked * int(y.sum()), float(len(others)))))
        if len(others) > limit:
            others = rng.choice(others, size=limit, replace=False)
        chosen = np.sort(np.concatenate([np.flatnonzero(y), others]))
        pairs = pair_features(x[rows[chosen]], x[columns[chosen]])
        self.classifier_ = self._unfitted(rng).fit(pairs, y[chosen])

    def _unfitted(self, rng: np.random.RandomState) -> Any:
        """A clone of the classifier; a missing random state is drawn from ours."""
        if self.classifier is None:
            from sklearn.ensemble import HistGradientBoostingClassifier  # imports much of scikit-learn

            return HistGradientBoostingClassifier(random_state=rng.randint(1 << 30))
        classifier = clone(self.classifier)
        if classifier.get_params(deep=False).get("random_state", 0) is None:
            classifier.set_params(random_state=rng.randint(1 << 30))
        return classifier

    def _vectors(self, R: Any, K: Array) -> np.ndarray:
        """The features of nodes, dense."""
        vectors = node_vectors(R, K, self.features, self._basis)
        return np.asarray(vectors.toarray() if is_sparse(vectors) else to_numpy(vectors), dtype=float)

    def compare(self, U: Nodes, V: Nodes) -> Array:
        x = self._vectors(U.R, U.K)
        z = x if V is U else self._vectors(V.R, V.K)
        scores = np.empty((len(x), len(z)))
        for rows in blocks(len(x), max(1, _PANEL // max(1, len(z) * (2 * x.shape[1] + 1)))):
            left = np.repeat(x[rows], len(z), axis=0)
            right = np.tile(z, (len(x[rows]), 1))
            scores[rows] = self._log_odds(pair_features(left, right)).reshape(scores[rows].shape)
        return asarray_like(scores, self._border.home)

    def _log_odds(self, pairs: np.ndarray) -> np.ndarray:
        """The score of the classifier, or the logit of its probability."""
        if hasattr(self.classifier_, "decision_function"):
            return np.asarray(self.classifier_.decision_function(pairs))
        p = np.clip(self.classifier_.predict_proba(pairs)[:, 1], 1e-12, 1 - 1e-12)
        return np.asarray(np.log(p / (1 - p)))


def _is_classifier(value: Any) -> bool:
    """Whether it is an object, not a class, that can be fitted and scores rows."""
    scores = hasattr(value, "decision_function") or hasattr(value, "predict_proba")
    return scores and hasattr(value, "fit") and not isinstance(value, type)


def _random_state(value: Any) -> np.random.RandomState:
    """The random numbers of a seed."""
    try:
        return check_random_state(value)  # type: ignore[no-any-return]
    except ValueError as error:
        raise ValueError(
            f"`random_state` must be None, a RandomState or an integer from 0 to 2³² − 1, got {value!r:.60}."
        ) from error


def pair_features(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """[x∘z, |x − z|, cos(x, z)], symmetric in x and z; the cosine with a zero row is 0."""
    products = x * z
    norms = np.sqrt(np.sum(x * x, axis=1) * np.sum(z * z, axis=1))
    cosine = np.sum(products, axis=1) / np.where(norms > 0, norms, 1.0)
    return np.hstack([products, np.abs(x - z), cosine[:, None]])
