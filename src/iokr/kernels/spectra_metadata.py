"""Kernels on the metadata of spectra: precursor mass, formula, instrument, adduct, collision energy."""

from __future__ import annotations

import re
from typing import Any, ClassVar

import numpy as np
from scipy.spatial.distance import cdist

from iokr._array import Array
from iokr._component import Limits, component
from iokr._validation.arguments import POSITIVE, SHARE
from iokr.chem.formulas import MASSES, parse_formula
from iokr.chem.spectra import read_spectra
from iokr.data.objects import BadObject, Parts, as_objects, key
from iokr.kernels.base import UnitKernel
from iokr.kernels.generic import equal_keys

__all__ = ["Categories", "CollisionEnergy", "Formula", "Mass"]

_NUMBER = re.compile(r"\d+(?:\.\d+)?(?:[eE][+-]?\d+)?")
_COLUMNS = {element: column for column, element in enumerate(MASSES)}


class _Gaussian(UnitKernel):
    """exp(−(a − b)²/(2σ²)) for a number of each spectrum; 1 between spectra without it, 0 between with and without."""

    sigma: float

    domain = "spectra"
    limits: ClassVar[Limits] = {"sigma": POSITIVE}

    def block(self, R: np.ndarray, S: np.ndarray) -> Array:
        K = np.exp(-0.5 * ((R[:, None] - S[None, :]) / self.sigma) ** 2)
        left = np.isnan(R)[:, None]
        right = np.isnan(S)[None, :]
        return np.where(left | right, (left & right) * 1.0, K)


@component
class Mass(_Gaussian):
    """k(x, z) = exp(−(M_x − M_z)²/(2σ²)), M the m/z of the precursor.

    k is 1 between spectra without a precursor, and 0 between spectra with and without. Use it as a factor:
    `ProbabilityProduct() * Mass(50.0)`.

    Parameters
    ----------
    sigma : float, default=20.0
        In m/z; a larger value compares masses less strictly.

    Examples
    --------
    >>> from iokr.kernels import Mass
    >>> Mass(10.0)([([50.0], [1.0], 180.06)], [([50.0], [1.0], 190.06)]).round(4)
    array([[0.6065]])
    """

    sigma: float = 20.0

    def represent(self, X: Any) -> np.ndarray:
        """M; NaN where it is missing."""
        return read_spectra(X).precursor_mz


@component
class CollisionEnergy(_Gaussian):
    """k(x, z) = exp(−(log E_x − log E_z)²/(2σ²)), E the collision energy.

    E is `metadata["collision_energy"]`: a number, or the mean of the numbers in a text such as "35 eV" or "ramp 20-40".
    k is 1 between spectra without it, and 0 between spectra with and without.

    Parameters
    ----------
    sigma : float, default=0.5
        Of log E: with 0.5, energies that differ by a factor of 1.6 have k = 0.6.

    Examples
    --------
    >>> from iokr.kernels import CollisionEnergy
    >>> low, high = ({"mz": [50.0], "intensity": [1.0], "collision_energy": e} for e in (20, "40 eV"))
    >>> CollisionEnergy(1.0)([low], [high]).round(4)
    array([[0.7864]])
    """

    sigma: float = 0.5

    def represent(self, X: Any) -> np.ndarray:
        """log E; NaN where it is missing."""
        energies = [_energy(value) for value in read_spectra(X).values("collision_energy")]
        with np.errstate(invalid="ignore"):
            return np.log(np.array(energies, dtype=np.float64))


@component
class Categories(UnitKernel):
    """k(x, z) = 1 if metadata[key] are equal, otherwise `other`: of instruments, adducts or ion modes.

    Use it as a factor: `ProbabilityProduct() * Categories("adduct")`. A missing entry is a category of its own.

    Parameters
    ----------
    key : str
    other : float, default=0.5
        In [0, 1]: with 1 categories have no effect, with 0 spectra of different categories are orthogonal.

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
    limits: ClassVar[Limits] = {"other": SHARE}

    def represent(self, X: Any) -> np.ndarray:
        """The entry of each spectrum."""
        return as_objects(key(value) for value in read_spectra(X).values(self.key))

    def block(self, R: np.ndarray, S: np.ndarray) -> Array:
        return np.where(equal_keys(R, S), 1.0, float(self.other))


@component
class Formula(UnitKernel):
    """k(x, z) = Σ_e min(x_e, z_e) / Σ_e max(x_e, z_e), x_e the number of atoms of element e in the formula.

    The formula is `metadata["formula"]`. k is 1 between spectra without it, and 0 between spectra with and without.

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
        """Counts of the elements, and their sums."""
        formulas = read_spectra(X).values("formula")
        counts = np.zeros((len(formulas), len(_COLUMNS) + 1))
        for row, formula in enumerate(formulas):
            if formula is None or formula == "":
                counts[row, -1] = 1.0  # an element of its own
                continue
            try:
                for element, count in parse_formula(formula).items():
                    counts[row, _COLUMNS[element]] = count
            except (TypeError, ValueError) as error:
                raise BadObject("Spectrum", row, f": {error}") from None
        return Parts(counts, counts.sum(axis=1))

    def block(self, R: Parts, S: Parts) -> Array:
        X, x_atoms = R
        Z, z_atoms = S
        total = x_atoms[:, None] + z_atoms[None, :]
        gap = cdist(X, Z, "cityblock")
        return (total - gap) / (total + gap)  # min = (a + b − |a − b|)/2, max = (a + b + |a − b|)/2


def _energy(value: Any) -> float:
    """A positive number, or the mean of the numbers in a text; NaN for anything else."""
    energy = np.nan
    if isinstance(value, str):
        numbers = [float(digits) for digits in _NUMBER.findall(value)]
        if numbers:
            energy = float(np.mean(numbers))
    elif isinstance(value, (int, float, np.number)) and not isinstance(value, bool):
        energy = float(value)
    return energy if 0 < energy < np.inf else np.nan
