"""The path that every estimator takes: encode the outputs, learn h, decode h(x)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, array_namespace, asarray_like, is_array, is_numpy, is_sparse, to_numpy
from iokr._objects import as_objects, is_numeric, keys, n_objects, naming, take
from iokr._progress import CallbackSupportMixin
from iokr._validation import check_integer, check_same_length, check_weight
from iokr.decoders.base import Decoder
from iokr.decoders.candidate_sets import CandidateSets, flatten_sets, shared_sequence
from iokr.decoders.candidates import Candidates, compare_sets, rank_sets, rank_shared
from iokr.decoders.identity import Identity as IdentityDecoder
from iokr.embeddings.base import Embedding, as_vectors
from iokr.embeddings.eigen import Eigen as EigenEmbedding
from iokr.embeddings.identity import Identity as IdentityEmbedding
from iokr.embeddings.implicit import Implicit
from iokr.kernels.base import Kernel
from iokr.losses.base import Loss
from iokr.losses.square import Square

__all__ = ["StructuredEstimator", "Unlabeled"]


class Unlabeled:
    """Unlabelled inputs, wrapped so that folds do not cut them.

    Examples
    --------
    >>> from iokr import Unlabeled
    >>> Unlabeled([[0.0], [1.0]])
    Unlabeled(2 objects)
    """

    def __init__(self, X: Any) -> None:
        self.X = X

    def __repr__(self) -> str:
        return f"Unlabeled({n_objects(self.X)} objects)"


class StructuredEstimator(CallbackSupportMixin, BaseEstimator, ABC):  # type: ignore[misc]
    """What is the same for every way to learn h: outputs in, candidates ranked, outputs out.

    A subclass learns h in `fit` (after `_encode`) and answers `_values`, h(x) in the embedding's coordinates.
    """

    output_kernel: Kernel | None
    embedding: Embedding | None
    decoder: Decoder | None
    loss: Loss | None

    _components: ClassVar[dict[str, tuple[type, str]]] = {
        "output_kernel": (Kernel, "kernels"),
        "embedding": (Embedding, "embeddings"),
        "loss": (Loss, "losses"),
        "decoder": (Decoder, "decoders"),
    }

    def _check_components(self) -> None:
        """Every component is of its kind."""
        for name, (kind, folder) in self._components.items():
            value = getattr(self, name, None)
            if value is not None and not isinstance(value, kind):
                raise TypeError(f"`{name}` must be a component of `iokr.{folder}`, got {value!r:.80}.")

    # ----------------------------------------------------------------------------------------- outputs in

    def _encode(self, y: Any, sample_weight: np.ndarray | None) -> Array:
        """Ψ (n, q) of the training outputs, NaN where missing; fits output kernel, embedding and decoder."""
        self.loss_ = Square() if self.loss is None else clone(self.loss)
        y = _as_outputs(y, self.output_kernel)
        kernel = self.output_kernel
        objects = kernel is not None and kernel.domain != "rankings"  # in which NaN is an item of unknown rank
        if objects and is_numeric(y) and not is_sparse(y) and _has_nan(y):
            raise ValueError(
                "`y` contains NaN; missing entries need vector outputs (`output_kernel=None`), drop these rows."
            )
        self.embedding_ = self._default_embedding() if self.embedding is None else clone(self.embedding)
        if self.embedding_.is_identity and not self.loss_.quadratic:
            raise ValueError(
                f"`{self.embedding_!r}` keeps ψ abstract, which only quadratic losses allow, not {self.loss_!r}; "
                "use `Eigen()`, or leave `embedding` out."
            )
        self.output_kernel_ = None
        if self.output_kernel is not None:
            if self.output_kernel.pairwise:
                raise ValueError(
                    "`Precomputed()` without a matrix serves inputs only; as `output_kernel` give the Gram over all "
                    "outputs and candidates, `Precomputed(matrix)`, and row numbers as y."
                )
            known = _positive_rows(y, sample_weight)
            with naming("y", row_numbers(sample_weight)):
                self.output_kernel_ = clone(self.output_kernel).fit(as_vectors(known, self.output_kernel, "y"))
        Psi = self._embed(y, sample_weight)
        self._y_shape = tuple(y.shape[1:]) if is_numeric(y) else None
        self._y_single = _single(y)
        self.decoder_ = clone(self.decoder) if self.decoder is not None else self._default_decoder()
        self.decoder_.fit(y, self.embedding_)
        return Psi

    def _embed(self, y: Any, sample_weight: np.ndarray | None) -> Array:
        """Ψ from the embedding and the fitted output kernel. May be overridden: which outputs are embedded."""
        return self.embedding_.fit_transform(y, self.output_kernel_, sample_weight)

    def _default_embedding(self) -> Embedding:
        if self.output_kernel is None:
            return IdentityEmbedding()
        return Implicit() if self.loss_.quadratic else EigenEmbedding()

    def _default_decoder(self) -> Decoder:
        return IdentityDecoder() if self.output_kernel is None else Candidates()

    # ---------------------------------------------------------------------------------------------- h(x)

    @abstractmethod
    def _values(self, X: Any) -> Array:
        """h(x) in the embedding's coordinates, float64, (m, q)."""

    def _cast(self, H: Array) -> Array:
        """In the precision of the data."""
        if not getattr(self, "_single_precision", False) or not is_numeric(H):
            return H
        xp = array_namespace(H)
        return xp.astype(H, xp.float32)

    def decision_function(self, X: Any) -> Array:
        """h(x) in the embedding's coordinates.

        Parameters
        ----------
        X : array or sequence of m objects

        Returns
        -------
        H : array of shape (m, q)
        """
        return self._cast(self._values(X))

    # ---------------------------------------------------------------------------------------- candidates

    @property
    def _by(self) -> str:
        """How candidates are ranked: "distance" or "score"."""
        by = getattr(self.decoder_, "by", None)
        return str(by or ("distance" if self.loss_.calibrated else "score"))

    def scores(self, X: Any, candidates: Any) -> Any:
        """⟨h(x), ψ(y)⟩ for every candidate y.

        Parameters
        ----------
        X : array or sequence of m objects
        candidates : sequence of c outputs, or `CandidateSets`

        Returns
        -------
        scores : array of shape (m, c), or a list of m arrays for `CandidateSets`
        """
        return self._compare(X, candidates, "score")

    def distances(self, X: Any, candidates: Any) -> Any:
        """‖h(x) − ψ(y)‖² for every candidate y.

        Parameters
        ----------
        X : array or sequence of m objects
        candidates : sequence of c outputs, or `CandidateSets`

        Returns
        -------
        distances : array of shape (m, c), or a list of m arrays for `CandidateSets`
        """
        return self._compare(X, candidates, "distance")

    def _compare(self, X: Any, candidates: Any, by: str) -> Any:
        check_is_fitted(self)
        E = self.embedding_
        if isinstance(candidates, CandidateSets):
            return [self._cast(values) for values in compare_sets(self._values(X), E, candidates, by=by)]
        S = E.represent(shared_sequence(candidates, E), "candidates")
        H = self._values(X)
        inner = E.inner(H, S)
        if by == "score":
            return self._cast(inner)
        squares = E.sq_norms_of(H)[:, None] + asarray_like(E.sq_norms(S), H)[None, :]
        return self._cast(array_namespace(H).clip(squares - 2 * inner, min=0.0))

    def rank(self, X: Any, candidates: Any, k: int | None = None) -> tuple[Any, Any]:
        """The candidates, best first.

        Equal candidates are evaluated once, and ties keep the order of the candidates. Memory does not grow with their
        number when `k` is given.

        Parameters
        ----------
        X : array or sequence of m objects
        candidates : sequence of c outputs, or `CandidateSets`
        k : int, default=None
            How many to return; None is all.

        Returns
        -------
        indices : array of shape (m, min(k, c)), or a list of arrays for `CandidateSets`
            Positions among the candidates.
        values : of the same shape
            ‖h(x) − ψ(y)‖², ascending; or ⟨h(x), ψ(y)⟩, descending, when the decoder ranks by score.
        """
        check_is_fitted(self)
        if k is not None:
            check_integer(k, "k", minimum=1)
        if isinstance(candidates, CandidateSets):
            flatten_sets(candidates, n_objects(X))
            indices, values = rank_sets(self._values(X), self.embedding_, candidates, k, by=self._by)
            return indices, [self._cast(v) for v in values]
        shared_sequence(candidates)
        index, values = rank_shared(self._values(X), self.embedding_, candidates, k, by=self._by)
        return asarray_like(index, values), self._cast(values)

    # --------------------------------------------------------------------------------------- outputs out

    def predict(self, X: Any, candidates: Any = None) -> Any:
        """Decoded outputs.

        Parameters
        ----------
        X : array or sequence of m objects
        candidates : sequence of outputs, or `CandidateSets`, default=None
            Choose among these; None leaves it to the decoder.

        Returns
        -------
        y : array of m outputs
            Of the dimension of y at fit when that was a numeric array (dense when it was sparse), else a 1-D object
            array.
        """
        check_is_fitted(self)
        if candidates is None:
            H = self._values(X)
            if isinstance(self.decoder_, Candidates):
                return self._as_fitted(self.decoder_.decode(H, self.embedding_, by=self._by))
            return self._as_fitted(self._cast(self.decoder_.decode(H, self.embedding_)))
        if isinstance(candidates, CandidateSets):
            best, _ = self.rank(X, candidates, k=1)
            Y, starts = flatten_sets(candidates, len(best), self.embedding_)
            return self._as_fitted(
                take(Y, np.array([s + b[0] for s, b in zip(starts, best, strict=False)], dtype=np.intp))
            )
        best, _ = self.rank(X, candidates, k=1)
        return self._as_fitted(take(_as_outputs(shared_sequence(candidates), self.output_kernel), to_numpy(best)[:, 0]))

    def _as_fitted(self, Y: Any) -> Any:
        """Outputs in the form of y at fit."""
        if self._y_shape is None:
            return Y if isinstance(Y, np.ndarray) and Y.dtype == object and Y.ndim == 1 else as_objects(_items(Y))
        if is_sparse(Y):
            Y = Y.toarray()
        if not is_array(Y):
            Y = np.asarray(Y.to_numpy() if hasattr(Y, "to_numpy") else list(Y))
        return array_namespace(Y).reshape(Y, (Y.shape[0], *self._y_shape))

    def _errors(self, H: Array, S: Any) -> Array:
        """‖h_i − ψ(y_i)‖², or the loss itself where that does not fix the length of h."""
        if self.loss_.calibrated:
            return self.embedding_.sq_residuals(H, S)
        return self.loss_.value(H, self.embedding_.coordinates(S, H))

    # --------------------------------------------------------------------------------------------- score

    def score(self, X: Any, y: Any, sample_weight: Any = None, candidates: Any = None) -> float:
        """R² in the output feature space; with candidates, the share of inputs whose best candidate is y.

        Parameters
        ----------
        X : array or sequence of m objects
        y : array or sequence of m outputs
        sample_weight : array of shape (m,), default=None
        candidates : sequence of outputs, `SharedCandidates` or `CandidateSets`, default=None

        Returns
        -------
        score : float
            1 − Σ‖ψ(y) − h(x)‖² / Σ‖ψ(y) − mean ψ‖² (minus the mean loss for `MaxMargin`, which does not fix the
            length of h); or top-1 accuracy.
        """
        check_is_fitted(self)
        n = check_same_length(X, y)
        checked = check_weight(sample_weight, n, X)
        w = np.ones(n) if checked is None else checked
        y = _as_outputs(y, self.output_kernel)
        if candidates is not None:
            predicted = self.predict(X, candidates)
            hits = [a == b for a, b in zip(keys(predicted), keys(_like_fitted(y, self._y_shape)), strict=True)]
            return float(np.average(hits, weights=w))
        H = self._values(X)
        S = self.embedding_.represent(y)
        residual = float(w @ to_numpy(self._errors(H, S)))
        if not self.loss_.calibrated:
            return -residual / float(w.sum())
        return _r2(residual, self.embedding_.spread(S, w), n)


