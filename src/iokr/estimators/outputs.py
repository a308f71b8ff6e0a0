"""Outputs of estimators: read in any form, encoded by fitted components, returned in the form of y at fit."""

from __future__ import annotations

import contextlib
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from math import prod
from numbers import Real
from typing import Any

import numpy as np
from sklearn.base import clone

from iokr._array import Array, array_namespace, asarray_like, is_array, is_numpy, is_sparse, to_numpy
from iokr._system.callers import user_level
from iokr._validation.arguments import check_not_tiny, check_numbers, trusted
from iokr.data.candidates import CandidateSets, SharedCandidates
from iokr.data.frames import Frame, check_frame, is_table, read
from iokr.data.objects import as_array, as_objects, distinct, error_context, is_numeric, n_objects, take
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding, as_vectors
from iokr.embeddings.eigen import Eigen
from iokr.embeddings.identity import Identity
from iokr.embeddings.implicit import Implicit
from iokr.kernels.base import Kernel
from iokr.kernels.generic import Delta
from iokr.losses.base import Loss
from iokr.losses.square import Square

__all__ = [
    "FittedOutputs",
    "Targets",
    "as_fitted",
    "as_outputs",
    "check_columns",
    "code_labels",
    "encode",
    "in_precision",
    "known_rows",
    "like_fitted",
    "r2",
    "require_y",
    "single_precision",
]

_FEW = 4  # rows, of which any may differ


def require_y(y: Any) -> None:
    """Raise without y, in scikit-learn's words."""
    if y is None:
        raise ValueError("This estimator requires y to be passed, but the target y is None.")


def as_outputs(y: Any, output_kernel: Kernel | None, X: Any = None) -> Any:
    """y as an array of the library of X where it is an array or can be read as one, else as a 1-D object array."""
    require_y(y)
    wants_numbers = output_kernel is None or output_kernel.numeric or output_kernel.domain == "indices"
    with error_context("y"):
        y = read(y, matrix=wants_numbers, missing=output_kernel is None)  # hidden entries are missing
    n_objects(y, "y")
    if 0 in tuple(getattr(y, "shape", ()))[1:]:
        raise ValueError(f"`y` has shape {tuple(y.shape)}: outputs must have at least one entry.")
    if is_sparse(y):
        return y.tocsr() if y.ndim == 2 else y
    if X is not None and is_numeric(y):
        return asarray_like(y, X)  # sparse inputs and objects belong to NumPy
    if is_array(y) and (not is_numpy(y) or y.dtype.kind in "buif"):
        return y
    if not wants_numbers:
        return as_objects(y)
    try:
        values = as_array(y)
    except ValueError:  # not of one shape
        return as_objects(y)
    vectors = output_kernel is None or output_kernel.numeric
    if vectors and values.dtype.kind == "O":
        with contextlib.suppress(TypeError, ValueError, OverflowError):
            return values.astype(np.float64)
    return values


def check_columns(frame: Frame | None, Y: Any, name: str) -> None:
    """Raise if outputs, or candidates in any form, are a frame with other columns than y at fit, its `frame`."""
    if isinstance(Y, SharedCandidates):
        Y = Y.candidates
    parts = Y.sets if isinstance(Y, CandidateSets) else [Y]
    for part in parts:
        check_frame(frame, part, name)


def known_rows(X: Any, weight: np.ndarray | None) -> tuple[Any, Callable[[int], int] | None]:
    """The rows with positive weight, and the map from their numbers to those among all rows; None if these are all."""
    if weight is None or np.all(weight > 0):
        return X, None
    rows = np.flatnonzero(weight > 0)
    return take(X, rows), lambda i: int(rows[i])


@dataclass(frozen=True, eq=False)
class Targets:
    """Ψ (n, q) of the labelled points."""

    n: int
    Psi: Array | None  # zero where an entry is missing; None for Ψ = I, which need not be stored
    mask: np.ndarray | None = None  # (n, q), which entries are observed
    weight: np.ndarray | None = None  # (n,)
    rest: Array | None = None  # (n,), what the outputs have outside of the coordinates, for losses of the distance

    def _stored(self) -> dict[str, Any]:
        return {"n": self.n, "Psi": self.Psi, "mask": self.mask, "weight": self.weight, "rest": self.rest}

    def observed(self) -> Array:
        """Ψ with NaN where an entry is missing."""
        if self.mask is None:
            return self.Psi
        return array_namespace(self.Psi).where(asarray_like(self.mask, self.Psi), self.Psi, np.nan)


