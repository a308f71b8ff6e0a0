"""Parts of a page to work with: a table that sorts, filters and searches, a network that zooms and explains.

Both are plain values. The page holds their data as JSON and brings them to life with code of its own (`assets`),
without a request to anywhere. Without script the first rows and a drawing stand there.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib import resources
from numbers import Real
from typing import Any

import numpy as np

from iokr.apps.report.figures import Figure
from iokr.apps.report.networks import CLASSES
from iokr.apps.report.tables import Spread, Table, number_of, plain, text_of

__all__ = ["LiveNetwork", "LiveTable", "script", "style"]

_STILL = 100  # rows that stand in the page, for readers without script


@dataclass(frozen=True)
class LiveTable:
    """All rows of a table, to be sorted, filtered, searched and saved on the page.

    Printed, and among the numbers of a run, are the first `head` rows. On the page a row opens to its details.

    Parameters
    ----------
    table : Table
    details : sequence of sequences of Table or str, default=()
        What stands behind each row: small tables and paragraphs, shown when they are asked for.
    names : tuple of str, default=()
        Columns that name nodes of a `LiveNetwork` on the same page.
    file : str, default="table.tsv"
        The file with all rows, named to readers without script; what is shown is saved under its name.
    head : int, default=20
    safe : bool, default=False
        Text that a spreadsheet would execute gets an apostrophe before it in what is saved.

    Examples
    --------
    >>> from iokr.apps.report import LiveTable, Report, Table
    >>> table = Table("Links", [{"rank": i, "link": f"a – {i}"} for i in range(50)])
    >>> report = Report("t", "s", (LiveTable(table, file="edges.tsv"),))
    >>> report.tables[0].title, len(report.tables[0].rows)
    ('The first 20 of 50: Links', 20)
    """

    table: Table
    details: Sequence[Sequence[Table | str]] = ()
    names: tuple[str, ...] = ()
    file: str = "table.tsv"
    head: int = 20
    safe: bool = False

    def short(self) -> Table:
        """The first rows."""
        table, n = self.table, len(self.table.rows)
        if n <= self.head:
            return table
        stressed = tuple(i for i in table.our_rows if i < self.head)
        title = f"The first {self.head} of {n}{' ' if table.title[:1].islower() else ': '}{table.title}"
        return replace(table, title=title, rows=table.rows[: self.head], our_rows=stressed)

    def still(self) -> Table:
        """What stands in the page without script."""
        n = len(self.table.rows)
        note = f"The first {_STILL} of {n} rows; all are in `{self.file}`." if n > _STILL else ""
        return replace(self.table, rows=self.table.rows[:_STILL], note=note)

    def data(self) -> str:
        """Everything as JSON that may stand inside an element of a page."""
        table = self.table
        if self.details and len(self.details) != len(table.rows):
            raise ValueError(f"`details` has {len(self.details)} entries for {len(table.rows)} rows.")
        blocks: dict[str, int] = {}
        details = [[_block(part, blocks) for part in parts] for parts in self.details]
        return _inside_page(
            {
                "title": table.title,
                "file": self.file.rpartition(".")[0] or self.file,
                "rows": len(table.rows),
                "columns": [_column(name, [row.get(name) for row in table.rows]) for name in table.columns],
                "names": [j for j, name in enumerate(table.columns) if name in self.names],
                "stressed": list(table.our_rows),
                "safe": self.safe,
                "blocks": [json.loads(block) for block in blocks],
                "details": details,
            }
        )


@dataclass(frozen=True)
class LiveNetwork:
    """A network to zoom, drag and ask: the known links, and the predicted ones, which are the rows of a table.

    Parameters
    ----------
    names : sequence of n str
    places : array of shape (n, 2)
        Within [0, 1]², see `layout`.
    known : array of shape (m, 2)
        Known links as node numbers.
    table : LiveTable
    predicted : array of shape (len(table.table.rows), 2)
        The nodes of each of its rows.
    still : Figure
        What is shown without script.
    weights : array of shape (m,), optional
        Of the known links.
    groups, group : sequences of str and of n int, optional
        Names of kinds of nodes, and the kind of each node; they are coloured by it.
    drawn : int, optional
        How many of the predicted links are drawn at first, the first of the table; the reader may ask for others.
    across : bool, default=False
        Links join nodes of two kinds only, so that the ends of a link have no partner in common.

    Examples
    --------
    >>> from iokr.apps.report import Figure, LiveNetwork, LiveTable, Table
    >>> table = LiveTable(Table("Links", [{"source": "a", "target": "c", "score": 0.5}]), names=("source", "target"))
    >>> still = Figure("<svg></svg>", caption="Three nodes.", width=4.8)
    >>> places = [[0.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    >>> network = LiveNetwork(["a", "b", "c"], places, [[0, 1]], table, [[0, 2]], still)
    >>> '"predicted": [0, 2]' in network.data("live0")
    True
    """

    names: Sequence[str]
    places: Any
    known: Any
    table: LiveTable
    predicted: Any
    still: Figure
    weights: Any = None
    groups: Sequence[str] = ()
    group: Sequence[int] | None = None
    drawn: int | None = None
    across: bool = False

    def data(self, table: str) -> str:
        """Everything as JSON that may stand inside an element of a page; `table` is the id of the table there."""
        n = len(self.names)
        places = np.asarray(self.places, dtype=float).reshape(n, 2)
        weights = None if self.weights is None else np.asarray(self.weights, dtype=float)
        if weights is not None and (not len(weights) or np.ptp(weights) == 0):
            weights = None  # nothing to tell links apart by
        return _inside_page(
            {
                "names": [str(name) for name in self.names],
                "x": np.round(places[:, 0], 4).tolist(),
                "y": np.round(places[:, 1], 4).tolist(),
                "known": np.asarray(self.known, dtype=np.int64).ravel().tolist(),
                "weights": None if weights is None else [_short(w) for w in weights.tolist()],
                "predicted": np.asarray(self.predicted, dtype=np.int64).ravel().tolist(),
                "groups": list(self.groups),
                "group": [0] * n if self.group is None else [int(k) for k in self.group],
                "colours": list(CLASSES),
                "drawn": len(self.table.table.rows) if self.drawn is None else self.drawn,
                "across": self.across,
                "table": table,
            }
        )


def script() -> str:
    """The code that brings tables and networks to life."""
    parts = [_asset(f"{name}.js") for name in ("table", "network", "panel", "start")]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


def style() -> str:
    """How they look."""
    return _asset("live.css")


def _asset(name: str) -> str:
    return resources.files("iokr.apps.report").joinpath("assets", name).read_text("utf-8")


def _inside_page(value: Any) -> str:
    """JSON without anything that a page would take for a tag."""
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", "\\u2028")


def _column(name: str, cells: list[Any]) -> dict[str, Any]:
    """A column by values to sort and save; texts only where they do not follow from these."""
    cells = [number_of(cell) for cell in cells]
    if any(isinstance(cell, Spread) for cell in cells) and all(_is_number(cell) for cell in cells):
        means = [cell.mean if isinstance(cell, Spread) else cell for cell in cells]
        return {"name": name, "kind": "number", "values": means, "texts": [text_of(cell) for cell in cells]}
    if cells and all(_is_number(cell) for cell in cells) and any(cell is not None for cell in cells):
        places = _places([c for c in cells if isinstance(c, float) and math.isfinite(c)])
        whole = any(isinstance(cell, int) for cell in cells)
        return {"name": name, "kind": "number", "values": cells, "places": places, "whole": whole}
    return {"name": name, "kind": "text", "values": [None if cell is None else text_of(cell) for cell in cells]}


def _places(values: list[float]) -> int | None:
    """Decimals of a column: those that its numbers have with four digits, up to those of the largest, or to four.

    None where the largest is written with an exponent; smaller ones that would be zeros are, on the page.
    """
    if not values:
        return 0
    largest = text_of(max(map(abs, values)))
    if "e" in largest or 0 < max(map(abs, values)) < 1e-3:
        return None
    needed = max((len(t.partition(".")[2]) for t in map(text_of, values) if "e" not in t), default=0)
    more = any("e" in text_of(value) for value in values)
    return min(9 if more else needed, max(len(largest.partition(".")[2]), 4))


def _is_number(cell: Any) -> bool:
    return cell is None or (isinstance(cell, (Real, Spread)) and not isinstance(cell, bool))


def _short(value: float) -> float:
    return float(f"{value:.6g}")


def _block(part: Table | str, blocks: dict[str, int]) -> list[Any]:
    """(number of its heading, content): headings are many times the same and stand once."""
    if isinstance(part, str):
        return [blocks.setdefault(json.dumps({"title": ""}), len(blocks)), part]
    columns = part.columns
    head: Mapping[str, Any] = {
        "title": part.title,
        "columns": columns,
        "numeric": [part.numeric(column) for column in columns],
        "note": part.note,
    }
    return [blocks.setdefault(json.dumps(head, ensure_ascii=False), len(blocks)), part.texts()]
