"""Raw peaks made comparable: scaled, filtered, merged."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr._validation.arguments import check_integer, check_number, check_numbers
from iokr.chem.spectra import MassSpectra, MassSpectrum, read_spectra

__all__ = ["Cleaning"]


@dataclass(frozen=True)
class Cleaning:
    """Peaks with max I = 1, none below `min_intensity`, none closer than `merge`, at most `max_peaks`.

    In this order: peaks whose m/z or intensity is not finite or not positive go; then those above the precursor; the
    largest intensity becomes 1; small peaks go; peaks closer than `merge` become one, at their mean m/z weighted by
    intensity and with the sum of their intensities; the largest remain. These steps are repeated until nothing
    changes, so cleaning twice is cleaning once; and intensities may come in any unit.

    Parameters
    ----------
    min_intensity : float, default=0.001
        Of the largest.
    merge : float, default=0.005
        In m/z; 0 merges nothing.
    above_precursor : float, default=0.5
        Peaks at more than this above the precursor's m/z go.
    max_peaks : int, default=100
    min_peaks : int, default=3
        A spectrum with fewer cannot be used: `usable` says so; they are not removed here.

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
            raise ValueError(f"`min_intensity` must be below 1, the largest, got {self.min_intensity!r}.")
        check_integer(self.max_peaks, "max_peaks", minimum=1)
        check_integer(self.min_peaks, "min_peaks", minimum=0)

    def __call__(self, spectrum: Any) -> Any:
        """A clean spectrum; of several spectra, a clean block of them."""
        if isinstance(spectrum, MassSpectrum):
            peaks = self.peaks(spectrum.mz, spectrum.intensity, spectrum.precursor_mz)
            return MassSpectrum(*peaks, spectrum.precursor_mz, spectrum.metadata)
        block = read_spectra(spectrum)
        parts = [self.peaks(s.mz, s.intensity, s.precursor_mz) for s in block]
        empty = np.empty(0)
        return MassSpectra(
            np.concatenate([empty, *(mz for mz, _ in parts)]),
            np.concatenate([empty, *(intensity for _, intensity in parts)]),
            np.concatenate([[0], np.cumsum([len(mz) for mz, _ in parts])]),
            block.precursor_mz,
            block.metadata,
        )

    def peaks(self, mz: Any, intensity: Any, precursor_mz: float | None = None) -> tuple[np.ndarray, np.ndarray]:
        """(mz, intensity) of raw peaks, in any order, whatever numbers they hold."""
        places, heights = check_numbers(mz, "mz"), check_numbers(intensity, "intensity")
        if places.ndim != 1 or places.shape != heights.shape:
            raise ValueError(
                f"`mz` and `intensity` must be two lists of equal length, got {places.shape} and {heights.shape}."
            )
        kept = np.isfinite(places) & np.isfinite(heights) & (places > 0) & (heights > 0)
        if precursor_mz is not None and np.isfinite(precursor_mz):
            kept &= ~(places > precursor_mz + self.above_precursor)
        places, heights = places[kept], heights[kept]
        order = np.lexsort((heights, places))
        places, heights = places[order], heights[order]
        while len(places):
            n, largest = len(places), heights.max()
            heights = heights / largest
            small = heights < self.min_intensity
            places, heights = self._merged(places[~small], heights[~small])
            if len(places) > self.max_peaks:
                largest_first = np.lexsort((places, -heights))[: self.max_peaks]
                kept_places = np.sort(largest_first)
                places, heights = places[kept_places], heights[kept_places]
            if len(places) == n and heights.max() == 1:
                break
        return places, heights

    def usable(self, spectrum: MassSpectrum) -> bool:
        """Whether a clean spectrum has `min_peaks`."""
        return len(spectrum) >= self.min_peaks

    def _merged(self, mz: np.ndarray, intensity: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Peaks in runs of distances below `merge` become one."""
        new = np.diff(mz, prepend=-np.inf) >= self.merge if self.merge else np.ones(len(mz), dtype=bool)
        if new.all():
            return mz, intensity
        run = np.cumsum(new) - 1
        total = np.bincount(run, intensity)
        offset = np.bincount(run, intensity * (mz - mz[new][run])) / total  # from the first: no digits are lost
        return mz[new] + offset, total
