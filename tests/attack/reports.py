"""Odd cells, names and texts in tables, pages, folders of runs and files of networks: nothing is executed or lost."""

from __future__ import annotations

import csv
import io
import json
import xml.etree.ElementTree as ET
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import networkx as nx
import numpy as np

from attack.judge import Case, Wrong
from iokr.apps.report import LiveTable, Report, Table, Text, text_of, to_cytoscape, to_graphml, write_run

__all__ = ["report_cases"]

CELLS: dict[str, Any] = {
    "a word": "abc",
    "markup": "<script>alert(1)</script>",
    "an attribute": '" onmouseover="alert(1)',
    "an end of a script": "</script><img src=x onerror=alert(1)>",
    "a comment": "<!-- -->",
    "an entity": "&amp;&#60;",
    "a template": "{{ 7 * 7 }}{% raw %}",
    "a formula": "=cmd()",
    "a tab": "a\tb",
    "lines": "a\nb\r\nc",
    "quotes": "a\"b'c",
    "NUL": "a\0b",
    "control characters": "\x1b[31m\x9b31m",
    "right to left": "\u202eabc",
    "a lone surrogate": "\ud800",
    "a long word": "x" * 20_000,
    "an empty word": "",
    "NaN": float("nan"),
    "infinity": float("inf"),
    "a huge number": 10**400,
    "a tiny number": 5e-324,
    "None": None,
    "True": True,
    "an array": np.arange(3),
    "NumPy NaN": np.float32("nan"),
    "a NumPy integer": np.int64(2**62),
    "a date": np.datetime64("2026-01-01"),
    "a list": [1, [2]],
    "bytes": b"\xff",
    "an object": object(),
    "a complex number": 1j,
}


class _Tags(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.handlers: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        self.handlers += [name for name, _ in attrs if name.startswith("on")]


def _tags(page: str) -> _Tags:
    found = _Tags()
    found.feed(page)
    return found


def _report(cell: Any) -> Report:
    rows = [{"name": cell, "value": 1.0}, {"name": "plain", "value": cell}]
    words = cell if isinstance(cell, str) else "words"
    table = Table(words, rows)
    return Report(words or "title", words, (table, Text(words), LiveTable(table, file="all.tsv")), (words,))


def page(cell: Any) -> None:
    """No tag and no handler more than the page of a plain word has, and a file that can be written."""
    found, plain = _tags(_report(cell).html()), _tags(_report("abc").html())
    if sorted(set(found.tags)) != sorted(set(plain.tags)) or found.tags.count("script") != plain.tags.count("script"):
        raise Wrong(f"other tags: {sorted(set(found.tags) ^ set(plain.tags))}")
    if found.handlers != plain.handlers:
        raise Wrong(f"handlers: {found.handlers}")


def folder(cell: Any) -> None:
    """metrics.json is JSON, the table has its rows and columns."""
    with TemporaryDirectory() as name:
        paths = write_run(_report(cell), Path(name, "out"))
        for path in paths:
            if path.suffix == ".json":
                json.loads(path.read_text("utf-8"), parse_constant=_refused)
            if path.suffix == ".tsv":
                lines = list(csv.reader(io.StringIO(path.read_text("utf-8"), newline=""), delimiter="\t"))
                if len({len(line) for line in lines}) != 1 or len(lines) != 3:
                    raise Wrong(f"{path.name}: {len(lines)} lines of {sorted({len(line) for line in lines})} cells")


def _refused(word: str) -> None:
    raise Wrong(f"{word} is no JSON")


def text(cell: Any) -> None:
    if not isinstance(text_of(cell), str):
        raise Wrong("no text")


def network(cell: Any) -> None:
    """GraphML is XML with all nodes and edges, Cytoscape's file is JSON."""
    ids = [str(cell) or "empty", "b", "c"]
    links = [(ids[0], "b", {"kind": cell}), ("b", "c", {"kind": "plain"})]
    graph = nx.Graph(links)
    nx.set_node_attributes(graph, cell, "label")
    root = ET.fromstring(to_graphml(graph))
    counts = [sum(element.tag.endswith(tag) for element in root.iter()) for tag in ("}node", "}edge")]
    if counts != [3, 2]:
        raise Wrong(f"{counts} nodes and edges for [3, 2]")
    json.loads(to_cytoscape(graph), parse_constant=_refused)


CHECKS: dict[str, Callable[[Any], None]] = {
    "report.Report/page": page,
    "report.write_run/folder": folder,
    "report.text_of/cell": text,
    "report.to_graphml/files": network,
}


def report_cases() -> Iterator[Case]:
    """All of them."""
    for name, check in CHECKS.items():
        for word, cell in CELLS.items():
            yield Case(f"{name}={word}", lambda f=check, c=cell: f(c), ("cell", "column", "table", "rows", "id"))
