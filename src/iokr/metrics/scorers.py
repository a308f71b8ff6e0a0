"""Metrics of decoded outputs as scorers of scikit-learn."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from iokr._validation.arguments import check_choice
from iokr.data.frames import read
from iokr.data.objects import n_objects
from iokr.metrics.graphs import isomorphic_accuracy
from iokr.metrics.outputs import f1_samples, hamming, rbf_loss, subset_accuracy
from iokr.metrics.structured import character_accuracy, edit_distance, kendall_tau, tree_edit_distance

__all__ = ["DecodedScorer", "decoded_scorer"]

_SIGNS: dict[Callable[..., float], int] = {
    character_accuracy: 1,
    edit_distance: -1,
    f1_samples: 1,
    hamming: -1,
    isomorphic_accuracy: 1,
    kendall_tau: 1,
    rbf_loss: -1,
    subset_accuracy: 1,
    tree_edit_distance: -1,
}
_NAMES = {metric.__name__: metric for metric in _SIGNS}


def decoded_scorer(
    metric: str | Callable[..., float], *, candidates: Any = None, greater_is_better: bool | None = None, **options: Any
) -> DecodedScorer:
    """score = ± metric(y, ŷ), ŷ = model.predict(X, candidates): larger is better for any output kernel.

    The default `score`, R² in the output feature space, cannot be compared between output kernels: a kernel that does
    not distinguish outputs is the easiest to predict. A loss between the true and the decoded output can, so
    `GridSearchCV` can search output kernels, embeddings and decoders with it.

    Parameters
    ----------
    metric : str or callable
        `"f1_samples"`, `"hamming"`, `"subset_accuracy"`, `"kendall_tau"`, `"edit_distance"`, `"character_accuracy"`,
        `"isomorphic_accuracy"`, `"tree_edit_distance"` or `"rbf_loss"`, or a function of y and ŷ that returns a number.
    candidates : sequence, default=None
        The candidates of `predict`, the same for all inputs; None is the default of the decoder.
    greater_is_better : bool, default=None
        Whether larger values are better. Known for the metrics above; required for other functions.
    **options :
        Passed to the metric, such as `gamma=0.1` for `rbf_loss`.

    Returns
    -------
    scorer : DecodedScorer
        For `scoring=` of `GridSearchCV`, `cross_val_score` and similar. Losses are negated, as in scikit-learn's `neg_`
        scores.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF, Spectrum
    >>> from iokr.metrics import decoded_scorer
    >>> model = IOKR(RBF(1.0), output_kernel=Spectrum(2)).fit([[0.0], [1.0]], ["cat", "dog"])
    >>> scorer = decoded_scorer("edit_distance")
    >>> scorer
    decoded_scorer('edit_distance')
    >>> scorer(model, [[0.1], [0.9]], ["cat", "dogs"])
    -0.5
    """
    if isinstance(metric, str):
        metric = _NAMES[check_choice(metric, "metric", tuple(_NAMES))]
    if not callable(metric):
        raise TypeError(f"`metric` must be a name or a function of y and ŷ, got {metric!r:.60}.")
    known = _SIGNS.get(metric)
    if greater_is_better is not None:
        sign = 1 if check_choice(greater_is_better, "greater_is_better", (True, False)) else -1
        if known not in (None, sign):
            raise ValueError(f"`greater_is_better` must be {known == 1} for {_name(metric)}, got {greater_is_better}.")
    elif known is not None:
        sign = known
    else:
        raise ValueError(
            f"`greater_is_better` must be True or False for the metric {_name(metric)}, which is not a known one."
        )
    if candidates is not None:
        n_objects(candidates, "candidates")
    return DecodedScorer(metric, sign, candidates, options)


class DecodedScorer:
    """± metric(y, model.predict(X)), as made by `decoded_scorer`: a function of (model, X, y) that can be pickled.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF, Delta
    >>> from iokr.metrics import decoded_scorer
    >>> score = decoded_scorer("subset_accuracy")
    >>> model = IOKR(RBF(1.0), output_kernel=Delta(), alpha=0.1).fit([[0.0], [3.0]], ["a", "b"])
    >>> score(model, [[0.1], [2.9], [3.1]], ["a", "b", "a"])
    0.6666666666666666
    """

    def __init__(self, metric: Callable[..., float], sign: int, candidates: Any, options: dict[str, Any]) -> None:
        self.metric = metric
        self.sign = sign
        self.candidates = candidates
        self.options = options

    def __call__(self, model: Any, X: Any, y: Any) -> float:
        """± metric(y, model.predict(X))."""
        predicted = model.predict(X) if self.candidates is None else model.predict(X, candidates=self.candidates)
        predicted = read(predicted, matrix=True)
        return self.sign * float(self.metric(y, predicted, **self.options))

    def __repr__(self) -> str:
        known = _NAMES.get(_name(self.metric)) is self.metric
        parts = [repr(_name(self.metric)) if known else _name(self.metric)]
        if self.candidates is not None:
            parts.append(f"candidates=<{n_objects(self.candidates)} objects>")
        if not known:
            parts.append(f"greater_is_better={self.sign > 0}")
        parts += [f"{name}={value!r}" for name, value in self.options.items()]
        return f"decoded_scorer({', '.join(parts)})"


def _name(metric: Callable[..., float]) -> str:
    return getattr(metric, "__name__", repr(metric))
