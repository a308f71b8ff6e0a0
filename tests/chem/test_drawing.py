"""Molecules as SVG."""

import pytest

pytest.importorskip("rdkit")

from iokr.chem.drawing import draw_molecules


def test_one_element_without_a_size_of_its_own():
    svg = draw_molecules(["CCO", "c1ccccc1O"], ["1. p 0.9", "2."], like="CO")
    assert svg.startswith("<svg")
    assert svg.count("<svg") == 1
    assert "viewBox='0 0 380 160'" in svg


def test_what_is_no_molecule_is_not_drawn():
    assert draw_molecules(["nothing"], [""]) is None
