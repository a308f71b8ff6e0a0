"""Cards of single queries: mirror plots against training spectra, and the first candidates drawn."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr.apps.report import INK, MUTED, OURS, THEIRS, Figure, Text, plot
from iokr.apps.report.figures import Canvas
from iokr.chem.spectra import MassSpectrum

__all__ = ["Card", "cards"]

_TOLERANCE = 0.01  # in m/z, of peaks that match


@dataclass(frozen=True)
class Card:
    """A query, the training spectra beside it, its first candidates, and molecules that speak for the best."""

    name: str
    spectrum: MassSpectrum
    beside: Sequence[tuple[str, MassSpectrum]]
    candidates: Sequence[dict[str, Any]]
    spoken: Sequence[str] = ()


def cards(shown: Sequence[Card]) -> Iterator[Text | Figure]:
    """What the page shows of each query."""
    for card in shown:
        best = card.candidates[0]
        p = "" if best["probability"] is None else f", probability {best['probability']:.2f}"
        yield Text(f"Spectrum {card.name}: {best['name'] or best['candidate_id'] or best['inchikey14']}{p}")
        for name, other in card.beside[:1]:
            yield _mirror(card, name, other)
        drawn = _structures(card)
        if drawn is not None:
            yield drawn


def _mirror(card: Card, name: str, other: MassSpectrum) -> Figure:
    """The unknown above, the training spectrum below; matched peaks in colour, shifted ones paler."""
    x, z = card.spectrum, other
    shift = (x.precursor_mz or 0.0) - (z.precursor_mz or 0.0)
    same = np.abs(x.mz[:, None] - z.mz[None, :]) <= _TOLERANCE
    moved = (
        np.abs(x.mz[:, None] - z.mz[None, :] - shift) <= _TOLERANCE if abs(shift) > _TOLERANCE else np.zeros_like(same)
    )

    def colours(direct: Any, shifted: Any) -> list[str]:
        return [OURS if a else THEIRS if b else MUTED for a, b in zip(direct, shifted, strict=True)]

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        up, down = x.intensity / x.intensity.max(), -z.intensity / z.intensity.max()
        axes.vlines(x.mz, 0, up, colors=colours(same.any(axis=1), moved.any(axis=1)), linewidth=1.1)
        axes.vlines(z.mz, 0, down, colors=colours(same.any(axis=0), moved.any(axis=0)), linewidth=1.1)
        axes.axhline(0, color=INK, linewidth=0.6)
        axes.set(xlabel="m/z", ylim=(-1.08, 1.08), yticks=[])
        axes.text(0.01, 0.95, card.name, transform=axes.transAxes, va="top", fontsize=8)
        axes.text(0.01, 0.05, name, transform=axes.transAxes, va="bottom", fontsize=8)

    n, m = int(same.any(axis=1).sum()), int(moved.any(axis=1).sum())
    caption = (
        f"Spectrum {card.name} above the training spectrum {name}: {n} matching {'peak' if n == 1 else 'peaks'}, and "
        f"{m} when shifted by the difference of the precursors ({shift:+.3f})."
    )
    return plot(draw, caption=caption, size=(5.6, 2.6))


def _structures(card: Card) -> Figure | None:
    """The candidates drawn, with what they share with the molecule that speaks for the first marked."""
    from iokr.chem.structures.drawing import draw_molecules

    legends = []
    for row in card.candidates:
        p = "" if row["probability"] is None else f" {100 * row['probability']:.0f} %"
        mark = (", in the set" if row["in_set"] else "") + (", the truth" if row.get("truth") else "")
        legends.append(f"{row['rank']}.{p}{mark}")
    svg = draw_molecules(
        [row["smiles"] for row in card.candidates],
        legends,
        like=card.spoken[0] if card.spoken else None,
        shares=[row["probability"] for row in card.candidates],
    )
    if svg is None:
        return None
    said = [str(row["name"] or row["candidate_id"] or row["inchikey14"]) for row in card.candidates]
    names = ", ".join(
        f"{name} (the truth)" if row.get("truth") else name for name, row in zip(said, card.candidates, strict=True)
    )
    caption = f"The first candidates of {card.name}: {names}. Coloured is what the first training "
    caption += "molecule that speaks for the best has, too"
    caption += "." if card.candidates[0]["probability"] is None else "; bars are probabilities."
    label = caption.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return Figure(svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1), caption, 5.6)
