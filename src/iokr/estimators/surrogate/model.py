"""f(x) ≈ z(y): any regressor learns the coordinates of an output kernel, and its predictions are decoded."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils import get_tags
from sklearn.utils.validation import check_is_fitted, has_fit_parameter

from iokr._array import Array, is_array, to_numpy
from iokr._component import component
from iokr._validation.arguments import check_same_length, check_weight
from iokr.data.frames import frame_of, read
from iokr.data.objects import error_context, n_objects, take
from iokr.decoders.base import Decoder
from iokr.decoders.candidates import rank_shared
from iokr.embeddings.base import Embedding
from iokr.embeddings.eigen import Eigen
from iokr.embeddings.nystroem import Nystroem
from iokr.estimators.base import StructuredEstimator
from iokr.estimators.inputs import copy_features
from iokr.estimators.outputs import as_outputs, encode, require_y, single_precision
from iokr.estimators.progress import begin, end, with_callbacks
from iokr.kernels.base import Kernel
from iokr.metrics.outputs import subset_accuracy

__all__ = ["Surrogate"]

_SMALL = 200  # outputs up to which all coordinates are used
_RANKS = (50, 100, 200, 400)
_LARGEST_HELD_OUT = 500
_GAIN = 0.01  # in accuracy, below which a larger rank is not worth its cost


@component
class Surrogate(StructuredEstimator):
    """f(x) ≈ z(y) ∈ ℝ^r, then ŷ = argmin_y k_Y(y, y) − 2⟨f(x), z(y)⟩: any regressor for outputs of any kind.

    z represents ψ(y) by r numbers (`Nystroem`, `Eigen`, `Sketch`); a clone of the regressor learns them, and its
    predictions are ranked and decoded as h(x) is: linear models, forests, boosting, networks. X is passed to the
    regressor unchanged, and may be anything that this takes; its errors are passed on. What the coordinates lose,
    `error_`, no regressor can recover. There is no leave-one-out in closed form, and there are no weights of the
    training outputs.

    Parameters
    ----------
    regressor : scikit-learn regressor, or any object with `fit` and `predict`
        One that predicts single numbers is fitted once per coordinate.
    output_kernel : Kernel, default=None
        On the outputs; None takes outputs as vectors, ψ(y) = y.
    embedding : Embedding, default=None
        The coordinates. None is `Eigen()` up to 200 outputs, and above `Nystroem(r)`, with the first r of 50, 100, 200
        and 400 for which a larger one would not decode z(y) itself, a perfect f, more accurately on a tenth of the
        outputs; no regressor is trained for this choice. Without an output kernel, the vectors.
    decoder : Decoder, default=None
        Pre-image; None is `Identity()` without an output kernel, else `Candidates()`.

    Attributes
    ----------
    regressor_ : the fitted regressor
    rank_ : int
        r, the number of coordinates.
    error_ : float
        tr(K_Y − Z Zᵀ)/tr K_Y of the training outputs: what the coordinates lose.
    perfect_ : dict of float
        For each rank that was tried, the fraction of outputs that are decoded from their own z(y).
    output_kernel_, embedding_, decoder_ : fitted components

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from iokr import Surrogate
    >>> from iokr.kernels import Spectrum
    >>> X, words = [[0.0], [1.0], [2.0], [3.0]], ["sun", "sand", "land", "lane"]
    >>> Surrogate(Ridge(0.01), output_kernel=Spectrum(2)).fit(X, words).predict([[0.1], [2.9]])
    array(['sun', 'lane'], dtype=object)

    References
    ----------
    El Ahmad, Brogat-Motte, Laforgue and d'Alché-Buc, "Sketch in, sketch out", AISTATS 2024. El Ahmad, Yang, Laforgue
    and d'Alché-Buc, "Deep sketched output kernel regression for structured prediction", ECML 2024.
    """

    regressor: Any
    _: KW_ONLY
    output_kernel: Kernel | None = None
    embedding: Embedding | None = None
    decoder: Decoder | None = None

    loss = None  # the square, for any loss that the regressor minimises

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Surrogate:
        """Embed the outputs and fit the regressor to their coordinates.

        Parameters
        ----------
        X : any input of the regressor, n rows
        y : array, sparse matrix, or sequence of n outputs that the output kernel takes
        sample_weight : array of shape (n,), default=None
            For a regressor that takes it.
        """
        progress = begin(self, 0, X=X, y=y)
        self._check_components()
        require_y(y)
        if not hasattr(self.regressor, "fit") or not hasattr(self.regressor, "predict"):
            raise TypeError(f"`regressor` must have `fit` and `predict`, got {self.regressor!r:.60}.")
        weight = check_weight(sample_weight, check_same_length(X, y), X)
        self._single_precision = single_precision(X, y)
        Psi = self._encode(y, weight)
        self._fit_regressor(_readable(X), Psi, weight)
        end(progress, self, X=X, y=y)
        return self

    def _encode(self, y: Any, weight: np.ndarray | None) -> np.ndarray:
        """The coordinates of the outputs, (n, r), in the precision of the data."""
        frame = frame_of(y)
        y = as_outputs(y, self.output_kernel)
        self.perfect_: dict[int, float] = {}
        parts = self._output_parts()
        if parts["embedding"] is None and self.output_kernel is not None:
            parts["embedding"] = self._chosen_embedding(y)
        outputs, targets = encode(y, weight, frame=frame, **parts)
        if targets.Psi is None:
            raise ValueError(
                f"{outputs.embedding!r} has no coordinates, which a regressor needs; use `Eigen()` or `Nystroem(rank)`."
            )
        if targets.mask is not None:
            raise ValueError("`y` contains NaN, which regressors cannot learn; drop these rows, or use `IOKR`.")
        self._set_outputs(outputs)
        dtype = np.float32 if self._single_precision else np.float64
        Psi = np.ascontiguousarray(to_numpy(targets.Psi), dtype=dtype)
        self.rank_ = int(Psi.shape[1])
        kept = float(np.sum(np.square(Psi, dtype=np.float64)))
        lost = outputs.embedding.left_out(None) * len(Psi)
        self.error_ = lost / (lost + kept) if lost + kept > 0 else 0.0
        return Psi

    def _fit_regressor(self, X: Any, Psi: np.ndarray, weight: np.ndarray | None) -> None:
        """Fit a clone of the regressor, or one per coordinate where it predicts single numbers only."""
        regressor = clone(self.regressor)
        options = {}
        if weight is not None:
            if not has_fit_parameter(self.regressor, "sample_weight"):
                raise ValueError(f"`sample_weight` was given, but {self.regressor!r:.60} does not take it.")
            options["sample_weight"] = weight
        single = Psi.shape[1] == 1
        try:
            self.regressor_ = regressor.fit(X, Psi[:, 0] if single else Psi, **options)
        except ValueError:
            if single or not _single_output(regressor):
                raise
            from sklearn.multioutput import MultiOutputRegressor  # loads much of scikit-learn

            self.regressor_ = MultiOutputRegressor(clone(self.regressor)).fit(X, Psi, **options)
        copy_features(self.regressor_, self)

    def _chosen_embedding(self, y: Any) -> Embedding:
        """All coordinates of few outputs; of more, as many as a perfect f can use."""
        n = n_objects(y)
        if n <= _SMALL:
            return Eigen()
        tested = np.arange(0, n, max(10, n // _LARGEST_HELD_OUT))  # a tenth, at most 500
        others = np.setdiff1d(np.arange(n), tested)
        new = take(y, tested)
        known = take(y, others)
        pool = take(y, np.concatenate([tested, others[: 4 * _RANKS[-1]]]))
        best = 0
        for rank in _RANKS:
            embedding = Nystroem(rank, random_state=0)
            fitted, _ = encode(known, output_kernel=self.output_kernel, embedding=embedding)
            Z = fitted.embedding.coordinates(fitted.embedding.represent(new), np.empty((0, 0)))
            first, _ = rank_shared(Z, fitted.embedding, pool, 1, by="distance")
            self.perfect_[rank] = subset_accuracy(new, take(pool, first[:, 0]))
            if best and self.perfect_[rank] < self.perfect_[best] + _GAIN:
                break
            best = rank
        return Nystroem(best, random_state=0)

    def _values(self, X: Any) -> Array:
        check_is_fitted(self)
        predicted = self.regressor_.predict(_readable(X))
        H = to_numpy(predicted) if is_array(predicted) else np.asarray(predicted)
        if H.ndim == 1:
            H = H[:, None]
        if H.ndim != 2 or H.shape[1] != self.rank_:
            raise ValueError(
                f"`regressor` predicts an array of shape {H.shape}, but outputs have {self.rank_} coordinates; "
                "it must predict one number for each."
            )
        H = H.astype(np.float64)
        if not np.all(np.isfinite(H)):
            raise ValueError("`regressor` predicts NaN or infinite numbers; its training has failed.")
        return H

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        if hasattr(self.regressor, "__sklearn_tags__"):
            tags.input_tags = get_tags(self.regressor).input_tags
            tags.non_deterministic = get_tags(self.regressor).non_deterministic
        return tags


def _readable(X: Any) -> Any:
    """X unchanged, except for forms that regressors misread: masked and structured arrays, lazy frames."""
    structured = isinstance(X, np.ndarray) and X.dtype.names is not None
    if isinstance(X, np.ma.MaskedArray) or structured or hasattr(type(X), "collect_schema"):
        with error_context("X"):
            return read(X, matrix=True)
    return X


def _single_output(regressor: Any) -> bool:
    """Whether the tags of a regressor declare single outputs only; scikit-learn's network does, but takes several."""
    if not hasattr(regressor, "__sklearn_tags__"):
        return False
    tags = get_tags(regressor).target_tags
    return bool(tags.single_output and not tags.multi_output)
