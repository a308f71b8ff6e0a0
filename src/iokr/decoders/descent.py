"""Pre-images under a Gaussian output kernel."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from iokr._array import Array, asarray_like, blocks, is_array, smallest_k, to_numpy
from iokr._component import Limits, component
from iokr._validation.arguments import COUNT, NOT_NEGATIVE
from iokr.decoders._search.linear import output_kernel, output_weights
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding, as_vectors
from iokr.kernels.vectors import RBF

__all__ = ["FixedPoint"]

_ENTRIES = 1 << 22  # entries of a block of kernel values
_HALVINGS = 30  # of a step, at most


@component
class FixedPoint(Decoder):
    """ŷ = argmax_y s(y) = Σ_i β_i(x) exp(−γ‖y − y_i‖²) over ℝᵖ, by y ← Σ_i w_i y_i / Σ_i w_i, w_i = β_i k(y, y_i).

    The step follows the gradient of s, 2γ Σ_i w_i (y_i − y). With negative weights it may be too long; it is then
    halved until s grows, so that s never falls. The search begins from the training outputs with the largest s: ŷ is at
    least as near to h(x) as these, a local maximum of s. For the output kernel `RBF`, also in `Normalized` or `Scaled`.

    Parameters
    ----------
    n_starts : int, default=3
        The number of training outputs to begin from. More take longer and may find better maxima.
    max_iter : int, default=100
        The largest number of steps.
    tol : float, default=1e-8
        Stop when s grows by less than this fraction.

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.decoders import FixedPoint
    >>> from iokr.kernels import RBF
    >>> model = IOKR(RBF(1.0), output_kernel=RBF(0.1), decoder=FixedPoint(), alpha=1e-3)
    >>> model.fit([[0.0], [1.0]], [[0.0, 0.0], [1.0, 2.0]]).predict([[0.5]]).round(2)
    array([[0.5, 1. ]])

    References
    ----------
    Mika, Schölkopf, Smola, Müller, Scholz and Rätsch, "Kernel PCA and de-noising in feature spaces", NIPS 1998.
    """

    n_starts: int = 3
    max_iter: int = 100
    tol: float = 1e-8

    limits: ClassVar[Limits] = {"n_starts": COUNT, "max_iter": COUNT, "tol": NOT_NEGATIVE}

    def _stored(self) -> dict[str, Any]:
        return {"training_outputs": self._Y}

    def fit(self, Y: Any, embedding: Embedding) -> FixedPoint:
        """Keep the training outputs; raise unless the output kernel is `RBF`."""
        self.check_parameters()
        kernel, _ = output_kernel(embedding)
        if not isinstance(kernel, RBF):
            raise ValueError(f"`FixedPoint()` needs the output kernel `RBF`, got {kernel!r}; use `Candidates()`.")
        Y = as_vectors(Y, kernel, "y")
        self._Y = to_numpy(Y) if is_array(Y) else Y.toarray()
        self.gamma_ = float(kernel.gamma_)
        return self

    def decode(self, H: Array, embedding: Embedding) -> Any:
        """For each row of H the best local maximum of s that the search found."""
        weights, _ = output_weights(H, embedding)
        height = max(1, _ENTRIES // (len(self._Y) * self.n_starts))
        found = [self._climb(weights[rows]) for rows in blocks(len(weights), height)]
        return asarray_like(np.concatenate(found), H)

    def _climb(self, beta: np.ndarray) -> np.ndarray:
        """The best of the maxima from `n_starts` training outputs."""
        m = len(beta)
        starts = min(self.n_starts, len(self._Y))
        first = smallest_k(-(beta @ self._kernel(self._Y)), starts)
        points = self._Y[first].reshape(m * starts, -1)
        beta = np.repeat(beta, starts, axis=0)
        values = self._values(points, beta)
        moving = np.arange(len(points))
        for _ in range(self.max_iter):
            if not len(moving):
                break
            new, grown = self._step(points[moving], beta[moving], values[moving])
            gain = grown - values[moving]
            points[moving] = new
            values[moving] = grown
            moving = moving[gain > self.tol * np.abs(grown)]
        best = values.reshape(m, starts).argmax(axis=1)
        return np.asarray(points.reshape(m, starts, -1)[np.arange(m), best])

    def _step(self, y: np.ndarray, beta: np.ndarray, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """(y, s) after one step along the gradient, halved until s does not fall."""
        w = beta * self._kernel(y)
        total = w.sum(axis=1)
        scale = np.maximum(np.abs(total), np.finfo(float).tiny)
        direction = (w @ self._Y - total[:, None] * y) / scale[:, None]
        new = y.copy()
        grown = values.copy()
        length = 1.0
        left = np.flatnonzero(np.isfinite(direction).all(axis=1))
        for _ in range(_HALVINGS):
            if not len(left):
                break
            trial = y[left] + length * direction[left]
            s = self._values(trial, beta[left])
            better = s > values[left]
            new[left[better]] = trial[better]
            grown[left[better]] = s[better]
            left = left[~better]
            length /= 2
        return new, grown

    def _values(self, y: np.ndarray, beta: np.ndarray) -> np.ndarray:
        """s(y_j) with the weights β_j."""
        return np.asarray(np.einsum("ji,ji->j", beta, self._kernel(y)))

    def _kernel(self, y: np.ndarray) -> np.ndarray:
        """exp(−γ‖y_j − y_i‖²) with the training outputs y_i."""
        return np.asarray(np.exp(-self.gamma_ * cdist(y, self._Y, "sqeuclidean")))
