"""From data to a problem: what `fit` is given is checked, outputs become targets, inputs a Gram."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from iokr._array import (
    Array,
    array_namespace,
    asarray_like,
    is_array,
    is_sparse,
    matmul,
    take_rows,
    to_numpy,
)
from iokr._objects import concat, error_context, is_numeric, take
from iokr._validation import check_number, check_same_length, check_weight
from iokr.estimators.inputs import check_inputs, check_isotropic, check_unlabeled, fresh_solver
from iokr.estimators.outputs import FittedOutputs, as_outputs, encode, known_rows, positive_rows, single_precision
from iokr.gram.base import Gram
from iokr.gram.operators import IdentityMatrix
from iokr.gram.scalar import ScalarGram
from iokr.kernels.base import Kernel, check_gram
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.operator_kernels.base import OperatorKernel
from iokr.operator_kernels.blocks import check_blocks
from iokr.problem import Problem, Solution
from iokr.solvers.base import Solver

__all__ = ["Data", "Fit", "FittedInputs", "Given", "Targets", "check_data", "encode_data", "pose"]


@dataclass(frozen=True, eq=False)
class Given:
    """What `fit` was given, checked.

    Attributes
    ----------
    X : array or sequence of n objects; the Gram matrix for a pairwise kernel
    y : outputs as `as_outputs` reads them, beside X where both are numbers
    weight : array of shape (n,), or None
    X_unlabeled : as X, or None
    single : bool
        Whether answers are float32.
    """

    X: Any
    y: Any
    weight: np.ndarray | None = None
    X_unlabeled: Any = None
    single: bool = False

    def restrict(self, rows: np.ndarray, *, pairwise: bool) -> Given:
        """The part at some rows; unlabelled inputs stay."""
        weight = None if self.weight is None else check_weight(self.weight[rows], len(rows), self.X)
        X = square(self.X, rows, rows) if pairwise else take(self.X, rows)
        return replace(self, X=X, y=take(self.y, rows), weight=weight)


@dataclass(frozen=True, eq=False)
class Targets:
    """Ψ (n, q) of the labelled points: None for Ψ = I, which says it all and costs nothing to keep.

    Attributes
    ----------
    n : int
    Psi : array of shape (n, q), or None
        Zero where an entry is missing.
    weight : array of shape (n,), or None
    mask : array of shape (n, q), or None
        Which entries are observed.
    """

    n: int
    Psi: Array | None
    weight: np.ndarray | None = None
    mask: np.ndarray | None = None

    def observed(self) -> Array:
        """Ψ with NaN where an entry is missing."""
        if self.mask is None:
            return self.Psi
        return array_namespace(self.Psi).where(asarray_like(self.mask, self.Psi), self.Psi, np.nan)


@dataclass(frozen=True, eq=False)
class Data:
    """Labelled and unlabelled inputs, and what is to be learned there."""

    X: Any
    X_unlabeled: Any
    outputs: FittedOutputs
    targets: Targets
    single: bool = False

    def output_gram(self) -> Array:
        """K_Y of the rows with positive weight, for a kernel that learns from outputs."""
        Psi, weight, mask = self.targets.Psi, self.targets.weight, self.targets.mask
        if mask is not None:
            raise ValueError(
                "`y` has missing entries, and `kernel` learns from the Gram of the outputs; drop these rows."
            )
        if Psi is not None:
            known = positive_rows(Psi, weight)
            return matmul(known, known.T)
        return self.outputs.embedding.gram.restrict(positive_rows(np.arange(self.targets.n), weight)).dense()


@dataclass(frozen=True, eq=False)
class FittedInputs:
    """What a model keeps of its inputs.

    Attributes
    ----------
    kernel : Kernel or OperatorKernel
        Fitted.
    points : as the kernel represents them
        Labelled points first.
    manifold : Manifold or None
    """

    kernel: Kernel | OperatorKernel
    points: Any
    manifold: Manifold | None = None

    def values(self, R: Any, C: Array) -> Array:
        """h(x) = A Cᵀ k_x at represented inputs."""
        return self.kernel.gram(R, self.points) @ C

    def problem(
        self, targets: Targets, loss: Loss, *, gram: Gram | None = None, solver: Solver | None = None
    ) -> Problem:
        """The problem at α = 1; everything follows the Gram, which is rebuilt from the points unless it is given."""
        gram = self.kernel.gram(self.points) if gram is None else gram
        like = gram.diagonal()
        Psi: Any = IdentityMatrix(targets.n, like) if targets.Psi is None else asarray_like(targets.Psi, like)
        problem = Problem(gram, Psi, loss, 1.0, weight=targets.weight, mask=targets.mask)
        if self.manifold is None:
            return problem
        strength = check_number(self.manifold.strength, "strength", minimum=0.0)
        problem = replace(problem, strength=strength)
        fresh_solver(solver).check(problem, penalised=True)  # whether there is memory, before the penalty takes it
        penalty = asarray_like(self.manifold.penalty(self.points, gram), like)
        return replace(problem, penalty=penalty)


@dataclass(frozen=True, eq=False)
class Fit:
    """What was learned, and how: h(x) = Σ_i 𝒦(x, x_i) c_i at one alpha and strength."""

    inputs: FittedInputs
    solver: Solver
    solution: Solution
    alpha: float
    strength: float


def check_data(
    estimator: Any, X: Any, y: Any, sample_weight: Any, X_unlabeled: Any, kernel: Kernel | OperatorKernel
) -> Given:
    """What `fit` is given, checked; the estimator gets scikit-learn's bookkeeping of features."""
    single = single_precision(X, y)
    numbers = is_numeric(y) and not is_sparse(y) and not isinstance(y, np.ma.MaskedArray)
    y = as_outputs(y, estimator.output_kernel)
    X = check_inputs(estimator, X, kernel, reset=True)
    weight = check_weight(sample_weight, check_same_length(X, y), X)
    if X_unlabeled is not None:
        X_unlabeled = check_unlabeled(estimator, X_unlabeled, X, kernel, estimator.manifold)
    return Given(X, asarray_like(y, X) if numbers and is_array(X) else y, weight, X_unlabeled, single)


