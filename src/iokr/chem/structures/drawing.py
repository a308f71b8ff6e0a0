"""Molecules drawn side by side, as SVG."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from iokr.chem.structures.molecules import BadMolecule, Molecule

__all__ = ["draw_molecules"]

_WIDTH, _HEIGHT, _ACROSS = 190, 170, 3
_BAR = 6  # the height of a bar


def draw_molecules(
    smiles: Sequence[str],
    legends: Sequence[str],
    like: str | None = None,
    shares: Sequence[float | None] | None = None,
) -> str | None:
    """One <svg> element, three molecules a row; what each shares with `like` is marked. None if nothing can be drawn.

    Below each stands its legend and, with `shares` between 0 and 1, a bar of that length.
    """
    try:
        molecules = [Molecule(text).mol for text in smiles]
        other = None if like is None else Molecule(like).mol
    except BadMolecule:
        return None
    from rdkit.Chem import rdFMCS
    from rdkit.Chem.Draw import rdMolDraw2D

    marks = []
    for mol in molecules:
        found: tuple[int, ...] = ()
        if other is not None:
            common = rdFMCS.FindMCS([mol, other], timeout=1, ringMatchesRingOnly=True, completeRingsOnly=True)
            from rdkit import Chem

            pattern = Chem.MolFromSmarts(common.smartsString) if common.smartsString else None
            found = tuple(mol.GetSubstructMatch(pattern)) if pattern is not None else ()
        marks.append(found)
    across = min(_ACROSS, len(molecules))
    width, height = _WIDTH * across, _HEIGHT * -(-len(molecules) // across)
    drawer = rdMolDraw2D.MolDraw2DSVG(width, height, _WIDTH, _HEIGHT)
    options: Any = drawer.drawOptions()
    options.legendFontSize = 15
    options.legendFraction = 0.2
    options.padding = 0.08
    options.setHighlightColour((0.75, 0.87, 0.98))
    options.clearBackground = False
    drawer.DrawMolecules(molecules, legends=list(legends), highlightAtoms=[list(found) for found in marks])
    drawer.FinishDrawing()
    text = drawer.GetDrawingText()
    text = text[text.index("<svg") :]
    head = f"<svg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 {width} {height}'>"
    text = re.sub(r"<svg[^>]*>", head, text, count=1)
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL).replace("#000000", "currentColor")  # also on dark pages
    bars = "".join(_bar(k, across, share) for k, share in enumerate(shares or ()) if share is not None)
    return text.replace("</svg>", f"{bars}</svg>")


def _bar(number: int, across: int, share: float) -> str:
    """A bar at the foot of a cell, over a paler one of length 1."""
    x, y = _WIDTH * (number % across) + 20, _HEIGHT * (number // across + 1) - _BAR - 2
    whole = _WIDTH - 40
    return (
        f"<rect x='{x}' y='{y}' width='{whole}' height='{_BAR}' fill='#dfe5e8'/>"
        f"<rect x='{x}' y='{y}' width='{whole * min(max(share, 0.0), 1.0):.1f}' height='{_BAR}' fill='#0f7b7b'/>"
    )
