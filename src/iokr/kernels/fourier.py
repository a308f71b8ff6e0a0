"""cos and sin of random projections: kernels of x − z in few features, without looking at the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, is_sparse, matmul
from iokr._component import component
from iokr._validation.arguments import check_choice, check_integer, check_vectors
from iokr.kernels.base import FeatureKernel, Kernel, fit_part
from iokr.kernels.landmarks import generator
from iokr.kernels.vectors import RBF, Laplacian

__all__ = ["Fourier"]


@component
class Fourier(FeatureKernel):
    """k̂(x, z) = ⟨φ(x), φ(z)⟩ ≈ k(x, z), φ(x) = k^{-½}[cos Ωᵀx, sin Ωᵀx], k = rank/2 random frequencies Ω.

    `RBF`: Ω = √(2γ) G with normal G, orthogonal in blocks of p columns, of the lengths of normal vectors, which lowers
    the variance. `Laplacian`: Ω_ij = γ·Cauchy. On average k̂ is k, but it is no projection: K̂ ≤ K does not hold,
    nothing certifies it, and on outputs use `embeddings.Nystroem`. It needs more features than `Nystroem`, but no
    object: 2p·rank flops each.

    Parameters
    ----------
    base : RBF or Laplacian
        k.
    n_components : int, default=100
        How many features, at least 2; an odd number is lowered by one.
    orthogonal : bool, default=None
        None: for `RBF`. `Laplacian` has none.
    random_state : int, RandomState or None, default=None
        None is the same draw every time.

    Attributes
    ----------
    base_ : Kernel
        Fitted.
    center_ : array of shape (p,), or None
        The mean of dense objects, from which x is measured.
    frequencies_ : ndarray of shape (p, rank // 2)
        Ω.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.kernels import RBF, Fourier
    >>> X = np.linspace(0, 1, 50)[:, None]
    >>> bool(np.abs(Fourier(RBF(1.0), n_components=2000)(X) - RBF(1.0)(X)).max() < 0.1)
    True
    """

    base: Kernel
    n_components: int = 100
    orthogonal: bool | None = None
    random_state: Any = None

    domain = "vectors"

    def fit(self, X: Any) -> Fourier:
        """Fit a clone of the base and draw the frequencies."""
        half = check_integer(self.n_components, "n_components", minimum=2) // 2
        check_choice(self.orthogonal, "orthogonal", (None, True, False))
        if isinstance(self.base, Kernel) and not isinstance(self.base, (RBF, Laplacian)):
            raise ValueError(
                f"`base` must be `RBF` or `Laplacian`, whose frequencies are known, got {self.base!r}; use "
                "`Nystroem(base, n_components)`."
            )
        self.base_ = fit_part(self.base, "base", X)
        X = check_vectors(X)
        p, rng = int(X.shape[1]), generator(self.random_state)
        self.center_ = None if is_sparse(X) else _middle(X)
        if isinstance(self.base_, Laplacian):
            if self.orthogonal:
                raise ValueError(
                    "`orthogonal` must be False or None with `Laplacian`: its frequencies are independent."
                )
            self.frequencies_ = self.base_.gamma_ * rng.standard_cauchy(size=(p, half))
        else:
            G = rng.normal(size=(p, half)) if self.orthogonal is False else _orthogonal(p, half, rng)
            self.frequencies_ = np.sqrt(2 * self.base_.gamma_) * G
        return self

    def features(self, X: Any) -> Array:
        """k^{-½}[cos Ωᵀx, sin Ωᵀx], a row per object."""
        X = check_vectors(X)
        if self.center_ is not None:  # k does not change when all objects move, and small angles have more digits
            X = (X.toarray() if is_sparse(X) else X) - asarray_like(self.center_, X)[None, :]
        angles = matmul(X, asarray_like(self.frequencies_, X))
        xp = array_namespace(angles)
        return xp.concat([xp.cos(angles), xp.sin(angles)], axis=1) / self.frequencies_.shape[1] ** 0.5


def _middle(X: Array) -> Array:
    """Half way between the ends of every column: far from the origin angles would lose their digits."""
    xp = array_namespace(X)
    return xp.min(X, axis=0) / 2 + xp.max(X, axis=0) / 2


def _orthogonal(p: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """Orthogonal columns, p at a time, of the lengths that normal vectors have."""
    blocks = []
    for start in range(0, k, p):
        Q, _ = np.linalg.qr(rng.normal(size=(p, p)))
        lengths = np.sqrt(rng.chisquare(p, size=p))
        blocks.append((Q * lengths)[:, : min(p, k - start)])
    return np.concatenate(blocks, axis=1)
