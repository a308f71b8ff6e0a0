"""Kernels of spectra: the probability product of mixtures of Gaussians, and the cosine of bins."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from iokr._array import Array
from iokr._component import Limits, component
from iokr._validation.arguments import NOT_NEGATIVE, POSITIVE, either, one_of
from iokr.chem.spectra import MassSpectra, read_spectra
from iokr.kernels._data.counts import CountKernel, Counts, Vocabulary, sq_norms
from iokr.kernels._data.places import PeakTable, Places, near_pairs_diag, near_pairs_sums
from iokr.kernels.base import Kernel

__all__ = ["CosineBinned", "ProbabilityProduct"]


_LOWEST_MZ = 200.0  # below it, widths in parts per million are those of this m/z
_LARGEST_PEAKS = 20  # of a spectrum, of which differences are taken
_UNSCALED = 50.0  # times σ_i: larger intensities are not relative to the largest peak


@component
class ProbabilityProduct(Kernel):
    """k(x, z) = ∫ p_x p_z with p_x(u, I) = Σ_p w_p N(u; u_p, s_p²) N(I; I_p, σ_i²), p the peaks of x.

    In closed form, with v = s_p² + s_q²,

        k(x, z) = Σ_p Σ_q w_p w_q exp(−(u_p − u_q)²/(2v)) / √(2πv) · exp(−(I_p − I_q)²/(4σ_i²)) / √(4πσ_i²)

    Near peaks of similar intensity contribute. Intensities are relative to the largest peak, as `iokr.chem.Cleaning`
    scales them. Wrap it in `Normalized` for k(x, x) = 1. A spectrum without places, such as losses without a precursor,
    is the zero vector.

    The cost is one exponential for each pair of near peaks, compiled with the `fast` extra, otherwise in NumPy. Pairs
    with |u_p − u_q| > c √(v/2) are left out, which changes the normalised kernel by at most √(n_x n_z) e^(−c²/4) for
    n_x and n_z peaks of equal width, 2e-14 for 100 peaks.

    Parameters
    ----------
    sigma_mz : float, default=None
        s_p = `sigma_mz` for every peak. None: a width for each peak, s_p = max(`ppm` · 1e-6 · max(m_p, 200),
        `sigma_min`).
    sigma_intensity : float or None, default=0.2
        σ_i; a larger value compares intensities less strictly, None not at all.
    ppm : float, default=5.0
        Width in parts per million of m/z; not used with `sigma_mz`.
    sigma_min : float, default=0.001
        Minimum width in m/z; not used with `sigma_mz`.
    places : {"peaks", "losses", "differences"}, default="peaks"
        u_p = m_p; or M − m_p, M the m/z of the precursor; or the differences m_p − m_q > 0 of the 20 largest peaks,
        with variance s_p² + s_q² and intensity √(I_p I_q).
    weights : {"uniform"} or float, default="uniform"
        w_p = 1/n_x, or I_p^a / Σ I^a for the power a.
    cutoff : float, default=12.0
        c.

    Examples
    --------
    >>> from iokr.kernels import Normalized, ProbabilityProduct
    >>> x, z = ([77.039, 105.033], [1.0, 0.5]), ([77.040, 91.054], [1.0, 0.5])
    >>> Normalized(ProbabilityProduct())([x], [z]).round(3)
    array([[0.389]])

    References
    ----------
    Jebara, Kondor and Howard, "Probability product kernels", JMLR 5, 2004; Heinonen et al., "Metabolite identification
    and molecular fingerprint prediction through machine learning", Bioinformatics 28, 2012.
    """

    sigma_mz: float | None = None
    sigma_intensity: float | None = 0.2
    _: KW_ONLY
    ppm: float = 5.0
    sigma_min: float = 0.001
    places: str = "peaks"
    weights: str | float = "uniform"
    cutoff: float = 12.0

    domain = "spectra"
    panel = 128
    limits: ClassVar[Limits] = {
        "sigma_mz": either(None, POSITIVE),
        "sigma_intensity": either(None, POSITIVE),
        "ppm": NOT_NEGATIVE,
        "sigma_min": POSITIVE,
        "places": one_of("peaks", "losses", "differences"),
        "weights": either("uniform", NOT_NEGATIVE),
        "cutoff": POSITIVE,
    }

    def represent(self, X: Any) -> Places:
        """The places u_p with s_p², w_p and I_p."""
        spectra = read_spectra(X)
        if self.places == "differences":
            place, variance, intensity, lengths = self._differences(spectra)
        else:
            place, variance, intensity, lengths = self._peaks(spectra)
        if self.sigma_intensity is not None and intensity.max(initial=0.0) > _UNSCALED * self.sigma_intensity:
            warnings.warn(
                f"The largest intensity is {intensity.max():.3g}, but `sigma_intensity={self.sigma_intensity:g}` "
                "assumes intensities relative to the largest peak; clean the spectra with `iokr.chem.Cleaning`, or set "
                "`sigma_intensity`.",
                stacklevel=2,
            )
        owner = np.repeat(np.arange(len(lengths)), lengths)
        power = np.ones(len(place)) if self.weights == "uniform" else intensity ** float(self.weights)
        total = np.bincount(owner, power, len(lengths))
        order = np.lexsort((place, owner))
        weight = power / total[owner]
        table = PeakTable(place[order], variance[order], weight[order], intensity[order], lengths)
        return Places(table, np.arange(len(lengths)))

    def block(self, R: Places, S: Places) -> Array:
        K = near_pairs_sums(R, S, self.cutoff, self._sharpness())
        K *= self._constant()
        return K

    def diag(self, R: Places) -> Array:
        return near_pairs_diag(R, self.cutoff, self._sharpness()) * self._constant()

    def _sharpness(self) -> float:
        """1/(4σ_i²), the factor of (I_p − I_q)² in the exponent."""
        if self.sigma_intensity is None:
            return 0.0
        return 1 / (4 * self.sigma_intensity**2)

    def _constant(self) -> float:
        """1/√(2π) · 1/√(4πσ_i²), common to all pairs of peaks."""
        intensity = 1.0
        if self.sigma_intensity is not None:
            intensity = 1 / np.sqrt(4 * np.pi * self.sigma_intensity**2)
        return float(intensity / np.sqrt(2 * np.pi))

    def _variances(self, mz: np.ndarray) -> np.ndarray:
        """s_p² of peaks."""
        if self.sigma_mz is not None:
            return np.full(len(mz), float(self.sigma_mz) ** 2)
        widths = np.maximum(self.ppm * 1e-6 * np.maximum(mz, _LOWEST_MZ), self.sigma_min)
        return np.asarray(widths**2)

    def _peaks(self, spectra: MassSpectra) -> tuple[np.ndarray, ...]:
        """(place, variance, intensity, lengths) of peaks, or of losses of spectra with a precursor."""
        mz = spectra.mz
        intensity = spectra.intensity
        if self.places == "peaks":
            return mz, self._variances(mz), intensity, spectra.lengths
        ion = np.repeat(spectra.precursor_mz, spectra.lengths)
        known = ~np.isnan(ion)
        lengths = np.where(np.isnan(spectra.precursor_mz), 0, spectra.lengths)
        return (ion - mz)[known], self._variances(mz[known]), intensity[known], lengths

    def _differences(self, spectra: MassSpectra) -> tuple[np.ndarray, ...]:
        """(place, variance, intensity, lengths) of the differences between the largest peaks."""
        parts: list[tuple[np.ndarray, ...]] = [(np.empty(0),) * 3]
        for start, stop in pairwise(spectra.indptr):
            mz = spectra.mz[start:stop]
            intensity = spectra.intensity[start:stop]
            largest = np.sort(np.lexsort((mz, -intensity))[:_LARGEST_PEAKS])
            mz = mz[largest]
            intensity = intensity[largest]
            p, q = np.triu_indices(len(mz), 1)
            variance = self._variances(mz)
            parts.append((mz[q] - mz[p], variance[p] + variance[q], np.sqrt(intensity[p] * intensity[q])))
        arrays = [np.concatenate(columns) for columns in zip(*parts, strict=True)]
        lengths = np.array([len(part[0]) for part in parts[1:]], dtype=np.intp)
        return (*arrays, lengths)


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
