"""Drawings of molecules side by side, as SVG."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from iokr.chem.structures.molecules import BadMolecule, Molecule

__all__ = ["draw_molecules"]

_WIDTH = 190  # of a molecule
_HEIGHT = 170
_COLUMNS = 3
_BAR = 6  # height of a bar


def draw_molecules(
    smiles: Sequence[str],
    legends: Sequence[str],
    like: str | None = None,
    shares: Sequence[float | None] | None = None,
) -> str | None:
    """One <svg> element with three molecules per row; None if one of them cannot be drawn.

    The substructure that a molecule shares with `like` is highlighted. Below each are its legend and, with `shares`
    between 0 and 1, a bar of that length.
    """
    try:
        molecules = [Molecule(text).mol for text in smiles]
        other = None if like is None else Molecule(like).mol
    except BadMolecule:
        return None
    from rdkit.Chem.Draw import rdMolDraw2D

    highlights = [[] if other is None else _shared_atoms(mol, other) for mol in molecules]
    across = min(_COLUMNS, len(molecules))
    width = _WIDTH * across
    height = _HEIGHT * -(-len(molecules) // across)
    drawer = rdMolDraw2D.MolDraw2DSVG(width, height, _WIDTH, _HEIGHT)
    options: Any = drawer.drawOptions()
    options.legendFontSize = 15
    options.legendFraction = 0.2
    options.padding = 0.08
    options.setHighlightColour((0.75, 0.87, 0.98))
    options.clearBackground = False
    drawer.DrawMolecules(molecules, legends=list(legends), highlightAtoms=highlights)
    drawer.FinishDrawing()
    text = drawer.GetDrawingText()
    text = text[text.index("<svg") :]
    # one size for all pages, no prolog, and lines that are visible on dark pages
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}'>"
    text = re.sub(r"<svg[^>]*>", head, text, count=1)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL).replace("#000000", "currentColor")
    bars = "".join(_bar(k, across, share) for k, share in enumerate(shares or ()) if share is not None)
    return text.replace("</svg>", f"{bars}</svg>")


def _shared_atoms(mol: Any, other: Any) -> list[int]:
    """The atoms of `mol` in the largest common substructure of two RDKit molecules."""
    from rdkit import Chem
    from rdkit.Chem import rdFMCS

    common = rdFMCS.FindMCS([mol, other], timeout=1, ringMatchesRingOnly=True, completeRingsOnly=True)
    if not common.smartsString:
        return []
    return list(mol.GetSubstructMatch(Chem.MolFromSmarts(common.smartsString)))


def _bar(number: int, across: int, share: float) -> str:
    """A bar at the foot of a cell, over a paler one of length 1."""
    x = _WIDTH * (number % across) + 20
    y = _HEIGHT * (number // across + 1) - _BAR - 2
    whole = _WIDTH - 40
    return (
        f"<rect x='{x}' y='{y}' width='{whole}' height='{_BAR}' fill='#dfe5e8'/>"
        f"<rect x='{x}' y='{y}' width='{whole * min(max(share, 0.0), 1.0):.1f}' height='{_BAR}' fill='#0f7b7b'/>"
    )
