"""Labels, by ridge on their indicators."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, unique_labels
from sklearn.utils.validation import check_is_fitted, column_or_1d

from iokr._array import Array, is_array, row_sq_norms, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_same_length, check_weight
from iokr.data.frames import check_aligned, read
from iokr.data.objects import as_objects, error_context
from iokr.estimators.outputs import require_y
from iokr.estimators.plain.base import PlainModel
from iokr.estimators.progress import with_callbacks
from iokr.estimators.regression.base import left_out_values
from iokr.estimators.regression.probability import softmax, temperature
from iokr.estimators.search.result import ALPHAS
from iokr.losses.base import Loss
from iokr.solvers.base import Solver

__all__ = ["IOKRClassifier"]


def _has_probabilities(model: Any) -> bool:
    """Whether leave-one-out, on which probabilities are calibrated, has a closed form."""
    return model.loss is None or bool(getattr(model.loss, "quadratic", False))


@component
class IOKRClassifier(ClassifierMixin, PlainModel):  # type: ignore[misc]
    """argmax_c ⟨h(x), ψ(c)⟩ with ⟨ψ(a), ψ(b)⟩ = [a = b]: `IOKR` with the output kernel `Delta()`, as a classifier.

    Kernel ridge on the indicators of the classes, so h_c(x) estimates the fraction of class c at x. There is one column
    of coefficients for each class. `model_` is the `IOKR` inside, with all its methods.

    Parameters
    ----------
    kernel : Kernel, OperatorKernel, or (with `alpha=None`) a list of them, default=None
        On the inputs. None searches `RBF` at seven widths about the median distance, `Laplacian` at five and `Linear`,
        as `IOKRCV` does; with an `alpha` it is `RBF()` with the median width.
    alpha : float, default=None
        λ > 0: larger shrinks h more. None takes the one among `alphas` with the smallest leave-one-out error, in closed
        form: a classifier without a tuned alpha is seldom what is wanted, and the search costs little more than a fit.
    alphas : sequence of float
        What is searched; 19 values from 1e-6 to 1e3 by default.
    cv : int, splitter or None, default=None
        How kernel and alpha are chosen: None is leave-one-out, for the square loss; K-fold for others. An integer is
        the number of stratified folds: each has the same fractions of the classes.
    loss, solver, intercept :
        As in `IOKR`.
    standardize : {"auto", True, False}, default="auto"
        Whether the kernel acts on `Standardized` columns; "auto" is where none is given and X is a dense matrix.

    Attributes
    ----------
    classes_ : array of shape (c,)
        The labels, sorted.
    alpha_ : float
    temperature_ : float
        T of `predict_proba`; for the square loss.
    model_ : IOKR or IOKRCV
        On the indicators of the classes; `model_.cv_results_` has the search.
    kernel_, solver_, n_features_in_, feature_names_in_ :
        As in `IOKR`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from iokr import IOKRClassifier
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> model = IOKRClassifier().fit(X[::2], y[::2])
    >>> round(model.score(X[1::2], y[1::2]), 2)
    0.95
    >>> model.predict_proba(X[77:78]).round(2)
    array([[0.02, 0.33, 0.65]])
    """

    kernel: Any = None
    _: KW_ONLY
    alpha: float | None = None
    alphas: Sequence[float] = ALPHAS
    cv: Any = None
    loss: Loss | None = None
    solver: Solver | None = None
    intercept: bool | None = None
    standardize: Any = "auto"

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> IOKRClassifier:
        """Learn h.

        Parameters
        ----------
        X : array, sparse matrix, frame, or sequence of n objects that the kernel takes
        y : sequence of n labels: texts, whole numbers, truth values
        sample_weight : array of shape (n,), default=None
            A weight of 2 is the row twice.
        """
        labels = _labels(y)
        check_aligned(X, y)
        check_same_length(X, labels)
        self.classes_, codes = np.unique(labels, return_inverse=True)
        if len(self.classes_) < 2:
            raise ValueError(
                f"`y` must have at least two classes, got {len(self.classes_)} class in {len(labels)} rows."
            )
        self._fit_inner(X, np.eye(len(self.classes_))[codes], sample_weight)
        return self

    def _finish(self, sample_weight: Any) -> None:
        self.__dict__.pop("temperature_", None)
        if _has_probabilities(self):
            squares = _squares(to_numpy(left_out_values(self.model_)))
            truth = to_numpy(self.model_.targets_.Psi) == 1
            self.temperature_ = temperature(squares[truth], squares, self.model_.targets_.weight)

    def decision_function(self, X: Any) -> Array:
        """h_c(x), (m, c), in the order of `classes_`; of two classes h₂(x) − h₁(x), (m,)."""
        H = self._values(X)
        if len(self.classes_) == 2:
            return H[:, 1] - H[:, 0]
        return H

    def predict(self, X: Any) -> np.ndarray:
        """The class with the largest h_c(x), the first of equal ones; m labels."""
        check_is_fitted(self)
        return np.asarray(self.classes_[np.argmax(to_numpy(self._values(X)), axis=1)])

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """The fraction of rows whose label is y.

        Parameters
        ----------
        X : array or sequence of m objects
        y : sequence of m labels
        sample_weight : array of shape (m,), default=None
        """
        check_is_fitted(self)
        labels = _labels(y)
        check_aligned(X, y)
        weight = check_weight(sample_weight, check_same_length(X, labels), X)
        return float(super().score(X, labels, weight))

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """exp(−‖h(x) − ψ(c)‖²/T) / Σ_c' exp(−‖h(x) − ψ(c')‖²/T), (m, c), in the order of `classes_`.

        T is the one whose leave-one-out probabilities of the training labels have the smallest log loss, as in
        `IOKR.predict_proba`. The method exists for the square loss only.
        """
        return softmax(_squares(self._values(X)), self.temperature_)


def _labels(y: Any) -> np.ndarray:
    """Labels of one kind, checked, in an array of one dimension."""
    require_y(y)
    with error_context("y"):
        y = read(y)
    _refuse_sets(y)
    try:
        labels = column_or_1d(to_numpy(y) if is_array(y) else y, warn=True)
        check_classification_targets(labels)
        unique_labels(y if isinstance(y, (list, tuple)) else labels)  # NumPy makes texts of numbers next to texts
    except (TypeError, ValueError) as error:
        advice = " For numbers use `IOKRRegressor`." if "continuous" in str(error) else ""
        raise ValueError(f"`y` must hold a label for each row, all of one kind: {error}{advice}") from error
    return np.asarray(labels)


def _refuse_sets(y: Any) -> None:
    """Raise for several labels in a row: sets and lists of them, or their indicators."""
    several = is_array(y) and y.ndim == 2 and y.shape[1] > 1
    if not several and not isinstance(y, (str, bytes)) and hasattr(y, "__len__"):
        several = any(isinstance(entry, (set, frozenset, list, tuple)) and len(entry) != 1 for entry in as_objects(y))
    if several:
        raise ValueError(
            "`y` must hold one label for each row, but it holds several; encode sets of labels as rows of 0 and 1 by "
            '`sklearn.preprocessing.MultiLabelBinarizer`, and use `IOKRCV(decoder=MinimumRisk("f1"))`.'
        )


def _squares(H: Array) -> Array:
    """‖h(x) − ψ(c)‖² for every class."""
    return row_sq_norms(H)[:, None] + 1.0 - 2 * H
