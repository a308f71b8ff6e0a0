"""Kernels on what is known of a spectrum besides its peaks: mass, formula, instrument, adduct, energy."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from iokr._array import Array
from iokr._component import component
from iokr._validation.arguments import check_number
from iokr.chem.formulas import MASSES, parse_formula
from iokr.chem.spectra import read_spectra
from iokr.data.objects import BadObject, Parts, key
from iokr.kernels.base import Kernel

__all__ = ["Categories", "CollisionEnergy", "Formula", "Mass"]

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_COLUMNS = {element: column for column, element in enumerate(MASSES)}


class _Gaussian(Kernel):
    """exp(−(a − b)²/(2σ²)) for a number of each spectrum; those without are alike, and like no other."""

    domain = "spectra"

    def block(self, R: np.ndarray, S: np.ndarray) -> Array:
        K = np.exp(-0.5 * ((R[:, None] - S[None, :]) / self._width()) ** 2)
        unknown = np.isnan(R)[:, None], np.isnan(S)[None, :]
        return np.where(unknown[0] | unknown[1], (unknown[0] & unknown[1]) * 1.0, K)

    def diag(self, R: np.ndarray) -> Array:
        """Ones."""
        return np.ones(len(R))

    def _width(self) -> float:
        return float(self.sigma)


@component
class Mass(_Gaussian):
    """k(x, z) = exp(−(M_x − M_z)²/(2σ²)), M the precursor's m/z.

    Spectra without a precursor are alike, and like no other. Use it as a factor: `ProbabilityProduct() * Mass(50.0)`.

    Parameters
    ----------
    sigma : float, default=20.0
        In m/z; larger looks less at the mass.

    Examples
    --------
    >>> from iokr.kernels import Mass
    >>> Mass(10.0)([([50.0], [1.0], 180.06)], [([50.0], [1.0], 190.06)]).round(4)
    array([[0.6065]])
    """

    sigma: float = 20.0

    def fit(self, X: Any) -> Mass:
        """Check σ."""
        check_number(self.sigma, "sigma", minimum=0.0, strict=True)
        return self

    def represent(self, X: Any) -> np.ndarray:
        """M, NaN where it is not known."""
        return read_spectra(X).precursor_mz


@component
class CollisionEnergy(_Gaussian):
    """k(x, z) = exp(−(log E_x − log E_z)²/(2σ²)), E the energy at which the molecule was broken.

    Read from `metadata["collision_energy"]`: a number, or the numbers of a text such as "35 eV" or "ramp 20-40", whose
    mean counts. Spectra without are alike, and like no other.

    Parameters
    ----------
    sigma : float, default=0.5
        Of the logarithm: 0.5 calls energies alike that differ by less than a factor 1.6.

    Examples
    --------
    >>> from iokr.kernels import CollisionEnergy
    >>> low, high = ({"mz": [50.0], "intensity": [1.0], "collision_energy": e} for e in (20, "40 eV"))
    >>> CollisionEnergy(1.0)([low], [high]).round(4)
    array([[0.7864]])
    """

    sigma: float = 0.5

    def fit(self, X: Any) -> CollisionEnergy:
        """Check σ."""
        check_number(self.sigma, "sigma", minimum=0.0, strict=True)
        return self

    def represent(self, X: Any) -> np.ndarray:
        """log E, NaN where it is not known."""
        energies = [_energy(value) for value in read_spectra(X).values("collision_energy")]
        with np.errstate(invalid="ignore"):
            return np.log(np.array(energies, dtype=np.float64))


@component
class Categories(Kernel):
    """k(x, z) = 1 where metadata[key] agree, else `other`: the instrument, the adduct, the ion mode.

    Use it as a factor: `ProbabilityProduct() * Categories("adduct")`. Spectra without the entry agree with each other.

    Parameters
    ----------
    key : str
    other : float, default=0.5
        In [0, 1]; 1 looks at nothing, 0 compares inside categories alone.

    Examples
    --------
    >>> from iokr.kernels import Categories
    >>> spectra = [{"mz": [50.0], "intensity": [1.0], "adduct": a} for a in ("[M+H]+", "[M+Na]+")]
    >>> Categories("adduct")(spectra)
    array([[1. , 0.5],
           [0.5, 1. ]])
    """

    key: str
    other: float = 0.5

    domain = "spectra"

    def fit(self, X: Any) -> Categories:
        """Check `key` and `other`."""
        if not isinstance(self.key, str):
            raise TypeError(f"`key` must be a name in the spectra's metadata, got {self.key!r:.60}.")
        if check_number(self.other, "other", minimum=0.0) > 1:
            raise ValueError(f"`other` must be at most 1, got {self.other!r}: unlike spectra are not more than equal.")
        return self

    def represent(self, X: Any) -> np.ndarray:
        """The entry of each spectrum."""
        values = [key(value) for value in read_spectra(X).values(self.key)]
        return np.fromiter(values, dtype=object, count=len(values))

    def block(self, R: np.ndarray, S: np.ndarray) -> Array:
        numbers: dict[Any, int] = {}
        left, right = (
            np.array([numbers.setdefault(value, len(numbers)) for value in values], dtype=np.intp) for values in (R, S)
        )
        return np.where(left[:, None] == right[None, :], 1.0, float(self.other))

    def diag(self, R: np.ndarray) -> Array:
        """Ones."""
        return np.ones(len(R))


@component
class Formula(Kernel):
    """k(x, z) = Σ_e min(x_e, z_e) / Σ_e max(x_e, z_e), x_e how many atoms of element e the formula has.

    Read from `metadata["formula"]`. Spectra without one are alike, and like no other.

    Examples
    --------
    >>> from iokr.kernels import Formula
    >>> spectra = [{"mz": [50.0], "intensity": [1.0], "formula": f} for f in ("C6H12O6", "C6H12O5")]
    >>> Formula()(spectra).round(4)
    array([[1.    , 0.9583],
           [0.9583, 1.    ]])
    """

    domain = "spectra"

    def represent(self, X: Any) -> Parts:
        """Counts of elements, and how many atoms there are."""
        formulas = read_spectra(X).values("formula")
        counts = np.zeros((len(formulas), len(_COLUMNS) + 1))
        for row, formula in enumerate(formulas):
            if formula is None or formula == "":
                counts[row, -1] = 1.0
                continue
            try:
                for element, count in parse_formula(formula).items():
                    counts[row, _COLUMNS[element]] = count
            except (TypeError, ValueError) as error:
                raise BadObject("Spectrum", row, f": {error}") from None
        return Parts(counts, counts.sum(axis=1))

    def block(self, R: Parts, S: Parts) -> Array:
        (X, x_atoms), (Z, z_atoms) = R, S
        both, apart = x_atoms[:, None] + z_atoms[None, :], cdist(X, Z, "cityblock")
        return (both - apart) / (both + apart)  # min = (a + b − |a − b|)/2, max = (a + b + |a − b|)/2

    def diag(self, R: Parts) -> Array:
        """Ones."""
        return np.ones(len(R))


def _energy(value: Any) -> float:
    """A number above 0, or NaN."""
    if isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        numbers: Sequence[float] = [float(value)]
    else:
        numbers = [float(digits) for digits in _NUMBER.findall(value)] if isinstance(value, str) else []
    mean = float(np.mean(numbers)) if len(numbers) else np.nan
    return mean if np.isfinite(mean) and mean > 0 else np.nan
