"""Cosines of matched peaks, the similarities of library search."""

from __future__ import annotations

from typing import Any

import numpy as np

from iokr._component import Component, component
from iokr._system.compile import compiled
from iokr._validation.arguments import check_choice, check_number
from iokr.chem.spectra import MassSpectra, read_spectra
from iokr.data.objects import error_context, n_objects

__all__ = ["PeakCosine", "cosine", "modified_cosine"]


@component
class PeakCosine(Component):
    """s(x, z) = Σ_(p,q) w_p w_q / (‖w_x‖ ‖w_z‖), w = I^a, over one-to-one matches of peaks p of x and q of z.

    Peaks match within `tolerance`; with `shifted` also those that differ by the difference of the precursors, as
    fragments with a modification do. Matches are chosen greedily, the largest products first. `cosine` and
    `modified_cosine` have the usual settings: `cosine(spectra, library)` is the matrix of all pairs.

    The matching makes this similarity indefinite, so it is not a kernel; `EmpiricalMap(modified_cosine)` is one.

    Parameters
    ----------
    tolerance : float, default=0.01
        In m/z.
    power : float, default=0.5
        a; a smaller value gives small peaks more weight.
    shifted : bool, default=False

    Examples
    --------
    >>> from iokr.chem import cosine, modified_cosine
    >>> x, z = ([77.0, 105.0], [1.0, 1.0], 122.0), ([77.0, 119.0], [1.0, 1.0], 136.0)
    >>> cosine([x], [z]), modified_cosine([x], [z])
    (array([[0.5]]), array([[1.]]))
    """

    tolerance: float = 0.01
    power: float = 0.5
    shifted: bool = False

    domain = "spectra"
    refusal = (
        "a similarity that matches peaks one to one is not a kernel, as it has negative eigenvalues; use "
        "`ProbabilityProduct`, or its `EmpiricalMap`, whose features are similarities to the training spectra"
    )

    def fit(self, X: Any) -> PeakCosine:
        """Check the parameters."""
        check_number(self.tolerance, "tolerance", minimum=0.0)
        check_number(self.power, "power", minimum=0.0)
        check_choice(self.shifted, "shifted", (True, False))
        return self

    def represent(self, X: Any) -> MassSpectra:
        """The spectra as a block."""
        return read_spectra(X)

    def block(self, R: MassSpectra, S: MassSpectra) -> np.ndarray:
        """The (n, m) array of s(x_i, z_j)."""
        return self._matched(R, S)[0]

    def diag(self, R: MassSpectra) -> np.ndarray:
        """Ones; 0 for spectra without peaks."""
        return (R.lengths > 0).astype(np.float64)

    def __call__(self, X: Any, Z: Any = None) -> np.ndarray:
        """The array of s(x_i, z_j); without Z, of X with itself."""
        return self.matches(X, Z)[0]

    def matches(self, X: Any, Z: Any = None) -> tuple[np.ndarray, np.ndarray]:
        """(s, number of matched peaks) of all pairs."""
        self.fit(X)
        n_objects(X)
        with error_context("X"):
            R = self.represent(X)
        with error_context("Z"):
            return self._matched(R, R if Z is None else self.represent(Z))

    def _matched(self, R: MassSpectra, S: MassSpectra) -> tuple[np.ndarray, np.ndarray]:
        scores = np.zeros((len(R), len(S)))
        counts = np.zeros((len(R), len(S)), dtype=np.intp)
        longest = 2 * max(int(R.lengths.max(initial=0)), 1) * max(int(S.lengths.max(initial=0)), 1)
        products = np.empty(longest)  # of the matching pairs of two spectra
        pairs = np.empty((longest, 2), dtype=np.intp)
        loop = compiled(_match_all) or _match_all
        left = (R.mz, _unit_weights(R, self.power), R.indptr, R.precursor_mz)
        right = (S.mz, _unit_weights(S, self.power), S.indptr, S.precursor_mz)
        loop(*left, *right, float(self.tolerance), bool(self.shifted), products, pairs, scores, counts)
        return scores, counts


def _unit_weights(spectra: MassSpectra, power: float) -> np.ndarray:
    """I^a, each spectrum scaled to length one."""
    owner = np.repeat(np.arange(len(spectra)), spectra.lengths)
    largest = np.zeros(len(spectra))
    np.maximum.at(largest, owner, spectra.intensity)
    weights = (spectra.intensity / largest[owner]) ** power
    norms = np.sqrt(np.bincount(owner, weights**2, len(spectra)))
    return np.asarray(weights / norms[owner])


def _match_all(
    mz: Any, w: Any, starts: Any, ions: Any, others: Any, v: Any, ends: Any, other_ions: Any,
    tolerance: Any, shifted: Any, products: Any, pairs: Any, scores: Any, counts: Any,
) -> None:  # fmt: skip
    """The greedy matching of every pair of spectra; compiled by Numba."""
    used = np.zeros(len(mz) + len(others), dtype=np.uint8)
    for i in range(len(starts) - 1):
        for j in range(len(ends) - 1):
            n = 0
            shift = ions[i] - other_ions[j] if shifted else 0.0
            for turn in range(2 if shifted and abs(shift) > tolerance else 1):
                move = shift if turn else 0.0
                low = ends[j]
                for p in range(starts[i], starts[i + 1]):
                    here = mz[p] - move
                    while low < ends[j + 1] and others[low] < here - tolerance:
                        low += 1
                    q = low
                    while q < ends[j + 1] and others[q] <= here + tolerance:
                        product = w[p] * v[q]
                        k = n  # insertion sort: the largest product first, ties in the order of peaks
                        while k > 0 and products[k - 1] < product:
                            products[k] = products[k - 1]
                            pairs[k, 0] = pairs[k - 1, 0]
                            pairs[k, 1] = pairs[k - 1, 1]
                            k -= 1
                        products[k] = product
                        pairs[k, 0] = p
                        pairs[k, 1] = q
                        n += 1
                        q += 1
            total = 0.0
            matched = 0
            for k in range(n):
                p = pairs[k, 0]
                q = pairs[k, 1] + len(mz)
                if used[p] == 0 and used[q] == 0:
                    used[p] = 1
                    used[q] = 1
                    total += products[k]
                    matched += 1
            for k in range(n):
                used[pairs[k, 0]] = 0
                used[pairs[k, 1] + len(mz)] = 0
            scores[i, j] = total
            counts[i, j] = matched


cosine = PeakCosine()
modified_cosine = PeakCosine(shifted=True)
