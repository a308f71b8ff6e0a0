"""Tables, figures and pictures to one self-contained HTML page, and to the folder of a run.

A `Report` is a value: text, tables, figures and pictures in reading order, notes, and what is known about the run.
Experiments, benchmarks and the demo return one; `Report.html` draws the page, `write_run` the folder.
"""

import base64
import csv
import io
import json
import math
import os
import platform
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from hashlib import file_digest
from importlib import metadata, resources, util
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self
from zlib import crc32

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas
    from numpy.typing import ArrayLike

__all__ = [
    "INK",
    "MUTED",
    "OURS",
    "THEIRS",
    "Figure",
    "Pictures",
    "Report",
    "Spread",
    "Table",
    "Text",
    "check_folder",
    "plot",
    "require_report_packages",
    "run_info",
    "text_of",
    "write_run",
]

# Colours of figures. They stand for variables of the page's style sheet, so that figures follow light and dark.
INK, MUTED, OURS, THEIRS = "#010203", "#010204", "#010205", "#010206"
_VARIABLES = {INK: "currentColor", MUTED: "var(--muted)", OURS: "var(--ours)", THEIRS: "var(--theirs)"}

_STYLE: Any = {
    "axes.edgecolor": MUTED,
    "axes.grid": True,
    "axes.labelcolor": INK,
    "axes.spines.right": False,
    "axes.spines.top": False,
    "figure.facecolor": "none",
    "axes.facecolor": "none",
    "font.size": 9,
    "grid.alpha": 0.25,
    "grid.color": MUTED,
    "grid.linewidth": 0.6,
    "legend.frameon": False,
    "lines.linewidth": 1.6,
    "savefig.facecolor": "none",
    "svg.fonttype": "none",
    "svg.hashsalt": "iokr",
    "text.color": INK,
    "xtick.color": MUTED,
    "xtick.labelcolor": INK,
    "ytick.color": MUTED,
    "ytick.labelcolor": INK,
}


@dataclass(frozen=True)
class Spread:
    """mean ± standard deviation of n repetitions, or as a paper printed it.

    Examples
    --------
    >>> from iokr.report import Spread
    >>> print(Spread.of([1.0, 2.0, 3.0], digits=2))
    2.00 ± 1.00
    """

    mean: float
    std: float
    n: int | None = None
    digits: int = 4

    @classmethod
    def of(cls, values: Iterable[float], digits: int = 4) -> Self:
        """Of measured values, with the n − 1 of a sample; a single value has no deviation."""
        values = [float(v) for v in values]
        mean = math.fsum(values) / len(values)
        squares = math.fsum((v - mean) ** 2 for v in values)
        std = math.sqrt(squares / (len(values) - 1)) if len(values) > 1 else math.nan
        return cls(mean, std, len(values), digits)

    def __str__(self) -> str:
        mean = f"{self.mean:.{self.digits}f}"
        return mean if math.isnan(self.std) else f"{mean} ± {self.std:.{self.digits}f}"


@dataclass(frozen=True)
class Text:
    """A heading and paragraphs; a word between backticks is set as code."""

    heading: str
    paragraphs: tuple[str, ...] = ()


