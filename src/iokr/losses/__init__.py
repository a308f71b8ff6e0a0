"""Losses ℓ(h, ψ), convex in h, a file each."""

from iokr.losses.base import Loss
from iokr.losses.square import Square

__all__ = ["Loss", "Square"]
