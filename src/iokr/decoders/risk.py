"""ŷ = argmin_y Σ_i β_i(x) Δ(y_i, y): decoding by the loss itself."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from iokr._array import Array, asarray_like, is_sparse, to_numpy
from iokr._component import component
from iokr.data.objects import distinct, error_context, take
from iokr.decoders._losses.base import PairLoss
from iokr.decoders._losses.functions import FunctionLoss
from iokr.decoders._losses.graphs import GraphLoss
from iokr.decoders._losses.label_sets import LabelSetF1, hamming_loss
from iokr.decoders._losses.rankings import KendallLoss, SpearmanLoss
from iokr.decoders._losses.sequences import EditLoss
from iokr.decoders._losses.trees import TreeEditLoss
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
    "edit": lambda Y: EditLoss(),
    "fgw": lambda Y: GraphLoss(),
    "tree": lambda Y: TreeEditLoss(),
}
_METRICS = {  # functions of iokr.metrics that have a name here
    "hamming": "hamming",
    "f1_samples": "f1",
    "kendall_tau": "kendall",
    "edit_distance": "edit",
    "fgw": "fgw",
    "tree_edit_distance": "tree",
}
_ACCURACIES = ("character_accuracy", "subset_accuracy")  # the larger, the better
_ERRORS = ("rbf_loss",)


@component
class MinimumRisk(Decoder):
    """ŷ = argmin_y Σ_i β_i(x) Δ(y_i, y), with h(x) = Σ_i β_i(x) ψ(y_i): the answer of least expected loss.

    β(x) stands for the probabilities of the training outputs given x, so the sum is the expected loss of the answer y.
    Δ may be any loss; the output kernel only serves to learn β, and may be left out. With Δ(y, y') = ‖ψ(y) − ψ(y')‖²
    and k_Y(y, y) constant this is `Candidates()`. For every model with `weights`: ridge, trees, neighbours.

    Without candidates given to `predict`, the search is exact over all label sets ("hamming", "f1") and over all
    complete rankings ("kendall" up to 12 items, "spearman"); else it goes over the training outputs. `rank` orders
    candidates by their risk, and gives minus the risk as values. The cost is n·c losses for c candidates, then 2mnc.

    Parameters
    ----------
    loss : {"hamming", "f1", "kendall", "spearman", "edit", "fgw", "tree"} or callable
        Δ(truth, answer): the fraction of wrong labels, 1 − F1, (1 − τ)/2, (1 − ρ)/2, edits between sequences, the fused
        Gromov–Wasserstein distance between graphs, edits between ordered trees; or a function of two outputs, or one
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
    by = "score"  # what ranking makes large is minus the risk

    def fit(self, Y: Any, embedding: Embedding) -> MinimumRisk:
        """Keep the distinct training outputs, and which row has which."""
        self._measure(Y)
        first, self._which = distinct(Y)
        self.Y_fit_, self._kernel = take(Y, first), embedding.kernel_
        return self

    def decode(self, H: Array, embedding: Embedding) -> Any:
        """The answer of least risk for each row of β, (m, n)."""
        risk = self.measure()
        found = risk.search(H)
        if found is not None:
            return asarray_like(found, H) if isinstance(found, np.ndarray) and found.dtype != object else found
        best, _ = rank_shared(H, risk, self.Y_fit_, 1, by="score")
        return take(self.Y_fit_, best[:, 0])

    def measure(self) -> Risk:
        """Minus the risk, in the place of ⟨h(x), ψ(y)⟩, for what ranks candidates."""
        return Risk(self._measure(self.Y_fit_), self.Y_fit_, self._which, self._kernel)

    def _measure(self, Y: Any) -> PairLoss:
        """Δ, fitted to the training outputs."""
        name = self.loss
        if callable(name):
            if not getattr(name, "__module__", "").startswith("iokr.metrics"):
                return FunctionLoss(name)
            known = getattr(name, "__name__", "")
            if known not in _METRICS:
                return FunctionLoss(_of_metric(name, known))
            name = _METRICS[known]
        if not isinstance(name, str) or name not in _NAMED:
            raise ValueError(
                f"`loss` must be {', '.join(map(repr, _NAMED))}, or a function of the true output and the answer, "
                f"got {self.loss!r:.60}."
            )
        with error_context("y"):
            return _NAMED[name](Y).fit(Y)


def _of_metric(metric: Callable[..., float], name: str) -> Callable[[Any, Any], float]:
    """A mean over rows as a loss of two outputs: itself, or one less it."""
    if name in _ACCURACIES:
        return lambda y, z: 1.0 - metric([y], [z])
    if name in _ERRORS:
        return lambda y, z: metric([y], [z])
    raise ValueError(
        f"`iokr.metrics.{name}` is no loss between two outputs; "
        f"use {', '.join([*_METRICS, *_ACCURACIES, *_ERRORS])}, or a function of the true output and the answer."
    )


class Risk:
    """−Σ_i β_i(x) Δ(y_i, y) as the inner product of β(x) with a candidate: a `Comparison`."""

    S_fit_ = None

    def __init__(self, loss: PairLoss, Y: Any, which: np.ndarray, kernel: Kernel | None) -> None:
        self.loss, self.which, self.kernel_ = loss, which, kernel  # the kernel says which objects outputs are
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
        """The best of all outputs for each row of β, or None."""
        return self.loss.search(self._masses(B), self.R)

    def represent(self, Y: Any, name: str = "candidates") -> Any:
        """Candidates as the loss takes them."""
        return self.loss.represent(Y.toarray() if is_sparse(Y) else Y)

    def inner(self, B: Array, S: Any) -> Array:
        """Minus the risk, (m, c)."""
        return asarray_like(-(self._masses(B) @ self.loss.matrix(self.R, S)), B)

    def sq_norms(self, S: Any) -> np.ndarray:
        """None count."""
        return np.zeros(len(S))

    def sq_norms_of(self, B: Array) -> np.ndarray:
        """None count."""
        return np.zeros(int(B.shape[0]))
