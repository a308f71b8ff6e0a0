"""Random Fourier features: cosines and sines of random projections, for kernels of x − z."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, is_sparse, matmul
from iokr._component import Limits, component
from iokr._validation.arguments import check_integer, check_vectors, one_of
from iokr.kernels.base import FeatureKernel, Kernel, fit_part
from iokr.kernels.landmarks import generator
from iokr.kernels.vectors import RBF, Laplacian

__all__ = ["Fourier"]


@component
class Fourier(FeatureKernel):
    """k̂(x, z) = ⟨φ(x), φ(z)⟩ ≈ k(x, z), φ(x) = k^{-½}[cos Ωᵀx, sin Ωᵀx], k = rank/2 random frequencies Ω.

    `RBF`: Ω = √(2γ) G with normal G, whose columns are made orthogonal in blocks of p, with the lengths of normal
    vectors, which lowers the variance. `Laplacian`: Ω_ij = γ·Cauchy. k̂ is unbiased but not a projection: K̂ ≤ K does
    not hold and `model_selection.certify` does not apply; for outputs use `embeddings.Nystroem`. It needs more features
    than `Nystroem`, which cost 2p flops each and do not depend on the data.

    Parameters
    ----------
    base : RBF or Laplacian
        k.
    n_components : int, default=100
        The number of features, at least 2; an odd number is lowered by one.
    orthogonal : bool, default=None
        Whether frequencies are orthogonal; None is True for `RBF`. Those of `Laplacian` are independent.
    random_state : int, RandomState or None, default=None
        None is the same draw every time.

    Attributes
    ----------
    base_ : Kernel
        Fitted.
    center_ : array of shape (p,), or None
        Half-way between the ends of each column of dense objects: φ is a function of x − `center_`.
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
    limits: ClassVar[Limits] = {
        "n_components": partial(check_integer, minimum=2),
        "orthogonal": one_of(None, True, False),
    }

    def fit(self, X: Any) -> Fourier:
        """Fit a clone of the base and draw the frequencies."""
        self.check_parameters()
        half = self.n_components // 2
        if isinstance(self.base, Kernel) and not isinstance(self.base, (RBF, Laplacian)):
            raise ValueError(
                f"`base` must be `RBF` or `Laplacian`, whose frequencies are known, got {self.base!r}; use "
                "`Nystroem(base, n_components)`."
            )
        self.base_ = fit_part(self.base, "base", X)
        X = check_vectors(X)
        p = int(X.shape[1])
        rng = generator(self.random_state)
        self.center_ = None
        if not is_sparse(X):  # half-way between the ends of every column
            xp = array_namespace(X)
            self.center_ = xp.min(X, axis=0) / 2 + xp.max(X, axis=0) / 2
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
        if self.center_ is not None:  # k is a function of x − z, and small angles have more correct digits
            X = X.toarray() if is_sparse(X) else X
            X = X - asarray_like(self.center_, X)[None, :]
        angles = matmul(X, asarray_like(self.frequencies_, X))
        xp = array_namespace(angles)
        return xp.concat([xp.cos(angles), xp.sin(angles)], axis=1) / self.frequencies_.shape[1] ** 0.5


def _orthogonal(p: int, k: int, rng: np.random.Generator) -> np.ndarray:
    """(p, k): columns orthogonal in blocks of p, with the lengths of normal vectors."""
    blocks = []
    for start in range(0, k, p):
        Q, _ = np.linalg.qr(rng.normal(size=(p, p)))
        lengths = np.sqrt(rng.chisquare(p, size=p))
        blocks.append((Q * lengths)[:, : min(p, k - start)])
    return np.concatenate(blocks, axis=1)
