"""From data to a problem: arguments of `fit` are checked, outputs become targets, inputs a Gram matrix."""

from __future__ import annotations

import math
import warnings
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone

from iokr._array import (
    Array,
    array_namespace,
    asarray_like,
    is_array,
    is_numpy,
    is_sparse,
    matmul,
    same_home,
    take_rows,
    to_numpy,
    unwarned,
)
from iokr._system.callers import user_level
from iokr._validation.arguments import check_computed, check_number, check_same_length, check_weight
from iokr.data.frames import Frame, check_aligned, frame_of
from iokr.data.objects import Parts, concat, error_context, n_objects, take
from iokr.embeddings.base import Embedding
from iokr.estimators.inputs import adapt, check_isotropic, check_unlabeled, fit_points, fresh_solver, represent
from iokr.estimators.outputs import FittedOutputs, Targets, as_outputs, known_rows, single_precision
from iokr.gram.base import Gram
from iokr.gram.operators import IdentityMatrix
from iokr.gram.scalar import ScalarGram
from iokr.kernels.base import Kernel, check_gram
from iokr.losses.base import Loss
from iokr.losses.square import Square
from iokr.manifolds.base import Manifold
from iokr.operator_kernels.base import OperatorKernel
from iokr.operator_kernels.blocks import check_blocks
from iokr.problem import Problem, Solution
from iokr.solvers.base import Solver

__all__ = [
    "Data",
    "Fit",
    "FittedInputs",
    "TrainingSet",
    "check_data",
    "check_observed",
    "pose",
    "solve",
    "square",
    "warn_centred",
]

_CENTRED = 1e-12  # of squares: below, a sum is zero up to rounding
_MANY_ROWS = 50_000  # from here on an exact fit may exceed the memory of a machine


@dataclass(frozen=True, eq=False)
class TrainingSet:
    """The checked arguments of `fit`."""

    X: Any  # n objects; the Gram matrix for a pairwise kernel
    y: Any  # as `as_outputs` reads them
    weight: np.ndarray | None = None  # (n,)
    X_unlabeled: Any = None
    single: bool = False  # whether results are float32
    frame: Frame | None = None  # the form of y if it was a frame

    def restrict(self, rows: np.ndarray, *, pairwise: bool) -> TrainingSet:
        """Some of the rows, and all unlabelled inputs."""
        weight = self.weight
        if weight is not None:
            weight = check_weight(weight[rows], len(rows), self.X)
        X = square(self.X, rows, rows) if pairwise else take(self.X, rows)
        return replace(self, X=X, y=take(self.y, rows), weight=weight)


@dataclass(frozen=True, eq=False)
class Data:
    """The training set, the fitted components of its outputs, and their coordinates."""

    rows: TrainingSet
    outputs: FittedOutputs
    targets: Targets
    intercept: bool = False
    shapes: np.ndarray | None = None  # (r, q), what the intercept is a combination of, if not any vector

    def output_gram(self) -> Array:
        """K_Y of the rows with positive weight, for a kernel that learns from outputs."""
        targets = self.targets
        if targets.mask is not None:
            raise ValueError(
                "`y` must be complete for a `kernel` that learns from the Gram matrix of the outputs, but has missing "
                "entries; drop these rows."
            )
        if targets.Psi is not None:
            known, _ = known_rows(targets.Psi, targets.weight)
            return matmul(known, known.T)
        rows, _ = known_rows(np.arange(targets.n), targets.weight)
        return self.outputs.embedding.gram.restrict(rows).dense()


