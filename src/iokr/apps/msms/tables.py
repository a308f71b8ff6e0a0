"""Tables of results as text, files and data frames, and the metrics of rankings."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.readers.records import Rejected
from iokr.apps.report import Report, write_run
from iokr.apps.report.tables import no_formula, plain

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["TOPS", "figures", "frame_of", "records", "rejected_frame", "rounded", "table_file", "write_report"]

TOPS = (1, 5, 10, 20)
_SEPARATORS = {"tsv": "\t", "csv": ","}
_MASSES = 100.0  # numbers from here on are written with four decimals, as m/z are


def frame_of(rows: Any, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Rows as a data frame; integers and booleans stay such in columns with missing cells."""
    import pandas as pd

    frame = pd.DataFrame(rows, columns=columns, dtype=object)
    for name in frame.columns[frame.isna().any()]:
        kinds = {type(cell) for cell in frame[name].dropna()}
        if kinds in ({int}, {bool}):
            frame[name] = frame[name].astype("Int64" if kinds == {int} else "boolean")
    return frame.infer_objects()


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """The rows of a frame as dictionaries of plain Python values, None for missing cells."""
    rows: list[dict[str, Any]] = _plain_cells(frame).to_dict("records")
    return rows


def _plain_cells(frame: pd.DataFrame) -> pd.DataFrame:
    return frame.astype(object).where(frame.notna(), None)


def rejected_frame(rejections: Sequence[Rejected]) -> pd.DataFrame:
    """A row for each record that was left out or changed."""
    return frame_of([asdict(one) for one in rejections], [one.name for one in fields(Rejected)])


def table_file(frame: pd.DataFrame, format: str = "tsv", *, safe: bool = False) -> str | bytes:
    """A frame as TSV, CSV, JSON or Parquet; in texts a cell is on one line."""
    if format == "parquet":
        buffer = io.BytesIO()
        try:
            frame.to_parquet(buffer, index=False)
        except ImportError as error:
            raise ImportError("`format=\"parquet\"` needs the extra `parquet`: pip install 'iokr[parquet]'") from error
        return buffer.getvalue()
    if format == "json":
        return json.dumps(plain(records(frame)), indent=1, ensure_ascii=False) + "\n"
    cells = _plain_cells(frame).map(_line)
    if safe:
        cells = cells.map(no_formula)
    text: str = cells.to_csv(sep=_SEPARATORS[format], index=False, lineterminator="\n")
    return text


def write_report(
    report: Report, folder: Any, *, force: bool, format: str = "tsv", spreadsheet_safe: bool = False, **_: Any
) -> list[Path]:
    """Write a report to a folder, its own tables as TSV where they cannot be Parquet; the paths of the files."""
    if format == "parquet":
        format = "tsv"
    return write_run(report, Path(folder), force=force, format=format, spreadsheet_safe=spreadsheet_safe)


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
    tops = {f"top-{k}": 100 * float(np.mean(ranks <= k)) for k in TOPS}
    return {**tops, "MRR": float(np.mean(1 / ranks))}


def rounded(metrics: Mapping[str, float]) -> dict[str, float]:
    """Metrics as tables show them."""
    return {name: round(value, 3 if name == "MRR" else 1) for name, value in metrics.items()}
