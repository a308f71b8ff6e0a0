"""Small problems with missing targets that an operator couples."""

import numpy as np

from iokr.kernels import RBF
from iokr.losses import Square
from iokr.operator_kernels import Decomposable
from iokr.problem import Problem

ALPHA = 0.1


def masked(share=0.6, n=12, q=5, weight=None, seed=0, intercept=False):
    rng = np.random.default_rng(seed)
    X, Y = rng.normal(size=(n, 2)), rng.normal(size=(n, q))
    t = np.linspace(0, 1, q)
    A = np.exp(-3 * (t[:, None] - t) ** 2)
    mask = rng.uniform(size=(n, q)) < share
    mask[np.arange(n), rng.integers(q, size=n)] = True
    kernel = Decomposable(RBF(0.5), A).fit(X, Y)
    gram = kernel.gram(kernel.represent(X))
    constants = np.ones((n, 1)) if intercept else None
    problem = Problem(gram, np.where(mask, Y, 0.0), Square(), ALPHA, weight=weight, mask=mask, constants=constants)
    return X, np.where(mask, Y, np.nan), A, problem


WEIGHT = np.array([1.0, 2.0, 0.5, 0.0, 1.0, 1.0, 3.0, 1.0, 1.0, 1.0, 0.2, 1.0])
