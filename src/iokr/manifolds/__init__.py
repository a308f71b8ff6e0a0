"""Manifold regularisation (μ/2) Σ_ij L_ij ⟨h(x_i), h(x_j)⟩, by labelled and unlabelled inputs."""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.manifolds.base import Given, Manifold
    from iokr.manifolds.laplacian import Heat, IteratedLaplacian, Laplacian

__all__ = ["Given", "Heat", "IteratedLaplacian", "Laplacian", "Manifold"]

__getattr__, __dir__ = lazy_names(__name__)
