"""Forty-eight nodes in four groups, linked within them: inputs X, links W, and the kernel K of the inputs."""

import numpy as np

from iokr.kernels import RBF

__all__ = ["GROUP", "K", "N", "W", "X"]

N = 48
_rng = np.random.default_rng(0)
GROUP = np.arange(N) % 4
X = np.eye(4)[GROUP] + 0.4 * _rng.normal(size=(N, 4))
W = np.triu((GROUP[:, None] == GROUP[None, :]) & (_rng.random((N, N)) < 0.6), 1).astype(float)
W = W + W.T
K = RBF(0.5)(X)
