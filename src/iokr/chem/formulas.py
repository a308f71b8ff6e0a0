"""Sum formulas and exact masses of elements."""

from __future__ import annotations

import re
from collections.abc import Mapping

__all__ = ["ELECTRON", "MASSES", "VALENCES", "add_atoms", "formula_mass", "parse_formula", "write_formula"]

ELECTRON = 0.000548579909  # u

# Of the most frequent isotope, in u (AME 2020).
MASSES = {
    "H": 1.00782503223, "B": 11.00930536, "C": 12.0, "N": 14.00307400443, "O": 15.99491461957, "F": 18.99840316273,
    "Na": 22.9897692820, "Mg": 23.985041697, "Al": 26.98153853, "Si": 27.97692653465, "P": 30.97376199842,
    "S": 31.9720711744, "Cl": 34.968852682, "K": 38.9637064864, "Ca": 39.962590863, "Li": 7.0160034366,
    "Cr": 51.94050623, "Mn": 54.93804391, "Fe": 55.93493633, "Co": 58.93319429, "Ni": 57.93534241, "Cu": 62.92959772,
    "Zn": 63.92914201, "As": 74.92159457, "Se": 79.9165218, "Br": 78.9183376, "Mo": 97.90540482, "Sn": 119.90220163,
    "I": 126.9044719, "Pt": 194.9647917, "Hg": 201.97064340, "Ag": 106.9050916, "Au": 196.96656879, "Pd": 105.9034804,
    "Ru": 101.9043441, "Sb": 120.903812, "Te": 129.906222748, "Ti": 47.94794198, "V": 50.94395704, "W": 183.95093092,
    "Ge": 73.921177761, "Ga": 68.9255735, "Zr": 89.9046977, "Cd": 113.90336509, "Pb": 207.9766525, "Bi": 208.9803991,
    "Gd": 157.9241123, "D": 2.01410177812,
}  # fmt: skip

VALENCES = {  # number of bonds of an atom in organic molecules
    "H": 1, "F": 1, "Cl": 1, "Br": 1, "I": 1, "Na": 1, "K": 1, "O": 2, "S": 2, "Se": 2, "N": 3, "P": 3, "B": 3, "C": 4,
    "Si": 4,
}  # fmt: skip

_PART = re.compile(r"\[(\d+)([A-Z][a-z]?)\](\d*)|([A-Z][a-z]?)(\d*)|\(|\)(\d*)")
_CHARGE = re.compile(r"[+-]+\d?$|(?<=\])\d?[+-]+\d?$")  # C6H7+, C6H6-2, [C6H6]2+
_MAX_COUNT = 100_000  # atoms of one element


def parse_formula(text: str) -> dict[str, int]:
    """The counts {"C": 6, "H": 12, "O": 6} of "C6H12O6", with brackets, isotopes (as elements) and a final charge.

    >>> from iokr.chem.formulas import parse_formula
    >>> parse_formula("Ca(OH)2")
    {'Ca': 1, 'O': 2, 'H': 2}
    """
    if not isinstance(text, str):
        raise TypeError(f"a formula must be a string such as C6H12O6, got {text!r:.60}.")
    body = _CHARGE.sub("", text.strip())
    if body.startswith("[") and body.endswith("]"):  # an ion, as [C6H7]+
        body = body[1:-1]
    levels: list[dict[str, int]] = [{}]
    place = 0
    while place < len(body):
        found = _PART.match(body, place)
        if found is None or not body:
            raise ValueError(f"a formula must consist of elements and numbers, such as C6H12O6, got {text!r:.60}.")
        place = found.end()
        token = found.group()
        if token == "(":
            levels.append({})
        elif token.startswith(")"):
            if len(levels) < 2:
                raise ValueError(f"the formula {text!r:.60} has a closing bracket without an opening one.")
            inner = levels.pop()
            add_atoms(levels[-1], inner, _count(found.group(6), text))
        else:
            element = found.group(2) or found.group(4)
            count = _count(found.group(3) or found.group(5), text)
            if element not in MASSES:
                raise ValueError(f"the formula {text!r:.60} has the unknown element {element!r}.")
            add_atoms(levels[-1], {element: count})
    if len(levels) > 1 or not levels[0]:
        raise ValueError(f"a formula must name at least one element and close its brackets, got {text!r:.60}.")
    return {element: count for element, count in levels[0].items() if count}


def add_atoms(counts: dict[str, int], part: Mapping[str, int], times: int = 1) -> None:
    """Add the counts of a part, `times` times."""
    for element, count in part.items():
        counts[element] = counts.get(element, 0) + times * count


def _count(digits: str | None, text: str) -> int:
    if digits and (len(digits) > 6 or int(digits) > _MAX_COUNT):
        raise ValueError(f"the formula {text!r:.60} has more than {_MAX_COUNT} atoms of one element.")
    return int(digits) if digits else 1


def formula_mass(counts: Mapping[str, int]) -> float:
    """The exact mass of the neutral molecule, in u."""
    return float(sum(MASSES[element] * count for element, count in counts.items()))


def write_formula(counts: Mapping[str, int]) -> str:
    """The formula in the order of Hill: C, H, then alphabetical."""
    first = [e for e in ("C", "H") if "C" in counts and counts.get(e)]
    order = first + sorted(e for e in counts if e not in first and counts[e])
    return "".join(e + (str(counts[e]) if counts[e] != 1 else "") for e in order)
