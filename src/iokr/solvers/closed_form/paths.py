"""From the path of a plain problem to those of kernels that do not separate and of missing entries."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import replace

from iokr.problem import Problem
from iokr.solvers.base import ClosedForm, Path
from iokr.solvers.closed_form.blocks import BlockPath, flatten
from iokr.solvers.closed_form.missing import masked_path
from iokr.solvers.closed_form.symmetric_system import weight_ratio

__all__ = ["PathSolver", "refuses_weights"]


class PathSolver(ClosedForm):
    """A closed form that gives a `Path` for a separable kernel and complete targets: write `_path`.

    Callers ask for `solver.path(problem)` or, for several manifold strengths, iterate over
    `solver.paths(problem, strengths)`; each path then gives every α.
    """

    @abstractmethod
    def _path(self, problem: Problem) -> Path:
        """The path of a separable kernel without missing entries."""

    def _paths(self, problem: Problem, strengths: Sequence[float]) -> Iterator[Path]:
        """A path per manifold strength; what they share is computed once. May be overridden."""
        for strength in strengths:
            yield self._path(replace(problem, strength=strength))

    def paths(self, problem: Problem, strengths: Sequence[float]) -> Iterator[Path]:
        """A path per manifold strength, whatever the kernel and whether entries are missing."""
        self.check(problem)
        if problem.gram.operator is None:
            flat = flatten(problem)
            for strength, path in zip(strengths, self._paths(flat, strengths), strict=True):
                yield BlockPath(replace(problem, strength=strength), replace(flat, strength=strength), path)
        elif problem.mask is not None:
            yield from (masked_path(self, replace(problem, strength=strength)) for strength in strengths)
        else:
            yield from self._paths(problem, strengths)


def refuses_weights(problem: Problem) -> str | None:
    """With a penalty, whose block factor has w^{-½}: as many digits are lost as the weights span."""
    if weight_ratio(problem) > 1e6:
        return "`sample_weight` spreads over more than six orders of magnitude; use `ManifoldEigen()`."
    return None
