"""Paths of closed forms, for kernels that separate and others, with complete and missing entries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import ClassVar

from iokr._system.memory import device_errors
from iokr.problem import Problem, Solution
from iokr.solvers._routes import refusal
from iokr.solvers.base import Path, Solver, refuses_products
from iokr.solvers.closed_form.blocks import BlockPath, flatten
from iokr.solvers.closed_form.missing import masked_path
from iokr.solvers.closed_form.symmetric_system import weight_ratio

__all__ = ["ClosedForm", "refuses_weights"]


class ClosedForm(Solver):
    """Solvers of quadratic problems: one factorisation for all α, with exact leave-one-out.

    `solver.path(problem)` gives every α of a problem, `solver.paths(problem, manifold_weights)` a path per manifold
    weight.
    A subclass writes `_path`, for a separable kernel and complete targets.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import Linear
    >>> from iokr.losses import Square
    >>> from iokr.problem import Problem
    >>> from iokr.solvers import Eigen
    >>> problem = Problem(Linear().gram(np.array([[1.0], [2.0]])), np.array([[1.0], [2.0]]), Square(), 1.0)
    >>> Eigen().path(problem).loo_errors(problem.Psi, [0.1, 1.0]).round(3)
    array([0.017, 0.52 ])
    """

    in_own_units: ClassVar[bool] = False  # linear in Ψ, by factors that do not depend on units

    def refuses(self, problem: Problem) -> str | None:
        """A quadratic loss and a matrix are required. May be overridden."""
        if not problem.loss.quadratic:
            return f"`loss` must be quadratic, got {problem.loss!r}; use `Auto()`."
        return refuses_products(problem)

    @abstractmethod
    def _path(self, problem: Problem) -> Path:
        """The path of a separable kernel without missing entries."""

    def _paths(self, problem: Problem, manifold_weights: Sequence[float]) -> Iterator[Path]:
        """A path per manifold weight, with shared factors. May be overridden."""
        for manifold_weight in manifold_weights:
            yield self._path(replace(problem, manifold_weight=manifold_weight))

    def paths(self, problem: Problem, manifold_weights: Sequence[float]) -> Iterator[Path]:
        """A path per manifold weight, for all kernels and missing entries."""
        self.check(problem)
        with device_errors(self.memory(problem), *refusal(self, problem), problem.like):
            yield from self._any_paths(problem, manifold_weights)

    def _any_paths(self, problem: Problem, manifold_weights: Sequence[float]) -> Iterator[Path]:
        if problem.gram.operator is None:
            flat = flatten(problem)
            for manifold_weight, path in zip(manifold_weights, self._paths(flat, manifold_weights), strict=True):
                yield BlockPath(
                    replace(problem, manifold_weight=manifold_weight),
                    replace(flat, manifold_weight=manifold_weight),
                    path,
                )
        elif problem.mask is not None:
            yield from (
                masked_path(self.path, replace(problem, manifold_weight=manifold_weight))
                for manifold_weight in manifold_weights
            )
        else:
            yield from self._paths(problem, manifold_weights)

    def path(self, problem: Problem) -> Path:
        """The path over α of this problem."""
        return next(self.paths(problem, [problem.manifold_weight]))

    def _solve(self, problem: Problem, start: Solution | None) -> Solution:
        path = next(self._any_paths(problem, [problem.manifold_weight]))  # `solve` has checked the memory
        return path.solution(problem.Psi, problem.alpha)


def refuses_weights(problem: Problem) -> str | None:
    """Why a penalty cannot be combined with these weights: its block factor has w^{-½}."""
    if weight_ratio(problem) > 1e6:
        return "`sample_weight` spreads over more than six orders of magnitude; use `ManifoldEigen()`."
    return None
