"""Areas of link prediction on a grid: one factorisation of K serves every output kernel and every alpha."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from iokr._array import Array, asarray_like, gemm, to_numpy
from iokr.data.objects import error_context
from iokr.estimators.areas import AreaRule, areas_by_name, freedom
from iokr.estimators.regression.evaluate import Grid, check_grid, check_quadratic, closed_paths, fit_on_path, solutions
from iokr.estimators.regression.posing import Data, pose
from iokr.estimators.search.engine import Part
from iokr.estimators.search.result import Axis, check_values, listed
from iokr.kernels.base import Kernel
from iokr.manifolds.base import Manifold
from iokr.model_selection.nodes import TooFewLinks
from iokr.operator_kernels.base import OperatorKernel
from iokr.problem import Problem
from iokr.solvers.base import Solver

__all__ = ["LinkFold", "LinkGrid", "check_link_grid", "leave_nodes_out", "on_node_folds"]

Targets = Callable[[int, Manifold | None], Data]
"""The data that are learned from, by the number of the output kernel, with unlabelled nodes if there is a manifold."""


@dataclass(frozen=True, eq=False)
class LinkGrid:
    """What is searched; `manifold_weights` has a list for each manifold, all of one length."""

    kernels: list[Kernel | OperatorKernel]
    output_kernels: list[Kernel | None]
    manifolds: list[Manifold | None]
    manifold_weights: list[list[float]]
    alphas: list[float]
    own_weights: bool  # whether each manifold has its own weight, in place of a searched one

    @property
    def axes(self) -> tuple[Axis, ...]:
        """The searched parameters, by their names in `LinkPredictor`."""
        weights: Sequence[Any] = [None] if self.own_weights else self.manifold_weights[0]
        return (
            Axis("kernel", self.kernels),
            Axis("output_kernel", self.output_kernels),
            Axis("manifold", self.manifolds),
            Axis("manifold__weight", weights),
            Axis("alpha", self.alphas),
        )

    def parts(self) -> Iterator[tuple[int, int, list[int], Grid]]:
        """(kernel, manifold, output kernels that share its paths, its grid over manifold weights and alphas).

        A kernel that does not learn from the outputs is factored once for all of them.
        """
        everyone = list(range(len(self.output_kernels)))
        for i, kernel in enumerate(self.kernels):
            groups = [everyone]
            if isinstance(kernel, OperatorKernel) or kernel.supervised:
                groups = [[b] for b in everyone]
            for m, manifold_weights in enumerate(self.manifold_weights):
                for group in groups:
                    yield i, m, group, Grid([kernel], manifold_weights, self.alphas)


@dataclass(frozen=True, eq=False)
class LinkFold:
    """Data to learn from, one for each output kernel, the nodes to be scored, and the areas of their values h."""

    data: Targets
    X: Any
    measure: Callable[[Array], dict[str, float]]


def check_link_grid(kernel: Any, output_kernel: Any, manifold: Any, manifold_weights: Any, alphas: Any) -> LinkGrid:
    """One of each or lists of them; without manifold_weights, each manifold's own."""
    manifolds = listed(manifold, "manifold")
    some = next((m for m in manifolds if m is not None), None)
    grid = check_grid(kernel, manifold_weights, alphas, some)
    if manifold_weights is None:
        weights = [[0.0 if m is None else m.weight] for m in manifolds]
    elif None in manifolds:
        raise ValueError("`manifold` has None among its values; with `manifold_weights` let 0 be one of these instead.")
    else:
        weights = [check_values(manifold_weights, "manifold_weights", strict=False)] * len(manifolds)
    outputs = listed(output_kernel, "output_kernel")
    return LinkGrid(grid.kernels, outputs, manifolds, weights, grid.alphas, own_weights=manifold_weights is None)


def leave_nodes_out(
    grid: LinkGrid,
    data: Targets,
    pairs: tuple[np.ndarray, np.ndarray, np.ndarray],
    rule: AreaRule,
    solver: Solver | None,
) -> Iterator[Part]:
    """Areas of ⟨h₋ᵢ(x_i), h₋ⱼ(x_j)⟩ over labelled pairs, in closed form; parts solve to a `Fit`."""
    rows, columns, linked = pairs
    for i, m, group, part in grid.parts():
        manifold = grid.manifolds[m]
        targets = {b: data(b, manifold) for b in group}
        one = targets[group[0]]
        check_quadratic(one)
        for j, (inputs, kept, problem, path) in enumerate(closed_paths(one, part, manifold, solver)):
            if j == 0:  # it does not depend on the weight of the manifold
                free = _freedom(problem, rule, grid.alphas)
            for b in group:
                yield Part((i, b, m, j), {"freedom": free})
                Psi = asarray_like(targets[b].targets.Psi, problem.like)
                solve = partial(fit_on_path, inputs, kept, path, Psi, part.manifold_weights[j])
                for k, alpha in enumerate(grid.alphas):
                    H = Psi - path.loo_residuals(Psi, alpha)
                    areas = areas_by_name(linked, to_numpy(gemm(H, H))[rows, columns])
                    yield Part((i, b, m, j, k), areas, solve=solve)


def _freedom(problem: Problem, rule: AreaRule, alphas: Sequence[float]) -> np.ndarray:
    """`freedom` on the labelled nodes; constant if the rule does not need it."""
    n = problem.n_labeled
    if rule.rule == "best" or len(alphas) == 1 or problem.gram.products_only:
        return np.full(len(alphas), 1 / len(alphas))
    K = problem.gram.K
    known = K.eigenpairs(known=True) if K.shape[0] == n else None
    if known is not None:
        return freedom(to_numpy(known[0]), alphas)
    return freedom(np.linalg.eigvalsh(to_numpy(K.restrict(np.arange(n)).detach(lower=True))), alphas)


def on_node_folds(
    grid: LinkGrid, data: Targets, folds: Iterable[LinkFold], rule: AreaRule, solver: Solver | None
) -> Iterator[Part]:
    """Areas of each fold, with every output kernel made anew from the links of its training nodes."""
    n_folds = 0
    for number, fold in enumerate(folds):
        n_folds += 1
        for i, m, group, part in grid.parts():
            manifold = grid.manifolds[m]
            targets = [fold.data(b, manifold) for b in group]
            inputs, problem = pose(targets[0], grid.kernels[i], manifold, solver=solver)
            with error_context("X"):
                R = inputs.kernel.represent(fold.X)
            Psi = [asarray_like(one.targets.Psi, problem.like) for one in targets]
            problem = replace(problem, manifold_weight=part.manifold_weights[0])
            for t, j, k, solution in solutions(problem, part, solver, Psi):
                yield Part((i, group[t], m, j, k), fold.measure(inputs.values(R, solution)), number)
    if not n_folds:
        raise TooFewLinks("No fold has links to learn from and links to find; use fewer folds.")
    for i, m, group, part in grid.parts():
        free = _freedom(pose(data(group[0], grid.manifolds[m]), grid.kernels[i])[1], rule, grid.alphas)
        for b in group:
            for j in range(len(part.manifold_weights)):
                yield Part((i, b, m, j), {"freedom": free})