@dataclass(frozen=True, eq=False)
class FittedInputs:
    """The inputs of a fitted model: h(x) is evaluated here."""

    kernel: Kernel | OperatorKernel  # fitted
    kept: Any  # the points, labelled ones first; or the inputs, where features of them are computed again
    manifold: Manifold | None = None
    streamed: bool = False  # whether the points are a few rows equivalent to all rows of a stream
    constants: np.ndarray | None = None  # (n, 1), the function of an intercept at the labelled points
    shapes: np.ndarray | None = None  # as in `Problem`
    represented: bool = True  # whether points are kept, and not inputs

    def _stored(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel,
            "points": self.kept,
            "manifold": self.manifold,
            "streamed": self.streamed,
            "constants": self.constants,
            "shapes": self.shapes,
            "represented": self.represented,
        }

    @property
    def points(self) -> Any:
        """The points as the kernel represents them."""
        return self.kept if self.represented else represent(self.kernel, self.kept)

    def with_points(self) -> FittedInputs:
        """These, with the points as the kernel represents them."""
        return self if self.represented else replace(self, kept=self.points, represented=True)

    def without_features(self, X: Any) -> FittedInputs:
        """These, with the inputs X in place of their features, if X is smaller."""
        with_unlabeled = n_objects(X) < int(self.points.shape[0])
        if with_unlabeled or not _is_smaller(X, self.points):
            return self
        kept = list(X) if isinstance(X, (list, tuple)) else X
        return replace(self, kept=kept, represented=False)

    def by_features(self, solution: Solution) -> Solution:
        """The solution with D = ΦᵀC, if K = ΦΦᵀ has fewer features than inputs; else as it is."""
        points, scalar = self.points, self.kernel.scalar
        if scalar is None or scalar.thin_features(take_rows(points, slice(0, 1))) is None:
            return solution
        Phi = scalar.gram(points).factor
        if Phi is None:
            return solution
        with unwarned():
            return replace(solution, D=matmul(Phi.T, solution.C))

    def products(self, R: Any, solution: Solution) -> Array:
        """Cᵀk_x of the scalar kernel k at represented inputs, a row each; by D it is Dᵀφ(x)."""
        scalar: Any = self.kernel.scalar
        if solution.D is not None:
            return matmul(scalar.thin_features(R), solution.D)
        return scalar.gram(R, self.points) @ solution.C

    def values(self, R: Any, solution: Solution) -> Array:
        """h(x) = A Cᵀ k_x + b at represented inputs."""
        with unwarned():
            operator = self.kernel.gram(R).operator
            if solution.D is not None and operator is not None:
                H = operator.act(self.products(R, solution))
            else:
                H = self.kernel.gram(R, self.points) @ solution.C
            if solution.intercept is not None:
                H = H + solution.intercept[None, :]
        with error_context("X"):
            return check_computed(H, what="h(x)")

    def problem(
        self, targets: Targets, loss: Loss, *, gram: Gram | None = None, solver: Solver | None = None
    ) -> Problem:
        """The problem at α = 1; the Gram matrix is rebuilt from the points unless it is passed."""
        points = self.points if gram is None or self.manifold is not None else None
        gram = self.kernel.gram(points) if gram is None else gram
        like = gram.diagonal()  # everything is on the device of the Gram matrix
        Psi: Any = IdentityMatrix(targets.n, like)
        if targets.Psi is not None:
            Psi = asarray_like(targets.Psi, like)
        parts: dict[str, Any] = {"weight": targets.weight, "mask": targets.mask, "constants": self.constants}
        parts["shapes"] = self.shapes
        if targets.rest is not None:
            parts["rest"] = asarray_like(targets.rest, like)
        problem = Problem(gram, Psi, loss, 1.0, **parts)
        if self.manifold is None:
            return problem
        manifold_weight = check_number(self.manifold.weight, "manifold_weight", minimum=0.0)
        problem = replace(problem, manifold_weight=manifold_weight)
        fresh_solver(solver).check(problem, penalised=True)  # memory, before the penalty is computed
        penalty = asarray_like(self.manifold.penalty(points, gram), like)
        return replace(problem, penalty=penalty)


def _is_smaller(X: Any, points: Any) -> bool:
    """Whether inputs have fewer numbers than what a kernel has computed of them; lists, if it kept them as well."""
    if isinstance(X, (list, tuple)) or (is_numpy(X) and X.dtype == object):
        return isinstance(points, Parts)
    return (is_array(X) or is_sparse(X)) and _n_numbers(X) < _n_numbers(points)


def _n_numbers(points: Any) -> float:
    """The numbers that represented objects consist of; infinitely many for other objects."""
    if isinstance(points, Parts):
        return sum(_n_numbers(part) for part in points)
    if is_sparse(points):
        return float(points.nnz)
    return float(math.prod(points.shape)) if is_array(points) else math.inf


@dataclass(frozen=True, eq=False)
class Fit:
    """A solution h(x) = Σ_i 𝒦(x, x_i) c_i at one alpha and manifold weight."""

    inputs: FittedInputs
    solver: Solver
    solution: Solution
    alpha: float
    manifold_weight: float


