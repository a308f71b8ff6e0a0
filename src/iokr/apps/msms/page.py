"""Figures of single queries: mirror plots against training spectra, and structures of the best candidates."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from iokr.apps.readers.records import Rejected
from iokr.apps.report import INK, MUTED, OURS, THEIRS, Figure, Report, Text, plot, write_run
from iokr.apps.report.figures import Canvas
from iokr.apps.report.tables import no_formula, plain
from iokr.chem.spectra import MassSpectrum

__all__ = [
    "TOPS",
    "Card",
    "cards",
    "figures",
    "frame_of",
    "name_of",
    "records",
    "rejected_frame",
    "rounded",
    "table_file",
    "write_report",
]

TOPS = (1, 5, 10, 20)
_SEPARATORS = {"tsv": "\t", "csv": ","}
_MASSES = 100.0  # numbers from here on are written with four decimals, as m/z are


def frame_of(rows: Any, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Rows as a data frame; integers and booleans stay such in columns with missing cells."""
    frame = pd.DataFrame(rows, columns=columns, dtype=object)
    for name in frame.columns[frame.isna().any()]:
        kinds = {type(cell) for cell in frame[name].dropna()}
        if kinds in ({int}, {bool}):
            frame[name] = frame[name].astype("Int64" if kinds == {int} else "boolean")
    return frame.infer_objects()


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as dictionaries of plain Python values, None for missing cells."""
    return list(_plain_cells(frame).to_dict("records"))


def _plain_cells(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(object).where(frame.notna(), None)


def rejected_frame(rejections: Sequence[Rejected]) -> pd.DataFrame:
    """A row for each record that was left out or changed."""
    return frame_of([asdict(one) for one in rejections], [one.name for one in fields(Rejected)])


def table_file(frame: pd.DataFrame, format: str = "tsv", *, safe: bool = False) -> str | bytes:
    """A frame as TSV, CSV, JSON or Parquet; in texts a cell is on one line."""
    if format == "parquet":
        try:
            return bytes(frame.to_parquet(index=False))
        except ImportError as error:
            raise ImportError("`format=\"parquet\"` needs the extra `parquet`: pip install 'iokr[parquet]'") from error
    if format == "json":
        return json.dumps(plain(records(frame)), indent=1, ensure_ascii=False) + "\n"
    cells = _plain_cells(frame).map(_line)
    if safe:
        cells = cells.map(no_formula)
    return str(cells.to_csv(sep=_SEPARATORS[format], index=False, lineterminator="\n"))


def write_report(
    report: Report, folder: Any, *, force: bool, format: str = "tsv", spreadsheet_safe: bool = False, **_: Any
) -> list[Path]:
    """Write a report to a folder, its own tables as TSV where they cannot be Parquet; the paths of the files."""
    own = "tsv" if format == "parquet" else format
    return write_run(report, Path(folder), force=force, format=own, spreadsheet_safe=spreadsheet_safe)


def _line(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < _MASSES else f"{value:.4f}"
    return " ".join(str(value).split())


def figures(ranks: NDArray[Any]) -> dict[str, float]:
    """Top-k accuracies in per cent, and the mean reciprocal rank."""
    return {f"top-{k}": 100 * float(np.mean(ranks <= k)) for k in TOPS} | {"MRR": float(np.mean(1 / ranks))}


def rounded(metrics: Mapping[str, float]) -> dict[str, float]:
    """Metrics as tables show them."""
    return {name: round(value, 3 if name == "MRR" else 1) for name, value in metrics.items()}


_TOLERANCE = 0.01  # of m/z, for matched peaks


@dataclass(frozen=True)
class Card:
    """A query with its best candidates, the most relevant training spectrum, and the molecule of the evidence."""

    name: str
    spectrum: MassSpectrum
    other_name: str
    other: MassSpectrum
    candidates: Sequence[dict[str, Any]]
    evidence: str | None = None


def name_of(candidate: dict[str, Any]) -> str:
    """What a candidate is called on the page."""
    return str(candidate["name"] or candidate["candidate_id"] or candidate["inchikey14"])


def cards(shown: Sequence[Card]) -> Iterator[Text | Figure]:
    """What the page shows of each query."""
    for card in shown:
        best = card.candidates[0]
        p = "" if best["probability"] is None else f", probability {best['probability']:.2f}"
        yield Text(f"Spectrum {card.name}: {name_of(best)}{p}")
        yield _mirror(card)
        yield from _structures(card)


def _mirror(card: Card) -> Figure:
    """The query above, the training spectrum below; matched peaks in colour, shifted ones paler."""
    x = card.spectrum
    z = card.other
    shift = (x.precursor_mz or 0.0) - (z.precursor_mz or 0.0)
    gaps = x.mz[:, None] - z.mz[None, :]
    same = np.abs(gaps) <= _TOLERANCE
    moved = (np.abs(gaps - shift) <= _TOLERANCE) & (abs(shift) > _TOLERANCE)

    def colours(axis: int) -> list[str]:
        colour = np.where(same.any(axis), OURS, np.where(moved.any(axis), THEIRS, MUTED))
        return [str(one) for one in colour]

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.vlines(x.mz, 0, x.intensity / x.intensity.max(), colors=colours(1), linewidth=1.1)
        axes.vlines(z.mz, 0, -z.intensity / z.intensity.max(), colors=colours(0), linewidth=1.1)
        axes.axhline(0, color=INK, linewidth=0.6)
        axes.set(xlabel="m/z", ylim=(-1.08, 1.08), yticks=[])
        axes.text(0.01, 0.95, card.name, transform=axes.transAxes, va="top", fontsize=8)
        axes.text(0.01, 0.05, card.other_name, transform=axes.transAxes, va="bottom", fontsize=8)

    n = int(same.any(axis=1).sum())
    n_moved = int(moved.any(axis=1).sum())
    caption = (
        f"Spectrum {card.name} above the training spectrum {card.other_name}: {n} matching "
        f"{'peak' if n == 1 else 'peaks'}, and {n_moved} when shifted by the difference of the precursors "
        f"({shift:+.3f})."
    )
    return plot(draw, caption=caption, size=(5.6, 2.6))


def _structures(card: Card) -> Iterator[Figure]:
    """The candidates, if all can be drawn; the substructure shared with the training molecule is highlighted."""
    from iokr.chem.structures.drawing import draw_molecules

    legends = []
    names = []
    for row in card.candidates:
        p = "" if row["probability"] is None else f" {100 * row['probability']:.0f} %"
        truth = row.get("truth", False)
        mark = (", in set" if row["in_set"] else "") + (", truth" if truth else "")
        legends.append(f"{row['rank']}.{p}{mark}")
        names.append(name_of(row) + (" (the truth)" if truth else ""))
    probabilities = [row["probability"] for row in card.candidates]
    svg = draw_molecules([row["smiles"] for row in card.candidates], legends, like=card.evidence, shares=probabilities)
    if svg is None:
        return
    bars = "." if probabilities[0] is None else "; bars are probabilities."
    caption = (
        f"Best candidates of {card.name}: {', '.join(names)}. Highlighted: the substructure shared with the training "
        f"molecule that contributes most to the first{bars}"
    )
    yield Figure.of(svg, caption, 5.6)
