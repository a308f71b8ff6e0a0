"""Fits of rows that come in chunks: kernel and outputs from some rows, moments of all, h from the moments."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from typing import Any, NamedTuple

import numpy as np
from sklearn.base import clone

from iokr._array import (
    Array,
    CholeskyFactor,
    array_namespace,
    asarray_like,
    cholesky,
    eigh,
    is_array,
    matmul,
    row_sq_norms,
    to_numpy,
)
from iokr._system.memory import human_bytes
from iokr._validation.arguments import check_integer, trusted
from iokr.data.objects import Parts, error_context, n_objects, take
from iokr.estimators.inputs import fresh_solver
from iokr.estimators.outputs import FittedOutputs, Targets, as_outputs, encode, known_rows
from iokr.estimators.regression.posing import Data, Fit, FittedInputs, TrainingSet, check_data
from iokr.estimators.search.engine import Part
from iokr.estimators.search.result import Choice
from iokr.gram.moments import Moments, moments_of, total
from iokr.gram.operators import OutputOperator
from iokr.kernels.base import Kernel
from iokr.kernels.nystroem import ProjectedKernel
from iokr.kernels.vectors import RBF
from iokr.operator_kernels.base import OperatorKernel
from iokr.problem import Solution
from iokr.solvers.auto import Auto
from iokr.solvers.closed_form.lowrank import LowRank, left_out_errors

__all__ = [
    "SOLVED",
    "PartialFit",
    "begin_partial",
    "check_alone",
    "chunk_moments",
    "evaluate_chunks",
    "fit_chunks",
    "solve_moments",
    "why_no_chunks",
]

_ROWS_PER_LANDMARK = 4  # in the sample from which landmarks are chosen
_LEAST_SAMPLE = 1000  # rows
_LEAST_LEVERAGE_GAP = 1e-5  # 1 − h_ii below which leave-one-out from moments has lost too many digits

# attributes that follow from the moments, removed when rows are added
SOLVED = ("inputs_", "targets_", "solver_", "solution_", "_at", "_single_precision")


@dataclass(frozen=True, eq=False)
class Origin:
    """From where features and targets are counted with an intercept: their means over the first rows.

    Moments about a point near the means of all rows keep their digits where these are far from zero.
    """

    features: Array  # (r,)
    targets: Array  # (q,)

    def _stored(self) -> dict[str, Any]:
        return {"features": self.features, "targets": self.targets}

    def counted(self, Phi: Array, Psi: Array) -> tuple[Array, Array]:
        """Both from here, and a feature more, which is 1."""
        xp = array_namespace(Phi)
        Phi = Phi - asarray_like(self.features, Phi)[None, :]
        return xp.concat([Phi, xp.ones_like(Phi[:, :1])], axis=1), Psi - asarray_like(self.targets, Psi)[None, :]


@dataclass(frozen=True, eq=False)
class PartialFit:
    """A fit to rows in chunks: kernel and outputs, fitted to the first rows, and the moments of all rows so far."""

    kernel: Any
    outputs: FittedOutputs
    single: bool
    moments: Moments | None = None
    origin: Origin | None = None  # with an intercept

    def _stored(self) -> dict[str, Any]:
        return {
            "kernel": self.kernel,
            "outputs": self.outputs,
            "single": self.single,
            "moments": self.moments,
            "origin": self.origin,
        }

    def add(self, part: Moments) -> PartialFit:
        """With the moments of more rows."""
        return replace(self, moments=part if self.moments is None else self.moments + part)


def begin_partial(model: Any, kernel: Any, parts: dict[str, Any], X: Any, y: Any, weight: Any) -> PartialFit:
    """Kernel and outputs, fitted to the rows that landmarks are chosen from; raises if rows cannot come in chunks."""
    _check_parts(model, kernel)
    rows = check_data(model, X, y, weight, None, kernel)
    n = n_objects(rows.y)
    rank = kernel.scalar.n_components if isinstance(kernel.scalar, ProjectedKernel) else None
    if isinstance(rank, int | np.integer) and rank > n:
        raise ValueError(
            f"`n_components` is {rank}, but landmarks are chosen from {n} rows; lower it, or make the first chunk "
            'larger, or use `Stream(open, landmarks="reservoir")`.'
        )
    outputs, targets = encode(rows.y, rows.weight, frame=rows.frame, **parts)
    _check_complete(targets.mask is not None)
    learned_from: tuple[Any, ...] = ()
    if isinstance(kernel, OperatorKernel):
        learned_from = (targets.Psi if outputs.embedding.explicit else None,)
    known, number = known_rows(rows.X, rows.weight)
    with trusted(rows.X), error_context("X", number):
        fitted = clone(kernel).fit(known, *learned_from)
    Phi = _features(fitted, known)
    if not model._has_intercept(outputs):
        return PartialFit(fitted, outputs, rows.single)
    xp = array_namespace(Phi)
    means = xp.mean(Phi, axis=0), xp.mean(asarray_like(targets.observed(), Phi), axis=0)
    return PartialFit(fitted, outputs, rows.single, origin=Origin(*means))


def _check_parts(model: Any, kernel: Any) -> None:
    """Raise for components that need all rows at once."""
    loss, embedding = model.loss, model.embedding
    if loss is not None and not loss.quadratic:
        raise ValueError(f"Rows in chunks are fitted through their moments, for quadratic losses only, not {loss!r}.")
    if model.manifold is not None:
        raise ValueError(
            "A manifold couples all points and needs them at once; for rows in chunks set `manifold=None`."
        )
    if model.output_kernel is not None and (embedding is None or embedding.is_identity):
        raise ValueError(
            "Rows in chunks need outputs in coordinates, as training outputs are not kept; set "
            "`embedding=Nystroem(n_components)`."
        )
    if kernel.spans:
        raise ValueError(
            f"{type(kernel).__name__} learns from all outputs, which come in chunks; use `Decomposable(kernel, A)`."
        )


def check_alone(sample_weight: Any, X_unlabeled: Any) -> None:
    """Weights come with the chunks, and there are no unlabelled inputs."""
    if sample_weight is not None or X_unlabeled is not None:
        raise ValueError("Weights come with the chunks, as (X, y, weight); unlabelled inputs are not supported.")


def _check_complete(missing: bool) -> None:
    if missing:
        raise ValueError("`y` contains NaN, and moments need complete outputs; drop these rows.")


def why_no_chunks(model: Any) -> str | None:
    """Why rows cannot come in chunks; None if they can."""
    if "solution_" in vars(model) and "partial_" not in vars(model):
        return "it was fitted by `fit`; begin `partial_fit` with a new one, `clone(model)`."
    try:
        if model.kernel is None or isinstance(model.kernel, (Kernel, OperatorKernel)):
            _check_kernel(RBF() if model.kernel is None else model.kernel, None)
    except ValueError as error:
        return str(error)
    return None


def _check_kernel(kernel: Any, n: int | None) -> None:
    """Raise for a kernel without features before any row is read."""
    scalar = kernel.scalar
    if scalar is None:
        raise ValueError(f"{kernel!r:.60} does not separate into k·A and needs all rows at once; use `Decomposable`.")
    if not scalar.has_features:
        size = "" if n is None else f": {n} rows take {human_bytes(4.0 * n * n)} on one device"
        raise ValueError(
            f"{scalar!r:.60} is exact and needs all rows at once{size}. Rows in chunks need few features: "
            f"`kernel=Nystroem({scalar!r:.40}, n_components=…)`."
        )


def _features(kernel: Any, X: Any) -> Array:
    """Φ, dense; raises for a kernel without features."""
    _check_kernel(kernel, None)
    R = kernel.scalar.represent(X)
    Phi = R.parts[0] if isinstance(R, Parts) else R
    if not is_array(Phi):
        raise ValueError(f"{kernel.scalar!r:.60} has sparse features, and moments need few dense ones; use `Nystroem`.")
    return Phi


def coordinates(state: PartialFit, X: Any, y: Any, weight: Any) -> tuple[Array, Array, float]:
    """Φ, Ψ and Σ w(‖ψ(y)‖² − ‖z(y)‖²) of the rows of a chunk."""
    embedding = state.outputs.embedding
    # Outputs first: checks of their values would wait for features that are computed on a device.
    S = embedding.represent(as_outputs(y, state.outputs.kernel, X))
    with error_context("X"):
        Phi = _features(state.kernel, X)
    Psi = embedding.coordinates(S, Phi)
    left = 0.0
    if not embedding.explicit:
        rest = np.maximum(to_numpy(embedding.sq_norms(S)) - to_numpy(row_sq_norms(Psi)), 0.0)
        left = float(np.sum(rest if weight is None else weight * rest))
    return Phi, Psi, left


def chunk_moments(state: PartialFit, X: Any, y: Any, weight: Any) -> Moments:
    """The moments of a chunk."""
    Phi, Psi, left = coordinates(state, X, y, weight)
    if state.origin is not None:
        Phi, Psi = state.origin.counted(Phi, Psi)
    found = moments_of(Phi, Psi, weight, left)
    _check_complete(math.isnan(found.s))  # a NaN among the outputs makes their sum of squares NaN
    return found


@dataclass(frozen=True, eq=False)
class Solved:
    """h from moments, for every α: r rows that are equivalent to all rows, with a diagonal Gram matrix K̃ = diag(ω).

    With an intercept the moments are about the means, h(x) = A Dᵀ(φ(x) − mean φ) + mean ψ.
    """

    Phi: Array
    Psi: Array
    operator: OutputOperator
    means: tuple[Array, Array] | None = None  # of features and targets, counted from the origin

    def coefficients(self, alpha: float) -> Array:
        """C̃ = [Ψ̃E/(λ + ωγᵀ)]Eᵀ."""
        gamma = asarray_like(self.operator.gamma, self.Psi)[None, :]
        omega = row_sq_norms(self.Phi)
        return self.operator.unrotate(self.operator.rotate(self.Psi) / (alpha + omega[:, None] * gamma))

    def D(self, alpha: float) -> Array:
        """D A of h(x) = A Dᵀφ(x); with an intercept one row more, for the feature that is 1."""
        D = matmul(self.Phi.T, self.operator.act(self.coefficients(alpha)))
        if self.means is None:
            return D
        features, targets = self.means
        return array_namespace(D).concat([D, (targets - features @ D)[None, :]], axis=0)


def _about_means(state: PartialFit, moments: Moments) -> tuple[Moments, tuple[Array, Array] | None]:
    """Moments about the means, and these, counted from the origin; without an intercept the moments as they are."""
    if state.origin is None:
        return moments, None
    total_weight = moments.G[-1, -1]
    features, targets = moments.G[:-1, -1] / total_weight, moments.B[-1, :] / total_weight
    xp = array_namespace(features)
    G = moments.G[:-1, :-1] - total_weight * features[:, None] * features[None, :]
    B = moments.B[:-1, :] - total_weight * features[:, None] * targets[None, :]
    s = max(moments.s - float(total_weight * xp.sum(targets * targets)), 0.0)
    return replace(moments, G=G, B=B, s=s), (features, targets)


def _solved(state: PartialFit, moments: Moments) -> Solved:
    moments, means = _about_means(state, moments)
    Phi, Psi = moments.rows()
    return Solved(Phi, Psi, state.kernel.gram(_points(state.kernel, Phi)).operator, means)


def _once(state: PartialFit, moments: Moments, alpha: float) -> tuple[Solved, Array]:
    """h from moments for one α, and C̃: by two Cholesky factors if A = γI and G is well conditioned."""
    central, means = _about_means(state, moments)
    rows = central.triangular_rows()
    if rows is not None:
        L, Psi = rows
        operator = state.kernel.gram(_points(state.kernel, L.T)).operator
        if operator.scale is not None:
            g = float(operator.gamma[0])
            # (γLᵀL + λI)⁻¹L⁻¹B = L⁻¹(γG + λI)⁻¹B
            D = cholesky(central.G if g == 1 else g * central.G, alpha).solve(central.B)
            return Solved(L.T, Psi, operator, means), CholeskyFactor(L).solve_lower(D)
    solved = _solved(state, moments)
    return solved, solved.coefficients(alpha)


def _points(kernel: Any, Phi: Array) -> Any:
    """Rows of features as the kernel holds its points."""
    return Parts(Phi) if isinstance(kernel.scalar, ProjectedKernel) else Phi


def solve_moments(state: PartialFit, alpha: float, solver: Any) -> tuple[Data, Fit]:
    """The model of all rows so far."""
    moments = state.moments
    assert moments is not None
    solved, C = _once(state, moments, alpha)
    Phi, Psi, intercept, constants = solved.Phi, solved.Psi, None, None
    if state.origin is not None and solved.means is not None:
        # One row more: with all weight on the mean it leaves moments about the means and the intercept as they are.
        xp = array_namespace(C)
        features = solved.means[0] + asarray_like(state.origin.features, C)
        targets = solved.means[1] + asarray_like(state.origin.targets, C)
        intercept = targets - features @ matmul(Phi.T, solved.operator.act(C))
        root = math.sqrt(moments.weight)
        Phi = xp.concat([Phi, root * features[None, :]], axis=0)
        Psi = xp.concat([Psi, root * targets[None, :]], axis=0)
        C = xp.concat([C, xp.zeros_like(C[:1, :])], axis=0)
        constants = np.zeros((int(C.shape[0]), 1))
        constants[-1] = root
    inputs = FittedInputs(state.kernel, _points(state.kernel, Phi), streamed=True, constants=constants)
    kept = fresh_solver(solver)
    if isinstance(kept, Auto):
        kept.record(LowRank(), f"{moments.n} rows in chunks: only their moments are kept.")
    elif not isinstance(kept, LowRank):
        raise ValueError(f"`solver` {kept!r} needs all rows at once; for rows in chunks use `LowRank()`.")
    no_rows = TrainingSet(None, None, single=state.single)
    data = Data(no_rows, state.outputs, Targets(int(Psi.shape[0]), Psi), constants is not None)
    return data, Fit(inputs, kept, Solution(C, intercept=intercept), alpha, 0.0)


def sample_size(model: Any, kernel: Any) -> int:
    """Rows to choose landmarks from."""
    components = [part.n_components for part in (kernel.scalar, model.embedding) if part is not None]
    ranks = [int(rank) for rank in components if isinstance(rank, Integral)]
    return max(_LEAST_SAMPLE, _ROWS_PER_LANDMARK * max(ranks, default=0))


def fit_chunks(
    model: Any,
    source: Any,
    kernel: Any,
    parts: dict[str, Any],
    track: Callable[[Any], Iterator[Any]],
    folds: int = 1,
) -> tuple[PartialFit, list[Moments]]:
    """Kernel and outputs, and the moments of each fold, in one pass after the landmarks are chosen."""
    _check_kernel(kernel, source.n)
    first = source.sample(sample_size(model, kernel))
    state = begin_partial(model, kernel, parts, *first)
    checkpoint = None if model.solver is None else model.solver.checkpoint
    width = int(_features(state.kernel, take(first[0], slice(0, 1))).shape[1])
    return state, source.reduce(partial(chunk_moments, state), folds, track, checkpoint=checkpoint, width=width)


def evaluate_chunks(
    model: Any, source: Any, kernels: Sequence[Any], alphas: Sequence[float], parts: dict[str, Any], track: Any
) -> Iterator[Part]:
    """Mean errors of every kernel along the alphas: leave-one-out in a second pass, or K-fold in the only one.

    With K fold-wise moments the squared error of any D on a fold is s − 2⟨D, B⟩ + ⟨D, GD⟩; a chunk belongs to the fold
    of its number modulo K, and landmarks are the same for all folds. Parts solve to the moments of all rows and alpha.
    """
    cv = model.cv
    if cv is not None and (isinstance(cv, bool) or not isinstance(cv, Integral)):
        raise TypeError(f"`cv` must be None or a number of folds for rows in chunks, got {cv!r:.60}.")
    folds = 1 if cv is None else check_integer(cv, "cv", minimum=2)
    for i, kernel in enumerate(kernels):
        state, found = fit_chunks(model, source, kernel, parts, track, folds)
        moments = total(found)
        state = state.add(moments)
        sums = _on_folds(state, found, alphas) if folds > 1 else _leave_one_out(state, moments, source, alphas, track)
        yield Part((i, 0), (sums + moments.left) / moments.weight, solve=partial(_chosen, state))


def _chosen(state: PartialFit, choice: Choice) -> tuple[PartialFit, float]:
    """What the model at a choice of alpha follows from."""
    return state, choice.value


def _on_folds(state: PartialFit, found: list[Moments], alphas: Sequence[float]) -> np.ndarray:
    """Σ w‖ψ_i − h(x_i)‖² for each alpha, every fold by the moments of the others."""
    sums = np.zeros(len(alphas))
    for k, part in enumerate(found):
        solved = _solved(state, total([other for j, other in enumerate(found) if j != k]))
        sums += [part.error(solved.D(alpha)) for alpha in alphas]
    return sums


def _leave_one_out(state: PartialFit, moments: Moments, source: Any, alphas: Sequence[float], track: Any) -> np.ndarray:
    """Σ w‖ψ_i − h₋ᵢ(x_i)‖² for each alpha, in one pass."""
    central, means = _about_means(state, moments)
    omega, Q = eigh(central.G)
    operator = state.kernel.gram(_points(state.kernel, central.G)).operator
    spectrum = Spectrum(
        array_namespace(omega).clip(omega, min=0.0), Q, matmul(Q.T, operator.rotate(central.B)), means, moments.weight
    )
    (found,) = source.reduce(partial(_chunk_errors, state, operator, spectrum, tuple(alphas)), 1, track)
    if found.closest < _LEAST_LEVERAGE_GAP:
        raise ValueError(
            "Leave-one-out from moments needs 1 − h_ii well above rounding, but some rows determine their own value; "
            "raise the alphas, lower the rank, or set `cv=5`."
        )
    return np.asarray(found.errors)


class Spectrum(NamedTuple):
    """The eigenvectors of the moments about the means, and what else leave-one-out of a chunk needs."""

    omega: Array
    Q: Array
    T: Array  # QᵀBE
    means: tuple[Array, Array] | None
    weight: float  # of all rows


@dataclass(frozen=True, eq=False)
class ErrorSum:
    """Squared errors of some rows for each alpha, and the smallest 1 − h_ii; they add."""

    errors: np.ndarray
    closest: float

    def __add__(self, other: ErrorSum) -> ErrorSum:
        return ErrorSum(self.errors + other.errors, min(self.closest, other.closest))


def _chunk_errors(
    state: PartialFit,
    operator: OutputOperator,
    spectrum: Spectrum,
    alphas: tuple[float, ...],
    X: Any,
    y: Any,
    weight: Any,
) -> ErrorSum:
    """Those of a chunk."""
    Phi, Psi, _ = coordinates(state, X, y, weight)
    unit: Array | float = 1.0
    if state.origin is not None and spectrum.means is not None:
        Phi, Psi = state.origin.counted(Phi, Psi)
        Phi = Phi[:, :-1] - asarray_like(spectrum.means[0], Phi)[None, :]
        Psi = Psi - asarray_like(spectrum.means[1], Psi)[None, :]
        own = np.ones(n_objects(X)) if weight is None else np.asarray(weight)
        unit = 1 - asarray_like(own / spectrum.weight, Phi)[:, None]
    targets = operator.rotate(Psi)
    if weight is not None:
        root = asarray_like(np.sqrt(weight), Phi)[:, None]
        Phi, targets = root * Phi, root * targets
    rows = matmul(Phi, asarray_like(spectrum.Q, Phi))
    omega, T = (asarray_like(part, Phi) for part in (spectrum.omega, spectrum.T))
    return ErrorSum(*left_out_errors(rows, targets, omega, T, operator.gamma, alphas, unit))
