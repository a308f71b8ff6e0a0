"""The path that every estimator takes: encode the outputs, learn h, decode h(x)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Any, ClassVar, Self, cast

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, array_namespace, asarray_like, is_sparse, to_numpy
from iokr._component import Limits, check_nested, short_repr
from iokr._state import Stateful, made_from
from iokr._system.memory import check_matrix
from iokr._validation.arguments import check_component, check_integer, check_same_length, check_weight
from iokr.data.candidates import CandidateSets, flatten_sets, shared_sequence
from iokr.data.chunks import is_lazy
from iokr.data.frames import as_frame
from iokr.data.objects import is_numeric, keys, n_objects, take
from iokr.decoders.base import Decoder, Identity
from iokr.decoders.candidates import Candidates, compare_sets, rank_sets, rank_shared
from iokr.embeddings.base import Embedding
from iokr.embeddings.eigen import Eigen
from iokr.estimators.inputs import is_pairwise
from iokr.estimators.outputs import FittedOutputs, as_fitted, as_outputs, check_columns, in_precision, like_fitted, r2
from iokr.estimators.progress import CallbackSupportMixin
from iokr.estimators.summary import notebook_bundle, notebook_html
from iokr.gram.distributed import lazy_answer, rank_shards
from iokr.kernels.base import Kernel
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.solvers.base import Solver

__all__ = ["KernelModel", "StructuredEstimator"]


_KINDS: dict[str, tuple[type, str]] = {  # of components, by the parameter that holds them
    "output_kernel": (Kernel, "kernels"),
    "embedding": (Embedding, "embeddings"),
    "loss": (Loss, "losses"),
    "manifold": (Manifold, "manifolds"),
    "decoder": (Decoder, "decoders"),
    "solver": (Solver, "solvers"),
}


class KernelModel(Stateful, BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """What all models share: checks of parameters, printing, the precision of answers."""

    limits: ClassVar[Limits] = {}  # what parameters must be, by their names
    _listable: ClassVar[tuple[str, ...]] = ()  # components of which a list may be given
    _single_precision: bool = False  # whether answers are float32

    __repr__ = short_repr
    _repr_html_inner = notebook_html
    _repr_mimebundle_ = notebook_bundle

    def _stored(self) -> dict[str, Any]:
        return {"single_precision": self._single_precision}

    def set_params(self, **params: Any) -> Self:
        """Set parameters, those of a part by its name, `kernel__gamma`."""
        check_nested(self, params)
        found: Self = super().set_params(**params)
        return found

    @classmethod
    def from_state(cls, state: Mapping[str, Any]) -> Self:
        """The model that has this state; one of a file without `intercept` has none, or that of `centered` outputs."""
        given = dict(state)
        accepted = set(cls._get_param_names())
        centred = bool(given.pop("centered", False)) if "centered" not in accepted else False
        if "intercept" in accepted:
            given.setdefault("intercept", centred)
        made: Self = made_from(cls, given)
        return made

    def __sklearn_is_fitted__(self) -> bool:
        """Whether `fit` came to its end: an interrupted search leaves values, but no model."""
        fitted = any(name.endswith("_") and not name.startswith("__") for name in vars(self))
        return fitted and not vars(self).get("interrupted_", False)

    def _check_components(self) -> None:
        """Raise if a parameter is not within its limits or a component of its kind; `_listable` may be lists."""
        for name, given in self.get_params(deep=False).items():
            if name not in _KINDS:
                continue
            kind, folder = _KINDS[name]
            several = name in self._listable and isinstance(given, (list, tuple))
            for value in given if several else [given]:
                if value is not None:
                    check_component(value, kind, name, folder)
        for name, check in self.limits.items():
            check(getattr(self, name), name)

    def _cast(self, H: Array) -> Array:
        """Results in the precision of the data."""
        return in_precision(H, self._single_precision)


class StructuredEstimator(CallbackSupportMixin, KernelModel, ABC):  # type: ignore[misc]
    """What is the same for every way to learn h: outputs in, candidates ranked, outputs out.

    A subclass learns h in `fit`, which ends with `_set_outputs`, and returns h(x) in the embedding's coordinates from
    `_values`. Inputs and candidates may be Dask arrays: answers are lazy, and candidates are ranked where they are.
    """

    kernel: Any = None  # of models with a kernel on inputs
    solver: Solver | None = None  # of models that solve a problem
    output_kernel: Kernel | None
    embedding: Embedding | None
    decoder: Decoder | None
    loss: Loss | None

    def _output_parts(self) -> dict[str, Any]:
        """The components that `encode` fits to the outputs. May be overridden: other defaults."""
        decoder = self.decoder
        if decoder is None:
            decoder = Identity() if self.output_kernel is None else Candidates()
        embedding = self.embedding
        in_coordinates = self.solver is not None and self.solver.needs_coordinates
        if embedding is None and self.output_kernel is not None and in_coordinates:
            embedding = Eigen()
        return {"loss": self.loss, "output_kernel": self.output_kernel, "embedding": embedding, "decoder": decoder}

    def _set_outputs(self, outputs: FittedOutputs) -> None:
        """Keep the fitted components of the outputs."""
        self.outputs_ = outputs
        self.loss_ = outputs.loss
        self.output_kernel_ = outputs.kernel
        self.embedding_ = outputs.embedding
        self.decoder_ = cast(Decoder, outputs.decoder)

    @abstractmethod
    def _values(self, X: Any) -> Array:
        """h(x) in the embedding's coordinates, float64, (m, q)."""

    def _for_candidates(self, X: Any) -> tuple[Array, Embedding]:
        """h(x), and the embedding in which candidates are compared. May be overridden: fewer coordinates."""
        return self._values(X), self.embedding_

    def decision_function(self, X: Any) -> Array:
        """h(x) in the embedding's coordinates, (m, q); lazy for a Dask array."""
        if is_lazy(X):
            return lazy_answer(X, self.decision_function)
        return self._cast(self._values(X))

    @property
    def _by(self) -> str:
        """How candidates are ranked: "distance" or "score"."""
        if self.decoder_.by is not None:
            return self.decoder_.by
        return "distance" if self.loss_.calibrated else "score"

    def _weights(self, X: Any) -> Array:
        """β(x), for a decoder that takes it. May be overridden."""
        raise ValueError(f"{self.decoder_!r} needs weights of the training outputs, which this model does not have.")

    def _ranked(self, X: Any) -> tuple[Array, Any]:
        """The left and the right side of comparisons with candidates: h(x) and ψ, or β(x) and the risk."""
        if self.decoder_.weighted:
            return self._weights(X), self.decoder_.measure()
        return self._for_candidates(X)

    def scores(self, X: Any, candidates: Any) -> Any:
        """⟨h(x), ψ(y)⟩ for each of c candidates y, (m, c); a list of m arrays for `CandidateSets`."""
        return self._compare(X, candidates, "score")

    def distances(self, X: Any, candidates: Any) -> Any:
        """‖h(x) − ψ(y)‖² for each of c candidates y, (m, c); a list of m arrays for `CandidateSets`."""
        return self._compare(X, candidates, "distance")

    def _compare(self, X: Any, candidates: Any, by: str) -> Any:
        check_is_fitted(self)
        check_columns(self.outputs_.frame, candidates, "candidates")
        E = self.embedding_
        if isinstance(candidates, CandidateSets):
            return [self._cast(values) for values in compare_sets(*self._for_candidates(X), candidates, by=by)]
        S = E.represent(shared_sequence(candidates, E), "candidates")
        check_matrix(n_objects(X), S.shape[0], X, 2.0 if by == "score" else 4.0, f"A {by} for every pair")
        H, E = self._for_candidates(X)
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
        candidates : sequence of c outputs, `CandidateSets`, or a Dask array
            The chunks of a Dask array are ranked where they are stored, then their best are merged.
        k : int, default=None
            Number of candidates to return; None returns all.

        Returns
        -------
        indices : array of shape (m, min(k, c)), or a list of arrays for `CandidateSets`
            Indices of the candidates.
        values : of the same shape
            ‖h(x) − ψ(y)‖², ascending; or ⟨h(x), ψ(y)⟩, descending, when the decoder ranks by score; or minus the risk,
            descending, with `MinimumRisk`.
        """
        check_is_fitted(self)
        if k is not None:
            k = check_integer(k, "k", minimum=1)
        if is_lazy(candidates):
            return self._rank_lazy(X, candidates, k)
        check_columns(self.outputs_.frame, candidates, "candidates")
        if isinstance(candidates, CandidateSets):
            flatten_sets(candidates, n_objects(X))
            indices, values = rank_sets(*self._ranked(X), candidates, k, by=self._by)
            return indices, [self._cast(v) for v in values]
        shared_sequence(candidates)
        index, values = rank_shared(*self._ranked(X), candidates, k, by=self._by)
        return asarray_like(index, values), self._cast(values)

    def _rank_lazy(self, X: Any, candidates: Any, k: int | None) -> tuple[Any, Any]:
        """`rank` of the rows of a Dask array."""
        H, embedding = self._ranked(X)
        best = partial(rank_shared, to_numpy(H), embedding, k=k, by=self._by)
        index, values = rank_shards(candidates, best, k, ascending=self._by == "distance")
        return index, self._cast(values)

    def predict(self, X: Any, candidates: Any = None) -> Any:
        """Decoded outputs; lazy for a Dask array.

        Parameters
        ----------
        X : array or sequence of m objects
        candidates : sequence of outputs, or `CandidateSets`, default=None
            Choose among these; None uses the candidates or the search of the decoder.

        Returns
        -------
        y : array of m outputs
            With the dimensions of y at fit if that was a numeric array (dense if it was sparse), else a 1-D object
            array. If y was a frame of pandas or Polars, a frame with its columns and the index of X; if it was a
            Series, an array, as with scikit-learn's estimators.
        """
        check_is_fitted(self)
        if is_lazy(X):
            return lazy_answer(X, partial(self._decoded, candidates=candidates))
        return as_frame(self._decoded(X, candidates), self.outputs_.frame, X)

    def _decoded(self, X: Any, candidates: Any = None) -> Any:
        """The predictions as an array."""
        check_is_fitted(self)
        shape = self.outputs_.shape
        if candidates is None and isinstance(self.decoder_, Candidates):
            return as_fitted(self.decoder_.decode(*self._for_candidates(X), by=self._by), shape)
        if candidates is None:
            H = self._weights(X) if self.decoder_.weighted else self._values(X)
            return as_fitted(self._cast(self.decoder_.decode(H, self.embedding_)), shape)
        best, _ = self.rank(X, candidates, k=1)
        if isinstance(candidates, CandidateSets):
            Y, starts = flatten_sets(candidates, len(best), self.embedding_)
            chosen = np.array([s + b[0] for s, b in zip(starts, best, strict=False)], dtype=np.intp)
            return as_fitted(take(Y, chosen), shape)
        Y = as_outputs(shared_sequence(candidates), self.output_kernel)
        return as_fitted(take(Y, to_numpy(best)[:, 0]), shape)

    def score(self, X: Any, y: Any, sample_weight: Any = None, candidates: Any = None) -> float:
        """R² in the output feature space; with candidates, the fraction of inputs whose best candidate is y.

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
        check_columns(self.outputs_.frame, y, "y")
        y = as_outputs(y, self.output_kernel)
        if candidates is not None:
            return float(np.average(self._hits(X, y, candidates), weights=w))
        if not self.loss_.calibrated:
            losses = self.outputs_.errors(self._values(X), self.embedding_.represent(y))
            return -float(w @ to_numpy(losses)) / float(w.sum())
        E, H = self._measured(self._values(X))
        S = E.represent(y)
        return r2(float(w @ to_numpy(E.sq_residuals(H, S))), E.spread(S, w), n)

    def _hits(self, X: Any, y: Any, candidates: Any) -> list[bool]:
        """Whether the best candidate of each input equals y."""
        self.embedding_.represent(y)  # raises if y does not hold outputs
        if self.output_kernel is None and is_numeric(y) and not is_sparse(y) and np.isnan(to_numpy(y)).any():
            raise ValueError("`y` contains NaN, which no candidate can equal; drop these rows.")
        predicted, true = keys(self._decoded(X, candidates)), keys(like_fitted(y, self.outputs_.shape))
        return [a == b for a, b in zip(predicted, true, strict=True)]

    def _measured(self, H: Array) -> tuple[Embedding, Array]:
        """The embedding that errors are measured in, and h there. May be overridden."""
        return self.embedding_, H

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_pairwise(self.kernel)
        return tags
