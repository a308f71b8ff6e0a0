"""One loss along many alphas, each solution started from its neighbour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.kernels.base import Kernel
from iokr.losses.base import Loss
from iokr.problem import Problem, Solution
from iokr.solvers.auto import Auto

__all__ = ["Fit", "path"]

Matrix = NDArray[np.float64]


@dataclass(frozen=True)
class Fit:
    """h(x) = Σ cᵢ k(x, xᵢ) at one alpha."""

    alpha: float
    solution: Solution
    kernel: Kernel
    R: Any  # the training inputs, as the kernel holds them

    def values(self, X: Matrix) -> Matrix:
        """h(x), a row per input."""
        return np.asarray(self.kernel.gram(self.kernel.represent(X), self.R) @ self.solution.C)

    @property
    def lengths(self) -> Matrix:
        """‖cᵢ‖ of every training point."""
        return np.asarray(np.linalg.norm(np.asarray(self.solution.C), axis=1))


def path(kernel: Kernel, X: Matrix, Y: Matrix, loss: Loss, alphas: Sequence[float], *, tol: float = 1e-6) -> list[Fit]:
    """A fit for every alpha, in their order; solved from the largest down, as `IOKRCV` does."""
    kernel = kernel.fit(X)
    R = kernel.represent(X)
    gram = kernel.gram(R)
    fits: dict[float, Fit] = {}
    solution = None
    for alpha in sorted(map(float, alphas), reverse=True):
        solution = Auto(tol=tol).solve(Problem(gram, Y, loss, alpha), solution)
        fits[alpha] = Fit(alpha, solution, kernel, R)
    return [fits[float(alpha)] for alpha in alphas]
