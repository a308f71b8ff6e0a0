"""The grid of link prediction: one factorisation of K serves every output kernel and every alpha."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from iokr._array import Array, asarray_like, gemm, to_numpy
from iokr.data.objects import error_context
from iokr.estimators.areas import AreaRule, areas_of, freedom
from iokr.estimators.regression.posing import Data, Fit, pose, solve
from iokr.estimators.regression.selection import Grid, Track, check_grid, check_values, closed_paths, solutions
from iokr.kernels.base import Kernel
from iokr.manifolds.base import Manifold
from iokr.model_selection.nodes import TooFewLinks
from iokr.operator_kernels.base import OperatorKernel
from iokr.problem import Problem, Solution
from iokr.solvers.base import Path, Solver

__all__ = ["LinkFold", "LinkGrid", "Searched", "check_link_grid", "search_by_folds", "search_by_leave_one_out"]

Seen = Callable[[tuple[int, ...], np.ndarray], None]
"""Told the areas at each point of the grid as they become known; an empty index begins the next fold."""


@dataclass(frozen=True, eq=False)
class LinkGrid:
    """What is searched; `manifold_weights` has a list for each manifold, all of one length."""

    kernels: list[Kernel | OperatorKernel]
    output_kernels: list[Kernel | None]
    manifolds: list[Manifold | None]
    manifold_weights: list[list[float]]
    alphas: list[float]

    @property
    def shape(self) -> tuple[int, int, int, int, int]:
        """Kernels × output kernels × manifolds × manifold_weights × alphas."""
        kernels, outputs, manifolds = len(self.kernels), len(self.output_kernels), len(self.manifolds)
        return kernels, outputs, manifolds, len(self.manifold_weights[0]), len(self.alphas)

    @property
    def n_paths(self) -> int:
        """How many paths over alpha leave-one-out takes."""
        return sum(len(part.manifold_weights) for _, _, _, part in self.parts())

    def parts(self) -> Iterator[tuple[int, int, list[int], Grid]]:
        """(kernel, manifold, output kernels that share its paths, its grid over manifold_weights and alphas).

        A kernel that learns nothing from the outputs is factored once for all of them.
        """
        everyone = list(range(len(self.output_kernels)))
        for i, kernel in enumerate(self.kernels):
            apart = isinstance(kernel, OperatorKernel) or kernel.supervised
            for m, manifold_weights in enumerate(self.manifold_weights):
                for group in [[b] for b in everyone] if apart else [everyone]:
                    yield i, m, group, Grid([kernel], manifold_weights, self.alphas)


@dataclass(frozen=True, eq=False)
class Searched:
    """The areas at every point of the grid, (2, *shape), its freedom, what the rule chose, and the model there."""

    areas: np.ndarray
    freedom: np.ndarray
    member: tuple[int, ...]  # which kernel, output kernel, manifold and manifold_weight
    fit: Fit


@dataclass(frozen=True, eq=False)
class LinkFold:
    """Data to learn from, one for each output kernel, the nodes to be scored, and the areas of their values h."""

    data: Callable[[int, Manifold | None], Data]
    X: Any
    measure: Callable[[Array], list[float]]


def check_link_grid(kernel: Any, output_kernel: Any, manifold: Any, manifold_weights: Any, alphas: Any) -> LinkGrid:
    """One of each or lists of them; without manifold_weights, each manifold's own."""
    manifolds = _listed(manifold, "manifold")
    some = next((m for m in manifolds if m is not None), None)
    grid = check_grid(kernel, manifold_weights, alphas, some)
    if manifold_weights is None:
        own = [[0.0 if m is None else m.weight] for m in manifolds]
    elif None in manifolds:
        raise ValueError("`manifold` has None among its values; with `manifold_weights` let 0 be one of these instead.")
    else:
        own = [check_values(manifold_weights, "manifold_weights", strict=False)] * len(manifolds)
    return LinkGrid(grid.kernels, _listed(output_kernel, "output_kernel"), manifolds, own, grid.alphas)


def _listed(value: Any, name: str) -> list[Any]:
    if not isinstance(value, (list, tuple)):
        return [value]
    if not value:
        raise ValueError(f"`{name}` is an empty list; give at least one.")
    return list(value)


