"""Tables of results as text, files and data frames, and the metrics of rankings."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.readers.records import Rejected
from iokr.apps.report import Report, write_run
from iokr.apps.report.tables import no_formula, plain

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "TOPS",
    "figures",
    "frame_of",
    "rejected_frame",
    "rejected_text",
    "rounded",
    "table_file",
    "table_text",
    "write_report",
]

TOPS = (1, 5, 10, 20)
_REJECTED = ("file", "line", "id", "what", "reason", "action", "detail")
_NULLABLE: dict[type, str] = {int: "Int64", bool: "boolean"}
_MASSES = 100.0  # numbers from here on are written with four decimals, as m/z are


def frame_of(rows: Sequence[Mapping[str, Any]], columns: Sequence[str] = ()) -> pd.DataFrame:
    """Rows as a data frame; integers and booleans stay such in columns with missing cells."""
    import pandas as pd

    names = list(columns) or list(dict.fromkeys(name for row in rows for name in row))
    frame = pd.DataFrame(rows, columns=names)
    for name in names:
        cells = [row.get(name) for row in rows]
        kinds = {type(cell) for cell in cells if cell is not None}
        if None in cells and len(kinds) == 1:
            dtype = _NULLABLE.get(kinds.pop())
            if dtype is not None:
                frame[name] = pd.array(cells, dtype=dtype)
    return frame


def rejected_frame(rejections: Sequence[Rejected]) -> pd.DataFrame:
    """A row for each record that was left out or changed."""
    return frame_of([asdict(one) for one in rejections], _REJECTED)


def rejected_text(rejections: Sequence[Rejected], *, safe: bool = False) -> str:
    """rejected.tsv."""
    return table_text([asdict(one) for one in rejections], columns=_REJECTED, safe=safe)


def table_text(
    rows: Sequence[Mapping[str, Any]], format: str = "tsv", *, columns: Sequence[str] = (), safe: bool = False
) -> str:
    """Rows as TSV, CSV or JSON; a cell is on one line."""
    if format == "json":
        return json.dumps(plain(list(rows)), indent=1, ensure_ascii=False) + "\n"
    names = list(columns) or list(dict.fromkeys(name for row in rows for name in row))
    file = io.StringIO()
    writer = csv.writer(file, delimiter={"tsv": "\t", "csv": ","}[format], lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        cells = [_line(row.get(name)) for name in names]
        writer.writerow([no_formula(cell) for cell in cells] if safe else cells)
    return file.getvalue()


def table_file(
    rows: Sequence[Mapping[str, Any]], format: str, *, columns: Sequence[str] = (), safe: bool = False
) -> str | bytes:
    """Rows as TSV, CSV, JSON or Parquet."""
    if format != "parquet":
        return table_text(rows, format, columns=columns, safe=safe)
    buffer = io.BytesIO()
    try:
        frame_of(rows, columns).to_parquet(buffer, index=False)
    except ImportError as error:
        raise ImportError("`format=\"parquet\"` needs the extra `parquet`: pip install 'iokr[parquet]'") from error
    return buffer.getvalue()


def write_report(
    report: Report, folder: Any, *, force: bool, format: str = "tsv", spreadsheet_safe: bool = False, **_: Any
) -> list[Path]:
    """Write a report to a folder, its own tables as TSV where they cannot be Parquet; the paths of the files."""
    if format == "parquet":
        format = "tsv"
    return write_run(report, Path(folder), force=force, format=format, spreadsheet_safe=spreadsheet_safe)


def _line(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
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
