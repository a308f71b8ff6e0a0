"""Tables of results as text, and the figures of rankings."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report.tables import no_formula, plain

__all__ = ["TOPS", "figures", "table_file", "table_text"]

TOPS = (1, 5, 10, 20)


def table_text(
    rows: Sequence[Mapping[str, Any]], format: str = "tsv", *, columns: Sequence[str] = (), safe: bool = False
) -> str:
    """Rows as TSV, CSV or JSON; cells are on one line each."""
    names = list(columns) or list(dict.fromkeys(name for row in rows for name in row))
    if not names:
        names = ["file", "line", "id", "what", "reason", "action", "detail"]
    if format == "json":
        return json.dumps(plain(list(rows)), indent=1, ensure_ascii=False) + "\n"
    cell: Callable[[Any], Any] = (lambda value: no_formula(_line(value))) if safe else _line
    file = io.StringIO()
    writer = csv.writer(file, delimiter={"tsv": "\t", "csv": ","}[format], lineterminator="\n")
    writer.writerow(names)
    writer.writerows([[cell(row.get(name)) for name in names] for row in rows])
    return file.getvalue()


def table_file(
    rows: Sequence[Mapping[str, Any]], format: str, *, columns: Sequence[str] = (), safe: bool = False
) -> str | bytes:
    """Rows as TSV, CSV, JSON or Parquet."""
    if format != "parquet":
        return table_text(rows, format, columns=columns, safe=safe)
    try:
        import pyarrow as pa
        from pyarrow import parquet
    except ImportError as error:
        raise ImportError("--format parquet needs the extra `parquet`: pip install 'iokr[parquet]'") from error
    names = list(columns) or list(dict.fromkeys(name for row in rows for name in row))
    table = pa.table({name: _column([row.get(name) for row in rows]) for name in names})
    buffer = io.BytesIO()
    parquet.write_table(table, buffer)
    return buffer.getvalue()


def _column(values: list[Any]) -> Any:
    """Numbers where all are numbers, else text."""
    import pyarrow as pa

    there = [value for value in values if value is not None]
    if there and all(isinstance(value, (bool, np.bool_)) for value in there):
        return pa.array(values, pa.bool_())
    if there and all(isinstance(value, (int, np.integer)) and not isinstance(value, bool) for value in there):
        return pa.array(values, pa.int64())
    if there and all(isinstance(value, (int, float)) and not isinstance(value, bool) for value in there):
        return pa.array([None if value is None else float(value) for value in values], pa.float64())
    return pa.array([None if value is None else " ".join(str(value).split()) for value in values], pa.string())


def _line(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.6g}" if abs(value) < 100 else f"{value:.4f}"  # an m/z keeps its decimals
    return " ".join(str(value).split())


def figures(ranks: NDArray[Any]) -> dict[str, float]:
    """Top-k in percent, and the mean reciprocal rank."""
    return {f"top-{k}": 100 * float(np.mean(ranks <= k)) for k in TOPS} | {"MRR": float(np.mean(1 / ranks))}
