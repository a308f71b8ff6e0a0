"""Interactive parts of a page: a table to sort, filter and search, a network to zoom and inspect.

Both are plain values. The page contains their data as JSON and its own code (`assets`), and loads nothing. Without
JavaScript it shows the first rows and a drawing.
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

from iokr.apps.report.drawings import CLASSES
from iokr.apps.report.figures import Figure
from iokr.apps.report.tables import Spread, Table, number_of, plain, text_of

__all__ = ["LiveNetwork", "LiveTable", "script", "style"]

_STATIC_ROWS = 100  # in the page, for readers without JavaScript
_MAX_PLACES = 9
_PLACES = 4
_SMALL = 1e-3  # largest number of a column below which places are not fixed


@dataclass(frozen=True)
class LiveTable:
    """A table whose rows can be sorted, filtered, searched and saved on the page.

    Printed tables and `metrics.json` contain the first `head` rows. On the page a row expands to its details.

    Parameters
    ----------
    table : Table
    details : sequence of sequences of Table or str, default=()
        Of each row: small tables and paragraphs, shown when the row is expanded.
    names : tuple of str, default=()
        Columns that contain nodes of a `LiveNetwork` on the same page.
    file : str, default="table.tsv"
        The file with all rows, for readers without JavaScript; rows saved from the page get its name.
    head : int, default=20
    safe : bool, default=False
        Whether saved text that a spreadsheet would execute as a formula gets an apostrophe before it.

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
        table = self.table
        n = len(table.rows)
        if n <= self.head:
            return table
        separator = " " if table.title[:1].islower() else ": "
        title = f"The first {self.head} of {n}{separator}{table.title}"
        our_rows = tuple(i for i in table.our_rows if i < self.head)
        return replace(table, title=title, rows=table.rows[: self.head], our_rows=our_rows)

    def still(self) -> Table:
        """The rows that the page shows without JavaScript."""
        n = len(self.table.rows)
        note = f"The first {_STATIC_ROWS} of {n} rows; all are in `{self.file}`." if n > _STATIC_ROWS else ""
        return replace(self.table, rows=self.table.rows[:_STATIC_ROWS], note=note)

    def data(self) -> str:
        """All rows as JSON to embed in a page."""
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
    """A network to zoom, drag and inspect: known links, and predicted links, which are the rows of a table.

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
        The drawing without JavaScript.
    weights : array of shape (m,), optional
        Of the known links.
    groups, group : sequences of str and of n int, optional
        Names of groups of nodes, and the group of each node, which determines its colour.
    drawn : int, optional
        Number of predicted links to draw initially, from the first rows of the table; readers can change it.
    across : bool, default=False
        Whether the network is bipartite: the ends of a link have no partner in common.

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
        """The network as JSON to embed in a page; `table` is the id of the table there."""
        n = len(self.names)
        places = np.asarray(self.places, dtype=float).reshape(n, 2)
        weights = None if self.weights is None else np.asarray(self.weights, dtype=float)
        if weights is not None and (not len(weights) or np.ptp(weights) == 0):  # equal weights are not shown
            weights = None
        return _inside_page(
            {
                "names": [str(name) for name in self.names],
                "x": np.round(places[:, 0], 4).tolist(),
                "y": np.round(places[:, 1], 4).tolist(),
                "known": np.asarray(self.known, dtype=np.int64).ravel().tolist(),
                "weights": None if weights is None else [float(f"{w:.6g}") for w in weights.tolist()],
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
    """The JavaScript of interactive tables and networks."""
    parts = [_asset(f"{name}.js") for name in ("table", "network", "panel", "start")]
    return '"use strict";\n(() => {\n' + "\n".join(parts) + "})();\n"


def style() -> str:
    """Their style sheet."""
    return _asset("live.css")


def _asset(name: str) -> str:
    return resources.files("iokr.apps.report").joinpath("assets", name).read_text("utf-8")


def _inside_page(value: Any) -> str:
    """JSON in which nothing can be taken for a tag."""
    text = json.dumps(plain(value), ensure_ascii=False, allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e").replace("\u2028", "\\u2028")


def _column(name: str, cells: list[Any]) -> dict[str, Any]:
    """A column as values to sort and save, and texts where they do not follow from the values."""
    cells = [number_of(cell) for cell in cells]
    numbers = [cell for cell in cells if cell is not None]
    if not numbers or not all(isinstance(cell, (Real, Spread)) and not isinstance(cell, bool) for cell in numbers):
        return {"name": name, "kind": "text", "values": [None if cell is None else text_of(cell) for cell in cells]}
    if any(isinstance(cell, Spread) for cell in numbers):
        means = [cell.mean if isinstance(cell, Spread) else cell for cell in cells]
        return {"name": name, "kind": "number", "values": means, "texts": [text_of(cell) for cell in cells]}
    return {
        "name": name,
        "kind": "number",
        "values": cells,
        "places": _places([cell for cell in numbers if isinstance(cell, float) and math.isfinite(cell)]),
        "whole": any(isinstance(cell, int) for cell in numbers),
    }


def _places(values: list[float]) -> int | None:
    """Decimals of a column: those that its numbers have with four significant digits, at least four for small ones.

    None if the largest number is written with an exponent; the page prints numbers that would round to zero in full.
    """
    if not values:
        return 0
    largest = max(map(abs, values))
    texts = [text_of(value) for value in values]
    if "e" in text_of(largest) or 0 < largest < _SMALL:
        return None
    needed = max((_decimals(text) for text in texts if "e" not in text), default=0)
    if any("e" in text for text in texts):
        needed = _MAX_PLACES
    return min(needed, max(_decimals(text_of(largest)), _PLACES))


def _decimals(text: str) -> int:
    return len(text.partition(".")[2])


def _block(part: Table | str, blocks: dict[str, int]) -> list[Any]:
    """(number of its heading, content): a heading that occurs many times is stored once."""
    if isinstance(part, str):
        return [blocks.setdefault(json.dumps({"title": ""}), len(blocks)), part]
    heading: Mapping[str, Any] = {
        "title": part.title,
        "columns": part.columns,
        "numeric": [part.numeric(column) for column in part.columns],
        "note": part.note,
    }
    return [blocks.setdefault(json.dumps(heading, ensure_ascii=False), len(blocks)), part.texts()]