def search_by_leave_one_out(
    grid: LinkGrid,
    data: Callable[[int, Manifold | None], Data],
    pairs: tuple[np.ndarray, np.ndarray, np.ndarray],
    rule: AreaRule,
    solver: Solver | None,
    watch: Callable[[int, int, int], None] | None = None,
    track: Track = iter,
    seen: Seen = lambda index, areas: None,
) -> Searched:
    """Areas of ⟨h₋ᵢ(x_i), h₋ⱼ(x_j)⟩ over labelled pairs: one factorisation of K for every output kernel and alpha."""
    areas, free, best = np.empty((2, *grid.shape)), np.empty(grid.shape), -np.inf
    found: tuple[tuple[int, ...], Fit] | None = None
    for i, m, group, part in grid.parts():
        manifold = grid.manifolds[m]
        targets = {b: data(b, manifold) for b in group}
        one = targets[group[0]]
        if not one.outputs.loss.quadratic:
            raise ValueError(
                f"Leave-one-out has a closed form for quadratic losses only, not {one.outputs.loss!r}; set `cv=5`."
            )
        for j, (inputs, kept, problem, path) in enumerate(track(closed_paths(one, part, manifold, solver))):
            if j == 0:
                free[i, group, m] = _freedom(problem, rule, grid.alphas)
            told = None if watch is None else partial(watch, i, j)
            for b in group:
                Psi = asarray_like(targets[b].targets.Psi, problem.like)
                areas[:, i, b, m, j] = _leave_one_out_areas(pairs, path, Psi, grid.alphas, told)
                seen((i, b, m, j), areas[:, i, b, m, j])
                score, alpha = rule.along(areas[:, i, b, m, j], grid.alphas, free[i, b, m, j])
                if score > best:
                    best, solution = score, Solution(path.coefficients(Psi, alpha))
                    found = (i, b, m, j), Fit(inputs, kept, solution, alpha, grid.manifold_weights[m][j])
    if found is None:
        raise ValueError("Leave-one-out scores are not finite; scale the data or raise the alphas.")
    return Searched(areas, free, *found)


def _freedom(problem: Problem, rule: AreaRule, alphas: Sequence[float]) -> np.ndarray:
    """`freedom` of the labelled nodes, whatever the manifold; even where the largest score is taken."""
    n = problem.n_labeled
    if rule.rule == "best" or len(alphas) == 1 or problem.gram.products_only:
        return np.full(len(alphas), 1 / len(alphas))
    K = problem.gram.K
    known = K.eigenpairs(known=True) if K.shape[0] == n else None
    if known is not None:
        return freedom(to_numpy(known[0]), alphas)
    return freedom(np.linalg.eigvalsh(to_numpy(K.restrict(np.arange(n)).detach(lower=True))), alphas)


def _leave_one_out_areas(
    pairs: tuple[np.ndarray, np.ndarray, np.ndarray],
    path: Path,
    targets: Array,
    alphas: Sequence[float],
    watch: Callable[[int], None] | None = None,
) -> np.ndarray:
    """Both areas of ⟨h₋ᵢ(x_i), h₋ⱼ(x_j)⟩ over labelled pairs, a column per alpha."""
    rows, columns, linked = pairs
    found = []
    for k, alpha in enumerate(alphas):
        H = targets - path.loo_residuals(targets, alpha)
        found.append(areas_of(linked, to_numpy(gemm(H, H))[rows, columns]))
        if watch is not None:
            watch(k)
    return np.array(found).T


def search_by_folds(
    grid: LinkGrid,
    data: Callable[[int, Manifold | None], Data],
    folds: Iterable[LinkFold],
    rule: AreaRule,
    solver: Solver | None,
    track: Track = iter,
    seen: Seen = lambda index, areas: None,
) -> Searched:
    """Mean areas over the folds, each output kernel made anew from the links of a fold; the best, from all data."""
    areas, n_folds = np.zeros((2, *grid.shape)), 0
    for fold in folds:
        n_folds += 1
        seen((), np.empty(0))  # the next fold
        for i, m, group, part in track(grid.parts()):
            manifold = grid.manifolds[m]
            targets = [fold.data(b, manifold) for b in group]
            inputs, problem = pose(targets[0], grid.kernels[i], manifold, solver=solver)
            with error_context("X"):
                R = inputs.kernel.represent(fold.X)
            Psi = [asarray_like(one.targets.Psi, problem.like) for one in targets]
            problem = replace(problem, manifold_weight=part.manifold_weights[0])
            for t, j, k, C in solutions(problem, part, solver, Psi):
                found = np.array(fold.measure(inputs.values(R, C)))
                areas[:, i, group[t], m, j, k] += found
                seen((i, group[t], m, j, k), found)
    if not n_folds:
        raise TooFewLinks("No fold has links to learn from and links to find; use fewer folds.")
    areas /= n_folds
    free = np.empty(grid.shape)
    for i, m, group, _ in grid.parts():
        free[i, group, m] = _freedom(pose(data(group[0], grid.manifolds[m]), grid.kernels[i])[1], rule, grid.alphas)
    (i, b, m, j), alpha = rule.among(areas, grid.alphas, free)
    manifold, manifold_weight = grid.manifolds[m], grid.manifold_weights[m][j]
    fit = solve(data(b, manifold), grid.kernels[i], alpha, manifold_weight, manifold=manifold, solver=solver)
    return Searched(areas, free, (i, b, m, j), fit)
