"""The path that every estimator takes: encode the outputs, learn h, decode h(x)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, array_namespace, asarray_like, is_sparse, to_numpy
from iokr._objects import error_context, is_numeric, keys, n_objects, take
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
from iokr.estimators.outputs import as_fitted, as_outputs, cast, like_fitted, positive_rows, r2, row_numbers
from iokr.kernels.base import Kernel
from iokr.losses.base import Loss
from iokr.losses.square import Square
from iokr.manifolds.base import Manifold
from iokr.solvers.base import Solver

__all__ = ["KernelModel", "StructuredEstimator"]


class KernelModel(BaseEstimator):  # type: ignore[misc]
    """What every model made of components shares: they are checked, and answers have the precision of the data."""

    _components: ClassVar[dict[str, tuple[type, str]]] = {
        "output_kernel": (Kernel, "kernels"),
        "embedding": (Embedding, "embeddings"),
        "loss": (Loss, "losses"),
        "manifold": (Manifold, "manifolds"),
        "decoder": (Decoder, "decoders"),
        "solver": (Solver, "solvers"),
    }

    _single_precision: bool = False  # whether answers are float32

    def _check_components(self) -> None:
        """Every component is of its kind."""
        for name, (kind, folder) in self._components.items():
            value = getattr(self, name, None)
            if value is not None and not isinstance(value, kind):
                raise TypeError(f"`{name}` must be a component of `iokr.{folder}`, got {value!r:.80}.")

    def _cast(self, H: Array) -> Array:
        """In the precision of the data."""
        return cast(H, self._single_precision)


class StructuredEstimator(CallbackSupportMixin, KernelModel, ABC):  # type: ignore[misc]
    """What is the same for every way to learn h: outputs in, candidates ranked, outputs out.

    A subclass learns h in `fit` (after `_encode`) and answers `_values`, h(x) in the embedding's coordinates.
    """

    output_kernel: Kernel | None
    embedding: Embedding | None
    decoder: Decoder | None
    loss: Loss | None

    # ----------------------------------------------------------------------------------------- outputs in

    def _encode(self, y: Any, sample_weight: np.ndarray | None) -> Array:
        """Ψ (n, q) of the training outputs, NaN where missing; fits output kernel, embedding and decoder."""
        self.loss_ = Square() if self.loss is None else clone(self.loss)
        y = as_outputs(y, self.output_kernel)
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
            known = positive_rows(y, sample_weight)
            with error_context("y", row_numbers(sample_weight)):
                self.output_kernel_ = clone(self.output_kernel).fit(as_vectors(known, self.output_kernel, "y"))
        Psi = self._embed(y, sample_weight)
        self._y_shape = tuple(y.shape[1:]) if is_numeric(y) else None
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
                return as_fitted(self.decoder_.decode(H, self.embedding_, by=self._by), self._y_shape)
            return as_fitted(self._cast(self.decoder_.decode(H, self.embedding_)), self._y_shape)
        if isinstance(candidates, CandidateSets):
            best, _ = self.rank(X, candidates, k=1)
            Y, starts = flatten_sets(candidates, len(best), self.embedding_)
            chosen = np.array([s + b[0] for s, b in zip(starts, best, strict=False)], dtype=np.intp)
            return as_fitted(take(Y, chosen), self._y_shape)
        best, _ = self.rank(X, candidates, k=1)
        Y = as_outputs(shared_sequence(candidates), self.output_kernel)
        return as_fitted(take(Y, to_numpy(best)[:, 0]), self._y_shape)

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
        y = as_outputs(y, self.output_kernel)
        if candidates is not None:
            predicted = self.predict(X, candidates)
            hits = [a == b for a, b in zip(keys(predicted), keys(like_fitted(y, self._y_shape)), strict=True)]
            return float(np.average(hits, weights=w))
        H = self._values(X)
        S = self.embedding_.represent(y)
        residual = float(w @ to_numpy(self._errors(H, S)))
        if not self.loss_.calibrated:
            return -residual / float(w.sum())
        return r2(residual, self.embedding_.spread(S, w), n)


def _has_nan(y: Any) -> bool:
    values = to_numpy(y)
    return values.dtype.kind == "f" and bool(np.isnan(values).any())