def check_data(
    estimator: Any,
    X: Any,
    y: Any,
    sample_weight: Any,
    X_unlabeled: Any,
    kernel: Kernel | OperatorKernel,
    *,
    solves: bool = True,
) -> TrainingSet:
    """The arguments of `fit`, checked; the estimator gets scikit-learn's attributes of features.

    If the estimator `solves` a problem of all rows, its memory is checked from the shapes before anything is computed.
    """
    if solves and X_unlabeled is None and is_array(X) and X.ndim == 2 and X.shape[0] >= _MANY_ROWS:
        _check_memory_of_shapes(estimator, X, y, kernel)
    check_aligned(X, y)
    check_aligned(X, sample_weight, "X", "sample_weight")
    single = single_precision(X, y)
    frame = frame_of(y)
    X = adapt(estimator, X, kernel, reset=True).X
    y = as_outputs(y, estimator.output_kernel, X)
    weight = check_weight(sample_weight, check_same_length(X, y), X)
    if X_unlabeled is not None:
        X_unlabeled = check_unlabeled(estimator, X_unlabeled, X, kernel, estimator.manifold)
    return TrainingSet(X, y, weight, X_unlabeled, single, frame)


def _check_memory_of_shapes(estimator: Any, X: Any, y: Any, kernel: Kernel | OperatorKernel) -> None:
    """Raise `MemoryError` for many rows without the memory of an exact fit, before anything runs on a device."""
    if not isinstance(kernel, Kernel) or kernel.pairwise:
        return
    quadratic = estimator.loss is None or estimator.loss.quadratic
    stored = type(kernel).gram is Kernel.gram  # kernels with features need not store the matrix
    if not stored or not quadratic or estimator.manifold is not None or estimator.embedding is not None:
        return
    n = int(X.shape[0])
    Psi: Any = IdentityMatrix(n, X)
    if estimator.output_kernel is None:
        if not (is_array(y) and same_home(X, y) and 1 <= y.ndim <= 2 and y.shape[0] == n):
            return
        Psi = y if y.ndim == 2 else y[:, None]
    with suppress(ValueError, TypeError):  # other errors are raised where the arguments are checked
        fresh_solver(estimator.solver).check(Problem(kernel.gram(X), Psi, Square(), 1.0))


def pose(
    data: Data,
    kernel: Kernel | OperatorKernel,
    manifold: Manifold | None = None,
    *,
    solver: Solver | None = None,
    K: ScalarGram | None = None,
) -> tuple[FittedInputs, Problem]:
    """A clone of the kernel fitted to the data, the points as it represents them, and the problem at α = 1.

    `solver` checks the memory before a manifold's penalty is computed. `K` is the Gram matrix of the scalar kernel on
    these points, if it is known from the problem with another operator.
    """
    rows, targets = data.rows, data.targets
    if targets.mask is not None:
        check_observed(targets.mask)
        _check_missing(targets.mask, kernel)
    learned_from: tuple[Any, ...] = ()
    if isinstance(kernel, OperatorKernel):
        if kernel.explicit_outputs and not data.outputs.embedding.explicit:
            check_isotropic(kernel)
        learned_from = (targets.Psi if data.outputs.embedding.explicit else None,)
    elif kernel.supervised:
        learned_from = (data.output_gram(),)
    fitted, points = fit_points(kernel, rows.X, rows.weight, learned_from)
    if rows.X_unlabeled is not None:
        points = concat(points, represent(fitted, rows.X_unlabeled, "X_unlabeled"))
    gram = fitted.gram(points)
    if isinstance(fitted, OperatorKernel) and gram.operator is not None:
        gram = _learn_operator(fitted, points, data, gram.K if K is None else K)
    constants = np.ones((targets.n, 1)) if data.intercept else None
    copy = None if manifold is None else clone(manifold)
    inputs = FittedInputs(fitted, points, copy, constants=constants, shapes=data.shapes)
    problem = inputs.problem(targets, data.outputs.loss, gram=gram, solver=solver)
    if gram.operator is not None:
        check_gram(gram.K, fitted.trusted, "kernel")
    else:
        check_blocks(gram, fitted.trusted)
    return inputs, problem


