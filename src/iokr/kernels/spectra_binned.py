"""The cosine of binned spectra."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from iokr._component import Limits, component
from iokr._validation.arguments import NOT_NEGATIVE, POSITIVE
from iokr.chem.spectra import read_spectra
from iokr.kernels._data.counts import CountKernel, Counts, Vocabulary, sq_norms

__all__ = ["CosineBinned"]


@component
class CosineBinned(CountKernel):
    """k(x, z) = Σ_b x_b z_b / (‖x‖ ‖z‖) with x_b = Σ I_p^a over the peaks p of bin b: the cosine of binned spectra.

    Near peaks on two sides of a border are in different bins; `ProbabilityProduct` compares peaks without bins. A
    spectrum without peaks is the zero vector.

    Parameters
    ----------
    bin : float, default=0.01
        Width in m/z.
    power : float, default=0.5
        a ≥ 0; a smaller value gives small peaks more weight.

    Examples
    --------
    >>> from iokr.kernels import CosineBinned
    >>> CosineBinned(0.1)([([77.04, 105.03], [1.0, 1.0])], [([77.03], [0.2])]).round(4)
    array([[0.7071]])
    """

    bin: float = 0.01
    power: float = 0.5

    domain = "spectra"
    limits: ClassVar[Limits] = {"bin": POSITIVE, "power": NOT_NEGATIVE}

    def represent(self, X: Any) -> Counts:
        """Rows of unit norm over the bins that occur."""
        spectra = read_spectra(X)
        bins = np.floor(spectra.mz / self.bin)
        found, columns = np.unique(bins, return_inverse=True)
        rows = np.repeat(np.arange(len(spectra)), spectra.lengths)
        # the largest intensity of each spectrum; the appended 1 is read by empty spectra at the end only
        starts = np.minimum(spectra.indptr[:-1], len(spectra.mz))
        largest = np.maximum.reduceat(np.append(spectra.intensity, 1.0), starts)
        relative = spectra.intensity / largest[rows]
        vocabulary = Vocabulary({int(b): column for column, b in enumerate(found.tolist())})
        counts = Counts.of(rows, columns, len(spectra), vocabulary, values=relative**self.power)
        counts.matrix.sum_duplicates()
        norms = np.sqrt(sq_norms(counts))
        counts.matrix.data /= np.repeat(norms, np.diff(counts.matrix.indptr))
        return counts
