"""Adducts: the difference between a molecule and its measured ion."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache

from iokr.chem.formulas import ELECTRON, add_atoms, formula_mass, parse_formula

__all__ = ["Adduct", "parse_adduct"]

_FORM = re.compile(r"\[?(\d*)M((?:[+-]\d*[A-Za-z][A-Za-z0-9]*)*)\]?(\d*)([+-])(\d*)")
_PART = re.compile(r"([+-])(\d*)([A-Za-z][A-Za-z0-9]*)")
_ABBREVIATIONS = {
    "ACN": "C2H3N",
    "FA": "CH2O2",
    "HAc": "C2H4O2",
    "Hac": "C2H4O2",
    "DMSO": "C2H6OS",
    "MeOH": "CH4O",
    "TFA": "C2HF3O2",
}


@dataclass(frozen=True)
class Adduct:
    """An ion [nM + gained atoms], with its charge."""

    name: str
    molecules: int  # n
    gained: tuple[tuple[str, int], ...]  # (element, number of atoms), negative for lost atoms
    charge: int

    @property
    def shift(self) -> float:
        """The mass of the ion minus nM, in u, including electrons."""
        return sum(formula_mass({e: 1}) * count for e, count in self.gained) - self.charge * ELECTRON

    def mz(self, mass: float) -> float:
        """The m/z of the ion of a molecule of this mass."""
        return (self.molecules * mass + self.shift) / abs(self.charge)

    def mass(self, mz: float) -> float:
        """The mass of the molecule of an ion of this m/z."""
        return (abs(self.charge) * mz - self.shift) / self.molecules


@lru_cache(maxsize=1024)
def parse_adduct(name: str) -> Adduct | None:
    """The adduct of a name such as [M+H]+ or [2M-H2O+H]+; None if the name cannot be parsed.

    >>> from iokr.chem.adducts import parse_adduct
    >>> round(parse_adduct("[M+Na]+").mz(180.063388), 4)
    203.0526
    """
    found = _FORM.fullmatch(name.replace(" ", "").replace("−", "-")) if isinstance(name, str) else None
    if found is None or name.count("[") != name.count("]"):
        return None
    times, parts, before, sign, after = found.groups()
    atoms: dict[str, int] = {}
    for direction, count, what in _PART.findall(parts):
        try:
            inner = parse_formula(_ABBREVIATIONS.get(what, what))
        except ValueError:
            return None
        add_atoms(atoms, inner, int(f"{direction}{count or 1}"))
    molecules = int(times or 1)
    size = int(before or after or 1)
    if not molecules or not size:
        return None
    return Adduct(name, molecules, tuple(sorted(atoms.items())), size if sign == "+" else -size)