@dataclass(frozen=True, eq=False)
class FittedOutputs:
    """The fitted components of the outputs of a model."""

    loss: Loss
    kernel: Kernel | None
    embedding: Embedding  # its coordinates are the columns of Ψ
    decoder: Decoder | None  # None if outputs are not decoded, as on folds
    shape: tuple[int, ...] | None  # of one output if y was a numeric array
    frame: Frame | None = None  # the form of y if it was a frame

    def _stored(self) -> dict[str, Any]:
        return {
            "loss": self.loss,
            "kernel": self.kernel,
            "embedding": self.embedding,
            "decoder": self.decoder,
            "shape": self.shape,
            "frame": self.frame,
        }

    def errors(self, H: Array, S: Any) -> Array:
        """‖h_i − ψ(y_i)‖² for represented outputs S, or the loss itself where that does not fix the length of h."""
        if self.loss.calibrated:
            return self.embedding.sq_residuals(H, S)
        return self.loss.value(H, self.embedding.coordinates(S, H))


def encode(
    y: Any,
    weight: np.ndarray | None = None,
    *,
    loss: Loss | None = None,
    output_kernel: Kernel | None = None,
    embedding: Embedding | None = None,
    decoder: Decoder | None = None,
    embed: Callable[[Embedding, Kernel | None], Array] | None = None,
    frame: Frame | None = None,
) -> tuple[FittedOutputs, Targets]:
    """Clones of the components, fitted to y as `as_outputs` reads it, and Ψ.

    `embed(embedding, kernel)` fits the embedding and returns Ψ, NaN where an entry is missing; by default that of every
    output. `frame` is the form in which y was given.
    """
    loss = Square() if loss is None else clone(loss)
    weighted = decoder is not None and decoder.weighted
    if output_kernel is None and embedding is None and weighted and not is_numeric(y):
        output_kernel = Delta()  # β(x) is what is decoded, and the same for every output kernel
    embedding = _choose_embedding(embedding, output_kernel, loss)
    kernel, vectors = None, None
    if output_kernel is not None:
        kernel, vectors = _fit_output_kernel(output_kernel, y, weight)
    if loss.entrywise and not embedding.explicit:
        raise ValueError(
            f"{loss!r} acts on coordinates of the outputs, but with an `output_kernel` these are implicit and have no "
            "preferred basis; use vector outputs (`output_kernel=None`), or a loss of the distance such as `Huber()`."
        )
    if embed is not None:
        Psi = embed(embedding, kernel)
    else:
        with trusted(vectors):
            Psi = embedding.fit_transform(y if vectors is None else vectors, kernel, weight)
    if decoder is not None:
        decoder = clone(decoder)
        decoder.fit(y, embedding)
    shape = tuple(y.shape[1:]) if is_numeric(y) else None
    targets = _targets(Psi, embedding, weight)
    if loss.radial:
        targets = replace(targets, rest=embedding.outside())
    return FittedOutputs(loss, kernel, embedding, decoder, shape, frame), targets


def _choose_embedding(embedding: Embedding | None, output_kernel: Kernel | None, loss: Loss) -> Embedding:
    """A clone of the embedding; None is the exact one that the loss can use."""
    if embedding is not None:
        embedding = clone(embedding)
    elif output_kernel is None:
        embedding = Identity()
    else:
        embedding = Implicit() if loss.quadratic else Eigen()
    if embedding.is_identity and not loss.quadratic:
        raise ValueError(
            f"`{embedding!r}` does not compute ψ, so `loss` must be quadratic, got {loss!r}; use `Eigen()`, or leave "
            "`embedding` out."
        )
    return embedding


def _targets(Psi: Array, embedding: Embedding, weight: np.ndarray | None) -> Targets:
    """The coordinates to learn; NaN marks missing entries."""
    n = int(Psi.shape[0])
    if embedding.is_identity:
        return Targets(n, None, weight=weight)
    xp = array_namespace(Psi)
    missing = xp.isnan(Psi)
    if embedding.explicit:
        check_not_tiny(xp.where(missing, 0.0, Psi), "y")
    if not bool(xp.any(missing)):
        return Targets(n, Psi, weight=weight)
    return Targets(n, xp.where(missing, 0.0, Psi), ~to_numpy(missing), weight)


def _fit_output_kernel(kernel: Kernel, y: Any, weight: np.ndarray | None) -> tuple[Kernel, Any]:
    """A clone of the output kernel, fitted to the outputs with positive weight; and the outputs as checked vectors.

    None in place of these for a kernel on other objects.
    """
    if kernel.domain != "rankings" and is_numeric(y) and not is_sparse(y):  # in rankings NaN is an unknown rank
        values = to_numpy(y)
        if values.dtype.kind == "f" and np.isnan(values).any():
            raise ValueError(
                "`y` contains NaN; missing entries need vector outputs (`output_kernel=None`), drop these rows."
            )
    if kernel.pairwise:
        raise ValueError(
            "`Precomputed()` without a matrix serves inputs only; as `output_kernel` give the Gram over all "
            "outputs and candidates, `Precomputed(matrix)`, and row numbers as y."
        )
    if isinstance(kernel, Delta):
        _warn_of_numbers(y)
    vectors = as_vectors(y, kernel, "y") if kernel.numeric else None
    known, number = known_rows(y if vectors is None else vectors, weight)
    with trusted(vectors), error_context("y", number):
        return clone(kernel).fit(known), vectors


