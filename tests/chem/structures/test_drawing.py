"""Molecules as SVG."""

import pytest

pytest.importorskip("rdkit")

from iokr.chem.structures.drawing import draw_molecules


def test_one_element_without_a_size_of_its_own():
    svg = draw_molecules(["CCO", "c1ccccc1O"], ["1. 90 %", "2."], like="CO")
    assert svg.startswith("<svg")
    assert svg.count("<svg") == 1
    assert "viewBox='0 0 380 170'" in svg


def test_texts_that_are_not_molecules_are_not_drawn():
    assert draw_molecules(["nothing"], [""]) is None


def test_three_per_row_with_bars():
    svg = draw_molecules(["CCO"] * 5, [""] * 5, shares=[0.5, 0.25, None, 2.0, 0.0])
    assert "viewBox='0 0 570 340'" in svg
    assert svg.count("<rect") == 2 * 4
    assert "width='75.0'" in svg
    assert "#000000" not in svg
