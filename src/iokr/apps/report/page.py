"""A report: text, tables, figures and pictures in reading order, rendered as a page."""

import csv
import io
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from importlib import resources
from itertools import groupby
from typing import Any

from iokr._system.text import printable
from iokr.apps.report.figures import Figure, Pictures, require_report_packages
from iokr.apps.report.live import LiveNetwork, LiveTable, script, style
from iokr.apps.report.tables import Table, no_formula, plain, text_of

__all__ = ["METRICS", "Report", "Text"]

METRICS = 1  # the format of metrics.json, see metrics.schema.json
_SHORT = 40  # characters of an entry that shares its line with others


@dataclass(frozen=True)
class Text:
    """A heading and paragraphs; a word between backticks is set as code.

    Examples
    --------
    >>> from iokr.apps.report import Report, Text
    >>> "<code>alpha</code>" in Report("t", "s", (Text("Part", ("Choose `alpha`.",)),)).html()
    True
    """

    heading: str
    paragraphs: tuple[str, ...] = ()


Item = Text | Table | Figure | Pictures | LiveTable | LiveNetwork


@dataclass(frozen=True)
class Report:
    """The results of a run, in reading order.

    Parameters
    ----------
    title, summary : str
    items : tuple of Text, Table, Figure, Pictures, LiveTable or LiveNetwork
    notes : tuple of str
        What a reader must know to interpret the numbers.
    info : dict
        About the run: versions, seed, seconds, hashes of data files; see `run_info`.
    files : mapping of str to str or bytes
        Further files for the folder of the run, by name.

    Examples
    --------
    >>> from iokr.apps.report import Report, Spread, Table
    >>> table = Table("Error", [{"method": "IOKR", "ours": Spread.of([0.1, 0.2], digits=2)}])
    >>> report = Report("An example", "Two runs.", (table,))
    >>> print(report.tables[0].texts())
    [['IOKR', '0.15 ± 0.07']]
    """

    title: str
    summary: str
    items: tuple[Item, ...] = ()
    notes: tuple[str, ...] = ()
    info: Mapping[str, Any] = field(default_factory=dict)
    files: Mapping[str, str | bytes] = field(default_factory=dict)

    def __repr__(self) -> str:
        return f"Report({self.title!r}, {len(self.items)} parts)"

    @property
    def tables(self) -> list[Table]:
        """The tables, in order, with the first rows of a `LiveTable`."""
        return [
            item.short() if isinstance(item, LiveTable) else item
            for item in self.items
            if isinstance(item, (Table, LiveTable))
        ]

    def with_info(self, info: Mapping[str, Any]) -> "Report":
        """The same report with more information about its run."""
        return replace(self, info={**self.info, **info})

    def html(self) -> str:
        """A self-contained page."""
        require_report_packages()
        from jinja2 import Environment

        environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
        environment.filters.update(typeset=_typeset, lines=_lines, visible=printable)
        template = environment.from_string(
            resources.files("iokr.apps.report").joinpath("page.html.jinja").read_text("utf-8")
        )
        blocks = [(kind.__name__, list(items)) for kind, items in groupby(self.items, type)]
        live = [item for item in self.items if isinstance(item, (LiveTable, LiveNetwork))]
        ids = {id(item): f"live{k}" for k, item in enumerate(live)}
        return template.render(report=self, blocks=blocks, ids=ids, id=id, live=live, script=script, style=style)

    def table_text(self, format: str = "tsv", *, spreadsheet_safe: bool = False) -> str:
        """All tables as one, with the title of the table in the first column.

        With `spreadsheet_safe`, text in TSV and CSV that a spreadsheet would execute gets an apostrophe before it.
        """
        rows = [{"table": table.title, **row} for table in self.tables for row in table.flat()]
        return _rows_text(rows, format, spreadsheet_safe)

    def table_files(self, format: str = "tsv", *, spreadsheet_safe: bool = False) -> dict[str, str]:
        """A file for each table, by name: table.tsv, table-2.tsv and so on; text as in `table_text`."""
        texts = [_rows_text(table.flat(), format, spreadsheet_safe) for table in self.tables] or [""]
        return {f"table{f'-{k}' if k > 1 else ''}.{format}": text for k, text in enumerate(texts, start=1)}

    def metrics(self) -> dict[str, Any]:
        """The tables as plain data, described by `metrics.schema.json` in this folder."""
        tables = [{"title": table.title, "note": table.note, "rows": list(table.rows)} for table in self.tables]
        return {"format": METRICS, "title": self.title, "tables": plain(tables), "notes": list(self.notes)}


def _rows_text(rows: list[dict[str, Any]], format: str, spreadsheet_safe: bool) -> str:
    if spreadsheet_safe and format != "json":
        rows = [{name: no_formula(cell) for name, cell in row.items()} for row in rows]
    if format == "json":
        return json.dumps(plain(rows), indent=2, ensure_ascii=False) + "\n"
    file = io.StringIO()
    columns = list(dict.fromkeys(name for row in rows for name in row))
    writer = csv.DictWriter(file, columns, delimiter={"tsv": "\t", "csv": ","}[format], lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return file.getvalue()


def _typeset(text: str) -> Any:
    """Escaped text with code between backticks; elsewhere the index of σ_k is set below, and 5 % stays on one line."""
    from markupsafe import Markup, escape

    parts = []
    for i, part in enumerate(str(text).split("`")):
        if i % 2:
            parts.append(Markup("<code>{}</code>").format(part))
        else:
            words = re.sub(r"(?<=\d) (?=%)", "\u00a0", str(escape(part)))
            parts.append(Markup(re.sub(r"(?<!\w)([A-Zα-ω])_(\w)\b", r"\1<sub>\2</sub>", words)))
    return Markup("").join(parts)


def _lines(value: Any) -> list[str]:
    """An entry of `Report.info` as lines of text; short parts share one line."""
    if not isinstance(value, Mapping):
        return [text_of(value)]
    parts = [f"{key} {text_of(item)}" for key, item in value.items()]
    return parts if max(map(len, parts), default=0) > _SHORT else [", ".join(parts)]
