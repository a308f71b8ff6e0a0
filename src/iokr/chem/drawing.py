"""Molecules drawn side by side, as SVG."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from iokr.chem.molecules import BadMolecule, Molecule

__all__ = ["draw_molecules"]

_WIDTH, _HEIGHT = 190, 160


def draw_molecules(smiles: Sequence[str], legends: Sequence[str], like: str | None = None) -> str | None:
    """One <svg> element, a molecule a cell; what each shares with `like` is marked. None if nothing can be drawn."""
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
    drawer = rdMolDraw2D.MolDraw2DSVG(_WIDTH * len(molecules), _HEIGHT, _WIDTH, _HEIGHT)
    options: Any = drawer.drawOptions()
    options.setHighlightColour((0.75, 0.87, 0.98))
    options.clearBackground = False
    drawer.DrawMolecules(molecules, legends=list(legends), highlightAtoms=[list(found) for found in marks])
    drawer.FinishDrawing()
    text = drawer.GetDrawingText()
    text = text[text.index("<svg") :]
    size = rf"viewBox='0 0 {_WIDTH * len(molecules)} {_HEIGHT}'"
    text = re.sub(r"<svg[^>]*>", f"<svg xmlns='http://www.w3.org/2000/svg' {size}>", text, count=1)
    return re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