def _r2(residual: float, spread: float, n: int) -> float:
    """1 − residual/spread, with scikit-learn's answers where the spread is zero."""
    if n < 2:
        return float("nan")
    if spread <= 0:
        return 1.0 if residual <= 0 else 0.0
    return 1.0 - residual / spread


def _as_outputs(y: Any, output_kernel: Kernel | None) -> Any:
    """y as an array when it is one or can be read as one, else a 1-D object array."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")
    n_objects(y, "y")
    if hasattr(y, "__array__") and not hasattr(y, "__len__") and not is_array(y):
        y = np.asarray(y)
    if isinstance(y, np.ma.MaskedArray):
        y = np.ma.filled(y.astype(np.float64), np.nan)  # hidden entries are missing
    if is_sparse(y) or (is_array(y) and (not is_numpy(y) or y.dtype.kind in "buif")):
        return y
    wants_numbers = output_kernel is None or output_kernel.domain in ("vectors", "fingerprints", "indices")
    if hasattr(y, "iloc") or hasattr(y, "__dataframe__") or hasattr(y, "to_numpy"):
        values = np.asarray(y.to_numpy() if hasattr(y, "to_numpy") else y)
        return values if values.dtype.kind in "buif" or wants_numbers else as_objects(values)
    if wants_numbers:
        if isinstance(y, np.ndarray):
            return y
        try:
            return np.asarray(y)
        except ValueError:
            return as_objects(y)
    return as_objects(y)


def _has_nan(y: Any) -> bool:
    values = to_numpy(y)
    return values.dtype.kind == "f" and bool(np.isnan(values).any())


def _items(Y: Any) -> Any:
    return Y.to_numpy() if hasattr(Y, "to_numpy") else Y


def _like_fitted(y: Any, shape: tuple[int, ...] | None) -> Any:
    """Numeric y in the shape of the fitted outputs, so that 0 and (0,) compare equal."""
    if shape is None or is_sparse(y) or not is_array(y):
        return y.toarray() if is_sparse(y) else y
    return array_namespace(y).reshape(y, (y.shape[0], *shape))


def _positive_rows(X: Any, weight: np.ndarray | None) -> Any:
    """The objects that count."""
    return X if weight is None or np.all(weight > 0) else take(X, np.flatnonzero(weight > 0))


def row_numbers(weight: np.ndarray | None) -> Callable[[int], int] | None:
    """From the number of an object that counts to its number among all; None where all do."""
    if weight is None or np.all(weight > 0):
        return None
    rows = np.flatnonzero(weight > 0)
    return lambda i: int(rows[i])


def _single(x: Any) -> bool:
    """Whether `x` is an array of 32-bit (or shorter) floats."""
    return (is_array(x) or is_sparse(x)) and any(t in str(x.dtype) for t in ("float32", "float16"))
