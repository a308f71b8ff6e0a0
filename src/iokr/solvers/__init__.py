"""Algorithms: from a `Problem` to a `Solution`, and closed-form paths with leave-one-out."""

from iokr.solvers.auto import Auto
from iokr.solvers.base import ClosedForm, Path, Solver
from iokr.solvers.cholesky import Cholesky
from iokr.solvers.eigen import Eigen
from iokr.solvers.manifold import ManifoldEigen

__all__ = ["Auto", "Cholesky", "ClosedForm", "Eigen", "ManifoldEigen", "Path", "Solver"]
