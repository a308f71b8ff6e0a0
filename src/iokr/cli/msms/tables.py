"""Tables of results as text, and the figures of rankings."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.report.tables import no_formula, plain

__all__ = ["TOPS", "figures", "table_text"]

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


def _line(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    if isinstance(value, bool):
        return "yes" if value else "no"
    return f"{value:.6g}" if isinstance(value, float) else " ".join(str(value).split())


def figures(ranks: NDArray[Any]) -> dict[str, float]:
    """Top-k in percent, and the mean reciprocal rank."""
    return {f"top-{k}": 100 * float(np.mean(ranks <= k)) for k in TOPS} | {"MRR": float(np.mean(1 / ranks))}
