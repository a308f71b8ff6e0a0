"""Adducts: the masses of the table that chemists know."""

import pytest

from iokr.chem.adducts import parse_adduct

ADDUCTS = [
    "[M+H]+",
    "[M+Na]+",
    "[M+NH4]+",
    "[M+K]+",
    "[M+H-H2O]+",
    "[M+H-2H2O]+",
    "[M]+",
    "[2M+H]+",
    "[2M+Na]+",
    "[M+2H]2+",
    "[M+Li]+",
    "[M+ACN+H]+",
    "[M+CH3OH+H]+",
    "[M-H]-",
    "[M+Cl]-",
    "[M+HCOO]-",
    "[M+CH3COO]-",
    "[M-H-H2O]-",
    "[M]-",
    "[2M-H]-",
    "[M-2H]2-",
    "[M+Br]-",
]


@pytest.mark.parametrize(
    ("name", "shift"),
    [
        ("[M+H]+", 1.007276),
        ("[M+Na]+", 22.989218),
        ("[M+NH4]+", 18.033826),
        ("[M+K]+", 38.963158),
        ("[M-H]-", -1.007276),
        ("[M+H-H2O]+", 1.007276 - 18.010565),
        ("[M]+", -0.000549),
        ("[2M+H]+", 1.007276),
        ("[M+ACN+H]+", 42.033823),
    ],
)
def test_shifts(name, shift):
    assert parse_adduct(name).shift == pytest.approx(shift, abs=5e-6)  # the table has six decimals, of older masses


def test_mass_and_mz_are_inverse():
    for name in ADDUCTS:
        adduct = parse_adduct(name)
        assert adduct.mass(adduct.mz(180.063388)) == pytest.approx(180.063388, abs=1e-10)
    assert parse_adduct("[M+2H]2+").mz(200.0) == pytest.approx(101.007276, abs=1e-6)
    assert parse_adduct("[2M+H]+").mz(100.0) == pytest.approx(201.007276, abs=1e-6)


@pytest.mark.parametrize("name", ["", "M+", "[M+H]", "[M+Xx]+", "[M+H+", "H+", "[0M+H]+", "?", None, 3, "[M+H]0+"])
def test_names_that_cannot_be_parsed(name):
    found = parse_adduct(name)
    assert found is None if name != "M+" else found.charge == 1
