"""How far a low-rank fit is from the exact one, and the rank from leave-one-out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, array_namespace, asarray_like, blocks, matmul, take_rows
from iokr._validation.arguments import check_integer, check_number
from iokr.gram.operators import IdentityMatrix
from iokr.kernels.nystroem import ProjectedKernel
from iokr.problem import Problem
from iokr.solvers.closed_form.symmetric_system import scatter
from iokr.solvers.constants import typical_constants
from iokr.solvers.iterative.certificate import feasible
from iokr.solvers.iterative.reduced import LabeledProblem

__all__ = ["certify", "select_rank"]

_PANEL = 1 << 22  # entries of K evaluated at a time
_FIRST = 125  # the smallest rank that is tried by default


def certify(model: Any, rows: int | None = None) -> float:
    """gap = (λ/2)⟨Ĉ, (K − K̂)ĈA⟩ / J(0) ≥ (J(ĥ) − J*) / J(0): how far at most a low-rank fit is from the exact one.

    ĥ is the fit with K̂ ≤ K of `Nystroem` or `Sketch`, J* the minimum with K itself. λĈ = w∘(Ψ − Ĥ), or the dual point
    of another loss, is feasible for both problems, so the gap is the difference of the dual values (plus the solver's
    own); with an intercept it sums to zero, and J(0) is that of the best constant. For the square loss J(ĥ) − J* =
    ½Σ w_i‖ĥ_i − h*_i‖² + (λ/2)‖ĥ − h*‖². It is usually within a small factor, and costs one pass over K in panels,
    2n²(p + q) flops, no memory.

    Parameters
    ----------
    model : IOKR or IOKRCV
        Fitted with a kernel `Nystroem` or `Sketch`, or an operator kernel k·A on one.
    rows : int, default=None
        The number of rows of K, drawn at random, for an unbiased estimate at rows/n of the cost; None takes all rows.

    Returns
    -------
    gap : float
        Relative to J(0), as `solution_.gap` is.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF, Nystroem
    >>> from iokr.model_selection import certify
    >>> X = np.linspace(0, 6, 300)[:, None]
    >>> fits = [IOKR(Nystroem(RBF(1.0), rank), alpha=0.1).fit(X, np.sin(X)) for rank in (5, 10)]
    >>> bool(certify(fits[1]) < 1e-3 * certify(fits[0]))
    True
    """
    check_is_fitted(model)
    kernel, points, problem = _projected(model)
    C = model.solution_.C
    Phi, R = points.parts
    n = problem.n_labeled
    H, Psi = problem.gram @ C, problem.targets
    xp, lam = array_namespace(H), problem.alpha
    weight = asarray_like(problem.row_weight, H)
    if model.solution_.intercept is not None:
        H = H + model.solution_.intercept[None, :]
    if isinstance(problem.Psi, IdentityMatrix):  # coordinates in which K_Y is I
        V = asarray_like(model.embedding_.euclidean(problem.like), H)
        C, H, Psi = matmul(C, V), matmul(H, V), V
    constants = Psi * 0.0
    if problem.constants is not None:
        constants = constants + typical_constants(replace(problem, Psi=Psi))
    at_zero = float(xp.sum(weight * problem.loss.value(constants, Psi)))
    if at_zero == 0:
        return 0.0
    if problem.loss.quadratic:
        W, own = weight[:, None] * (Psi - H), 0.0
    else:
        W = _dual_point(problem, lam * C)
        primal = float(xp.sum(weight * problem.loss.value(H, Psi))) + lam / 2 * float(xp.sum(C * H))
        energy = float(xp.sum(W * (problem.gram @ W))) / (2 * lam)
        own = primal - float(xp.sum(problem.loss.dual(W, Psi, weight))) + energy
    left = _left_out(kernel, Phi, R, W, problem, _chosen(rows, n))
    return (own + left / (2 * lam)) / at_zero


def _dual_point(problem: Problem, W: Array) -> Array:
    """W in the domain of the conjugate, with an intercept of sum zero; 0 for rows without weight."""
    labeled = LabeledProblem(problem)
    active = labeled.points.active
    return scatter(feasible(labeled, take_rows(W, active)), active, problem.n_labeled)


def _chosen(rows: int | None, n: int) -> np.ndarray:
    """Rows drawn at random, or all."""
    if rows is None or check_integer(rows, "rows", minimum=1) >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).permutation(n)[:rows])


def _left_out(kernel: Any, Phi: Array, R: Any, W: Array, problem: Problem, chosen: np.ndarray) -> float:
    """⟨W, (K − K̂)WA⟩, of ρ chosen rows n/ρ times as much."""
    n = int(Phi.shape[0])
    WA = problem.operator.act(W)
    low = matmul(Phi.T, WA)
    total = 0.0
    for part in blocks(len(chosen), max(1, _PANEL // n)):
        rows = chosen[part]
        rest = matmul(kernel.block(take_rows(R, rows), R), WA) - matmul(take_rows(Phi, rows), low)
        total += float(array_namespace(W).sum(take_rows(W, rows) * rest))
    return max(0.0, total) * n / len(chosen)


def _projected(model: Any) -> tuple[Any, Any, Problem]:
    """The kernel whose projection was used, the points, and the problem that was solved; raises where there is none."""
    inputs, kernel = getattr(model, "inputs_", None), getattr(model, "kernel_", None)
    kernel = getattr(kernel, "kernel_", kernel)
    if inputs is None or getattr(inputs, "streamed", False):
        raise ValueError(
            f"`model` must be an `IOKR` or `IOKRCV` that keeps its training rows, got {model!r:.60}; a model of a "
            "stream keeps none: certify one that is fitted to a part of the rows."
        )
    if not isinstance(kernel, ProjectedKernel):
        raise ValueError(
            f"`certify` compares a projection of a kernel, `Nystroem` or `Sketch`, with it, got {kernel!r:.60}. "
            "An exact kernel has `solution_.gap`; `Fourier` is not a projection, and its error has no bound."
        )
    targets = model.targets_
    if model.manifold is not None or targets.mask is not None:
        raise ValueError("`certify` needs complete outputs and no manifold.")
    inputs = inputs.with_points()
    problem = inputs.problem(targets, model.loss_)
    if problem.operator.oblique:
        raise ValueError(
            "With a covariance operator `certify` needs coordinates; set `embedding=Nystroem(n_components)`."
        )
    alpha = model.alpha_ if hasattr(model, "alpha_") else model.alpha
    return kernel.base_, inputs.points, replace(problem, alpha=float(alpha), rest=None)


def select_rank(
    model: Any, X: Any, y: Any, ranks: Sequence[int] | None = None, *, fall: float = 0.01, sample_weight: Any = None
) -> Any:
    """The first rank at which a larger one no longer lowers the leave-one-out error by `fall`: (model, errors).

    Ranks are tried in turn, each with its best alpha. With random pivots a larger rank keeps the objects of the smaller
    one. All together cost a third more than the last one alone, where ranks double.

    Parameters
    ----------
    model : IOKRCV
        With `kernel=Nystroem(base, n_components)`, `Sketch` or `Fourier`, whose rank is the largest that is tried.
    X, y, sample_weight :
        As in `IOKRCV.fit`.
    ranks : sequence of int, default=None
        Ascending; None doubles from 125 up to the rank of the kernel.
    fall : float, default=0.01
        The relative gain below which to stop.

    Returns
    -------
    model : IOKRCV
        Fitted, with the rank of the least error seen.
    errors : dict
        The leave-one-out error of every rank that was tried.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKRCV
    >>> from iokr.kernels import RBF, Nystroem
    >>> from iokr.model_selection import select_rank
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(500, 1))
    >>> y = np.sin(9 * X[:, 0]) + 0.1 * rng.normal(size=500)
    >>> model, errors = select_rank(IOKRCV(Nystroem(RBF(9.0), 64)), X, y, ranks=(2, 4, 8, 16, 32, 64))
    >>> model.kernel.n_components, list(errors)
    (8, [2, 4, 8, 16])
    """
    kernel: Any = getattr(model, "kernel", None)
    if not hasattr(model, "alphas") or not isinstance(getattr(kernel, "n_components", None), (int, np.integer)):
        raise TypeError(f"`model` must be an `IOKRCV` with a kernel that has `n_components`, got {model!r:.80}.")
    if getattr(model, "cv", None) is not None:
        raise ValueError("`select_rank` compares leave-one-out errors; set `cv=None`.")
    check_number(fall, "fall", minimum=0.0)
    if ranks is None:
        tried = [_FIRST * 2**k for k in range(40) if _FIRST * 2**k < kernel.n_components] + [int(kernel.n_components)]
    else:
        tried = [check_integer(rank, "ranks", minimum=1) for rank in ranks]
    if not tried or sorted(set(tried)) != tried:
        raise ValueError(f"`ranks` must ascend and name at least one, got {ranks!r:.60}.")
    errors: dict[int, float] = {}
    best, before = None, np.inf
    for rank in tried:
        fitted = clone(model).set_params(kernel__n_components=rank).fit(X, y, sample_weight=sample_weight)
        errors[rank] = error = float(np.min(fitted.loo_errors_))
        if best is None or error < before:
            best = fitted
        if not error < (1 - fall) * before:
            break
        before = error
    return best, errors
