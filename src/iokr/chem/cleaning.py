"""Cleaning of spectra: peaks are scaled, filtered and merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr._state import Stateful
from iokr._validation.arguments import check_integer, check_number
from iokr.chem.spectra import MassSpectrum, check_pairs, read_spectra

__all__ = ["Cleaning"]


@dataclass(frozen=True)
class Cleaning(Stateful):
    """Peaks with max I = 1, none below `min_intensity`, none closer than `merge`, at most `max_peaks`.

    In this order: peaks whose m/z or intensity is not finite or not positive are removed, then those above the
    precursor; intensities are divided by the largest; small peaks are removed; peaks closer than `merge` are merged to
    one at their mean m/z, weighted by intensity, with the sum of their intensities; the largest peaks remain. The steps
    are repeated until nothing changes, so cleaning is idempotent. Intensities may have any unit.

    Parameters
    ----------
    min_intensity : float, default=0.001
        Relative to the largest.
    merge : float, default=0.005
        In m/z; with 0 no peaks are merged.
    above_precursor : float, default=0.5
        Peaks above the m/z of the precursor plus this value are removed.
    max_peaks : int, default=100
    min_peaks : int, default=3
        Spectra with fewer are not `usable`; cleaning does not remove them.

    Examples
    --------
    >>> from iokr.chem import Cleaning, MassSpectrum
    >>> raw = MassSpectrum([77.039, 77.041, 105.03, 200.0], [300.0, 100.0, 200.0, 50.0], 122.06)
    >>> clean = Cleaning()(raw)
    >>> clean.mz, clean.intensity
    (array([ 77.0395, 105.03  ]), array([1. , 0.5]))
    """

    min_intensity: float = 0.001
    merge: float = 0.005
    above_precursor: float = 0.5
    max_peaks: int = 100
    min_peaks: int = 3

    def __post_init__(self) -> None:
        for name in ("min_intensity", "merge", "above_precursor"):
            check_number(getattr(self, name), name, minimum=0.0)
        if self.min_intensity >= 1:
            raise ValueError(f"`min_intensity` must be below 1, the largest intensity, got {self.min_intensity!r}.")
        check_integer(self.max_peaks, "max_peaks", minimum=1)
        check_integer(self.min_peaks, "min_peaks", minimum=0)

    def __call__(self, spectrum: Any) -> Any:
        """The clean spectrum, or the clean block of several spectra."""
        if isinstance(spectrum, MassSpectrum):
            peaks = self.peaks(spectrum.mz, spectrum.intensity, spectrum.precursor_mz)
            return MassSpectrum(*peaks, spectrum.precursor_mz, spectrum.metadata)
        return read_spectra([self(one) for one in read_spectra(spectrum)])

    def peaks(self, mz: Any, intensity: Any, precursor_mz: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(mz, intensity) of raw peaks, in any order and with any numbers."""
        places, heights = check_pairs(mz, intensity)
        valid = np.isfinite(places) & np.isfinite(heights) & (places > 0) & (heights > 0)
        if precursor_mz is not None and np.isfinite(precursor_mz):
            valid &= ~(places > precursor_mz + self.above_precursor)
        order = np.flatnonzero(valid)
        order = order[np.lexsort((heights[order], places[order]))]
        places = places[order]
        heights = heights[order]
        while len(places):
            n = len(places)
            heights = heights / heights.max()
            small = heights < self.min_intensity
            places, heights = self._merged(places[~small], heights[~small])
            if len(places) > self.max_peaks:
                largest = np.sort(np.lexsort((places, -heights))[: self.max_peaks])
                places = places[largest]
                heights = heights[largest]
            if len(places) == n and heights.max() == 1:
                break
        return places, heights

    def usable(self, spectrum: MassSpectrum) -> bool:
        """Whether a clean spectrum has at least `min_peaks`."""
        return len(spectrum) >= self.min_peaks

    def _merged(self, mz: np.ndarray, intensity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Peaks in runs of distances below `merge` become one peak."""
        new = np.diff(mz, prepend=-np.inf) >= self.merge if self.merge else np.ones(len(mz), dtype=bool)
        if new.all():
            return mz, intensity
        run = np.cumsum(new) - 1
        total = np.bincount(run, intensity)
        # Relative to the first peak, so that no digits are lost.
        offset = np.bincount(run, intensity * (mz - mz[new][run])) / total
        return mz[new] + offset, total
