"""Small seeded problems for the tests."""

from types import SimpleNamespace

import numpy as np
import pytest
from numpy.typing import NDArray

import reference

GAMMA = 0.4

each_intercept = pytest.mark.parametrize("intercept", [False, True], ids=["", "intercept"])


def vectors(n: int, p: int = 2, seed: int = 0) -> NDArray:
    return np.random.default_rng(seed).normal(size=(n, p))


def regression(seed: int = 0, n: int = 11, u: int = 0, m: int = 5, p: int = 2, d: int = 3) -> SimpleNamespace:
    """Inputs (labelled `X`, unlabelled `U`, new `X_new`), vector targets `Y`, Gram matrices of RBF(GAMMA).

    `K` is over labelled, then unlabelled points; `K_new` has a row per new point.
    """
    rng = np.random.default_rng(seed)
    X, U, X_new = (rng.normal(size=(size, p)) for size in (n, u, m))
    Y = np.column_stack([np.sin(X @ rng.normal(size=p) + j) for j in range(d)]) + 0.1 * rng.normal(size=(n, d))
    points = np.vstack([X, U])
    k = reference.rbf(GAMMA)
    return SimpleNamespace(
        X=X,
        U=U,
        X_new=X_new,
        Y=Y,
        K=reference.gram(k, points),
        K_new=reference.gram(k, X_new, points),
        rng=rng,
    )


def operator(kind: str, d: int, seed: int = 7) -> NDArray | None:
    """A positive semi-definite (d, d) matrix of the given kind; None is the identity."""
    rng = np.random.default_rng(seed)
    match kind:
        case "identity":
            return None
        case "scaled":
            return 2.5 * np.eye(d)
        case "full":
            B = rng.normal(size=(d, d))
            return B @ B.T / d + 0.1 * np.eye(d)
        case "tasks":  # few distinct eigenvalues
            return 0.7 * np.eye(d) + 0.3 * np.ones((d, d))
        case "rank one":
            b = rng.normal(size=d)
            return np.outer(b, b)
        case "singular":
            B = rng.normal(size=(d, d - 1))
            return B @ B.T / d
        case "diagonal with zero":
            return np.diag(np.arange(d, dtype=float))
    raise ValueError(kind)


OPERATORS = ["identity", "scaled", "full", "tasks", "rank one", "singular", "diagonal with zero"]


def weights(kind: str, n: int, seed: int = 3) -> NDArray | None:
    rng = np.random.default_rng(seed)
    match kind:
        case "none":
            return None
        case "any":
            return rng.uniform(0.2, 3.0, size=n)
        case "zeros":
            w = rng.uniform(0.2, 3.0, size=n)
            w[[1, n - 2]] = 0.0
            return w
        case "tiny":
            w = rng.uniform(0.2, 3.0, size=n)
            w[2] = 1e-14
            return w
    raise ValueError(kind)


def missing(kind: str, Y: NDArray, seed: int = 5) -> NDArray:
    """Y with some entries NaN, none of its rows wholly so."""
    rng = np.random.default_rng(seed)
    n, d = Y.shape
    Y = Y.copy()
    match kind:
        case "none":
            pass
        case "entries":
            holes = rng.uniform(size=(n, d)) < 0.35
            holes[np.arange(n), rng.integers(d, size=n)] = False
            Y[holes] = np.nan
        case "one column":
            Y[rng.permutation(n)[: n // 2], 0] = np.nan
        case "two patterns":
            rows = rng.permutation(n)[: n // 3]
            Y[np.ix_(rows, np.arange(d - 1))] = np.nan
        case _:
            raise ValueError(kind)
    return Y


def problem(
    kind: str = "identity",
    weighted: str = "none",
    holes: str = "none",
    semi: bool = False,
    alpha: float = 0.1,
    mu: float = 0.7,
    seed: int = 1,
    intercept: bool = False,
):
    """One ridge problem twice, as a `Problem` and as a `reference.Ridge`, and K* of new points."""
    from iokr.gram import SeparableGram
    from iokr.gram.operators import as_operator
    from iokr.kernels import RBF
    from iokr.losses import Square
    from iokr.problem import Problem

    s = regression(seed, n=8, u=6 if semi else 0)
    A, w, Y = operator(kind, 3), weights(weighted, 8), missing(holes, s.Y)
    kernel = RBF(GAMMA).fit(s.X)
    gram = kernel.gram(kernel.represent(np.vstack([s.X, s.U])))
    L = reference.graph_laplacian(s.K) if semi else None
    ours = Problem(
        gram if A is None else SeparableGram(gram, as_operator(A)),
        np.nan_to_num(Y),
        Square(),
        alpha,
        penalty=L,
        manifold_weight=mu if semi else 0.0,
        weight=w,
        mask=None if holes == "none" else ~np.isnan(Y),
        constants=np.ones((8, 1)) if intercept else None,
    )
    ridge = reference.Ridge(s.K, Y, alpha, A, L, mu if semi else 0.0, w, intercept=intercept)
    return ours, ridge, s.K_new
