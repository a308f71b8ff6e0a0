"""Problems over pairs of nodes, without a matrix of pairs."""

from iokr.solvers.pairs.margin import PairMargin
from iokr.solvers.pairs.ridge import PairRidge

__all__ = ["PairMargin", "PairRidge"]
