"""A kernel on time series of different lengths and speeds."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import pdist

from iokr._array import Array, blocks, is_array, to_numpy
from iokr._component import Limits, component
from iokr._system.compile import compiled
from iokr._validation.arguments import POSITIVE, either
from iokr.data.frames import read
from iokr.data.objects import BadObject, BadObjectType, Parts, as_objects, n_objects
from iokr.data.ragged import LANES, Ragged, pair_tiles, side_by_side
from iokr.kernels.base import UnitKernel

__all__ = ["GlobalAlignment", "series"]

_LARGEST = 1e150  # larger numbers overflow when squared
_POINTS = 1 << 16  # entries of a panel of similarities between points: 512 kB, which stay in the cache
_SAMPLE = 1000  # points from which the bandwidth is estimated, at most
_HUGE = 1e100  # numbers above it, and below its inverse, are rescaled in the recursion


def series(X: Any, n_channels: int | None = None) -> Ragged:
    """Series of shape (T, d), or (T,), one after the other. Errors give the number of the series."""
    n_objects(X)
    X = read(X, matrix=True)
    parts = [_points(x, i) for i, x in enumerate(to_numpy(X) if is_array(X) else as_objects(X))]
    if not parts:
        raise ValueError("There are no series; at least one is needed.")
    width = n_channels or parts[0].shape[1]
    for i, values in enumerate(parts):
        if values.shape[1] != width:
            raise BadObject("Series", i, f" has {values.shape[1]} channels where others have {width}.")
    return Ragged.of(np.concatenate(parts), [len(part) for part in parts])


def _points(x: Any, i: int) -> np.ndarray:
    """One series as a finite matrix (T, d)."""
    try:
        values = np.asarray(to_numpy(x) if is_array(x) else x, dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        raise BadObjectType(
            "Series", i, f" must be an array of numbers of shape (T, d) or (T,), got {x!r:.60}."
        ) from None
    if values.ndim == 1:
        values = values[:, None]
    if values.ndim != 2 or values.size == 0:
        raise BadObject("Series", i, f" must have shape (T, d) or (T,) with T at least 1, got {np.shape(x)}.")
    if not np.all(np.abs(values) < _LARGEST):
        raise BadObject(
            "Series", i, " contains NaN or infinity, or numbers too large to be squared; remove or impute these points."
        )
    return values


@component
class GlobalAlignment(UnitKernel):
    """k(x, z) = K(x, z) / √(K(x, x) K(z, z)), K the sum over all alignments of x and z of Π κ over aligned points.

    κ(a, b) = g/(2 − g) with g = exp(−‖a − b‖²/(2σ²)), which makes K positive definite. An alignment moves through both
    series by steps of one in x, in z or in both, so K follows from

        M[p, q] = κ(x_p, z_q) (M[p−1, q] + M[p, q−1] + M[p−1, q−1]),   K = M[|x|, |z|]

    in |x| |z| steps for a pair, compiled with the `fast` extra, else in NumPy for many pairs at once. Intermediate
    numbers are rescaled, so that long series do not underflow.

    Parameters
    ----------
    sigma : float, default=None
        Bandwidth; larger is smoother. None: the median distance between distinct points at `fit` (at most 1000, taken
        evenly) times the square root of the median length.

    Attributes
    ----------
    sigma_ : float

    Examples
    --------
    >>> from iokr.kernels import GlobalAlignment
    >>> GlobalAlignment(1.0)([[0.0, 1.0, 2.0]], [[0.0, 0.0, 1.0, 2.0], [2.0, 1.0, 0.0]]).round(3)
    array([[0.711, 0.006]])

    References
    ----------
    Cuturi, "Fast global alignment kernels", ICML 2011.
    """

    sigma: float | None = None

    domain = "series"
    panel = 2 * LANES
    limits: ClassVar[Limits] = {"sigma": either(None, POSITIVE)}

    def fit(self, X: Any) -> GlobalAlignment:
        """Fix the bandwidth and the number of channels."""
        self.check_parameters()
        R = series(X)
        self.n_channels_ = int(R.values.shape[1])
        if self.sigma is not None:
            self.sigma_ = float(self.sigma)
            return self
        points = np.unique(R.values, axis=0)
        points = points[np.linspace(0, len(points) - 1, min(len(points), _SAMPLE)).astype(np.intp)]
        distances = pdist(points)
        self.sigma_ = float(np.median(distances) * np.sqrt(np.median(R.lengths))) if len(distances) else 1.0
        return self

    def represent(self, X: Any) -> Parts:
        """The points, and log K(x, x)."""
        R = series(X, self.n_channels_)
        return Parts(R, pair_tiles(R, R, self._compare, paired=True, flat=True)[:, 0])

    def block(self, R: Parts, S: Parts) -> Array:
        X, x_logs = R
        Z, z_logs = S
        loop = compiled(_align)
        logs = pair_tiles(X, Z, self._compare, flat=True) if loop is None else self._compiled(loop, X, Z)
        logs -= x_logs[:, None] / 2
        logs -= z_logs[None, :] / 2
        return np.exp(logs, out=logs)

    def _local(self, D: np.ndarray) -> np.ndarray:
        """κ from squared distances, in place."""
        D *= -0.5 / self.sigma_**2
        np.exp(D, out=D)
        D /= 2.0 - D
        return D

    def _compiled(self, loop: Any, X: Ragged, Z: Ragged) -> np.ndarray:
        """log K of all pairs, from panels of exp(‖a − b‖²/(2σ²)) between points of some x and of some z."""
        logs = np.empty((len(X), len(Z)))
        distances = compiled(_add_squares)
        assert distances is not None
        width = 1.0 / (np.sqrt(2.0) * self.sigma_)
        order, lanes, lengths = side_by_side(Z, -np.inf)  # κ = 0 beyond the ends
        left = X.gathered()
        starts = np.cumsum(X.lengths) - X.lengths
        ends = starts + X.lengths
        longest = int(X.lengths.max(initial=1))
        stops = np.cumsum(lengths)
        for g, (stop, length) in enumerate(zip(stops, lengths, strict=True)):
            right = np.ascontiguousarray(lanes[stop - length : stop].reshape(length * LANES, -1).T)
            mine = order[g * LANES : (g + 1) * LANES]
            here = np.empty((len(X), LANES))
            sizes = np.ones(LANES, dtype=np.intp)
            sizes[: len(mine)] = Z.lengths[mine]
            height = max(1, _POINTS // right.shape[1] // longest)
            panel = np.empty((height * longest, right.shape[1]))
            for rows in blocks(len(X), height):
                first = starts[rows.start]
                E = panel[: ends[rows.stop - 1] - first]
                distances(left[first : ends[rows.stop - 1]], right, width, E)
                with np.errstate(over="ignore"):
                    np.exp(E, out=E)
                loop(E, starts[rows] - first, X.lengths[rows], length, sizes, here[rows])
            logs[:, mine] = here[:, : len(mine)]
        return logs

    def _compare(self, X: Ragged, Z: Ragged) -> np.ndarray:
        """log K(x_i, z_i) of all pairs at once, along the diagonals p + q = k of M, (|x| + 2, pairs) each."""
        x = np.ascontiguousarray(X.padded(np.inf).T)  # (channels, |x|, pairs); κ = 0 beyond the ends
        z = np.ascontiguousarray(Z.padded(-np.inf)[:, ::-1].T)
        longest = x.shape[1]
        others = z.shape[1]
        here, last, before = np.zeros((3, longest + 2, len(X)))  # entry p + 1 is M[p, k − p]; for k, k − 1 and k − 2
        before[0] = 1.0
        result = np.empty(len(X))
        scale = np.zeros(len(X))
        largest = np.zeros(len(X))
        ends = X.lengths + Z.lengths - 2
        for k in range(longest + others - 1):
            low = max(0, k - others + 1)
            high = min(k, longest - 1)
            shift = others - 1 - k
            inside = here[low + 1 : high + 2]
            np.add(last[low : high + 1], last[low + 1 : high + 2], out=inside)
            inside += before[low : high + 1]
            inside *= self._local(_squares(x[:, low : high + 1], z[:, shift + low : shift + high + 1]))
            here[low] = 0.0
            here[high + 2] = 0.0
            done = np.flatnonzero(ends == k)
            with np.errstate(divide="ignore"):
                result[done] = np.log(here[X.lengths[done], done]) + scale[done]
            now = inside.max(axis=0)
            size = np.maximum(now, largest)
            largest = now
            usual = (size > 1 / _HUGE) & (size < _HUGE)
            if not usual.all():
                size[usual | (size == 0.0)] = 1.0
                here /= size
                last /= size
                largest = largest / size
                scale += np.log(size)
            here, last, before = before, here, last
        return result


def _squares(x: np.ndarray, z: np.ndarray) -> np.ndarray:
    """Σ_c (x_c − z_c)² over the first axis."""
    total: np.ndarray = x[0] - z[0]
    total *= total
    for a, b in zip(x[1:], z[1:], strict=True):
        apart = a - b
        apart *= apart
        total += apart
    return total


def _align(E: Any, starts: Any, lengths: Any, longest: Any, sizes: Any, logs: Any) -> None:
    """logs[i, w] = log K(x_i, z_w) for z side by side, κ = 1/(2E − 1); Numba compiles it."""
    M = np.empty((longest + 1, LANES))
    left = np.empty(LANES)
    diagonal = np.empty(LANES)
    largest = np.empty(LANES)
    scale = np.empty(LANES)
    for i in range(len(lengths)):
        M[:] = 0.0
        M[0] = 1.0
        scale[:] = 0.0
        for p in range(starts[i], starts[i] + lengths[i]):
            for w in range(LANES):
                diagonal[w] = M[0, w]
                left[w] = 0.0
                largest[w] = 0.0
                M[0, w] = 0.0
            for q in range(longest):
                for w in range(LANES):
                    above = M[q + 1, w]
                    kappa = 1.0 / (2.0 * E[p, q * LANES + w] - 1.0)
                    new = kappa * left[w] + kappa * (above + diagonal[w])  # only one sum waits for the step to the left
                    M[q + 1, w] = new
                    diagonal[w] = above
                    left[w] = new
                    largest[w] = new if new > largest[w] else largest[w]
            for w in range(LANES):
                if largest[w] > 0.0 and (largest[w] < 1.0 / _HUGE or largest[w] > _HUGE):
                    for q in range(1, longest + 1):
                        M[q, w] /= largest[w]
                    scale[w] += np.log(largest[w])
        for w in range(LANES):
            end = M[sizes[w], w]
            logs[i, w] = np.log(end) + scale[w] if end > 0.0 else -np.inf


def _add_squares(X: Any, Z: Any, width: Any, D: Any) -> None:
    """D[i, j] = ‖w(x_i − z_j)‖² for the columns z_j of Z; Numba compiles it."""
    for i in range(X.shape[0]):
        D[i] = 0.0
        for c in range(X.shape[1]):
            x = X[i, c]
            for j in range(Z.shape[1]):
                apart = width * (x - Z[c, j])
                D[i, j] += apart * apart