@dataclass(frozen=True)
class Table:
    """Rows of named cells: text, numbers, `Spread`, or None for what there is not.

    Parameters
    ----------
    title : str
    rows : sequence of mappings
        A column that a row lacks is left empty there.
    note : str
        Set below the table.
    ours : tuple of str
        Columns to stress.
    folded : bool
        On the page, show the rows only when asked to.
    """

    title: str
    rows: Sequence[Mapping[str, Any]]
    note: str = ""
    ours: tuple[str, ...] = ()
    folded: bool = False

    @property
    def columns(self) -> list[str]:
        """Every column, in the order of first use."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def numeric(self, column: str) -> bool:
        """Whether the column holds numbers or percentages, to be set flush right."""
        return all(
            cell is None or isinstance(cell, (int, float, Spread)) or (isinstance(cell, str) and cell.endswith("%"))
            for cell in (row.get(column) for row in self.rows)
        )

    def texts(self) -> list[list[str]]:
        """The cells as they are printed, row by row; numbers of one column have the same number of decimals."""
        columns = [_texts_of([row.get(column) for row in self.rows]) for column in self.columns]
        return [list(row) for row in zip(*columns, strict=True)]

    def flat(self) -> list[dict[str, Any]]:
        """Rows for machines: a `Spread` becomes the columns `name` and `name (sd)`."""
        return [_flat_row(row) for row in self.rows]


@dataclass(frozen=True)
class Figure:
    """A drawing as inline SVG, made by `plot`."""

    svg: str
    caption: str
    width: float  # in inches, as drawn


@dataclass(frozen=True)
class Pictures:
    """Rows of small images, each row with its label.

    Parameters
    ----------
    rows : mapping of str to sequence of arrays (h, w)
        NaN pixels are transparent.
    low, high : float
        The values drawn white and black.
    """

    rows: Mapping[str, Sequence["ArrayLike"]]
    caption: str
    low: float
    high: float

    def encoded(self) -> dict[str, list[str]]:
        """Every image as a `data:` address."""
        from matplotlib import colormaps
        from matplotlib.image import imsave

        def encode(image: "ArrayLike") -> str:
            file = io.BytesIO()
            imsave(file, image, vmin=self.low, vmax=self.high, cmap=colormaps["gray_r"], format="png")
            return "data:image/png;base64," + base64.b64encode(file.getvalue()).decode()

        return {label: [encode(image) for image in images] for label, images in self.rows.items()}


Item = Text | Table | Figure | Pictures


@dataclass(frozen=True)
class Report:
    """What a run has to say, in reading order.

    Parameters
    ----------
    title, summary : str
    items : tuple of Text, Table, Figure or Pictures
    notes : tuple of str
        What a reader has to know to judge the figures.
    info : dict
        Of the run: versions, seed, seconds, hashes of data files; see `run_info`.

    Examples
    --------
    >>> from iokr.report import Report, Spread, Table
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

    @property
    def tables(self) -> list[Table]:
        """The tables, in order."""
        return [item for item in self.items if isinstance(item, Table)]

    def with_info(self, info: Mapping[str, Any]) -> "Report":
        """The same report, knowing more about its run."""
        return replace(self, info={**self.info, **info})

    def html(self) -> str:
        """One page that needs nothing from outside itself."""
        require_report_packages()
        from jinja2 import Environment

        environment = Environment(autoescape=True, trim_blocks=True, lstrip_blocks=True)
        environment.filters.update(typeset=_typeset, lines=_lines)
        template = environment.from_string(resources.files("iokr").joinpath("report.html.jinja").read_text("utf-8"))
        blocks = [(kind.__name__, list(items)) for kind, items in groupby(self.items, type)]
        return template.render(report=self, blocks=blocks)

    def table_text(self, format: str = "tsv") -> str:
        """Every table in one: the rows of all, the title of their table in the first column."""
        rows = [{"table": table.title, **row} for table in self.tables for row in table.flat()]
        if format == "json":
            return json.dumps(_plain(rows), indent=2, ensure_ascii=False) + "\n"
        file = io.StringIO()
        columns = list(dict.fromkeys(name for row in rows for name in row))
        writer = csv.DictWriter(file, columns, delimiter={"tsv": "\t", "csv": ","}[format], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return file.getvalue()

    def metrics(self) -> dict[str, Any]:
        """The figures as plain data."""
        tables = [{"title": table.title, "note": table.note, "rows": list(table.rows)} for table in self.tables]
        plain: dict[str, Any] = _plain({"title": self.title, "tables": tables, "notes": list(self.notes)})
        return plain


def plot(draw: "Callable[[Canvas], None]", *, caption: str, size: tuple[float, float] = (4.8, 3.2)) -> Figure:
    """Let `draw` fill a matplotlib figure of `size` inches, and keep it as SVG.

    Figures are drawn small, about the width of a telephone, so that their letters can be read there too.

    Examples
    --------
    >>> from iokr.report import plot
    >>> figure = plot(lambda canvas: canvas.subplots().plot([1, 2, 3]), caption="A line.")
    >>> figure.svg.startswith("<svg")
    True
    """
    require_report_packages()
    from matplotlib import rc_context
    from matplotlib.figure import Figure as Canvas

    file = io.StringIO()
    with rc_context(_STYLE):
        canvas = Canvas(figsize=size, layout="constrained")
        draw(canvas)
        canvas.savefig(file, format="svg", metadata={"Date": None})
    return Figure(_inline(file.getvalue(), caption), caption, size[0])


def _inline(svg: str, caption: str) -> str:
    """The <svg> element alone: sized by the page, coloured by its style sheet, with names that are its own."""
    svg = svg[svg.index("<svg") :]
    svg = re.sub(r"<metadata>.*?</metadata>\s*", "", svg, flags=re.DOTALL)
    svg = re.sub(r' (?:width|height)="[\d.]+pt"', "", svg, count=2)
    for colour, variable in _VARIABLES.items():
        svg = svg.replace(colour, variable)
    own = f"f{crc32(svg.encode()):08x}-"
    svg = re.sub(r'\bid="', f'id="{own}', svg)
    svg = re.sub(r'(url\(#|href="#)', rf"\1{own}", svg)
    label = caption.replace("&", "&amp;").replace('"', "&quot;").replace("<", "&lt;")
    return svg.replace("<svg", f'<svg role="img" aria-label="{label}"', 1)


def require_report_packages() -> None:
    """Say in words which packages pages and figures need, when they are not installed."""
    missing = [name for name in ("jinja2", "matplotlib") if util.find_spec(name) is None]
    if missing:
        raise ImportError(f"the HTML page needs {' and '.join(missing)}: pip install 'iokr[report]'")


def run_info(*, seed: int | None = None, seconds: float | None = None, files: Sequence[Path] = ()) -> dict[str, Any]:
    """What a reader needs to run it again: time, versions, machine, seed, and the SHA-256 of every data file.

    Examples
    --------
    >>> from iokr.report import run_info
    >>> run_info(seed=0)["seed"]
    0
    """
    return {
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "seed": seed,
        "seconds": None if seconds is None else round(seconds, 2),
        "versions": versions(),
        "machine": f"{platform.system()} {platform.machine()}, {_cores()} cores",
        "data": {f"{path.parent.name}/{path.name}": _sha256(path) for path in files},
    }


def versions() -> dict[str, str]:
    """Python, and what the figures depend on."""
    names = ("iokr", "numpy", "scipy", "scikit-learn", "pandas", "array-api-compat", "matplotlib", "torch")
    found = {"python": platform.python_version()}
    for name in names:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found


def check_folder(folder: Path, *, force: bool = False, format: str = "tsv") -> None:
    """Refuse a folder that already holds a run, unless `force`."""
    if folder.exists() and not folder.is_dir():
        raise FileExistsError(f"{folder} is a file; give a folder with -o.")
    there = [name for name in _run_files(format) if (folder / name).exists()]
    if there and not force:
        raise FileExistsError(f"{folder} already holds {there[0]}; use --force to write over it, or -o another folder.")


def write_run(report: Report, folder: Path, *, force: bool = False, format: str = "tsv") -> list[Path]:
    """Write the table, metrics.json, run.json and report.html into `folder`; return their paths."""
    check_folder(folder, force=force, format=format)
    contents = (report.table_text(format), _json(report.metrics()), _json(report.info), report.html())
    folder.mkdir(parents=True, exist_ok=True)
    paths = [folder / name for name in _run_files(format)]
    for path, content in zip(paths, contents, strict=True):
        path.write_text(content, encoding="utf-8")
    return paths


def text_of(cell: Any) -> str:
    """A cell as it is printed: four significant digits, yes or no, a dash for what there is not."""
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return str(cell)


def _texts_of(cells: list[Any]) -> list[str]:
    """A column as it is printed."""
    texts = [text_of(cell) for cell in cells]
    numbers = [text for cell, text in zip(cells, texts, strict=True) if isinstance(cell, float)]
    if any("e" in number for number in numbers):
        return texts
    places = max((len(number.partition(".")[2]) for number in numbers), default=0)
    return [
        f"{cell:.{places}f}" if isinstance(cell, float) and math.isfinite(cell) else text
        for cell, text in zip(cells, texts, strict=True)
    ]


def _run_files(format: str) -> tuple[str, ...]:
    return (f"table.{format}", "metrics.json", "run.json", "report.html")


def _flat_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """One row, every `Spread` in two columns."""
    flat: dict[str, Any] = {}
    for name, cell in row.items():
        if isinstance(cell, Spread):
            flat[name], flat[f"{name} (sd)"] = cell.mean, None if math.isnan(cell.std) else cell.std
        else:
            flat[name] = cell
    return flat


def _plain(value: Any) -> Any:
    """Only what JSON has: NaN and infinities become null, a `Spread` an object."""
    if isinstance(value, Spread):
        return _plain({"mean": value.mean, "std": value.std, "n": value.n})
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(item) for item in value]
    if hasattr(value, "item"):
        value = value.item()  # a NumPy number
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value


def _json(value: Any) -> str:
    return json.dumps(_plain(value), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def _cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _typeset(text: str) -> Any:
    """Escaped text; what is between backticks is set as code, and σ_k outside it with its index below."""
    from markupsafe import Markup, escape

    parts = []
    for i, part in enumerate(str(text).split("`")):
        if i % 2:
            parts.append(Markup("<code>{}</code>").format(part))
        else:
            parts.append(Markup(re.sub(r"([α-ω])_(\w)", r"\1<sub>\2</sub>", str(escape(part)))))
    return Markup("").join(parts)


def _lines(value: Any) -> list[str]:
    """An entry of `Report.info` as lines of text; short parts share one."""
    if not isinstance(value, Mapping):
        return [text_of(value)]
    parts = [f"{key} {text_of(item)}" for key, item in value.items()]
    return parts if max(map(len, parts), default=0) > 40 else [", ".join(parts)]
