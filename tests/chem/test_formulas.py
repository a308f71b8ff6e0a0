"""Sum formulas are read as chemists write them."""

import pytest

from iokr.chem.formulas import formula_mass, parse_formula, write_formula


@pytest.mark.parametrize(
    ("text", "counts"),
    [
        ("C6H12O6", {"C": 6, "H": 12, "O": 6}),
        ("CH3CH2Br", {"C": 2, "H": 5, "Br": 1}),
        ("Ca(OH)2", {"Ca": 1, "O": 2, "H": 2}),
        ("(CH2)3((NH)2)2", {"C": 3, "H": 10, "N": 4}),
        ("C6H7+", {"C": 6, "H": 7}),
        ("[C6H7O2]-", {"C": 6, "H": 7, "O": 2}),
        ("C2H8N+2", {"C": 2, "H": 8, "N": 1}),
        ("[13C]C5H12O6", {"C": 6, "H": 12, "O": 6}),
        (" C0H2O ", {"H": 2, "O": 1}),
    ],
)
def test_read(text, counts):
    assert parse_formula(text) == counts


@pytest.mark.parametrize("text", ["", "c6h6", "C6H6(", "C6)2", "Xx2", "C99999999", "C6 H6", "+", "[]+", "((("])
def test_refused(text):
    with pytest.raises(ValueError, match="formula"):
        parse_formula(text)


def test_other_types():
    with pytest.raises(TypeError, match="formula"):
        parse_formula(6)


def test_written_and_weighed():
    assert write_formula({"O": 6, "H": 12, "C": 6, "N": 0}) == "C6H12O6"
    assert write_formula({"H": 2, "O": 1}) == "H2O" and write_formula({"N": 1, "H": 3}) == "H3N"
    assert formula_mass(parse_formula("C6H12O6")) == pytest.approx(180.063388, abs=1e-6)