def _warn_of_numbers(y: Any) -> None:
    """Warn of measured numbers as labels: with fractions, and in most rows not those of another."""
    if not is_numeric(y) or is_sparse(y):
        return
    values = to_numpy(y)
    if values.dtype.kind != "f" or len(values) <= _FEW or bool(np.all(values == np.round(values))):
        return
    found = len(distinct(values)[0])
    if 2 * found > len(values):
        warnings.warn(
            f"`y` holds {found} different numbers in {len(values)} rows, and `Delta()` compares outputs by equality "
            "only, so that near ones count as different; for numbers leave `output_kernel` out.",
            UserWarning,
            stacklevel=user_level(),
        )


def single_precision(X: Any, y: Any = None) -> bool:
    """Whether answers are float32: X holds 32-bit (or shorter) floats, and y is not an array of 64-bit ones."""
    single = (is_array(X) or is_sparse(X)) and any(name in str(X.dtype) for name in ("float32", "float16"))
    return single and not str(getattr(y, "dtype", "")).endswith("float64")


def in_precision(H: Array, single: bool) -> Array:
    """Numbers in the precision of the answers; whole numbers stay as they are."""
    if not single or not is_array(H) or (is_numpy(H) and H.dtype.kind != "f"):
        return H
    xp = array_namespace(H)
    return xp.astype(H, xp.float32) if xp.isdtype(H.dtype, "real floating") else H


def as_fitted(Y: Any, shape: tuple[int, ...] | None) -> Any:
    """Decoded outputs in the form of y at fit: rows of this shape, or without one a 1-D object array."""
    if shape is None:
        return as_objects(Y)
    if is_sparse(Y):
        Y = Y.toarray()
    if not is_array(Y):
        try:
            Y = as_array(Y if is_table(Y) else list(Y))
        except ValueError:  # rows of different lengths
            return as_objects(Y)
    return _shaped(Y, shape)


def _shaped(Y: Any, shape: tuple[int, ...]) -> Any:
    """Rows in this shape; rows of other lengths, and objects in place of rows, unchanged."""
    if prod(Y.shape[1:]) != prod(shape):
        return Y
    return array_namespace(Y).reshape(Y, (Y.shape[0], *shape))


def like_fitted(y: Any, shape: tuple[int, ...] | None) -> Any:
    """Numeric y in the shape of the fitted outputs, so that 0 and (0,) compare equal."""
    if is_sparse(y):
        return y.toarray()
    if shape is None or not is_array(y):
        return y
    return _shaped(y, shape)


def r2(residual: float, spread: float, n: int) -> float:
    """1 − residual/spread, with scikit-learn's conventions for a spread of zero."""
    if n < 2:
        return float("nan")
    if not (np.isfinite(residual) and np.isfinite(spread)):
        raise ValueError("The squares of `y` must be finite for a score, but they overflow; divide `y` by a constant.")
    if spread <= 0:
        return 1.0 if residual <= 0 else 0.0
    if not np.isfinite(residual / spread):
        raise ValueError(
            "`y` varies too little for a score compared with the predictions; check that both have the same units."
        )
    return 1.0 - residual / spread


def code_labels(y: Any, each: str, *, binary: bool) -> tuple[np.ndarray, np.ndarray | None, np.ndarray]:
    """Numbers to learn, the two labels where there are two, coded −1 and 1, and which of the distinct labels each is.

    `each` is what has a label, for the words of errors: "pair", "set"; `binary` is whether there must be two labels.
    """
    require_y(y)
    with error_context("y"):
        values = read(y)
    try:
        values = as_array(values)
    except ValueError:
        raise ValueError(f"`y` must be one label per {each}, a 1-D array; some entries are sequences.") from None
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.ndim != 1:
        raise ValueError(f"`y` must be one label per {each}, a 1-D array, got shape {values.shape}.")
    if values.dtype.kind == "c":
        raise ValueError("Complex data not supported: `y` must hold real numbers, or two different labels.")
    if values.dtype.kind == "f" and not np.all(np.isfinite(values)):
        raise ValueError(f"`y` contains NaN or infinity; leave such {each}s out.")
    chosen, names = distinct(values)
    try:
        classes = values[chosen] if len(chosen) > 2 else np.sort(values[chosen])
    except TypeError:
        kinds = ", ".join(sorted({type(label).__name__ for label in values.tolist()}))
        raise TypeError(f"`y` must hold labels of one kind, got {kinds}; leave {each}s without a label out.") from None
    if len(classes) == 2:
        second = 0 if classes[0] != values[chosen[0]] else 1  # which of the distinct labels is the larger one
        return np.where(names == second, 1.0, -1.0), classes, names
    if binary:
        raise ValueError(
            f"`MaxMargin()` needs a binary `y` with two different labels, got {len(classes)}; use `Square()`."
        )
    if values.dtype.kind not in "buifO" or not all(isinstance(label, Real) for label in values.tolist()):
        raise ValueError(f"`y` must hold numbers, or two different labels, not {len(classes)}.")
    return check_numbers(values, "y"), None, names
