"""Peaks are explained by the formulas that a slow search over all of them finds."""

import itertools

import numpy as np
import pytest

from iokr.chem import MassSpectrum
from iokr.chem.formulas import ELECTRON, formula_mass, parse_formula, write_formula
from iokr.kernels import Subformulas
from iokr.kernels.subformulas import explain_peaks
from reference import assert_close

BONDS = {"C": 2, "H": -1, "N": 1, "O": 0, "S": 0, "P": 1, "Cl": -1, "F": -1}


def slow(ion, mz, sign=1):
    """The best sub-formula of an ion for each peak, all of them listed."""
    elements = list(ion)
    everything = [
        dict(zip(elements, c, strict=True)) for c in itertools.product(*(range(ion[e] + 1) for e in elements))
    ]
    found = []
    for m in mz:
        tolerance, best, name = max(5e-6 * (m + sign * ELECTRON), 0.001), np.inf, None
        for counts in everything:
            error = abs(m + sign * ELECTRON - formula_mass(counts)) / tolerance
            foreign = sum(n for e, n in counts.items() if e not in "CHNO")
            rings = 1 + sum(BONDS[e] * n for e, n in counts.items()) / 2
            if error <= 1 and rings >= -0.5 and error + 0.3 * foreign < best:
                best, name = error + 0.3 * foreign, write_formula(counts)
        found.append(name)
    return found


def peaks(seed, n=40, top=200.0):
    return np.sort(np.random.default_rng(seed).uniform(15.0, top, size=n))


@pytest.mark.parametrize(("formula", "seed"), [("C6H9N3O2", 0), ("C5H8O3S", 1), ("C4H11N2PCl", 2)])
def test_equals_the_slow_search(formula, seed):
    counts = parse_formula(formula)
    ion = counts | {"H": counts["H"] + 1}
    rng = np.random.default_rng(seed)
    masses = [
        formula_mass({e: rng.integers(0, n + 1) for e, n in ion.items()}) - ELECTRON + rng.normal(scale=0.0005)
        for _ in range(60)
    ]
    mz = np.sort(np.concatenate([[m for m in masses if m > 5], peaks(seed)]))
    fragments, losses = explain_peaks(MassSpectrum(mz, np.ones(len(mz)), None, {"formula": formula}))
    assert list(fragments) == slow(ion, mz)
    assert sum(f is not None for f in fragments) > 5
    for fragment, loss in zip(fragments, losses, strict=True):
        if fragment is not None:
            parts = parse_formula(fragment), parse_formula(loss) if loss else {}
            assert {e: sum(p.get(e, 0) for p in parts) for e in ion} == ion


@pytest.mark.parametrize(
    ("adduct", "mz", "fragment", "loss"),
    [
        ("[M+H]+", 181.0707, "C6H13O6", ""),
        ("[M+H]+", 163.0601, "C6H11O5", "H2O"),
        ("[M+Na]+", 203.0526, "C6H12NaO6", ""),
        ("[M-H]-", 179.0561, "C6H11O6", ""),
        ("[M+H-H2O]+", 163.0601, "C6H11O5", ""),
        ("[M+?]+", 163.0601, None, None),
    ],
)
def test_adducts(adduct, mz, fragment, loss):
    spectrum = MassSpectrum([mz], [1.0], None, {"formula": "C6H12O6", "adduct": adduct})
    assert explain_peaks(spectrum) == ((fragment,), (loss,))


def test_kernel_of_fragments_and_of_losses():
    x = MassSpectrum([163.0601, 181.0707], [1.0, 0.25], None, {"formula": "C6H12O6"})
    z = MassSpectrum([145.0495, 163.0601], [0.16, 1.0], None, {"formula": "C6H10O5"})
    assert_close(Subformulas()([x], [z]), [[0.5]], 1e-12)
    assert_close(Subformulas("losses")([x], [z]), [[1.0]], 1e-12)
    roots = np.array([1.0, 0.5]) @ np.array([0.4, 1.0]) / np.sqrt((1 + 0.25) * (1 + 0.16))
    assert_close(Subformulas("losses", 0.5)([x], [z]), [[roots]], 1e-12)


@pytest.mark.parametrize("formula", [None, "", "C6H12AsO2", "C200H400N50O50"])
def test_the_zero_vector(formula):
    spectrum = MassSpectrum([163.0601], [1.0], None, {"formula": formula})
    assert Subformulas()([spectrum])[0, 0] == 0


def test_units_of_intensity_have_no_effect():
    mz = [145.0495, 163.0601, 181.0707]
    X = [MassSpectrum(mz, np.array([0.1, 1.0, 0.3]) * c, None, {"formula": "C6H12O6"}) for c in (1.0, 40.0)]
    assert_close(Subformulas(weights=0.5)(X), np.ones((2, 2)), 1e-12)


def test_bad_input():
    with pytest.raises(ValueError, match="`of`"):
        Subformulas("trees")([([1.0], [1.0])])
    with pytest.raises(ValueError, match="weights"):
        Subformulas(weights=-1.0)([([1.0], [1.0])])
    with pytest.raises(ValueError, match="Spectrum 0: a formula"):
        Subformulas()([{"mz": [1.0], "intensity": [1.0], "formula": "water?"}])
