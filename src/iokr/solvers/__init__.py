"""Algorithms: from a `Problem` to a `Solution`, and closed-form paths with leave-one-out."""

from iokr.solvers.admm import ADMM
from iokr.solvers.auto import Auto
from iokr.solvers.base import ClosedForm, Path, Solver
from iokr.solvers.cholesky import Cholesky
from iokr.solvers.conjugate import ConjugateGradient
from iokr.solvers.coordinate import CoordinateDescent
from iokr.solvers.eigen import Eigen
from iokr.solvers.irls import IRLS
from iokr.solvers.lowrank import LowRank
from iokr.solvers.manifold import ManifoldEigen

__all__ = [
    "ADMM",
    "IRLS",
    "Auto",
    "Cholesky",
    "ClosedForm",
    "ConjugateGradient",
    "CoordinateDescent",
    "Eigen",
    "LowRank",
    "ManifoldEigen",
    "Path",
    "Solver",
]
