"""ŷ = argmin_y Σ_i β_i(x) Δ(y_i, y): decoding by the expected loss."""

from __future__ import annotations

from collections.abc import Callable
from types import FunctionType
from typing import Any

import numpy as np

from iokr._array import Array, asarray_like, is_sparse, to_numpy
from iokr._component import component
from iokr.data.edits import coded, edit_matrix, hashable_sequences
from iokr.data.objects import distinct, error_context, take
from iokr.data.tree_edits import coded_trees, tree_edit_matrix
from iokr.data.trees import keyed_trees
from iokr.decoders._losses.base import PairLoss
from iokr.decoders._losses.label_sets import LabelSetF1, hamming_loss
from iokr.decoders._losses.objects import EditLoss, FunctionLoss, GraphLoss
from iokr.decoders._losses.rankings import KendallLoss, SpearmanLoss
from iokr.decoders.base import Decoder
from iokr.decoders.candidates import rank_shared
from iokr.embeddings.base import Embedding
from iokr.kernels.base import Kernel

__all__ = ["MinimumRisk"]

_NAMED: dict[str, Callable[[Any], PairLoss]] = {
    "hamming": hamming_loss,
    "f1": lambda Y: LabelSetF1(),
    "kendall": lambda Y: KendallLoss(),
    "spearman": lambda Y: SpearmanLoss(),
    "edit": lambda Y: EditLoss(hashable_sequences, coded, edit_matrix),
    "fgw": lambda Y: GraphLoss(),
    "tree": lambda Y: EditLoss(keyed_trees, coded_trees, tree_edit_matrix),
}
_METRICS = {  # names of functions of iokr.metrics
    "hamming": "hamming",
    "f1_samples": "f1",
    "kendall_tau": "kendall",
    "edit_distance": "edit",
    "fgw": "fgw",
    "tree_edit_distance": "tree",
}
_ACCURACIES = ("character_accuracy", "subset_accuracy")  # larger is better
_ERRORS = ("rbf_loss",)


@component
class MinimumRisk(Decoder):
    """ŷ = argmin_y Σ_i β_i(x) Δ(y_i, y), with h(x) = Σ_i β_i(x) ψ(y_i): the output of smallest expected loss, or risk.

    β(x) takes the place of the probabilities of the training outputs given x. Δ may be any loss; the output kernel only
    serves to learn β, and may be left out. With Δ(y, y') = ‖ψ(y) − ψ(y')‖² and constant k_Y(y, y) this is
    `Candidates()`. For every model with `weights`: ridge, trees, neighbours.

    Without `candidates` in `predict`, the search is exact over all label sets ("hamming", "f1") and over all complete
    rankings ("kendall" up to 12 items, "spearman"); for other losses it is over the training outputs. `rank` orders
    candidates by their risk, and returns minus the risk. The cost is n·c losses for c candidates, then 2mnc flops.

    Parameters
    ----------
    loss : {"hamming", "f1", "kendall", "spearman", "edit", "fgw", "tree"} or callable
        Δ(truth, prediction): the fraction of wrong labels, 1 − F1, (1 − τ)/2, (1 − ρ)/2, edits between sequences, the
        fused Gromov–Wasserstein distance between graphs, edits between ordered trees; or a function of two outputs, or
        of `iokr.metrics`.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.decoders import MinimumRisk
    >>> from iokr.kernels import RBF
    >>> X, labels = [[0.0], [0.2], [1.0]], [[1, 1, 0], [1, 0, 0], [0, 0, 1]]
    >>> IOKR(RBF(1.0), alpha=0.1, decoder=MinimumRisk("f1")).fit(X, labels).predict([[0.1]])
    array([[1., 1., 0.]])

    References
    ----------
    Ciliberto, Rosasco and Rudi, "A consistent regularization approach for structured prediction", NeurIPS 2016.
    Dembczyński, Waegeman, Cheng and Hüllermeier, "An exact algorithm for F-measure maximization", NeurIPS 2011.
    """

    loss: str | Callable[[Any, Any], float]

    weighted = True
    by = "score"  # minus the risk is to be large

    def _stored(self) -> dict[str, Any]:
        return {"distinct": self._which, "kernel": self._kernel}

    def fit(self, Y: Any, embedding: Embedding) -> MinimumRisk:
        """Keep the distinct training outputs, and the number of that of each row."""
        self._fitted_loss(Y)
        first, self._which = distinct(Y)
        self.Y_fit_ = take(Y, first)
        self._kernel = embedding.kernel_
        return self

    def decode(self, H: Array, embedding: Embedding) -> Any:
        """The output of smallest risk for each row of β, (m, n)."""
        risk = self.measure()
        best = risk.search(H)
        if best is None:
            index, _ = rank_shared(H, risk, self.Y_fit_, 1, by="score")
            return take(self.Y_fit_, index[:, 0])
        is_numbers = isinstance(best, np.ndarray) and best.dtype != object
        return asarray_like(best, H) if is_numbers else best

    def measure(self) -> Risk:
        """Minus the risk, which takes the place of ⟨h(x), ψ(y)⟩ in rankings."""
        return Risk(self._fitted_loss(self.Y_fit_), self.Y_fit_, self._which, self._kernel)

    def _fitted_loss(self, Y: Any) -> PairLoss:
        """Δ, fitted to the training outputs."""
        if callable(self.loss):
            name = _metric_name(self.loss)
            if name not in _METRICS:
                return FunctionLoss(self.loss if name is None else _of_metric(self.loss, name))
            name = _METRICS[name]
        else:
            name = self.loss
        if name not in _NAMED:
            raise ValueError(
                f"`loss` must be {', '.join(map(repr, _NAMED))}, or a function of the true and the predicted output, "
                f"got {self.loss!r:.60}."
            )
        with error_context("y"):
            return _NAMED[name](Y).fit(Y)