def encode_data(given: Given, kernel: Kernel | OperatorKernel, **parts: Any) -> Data:
    """The outputs as targets, encoded by `parts`: loss, output kernel, embedding and decoder."""
    outputs, Psi = encode(given.y, given.weight, **parts)
    targets = Targets(int(Psi.shape[0]), None, given.weight)
    if not outputs.embedding.is_identity:
        Psi, mask = _split_missing(Psi)
        targets = replace(targets, Psi=Psi, mask=mask)
        if mask is not None and not isinstance(kernel, OperatorKernel):
            _warn_of_unseen(mask)
    return Data(given.X, given.X_unlabeled, outputs, targets, given.single)


def pose(
    data: Data,
    kernel: Kernel | OperatorKernel,
    manifold: Manifold | None = None,
    *,
    solver: Solver | None = None,
    K: ScalarGram | None = None,
) -> tuple[FittedInputs, Problem]:
    """A clone of the kernel fitted to the data, the points as it represents them, and the problem at α = 1.

    `solver` says whether the problem fits in memory before a manifold's penalty is computed. `K` is the Gram of the
    scalar kernel on these points when another operator has been posed on it before.
    """
    targets, pairwise = data.targets, kernel.pairwise
    known, number = (data.X, None) if pairwise else known_rows(data.X, targets.weight)
    learned_from: tuple[Any, ...] = ()
    if isinstance(kernel, OperatorKernel):
        _check_operator(kernel, data)
        learned_from = (targets.Psi if data.outputs.embedding.explicit else None,)
    elif kernel.supervised:
        learned_from = (data.output_gram(),)
    with error_context("X", number):
        fitted = clone(kernel).fit(known, *learned_from)
    with error_context("X"):
        points = fitted.represent(np.arange(targets.n) if pairwise else data.X)
    if data.X_unlabeled is not None:
        with error_context("X_unlabeled"):
            points = concat(points, fitted.represent(data.X_unlabeled))
    gram = fitted.gram(points)
    if isinstance(fitted, OperatorKernel) and gram.operator is not None:
        gram = _adapt(fitted, points, data, gram.K if K is None else K)
    inputs = FittedInputs(fitted, points, None if manifold is None else clone(manifold))
    problem = inputs.problem(targets, data.outputs.loss, gram=gram, solver=solver)
    if gram.operator is not None:
        check_gram(gram.K, fitted.trusted, "kernel")
    else:
        check_blocks(gram, fitted.trusted)
    return inputs, problem


def _check_operator(kernel: OperatorKernel, data: Data) -> None:
    """Refuse outputs that the operator cannot act on, or cannot learn from."""
    if kernel.explicit_outputs and not data.outputs.embedding.explicit:
        check_isotropic(kernel)
    if kernel.spans and data.targets.mask is not None:
        raise ValueError(
            f"`y` has missing entries, and {type(kernel).__name__} has no covariance of incomplete outputs; "
            "drop these rows, or use `Decomposable(kernel, A)`."
        )


def _adapt(kernel: OperatorKernel, points: Any, data: Data, K: ScalarGram) -> Gram:
    """The Gram over all points, after the operator has learned from the labelled ones and their outputs."""
    targets, embedding = data.targets, data.outputs.embedding
    if data.X_unlabeled is not None:
        K = kernel.gram(take_rows(points, np.arange(targets.n))).K
    Psi = None if targets.Psi is None else asarray_like(targets.Psi, K.diagonal())
    kernel.adapt(K, Psi, embedding.gram if Psi is None else None, targets.weight)
    return kernel.around(K) if data.X_unlabeled is None else kernel.gram(points)


def _split_missing(Psi: Array) -> tuple[Array, np.ndarray | None]:
    """Ψ with zeros for NaN, and the mask of what is there; a row without entries is refused."""
    xp = array_namespace(Psi)
    missing = xp.isnan(Psi)
    if not bool(xp.any(missing)):
        return Psi, None
    mask = ~to_numpy(missing)
    empty = np.flatnonzero(~mask.any(axis=1))
    if len(empty):
        raise ValueError(
            f"`y` contains NaN: row {int(empty[0])} ({len(empty)} in all) has no target at all; "
            "pass such inputs as `X_unlabeled`, or drop them."
        )
    return xp.where(missing, 0.0, Psi), mask


def _warn_of_unseen(mask: np.ndarray) -> None:
    """An output that no row has is predicted as 0 unless an operator couples it to others."""
    unseen = np.flatnonzero(~mask.any(axis=0))
    if len(unseen):
        warnings.warn(
            f"Column {int(unseen[0])} of `y` ({len(unseen)} in all) has no entry but NaN: nothing is learned about it, "
            "and it is predicted as a constant. `MultiTask` couples outputs.",
            UserWarning,
            stacklevel=4,
        )


def square(X: Any, rows: np.ndarray, columns: np.ndarray) -> Array:
    """The block of a Gram matrix at some rows and columns."""
    return asarray_like(to_numpy(X)[np.ix_(rows, columns)], X)