def solve(
    data: Data,
    kernel: Kernel | OperatorKernel,
    alpha: float,
    manifold_weight: float | None = None,
    *,
    manifold: Manifold | None = None,
    solver: Solver | None = None,
) -> Fit:
    """h at one alpha and one manifold weight, by default the manifold's own."""
    inputs, problem = pose(data, kernel, manifold, solver=solver)
    problem = replace(problem, alpha=alpha)
    if manifold_weight is not None:
        problem = replace(problem, manifold_weight=manifold_weight)
    solver = fresh_solver(solver)
    return Fit(inputs, solver, solver.solve(problem), alpha, problem.manifold_weight)


def _learn_operator(kernel: OperatorKernel, points: Any, data: Data, K: ScalarGram) -> Gram:
    """The Gram matrix of all points, after the operator has learned from the labelled ones and their outputs."""
    targets = data.targets
    semi = data.rows.X_unlabeled is not None
    if semi:
        K = kernel.gram(take_rows(points, np.arange(targets.n))).K
    if targets.Psi is None:
        kernel.adapt(K, None, data.outputs.embedding.gram, targets.weight)
    else:
        kernel.adapt(K, asarray_like(targets.Psi, K.diagonal()), None, targets.weight)
    return kernel.gram(points) if semi else kernel.around(K)


def warn_centred(problem: Problem, embedding: Embedding) -> None:
    """Warn of leave-one-out where inputs and outputs are both centred, and there is no intercept.

    With 1ᵀK1 = 0 and 1ᵀΨ = 0 row i is minus the sum of the others, so that its error tends to 0 with alpha.
    """
    weight = problem.row_weight
    if problem.constants is not None or problem.mask is not None or problem.gram.operator is None:
        return
    if embedding.is_identity:
        centred = _sums_to_zero(embedding.gram, weight)
    else:
        w = asarray_like(weight[:, None], problem.like)
        means, squares = matmul(w.T, problem.Psi), matmul(w.T, problem.Psi**2)
        xp = array_namespace(means)
        centred = bool(xp.all(means**2 <= _CENTRED * float(weight.sum()) * squares))
    if centred and _sums_to_zero(problem.gram.K, weight):
        warnings.warn(
            "Inputs and outputs are both centred, so each row follows from the others and leave-one-out errors are too "
            "small, the smallest for the smallest `alpha`; set `intercept=True`, and do not centre beforehand.",
            UserWarning,
            stacklevel=user_level(),
        )


def _sums_to_zero(K: ScalarGram, weight: np.ndarray) -> bool:
    """Whether wᵀKw is rounding, w zero on all further objects."""
    diagonal = K.diagonal()
    w = asarray_like(np.concatenate([weight, np.zeros(K.shape[0] - len(weight))]), diagonal)
    total = float(w @ (K @ w[:, None])[:, 0])
    return total <= _CENTRED * float(weight.sum()) * float(w @ diagonal)


def check_observed(mask: np.ndarray) -> None:
    """Raise if a row has no target."""
    empty = np.flatnonzero(~mask.any(axis=1))
    if len(empty):
        raise ValueError(
            f"Every row of `y` needs a target, but row {int(empty[0])} ({len(empty)} in all) contains NaN alone; pass "
            "such inputs as `X_unlabeled`, or drop them."
        )


def _check_missing(mask: np.ndarray, kernel: Kernel | OperatorKernel) -> None:
    """Raise for operators that learn from complete outputs; warn of outputs without entries if nothing couples them."""
    if isinstance(kernel, OperatorKernel):
        if kernel.spans:
            raise ValueError(
                f"`y` has missing entries, and {type(kernel).__name__} has no covariance of incomplete outputs; "
                "drop these rows, or use `Decomposable(kernel, A)`."
            )
        return
    unseen = np.flatnonzero(~mask.any(axis=0))
    if len(unseen):
        warnings.warn(
            f"Column {int(unseen[0])} of `y` ({len(unseen)} in all) contains NaN alone: nothing is learned about it, "
            "and a constant is predicted. `MultiTask` couples outputs.",
            UserWarning,
            stacklevel=4,
        )


def square(X: Any, rows: np.ndarray, columns: np.ndarray) -> Array:
    """The block of a Gram matrix at some rows and columns."""
    return asarray_like(to_numpy(X)[np.ix_(rows, columns)], X)
