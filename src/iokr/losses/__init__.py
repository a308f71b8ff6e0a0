"""Losses ℓ(h, ψ), convex in h, a file each."""

from iokr.losses.base import Loss
from iokr.losses.epsilon import EpsilonInsensitive, EpsilonSquare
from iokr.losses.huber import Huber
from iokr.losses.margin import MaxMargin
from iokr.losses.radial import RadialLoss
from iokr.losses.square import Square

__all__ = ["EpsilonInsensitive", "EpsilonSquare", "Huber", "Loss", "MaxMargin", "RadialLoss", "Square"]
