"""Heat-kernel penalties."""

from __future__ import annotations

from typing import Any

from iokr._array import Array, array_namespace
from iokr._component import component
from iokr._validation.arguments import check_choice, check_number
from iokr.gram.base import Gram
from iokr.manifolds.base import Manifold
from iokr.manifolds.laplacian import laplacian_spectrum

__all__ = ["Heat"]


@component
class Heat(Manifold):
    """I − exp(−βL), L the graph Laplacian: no penalty on constant functions, up to 1 on rough ones.

    Parameters
    ----------
    weight : float, default=1.0
        μ ≥ 0.
    beta : float, default=1.0
        Diffusion time: a larger β also penalises coarser structure.
    literal : bool, default=False
        Use exp(−βL), as printed in Brouard et al. (2011, 2016). It penalises the smoothest functions most, so that
        predictions are rougher than without a penalty; only for reproducing these papers.
    n_neighbors : int, default=None
        As in `Laplacian`.

    Examples
    --------
    >>> from iokr.manifolds import Heat
    >>> Heat(0.1, beta=2.0)
    Heat(beta=2.0, weight=0.1)
    """

    weight: float = 1.0
    beta: float = 1.0
    literal: bool = False
    n_neighbors: int | None = None

    def penalty(self, R: Any, gram: Gram) -> Array:
        """I − exp(−βL), or exp(−βL), shape (N, N)."""
        beta = check_number(self.beta, "beta", minimum=0.0, strict=True)
        values, U = laplacian_spectrum(gram, self.n_neighbors)
        xp = array_namespace(values)
        literal = check_choice(self.literal, "literal", (True, False))
        heat = xp.exp(-beta * values) if literal else -xp.expm1(-beta * values)
        return (U * heat[None, :]) @ U.T
