"""Mass spectra: one, and a block of many that is sliced by rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from iokr._array import is_array, to_numpy
from iokr._state import Stateful
from iokr._validation.arguments import check_number, check_numbers
from iokr.data.objects import BadObject, BadObjectType, as_objects, n_objects

__all__ = ["MassSpectra", "MassSpectrum", "check_pairs", "read_spectra"]

_MZ = ("mz", "mzs", "m/z array")  # keys of dictionaries
_INTENSITY = ("intensity", "intensities", "intensity array")
_PRECURSOR = ("precursor_mz", "precursor")


class MassSpectrum(Stateful):
    """Peaks (m_p, I_p), p = 1…n, with ascending m/z and positive intensities, the m/z of the precursor, and metadata.

    Peaks are sorted, and those of intensity 0 are removed. `iokr.chem.Cleaning` scales, filters and merges them, as the
    kernels on spectra expect.

    Parameters
    ----------
    mz, intensity : array-like of shape (n,)
    precursor_mz : float, optional
        Without it the spectrum has no losses.
    metadata : dict, optional
        `id`, `adduct`, `charge`, `instrument`, `collision_energy`, `smiles`, `inchi`, `inchikey`, `formula`, and other
        entries.

    Examples
    --------
    >>> from iokr.chem import MassSpectrum
    >>> MassSpectrum([121.05, 77.04], [10.0, 200.0], 122.06, {"id": "a"})
    MassSpectrum('a', 2 peaks from 77.0400 to 121.0500, precursor 122.0600)
    """

    def __init__(
        self, mz: Any, intensity: Any, precursor_mz: float | None = None, metadata: Mapping[str, Any] | None = None
    ) -> None:
        if metadata is not None and not isinstance(metadata, Mapping):
            raise TypeError(f"`metadata` must be a dictionary, got {metadata!r:.60}.")
        self.mz, self.intensity = _sorted_peaks(mz, intensity)
        self.precursor_mz = _precursor(precursor_mz)
        self.metadata: dict[str, Any] = dict(metadata or {})

    def __len__(self) -> int:
        return len(self.mz)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MassSpectrum):
            return NotImplemented
        return (
            np.array_equal(self.mz, other.mz)
            and np.array_equal(self.intensity, other.intensity)
            and self.precursor_mz == other.precursor_mz
            and self.metadata == other.metadata
        )

    def __hash__(self) -> int:
        return hash((self.mz.tobytes(), self.intensity.tobytes(), self.precursor_mz))

    def __repr__(self) -> str:
        name = f"{self.metadata['id']!r}, " if "id" in self.metadata else ""
        peaks = f"{len(self)} peaks" + (f" from {self.mz[0]:.4f} to {self.mz[-1]:.4f}" if len(self) else "")
        ion = "no precursor" if self.precursor_mz is None else f"precursor {self.precursor_mz:.4f}"
        return f"MassSpectrum({name}{peaks}, {ion})"


class MassSpectra(Stateful):
    """Spectra end to end: spectrum i has the peaks indptr[i] … indptr[i + 1] − 1; slices are blocks of spectra.

    Parameters
    ----------
    mz, intensity : array of shape (number of peaks,)
        Ascending m/z in each spectrum, positive intensities.
    indptr : array of shape (n + 1,)
    precursor_mz : array of shape (n,), optional
        NaN where it is missing.
    metadata : sequence of n dictionaries, optional

    Examples
    --------
    >>> from iokr.chem import MassSpectra
    >>> spectra = MassSpectra([77.0, 121.0, 50.0], [1.0, 0.5, 1.0], [0, 2, 3], [122.0, 90.0])
    >>> len(spectra), spectra[1]
    (2, MassSpectrum(1 peaks from 50.0000 to 50.0000, precursor 90.0000))
    """

    def __init__(self, mz: Any, intensity: Any, indptr: Any, precursor_mz: Any = None, metadata: Any = None) -> None:
        self.mz, self.intensity = check_pairs(mz, intensity)
        _check_peaks(self.mz, self.intensity)
        self.indptr = self._checked_indptr(indptr)
        n = len(self)
        self.precursor_mz = np.full(n, np.nan) if precursor_mz is None else _precursors(precursor_mz, n)
        if metadata is not None and not isinstance(metadata, (list, tuple, np.ndarray)):
            raise TypeError(f"`metadata` must have {n} dictionaries, one per spectrum, got {metadata!r:.60}.")
        self.metadata = as_objects([{} for _ in range(n)] if metadata is None else np.atleast_1d(metadata))
        if len(self.metadata) != n or not all(isinstance(entry, Mapping) for entry in self.metadata):
            raise ValueError(f"`metadata` must have {n} dictionaries, one per spectrum.")

    def _checked_indptr(self, indptr: Any) -> np.ndarray:
        """Places of the first peaks, between which m/z are ascending."""
        ends = check_numbers(indptr, "indptr")
        whole = ends.ndim == 1 and len(ends) > 0 and ends[0] == 0 and ends[-1] == len(self.mz)
        if not whole or np.any(np.diff(ends) < 0) or np.any(ends != np.floor(ends)):
            raise ValueError(f"`indptr` must rise from 0 to the number of peaks, {len(self.mz)}.")
        starts = ends.astype(np.intp)
        descents = np.setdiff1d(np.flatnonzero(np.diff(self.mz) < 0) + 1, starts)
        if len(descents):
            row = int(np.searchsorted(starts, descents[0], side="right")) - 1
            raise BadObject("Spectrum", row, " has descending m/z; sort its peaks by m/z.")
        return starts

    @property
    def shape(self) -> tuple[int]:
        """(n,)."""
        return (len(self.indptr) - 1,)

    @property
    def lengths(self) -> np.ndarray:
        """The number of peaks of each spectrum."""
        return np.diff(self.indptr)

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[MassSpectrum]:
        return (self[i] for i in range(len(self)))

    def __getitem__(self, rows: Any) -> Any:
        n = len(self)
        if isinstance(rows, (int, np.integer)) and not isinstance(rows, (bool, np.bool_)):
            if not -n <= rows < n:
                raise IndexError(f"index {rows} is out of range for {n} spectra.")
            rows = int(rows) % n
            peaks = slice(self.indptr[rows], self.indptr[rows + 1])
            ion = float(self.precursor_mz[rows])
            return _made(self.mz[peaks], self.intensity[peaks], None if np.isnan(ion) else ion, self.metadata[rows])
        index = np.arange(n)[rows]
        lengths = self.lengths[index]
        ends = np.concatenate([[0], np.cumsum(lengths)])
        places = np.arange(ends[-1]) + np.repeat(self.indptr[index] - ends[:-1], lengths)
        return _block(self.mz[places], self.intensity[places], ends, self.precursor_mz[index], self.metadata[index])

    def concat(self, other: MassSpectra) -> MassSpectra:
        """These spectra, then those of `other`."""
        return _block(
            np.concatenate([self.mz, other.mz]),
            np.concatenate([self.intensity, other.intensity]),
            np.concatenate([self.indptr, other.indptr[1:] + len(self.mz)]),
            np.concatenate([self.precursor_mz, other.precursor_mz]),
            np.concatenate([self.metadata, other.metadata]),
        )

    def values(self, key: str) -> list[Any]:
        """metadata[key] of each spectrum, or its "precursor_mz"; None where it is missing."""
        if key == "precursor_mz":
            return [None if np.isnan(ion) else ion for ion in self.precursor_mz.tolist()]
        return [entry.get(key) for entry in self.metadata]

    def __repr__(self) -> str:
        return f"MassSpectra({len(self)} spectra, {len(self.mz)} peaks)"


def read_spectra(X: Any) -> MassSpectra:
    """Spectra in any of their forms as one block; an error names the first object that is not a spectrum.

    A spectrum is a `MassSpectrum`; an object with `peaks.mz`, `peaks.intensities` and `metadata`; a pair
    (mz, intensity) or a triple with the m/z of the precursor; or a dictionary with those keys.
    """
    if isinstance(X, MassSpectra):
        return X
    n_objects(X)
    spectra = [_read(x, i) for i, x in enumerate(as_objects(X))]
    empty = np.empty(0)
    return _block(
        np.concatenate([empty, *(s.mz for s in spectra)]),
        np.concatenate([empty, *(s.intensity for s in spectra)]),
        np.concatenate([[0], np.cumsum([len(s) for s in spectra], dtype=np.intp)]).astype(np.intp),
        np.array([np.nan if s.precursor_mz is None else s.precursor_mz for s in spectra]),
        as_objects([s.metadata for s in spectra]),
    )


def _read(x: Any, number: int) -> MassSpectrum:
    if isinstance(x, MassSpectrum):
        return x
    try:
        return _from_object(x)
    except (TypeError, ValueError) as error:
        kind = BadObjectType if isinstance(error, TypeError) else BadObject
        raise kind("Spectrum", number, f": {error}") from None


def _from_object(x: Any) -> MassSpectrum:
    if hasattr(x, "peaks") and hasattr(x, "metadata"):
        return MassSpectrum(x.peaks.mz, x.peaks.intensities, *_ion(dict(x.metadata)))
    if isinstance(x, Mapping):
        return _from_mapping(x)
    if isinstance(x, (tuple, list)) or is_array(x):
        parts = list(to_numpy(x)) if is_array(x) else list(x)
        if len(parts) in (2, 3) and np.ndim(parts[0]) == 1:
            return MassSpectrum(*parts)
    raise TypeError(
        "a spectrum must be a `MassSpectrum`, a pair (mz, intensity), a triple with the m/z of the precursor, a "
        f"dictionary with those keys, or an object with `peaks` and `metadata`, got {x!r:.60}."
    )


def _from_mapping(x: Mapping[str, Any]) -> MassSpectrum:
    mz = next((x[key] for key in _MZ if key in x), None)
    intensity = next((x[key] for key in _INTENSITY if key in x), None)
    if mz is None or intensity is None:
        raise TypeError(f"a dictionary must have `mz` and `intensity`, got {', '.join(map(str, x))!r:.60}.")
    others = {key: value for key, value in x.items() if key not in (*_MZ, *_INTENSITY, "metadata")}
    return MassSpectrum(mz, intensity, *_ion({**others, **(x.get("metadata") or {})}))


def _ion(metadata: dict[str, Any]) -> tuple[float | None, dict[str, Any]]:
    """(precursor_mz, the other metadata)."""
    ion = next((metadata[key] for key in _PRECURSOR if metadata.get(key) is not None), None)
    return ion, {key: value for key, value in metadata.items() if key not in _PRECURSOR}


def check_pairs(mz: Any, intensity: Any) -> tuple[np.ndarray, np.ndarray]:
    """Two lists of numbers of equal length."""
    places = check_numbers(mz, "mz")
    heights = check_numbers(intensity, "intensity")
    if places.ndim != 1 or places.shape != heights.shape:
        raise ValueError(f"`mz` and `intensity` must have equal length, got {places.shape} and {heights.shape}.")
    return places, heights


def _sorted_peaks(mz: Any, intensity: Any) -> tuple[np.ndarray, np.ndarray]:
    """(mz, intensity), checked, in ascending order, without peaks of intensity 0."""
    places, heights = check_pairs(mz, intensity)
    present = heights != 0
    places = places[present]
    heights = heights[present]
    _check_peaks(places, heights)
    order = np.argsort(places, kind="stable")
    return places[order], heights[order]


def _check_peaks(mz: np.ndarray, intensity: np.ndarray) -> None:
    for name, values in {"mz": mz, "intensity": intensity}.items():
        bad = ~(np.isfinite(values) & (values > 0))
        if bad.any():
            raise ValueError(
                f"`{name}` must have positive finite numbers, got {values[bad][0]:g}; `iokr.chem.Cleaning` removes "
                "such peaks."
            )


def _precursor(value: Any) -> float | None:
    if value is None or (isinstance(value, (float, np.floating)) and np.isnan(value)):
        return None
    return check_number(value, "precursor_mz", minimum=0.0, strict=True)


def _precursors(values: Any, n: int) -> np.ndarray:
    """n values of m/z, NaN where they are missing."""
    found = check_numbers(values, "precursor_mz")
    if found.shape != (n,):
        raise ValueError(f"`precursor_mz` must have {n} entries, one per spectrum, got shape {found.shape}.")
    present = found[~np.isnan(found)]
    if np.any(present <= 0) or not np.all(np.isfinite(present)):
        raise ValueError("`precursor_mz` must have positive numbers, NaN where it is missing.")
    return found


def _made(mz: np.ndarray, intensity: np.ndarray, precursor_mz: float | None, metadata: Any) -> MassSpectrum:
    """A spectrum of checked peaks."""
    spectrum = MassSpectrum.__new__(MassSpectrum)
    vars(spectrum).update(mz=mz, intensity=intensity, precursor_mz=precursor_mz, metadata=dict(metadata))
    return spectrum


def _block(mz: np.ndarray, intensity: np.ndarray, indptr: Any, ions: np.ndarray, metadata: np.ndarray) -> MassSpectra:
    """A block of checked peaks."""
    block = MassSpectra.__new__(MassSpectra)
    starts = np.asarray(indptr, dtype=np.intp)
    vars(block).update(mz=mz, intensity=intensity, indptr=starts, precursor_mz=ions, metadata=metadata)
    return block
