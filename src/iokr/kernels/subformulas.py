"""Kernels on the formulas of fragments and losses, without fragmentation trees."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any, ClassVar

import numpy as np

from iokr._component import Limits, component
from iokr._validation.arguments import NOT_NEGATIVE, one_of
from iokr.chem.adducts import parse_adduct
from iokr.chem.formulas import ELECTRON, MASSES, VALENCES, parse_formula, write_formula
from iokr.chem.spectra import MassSpectrum, read_spectra
from iokr.data.objects import BadObject
from iokr.kernels._data.counts import CountKernel, Counts, Vocabulary, numbered, sq_norms

__all__ = ["Subformulas", "explain_peaks"]

_PPM = 5.0  # relative tolerance of m/z within which a formula explains a peak,
_ABSOLUTE = 0.001  # and the smallest absolute tolerance
_HETEROATOM_COST = 0.3  # of an atom other than C, H, N, O, in units of the tolerance
_COMMON = ("C", "N", "O")
_MIN_UNSATURATION = -0.5  # rings and double bonds of an ion
_MAX_SUBFORMULAS = 6_000_000  # of a spectrum
_CELLS = 1 << 20  # formulas × peaks computed together
_CACHED = 1 << 14  # spectra whose formulas are cached, so that several of these kernels share the work


@component
class Subformulas(CountKernel):
    """k(x, z) = ⟨φ(x), φ(z)⟩ / (‖φ(x)‖ ‖φ(z)‖), φ_f(x) = (Σ I_p)^a over the peaks that the formula f explains.

    The formula of the ion follows from `metadata["formula"]` and the adduct, [M+H]+ by default. A peak is explained by
    the nearest sub-formula of the ion within max(5 ppm, 0.001) whose valences are possible (rings and double bonds at
    least −0.5), with a penalty for atoms other than C, H, N and O. Features are the formulas of these fragments or of
    the neutral losses. A spectrum without a formula, with an element other than CHNOPSFClBrISiBSeNaK or with more than
    six million sub-formulas is the zero vector.

    Parameters
    ----------
    of : {"fragments", "losses"}, default="fragments"
    weights : float, default=0.0
        a: with 0 only the presence of a formula counts, with 0.5 the root of its intensity.

    Examples
    --------
    >>> from iokr.kernels import Subformulas
    >>> ethanol = {"mz": [29.0386, 31.0178], "intensity": [1.0, 0.5], "formula": "C2H6O"}
    >>> methanol = {"mz": [31.0178, 33.0335], "intensity": [0.2, 1.0], "formula": "CH4O"}
    >>> Subformulas()([ethanol], [methanol])
    array([[0.5]])
    """

    of: str = "fragments"
    weights: float = 0.0

    domain = "spectra"
    limits: ClassVar[Limits] = {"of": one_of("fragments", "losses"), "weights": NOT_NEGATIVE}

    def represent(self, X: Any) -> Counts:
        """Rows of unit norm over the formulas that occur."""
        rows: list[int] = []
        names: list[Any] = []
        values: list[float] = []
        block = read_spectra(X)
        for i, spectrum in enumerate(block):
            try:
                fragments, losses = explain_peaks(spectrum)
            except (TypeError, ValueError) as error:
                raise BadObject("Spectrum", i, f": {error}") from None
            heights: dict[str, float] = {}
            largest = float(spectrum.intensity.max(initial=0.0))
            formulas = fragments if self.of == "fragments" else losses
            for name, height in zip(formulas, spectrum.intensity, strict=True):
                if name is not None:
                    heights[name] = heights.get(name, 0.0) + float(height) / largest
            rows.extend([i] * len(heights))
            names.extend(heights)
            values.extend(heights.values())
        columns, places = numbered(names)
        powers = np.array(values, dtype=np.float64) ** self.weights
        counts = Counts.of(np.array(rows, dtype=np.intp), places, len(block), Vocabulary(columns), values=powers)
        counts.matrix.data /= np.repeat(np.sqrt(sq_norms(counts)), np.diff(counts.matrix.indptr))
        return counts


def explain_peaks(spectrum: MassSpectrum) -> tuple[tuple[str | None, ...], tuple[str | None, ...]]:
    """(fragments, losses): for each peak the formulas of the fragment ion and of the neutral loss, or None."""
    formula = spectrum.metadata.get("formula")
    nothing = (None,) * len(spectrum)
    if formula is None or formula == "":
        return nothing, nothing
    adduct = parse_adduct(spectrum.metadata.get("adduct") or "[M+H]+")
    if adduct is None:
        return nothing, nothing
    ion = {element: adduct.molecules * count for element, count in parse_formula(formula).items()}
    for element, change in adduct.gained:
        ion[element] = ion.get(element, 0) + change
    if min(ion.values()) < 0 or not set(ion) <= set(VALENCES):
        return nothing, nothing
    elements = tuple(sorted((element, count) for element, count in ion.items() if count))
    return _explained(elements, 1 if adduct.charge > 0 else -1, spectrum.mz.tobytes())


@lru_cache(maxsize=_CACHED)
def _explained(
    ion: tuple[tuple[str, int], ...], sign: int, peaks: bytes
) -> tuple[tuple[str | None, ...], tuple[str | None, ...]]:
    mz = np.frombuffer(peaks)
    nothing = (None,) * len(mz)
    if math.prod(count + 1 for _, count in ion) > _MAX_SUBFORMULAS:
        return nothing, nothing
    most = dict(ion)
    heavy = [element for element in most if element != "H"]
    counts = np.zeros((0, 1), dtype=np.intp)  # of each heavy element (row) in each sub-formula (column)
    if heavy:
        axes = np.meshgrid(*(np.arange(most[element] + 1) for element in heavy))
        counts = np.stack([axis.ravel() for axis in axes])
    found = _nearest(mz + sign * ELECTRON, heavy, counts, most.get("H", 0))
    fragments: list[str | None] = [None] * len(mz)
    losses: list[str | None] = [None] * len(mz)
    for peak, (column, hydrogens) in found.items():
        fragment = dict(zip(heavy, counts[:, column].tolist(), strict=True)) | {"H": hydrogens}
        fragments[peak] = write_formula(fragment)
        losses[peak] = write_formula({element: most[element] - fragment.get(element, 0) for element in most})
    return tuple(fragments), tuple(losses)


def _nearest(mz: np.ndarray, heavy: list[str], counts: np.ndarray, hydrogens: int) -> dict[int, tuple[int, int]]:
    """(column of `counts`, hydrogens) of the best formula for each mass, by its number, that a formula is near."""
    atoms = counts.astype(np.float64)
    masses = np.array([MASSES[e] for e in heavy]) @ atoms
    unsaturation = 1.0 + np.array([(VALENCES[e] - 2) / 2 for e in heavy]) @ atoms  # rings and double bonds, without H
    penalty = np.array([0.0 if e in _COMMON else _HETEROATOM_COST for e in heavy]) @ atoms
    tolerance = np.maximum(_PPM * 1e-6 * mz, _ABSOLUTE)
    found: dict[int, tuple[int, int]] = {}
    height = max(1, _CELLS // max(len(masses), 1))
    for start in range(0, len(mz), height):
        peaks = slice(start, start + height)
        gap = mz[peaks, None] - masses[None, :]
        number = np.clip(np.rint(gap / MASSES["H"]), 0, hydrogens)
        cost = np.abs(gap - number * MASSES["H"]) / tolerance[peaks, None]
        cost[(cost > 1) | (unsaturation[None, :] - number / 2 < _MIN_UNSATURATION)] = np.inf
        cost += penalty[None, :]
        for row, column in enumerate(np.argmin(cost, axis=1).tolist()):
            if np.isfinite(cost[row, column]):
                found[start + row] = (column, int(number[row, column]))
    return found
