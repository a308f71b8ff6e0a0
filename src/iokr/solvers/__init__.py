"""Algorithms: from a `Problem` to a `Solution`, and closed-form paths with leave-one-out."""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.solvers.auto import Auto
    from iokr.solvers.base import Choice, Path, Reduction, Solver, Use
    from iokr.solvers.closed_form.cholesky import Cholesky
    from iokr.solvers.closed_form.eigen import Eigen, ManifoldEigen
    from iokr.solvers.closed_form.lowrank import LowRank
    from iokr.solvers.closed_form.paths import ClosedForm
    from iokr.solvers.iterative.admm import ADMM
    from iokr.solvers.iterative.conjugate_gradient import ConjugateGradient
    from iokr.solvers.iterative.coordinate_descent import CoordinateDescent
    from iokr.solvers.iterative.irls import IRLS
    from iokr.solvers.iterative.lbfgs import LBFGS
    from iokr.solvers.iterative.mixed_precision import MixedPrecision
    from iokr.solvers.reduced_rank import ReducedRank

__all__ = [
    "ADMM",
    "IRLS",
    "LBFGS",
    "Auto",
    "Choice",
    "Cholesky",
    "ClosedForm",
    "ConjugateGradient",
    "CoordinateDescent",
    "Eigen",
    "LowRank",
    "ManifoldEigen",
    "MixedPrecision",
    "Path",
    "ReducedRank",
    "Reduction",
    "Solver",
    "Use",
]

__getattr__, __dir__ = lazy_names(__name__)