def _metric_name(loss: Callable[..., Any]) -> str | None:
    """The name of a function of `iokr.metrics`, None for others."""
    if not isinstance(loss, FunctionType) or not loss.__module__.startswith("iokr.metrics"):
        return None
    return loss.__name__


def _of_metric(metric: Callable[..., float], name: str) -> Callable[[Any, Any], float]:
    """A mean over rows as a loss of two outputs: 1 − it for an accuracy."""
    if name in _ACCURACIES:
        return lambda y, z: 1.0 - metric([y], [z])
    if name in _ERRORS:
        return lambda y, z: metric([y], [z])
    raise ValueError(
        f"`iokr.metrics.{name}` is not a loss between two outputs; use "
        f"{', '.join([*_METRICS, *_ACCURACIES, *_ERRORS])}, or a function of the true and the predicted output."
    )


class Risk:
    """−Σ_i β_i(x) Δ(y_i, y) as the inner product of β(x) with a candidate: a `Comparison`."""

    S_fit_ = None

    def __init__(self, loss: PairLoss, Y: Any, which: np.ndarray, kernel: Kernel | None) -> None:
        self.loss = loss
        self.which = which
        self.kernel_ = kernel
        self.R = loss.represent(Y)

    def _masses(self, B: Array) -> np.ndarray:
        """Σ of β over the rows of each distinct training output, (m, d)."""
        masses: np.ndarray = to_numpy(B).astype(np.float64)
        if len(self.which) == len(self.R):
            return masses
        order = np.argsort(self.which, kind="stable")
        starts = np.searchsorted(self.which[order], np.arange(len(self.R)))
        return np.asarray(np.add.reduceat(masses[:, order], starts, axis=1))

    def search(self, B: Array) -> Any:
        """The best of all outputs for each row of β, None if no search over all outputs is known."""
        return self.loss.search(self._masses(B), self.R)

    def represent(self, Y: Any, name: str = "candidates") -> Any:
        """Candidates, represented by the loss."""
        return self.loss.represent(Y.toarray() if is_sparse(Y) else Y)

    def inner(self, B: Array, S: Any) -> Array:
        """Minus the risk, (m, c)."""
        return asarray_like(-(self._masses(B) @ self.loss.matrix(self.R, S)), B)

    def sq_norms(self, S: Any) -> np.ndarray:
        """Zeros: candidates are ranked by the risk alone."""
        return np.zeros(len(S))

    def sq_norms_of(self, B: Array) -> np.ndarray:
        """Zeros."""
        return np.zeros(int(B.shape[0]))
