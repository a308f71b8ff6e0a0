"""Losses ℓ(h, ψ), convex in h."""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.losses.base import Loss
    from iokr.losses.epsilon import EpsilonInsensitive, EpsilonSquare, Insensitive
    from iokr.losses.huber import Huber
    from iokr.losses.margin import MaxMargin
    from iokr.losses.pinball import BoxLoss, Expectile, Pinball
    from iokr.losses.radial import RadialLoss
    from iokr.losses.square import Square

__all__ = [
    "BoxLoss",
    "EpsilonInsensitive",
    "EpsilonSquare",
    "Expectile",
    "Huber",
    "Insensitive",
    "Loss",
    "MaxMargin",
    "Pinball",
    "RadialLoss",
    "Square",
]

__getattr__, __dir__ = lazy_names(__name__)
