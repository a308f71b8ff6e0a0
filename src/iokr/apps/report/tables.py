"""Tables whose cells are text, numbers, or a mean with its deviation."""

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

__all__ = ["Spread", "Table", "no_formula", "number_of", "plain", "tab_separated", "text_of"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


@dataclass(frozen=True)
class Spread:
    """mean ± standard deviation of n repetitions, or as a paper printed it.

    Examples
    --------
    >>> from iokr.apps.report import Spread
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
    our_rows : tuple of int
        Rows to stress, from 0.
    folded : bool
        On the page, show the rows only when asked to.

    Examples
    --------
    >>> from iokr.apps.report import Spread, Table
    >>> table = Table("Error", [{"method": "IOKR", "ours": Spread(0.25, 0.01, digits=2)}, {"method": "none"}])
    >>> table.columns, table.texts()
    (['method', 'ours'], [['IOKR', '0.25 ± 0.01'], ['none', '–']])
    """

    title: str
    rows: Sequence[Mapping[str, Any]]
    note: str = ""
    ours: tuple[str, ...] = ()
    our_rows: tuple[int, ...] = ()
    folded: bool = False

    @property
    def columns(self) -> list[str]:
        """Every column, in the order of first use."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def numeric(self, column: str) -> bool:
        """Whether the column holds numbers or percentages, to be set flush right."""
        return all(cell is None or _is_number(cell) for cell in (row.get(column) for row in self.rows))

    def kinds(self) -> list[str]:
        """ "number" for each column of numbers, for the page."""
        return ["number" if self.numeric(column) else "" for column in self.columns]

    def texts(self) -> list[list[str]]:
        """The cells as they are printed, row by row; numbers of one column have the same number of decimals."""
        columns = [_texts_of([row.get(column) for row in self.rows]) for column in self.columns]
        return [list(row) for row in zip(*columns, strict=True)]

    def flat(self) -> list[dict[str, Any]]:
        """Rows for machines: a `Spread` becomes the columns `name` and `name (sd)`."""
        return [_flat_row(row) for row in self.rows]


def text_of(cell: Any) -> str:
    """A cell as it is printed: four significant digits, yes or no, a dash for what there is not.

    Examples
    --------
    >>> from iokr.apps.report import text_of
    >>> [text_of(cell) for cell in (0.123456, True, None, "word")]
    ['0.1235', 'yes', '–', 'word']
    """
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "–"
    if isinstance(cell, bool):
        return "yes" if cell else "no"
    if isinstance(cell, float):
        return f"{cell:.4g}"
    return str(cell)


def no_formula(cell: Any) -> Any:
    """The cell; text that a spreadsheet takes for a formula gets an apostrophe before it, which makes it text there.

    Examples
    --------
    >>> from iokr.apps.report.tables import no_formula
    >>> [no_formula(cell) for cell in ("=1+2", "-x", "-1.5", "plain", -1.5)]
    ["'=1+2", "'-x", '-1.5', 'plain', -1.5]
    """
    if not isinstance(cell, str) or not cell.startswith(_FORMULA):
        return cell
    try:
        float(cell)
    except ValueError:
        return f"'{cell}"
    return cell


def _is_number(cell: Any) -> bool:
    """A number, one with a spread, or the text of one."""
    if not isinstance(cell, str):
        return isinstance(cell, (Real, Spread))
    try:
        float(cell.removesuffix("%"))
    except ValueError:
        return cell.endswith("%")
    return True


def tab_separated(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Cells of text as TSV: one that holds a tab, a quote or a line end stands between quotes, as readers expect.

    Examples
    --------
    >>> from iokr.apps.report.tables import tab_separated
    >>> print(tab_separated(["id", "size"], [['5" disk', "1"]]), end="")
    id	size
    "5"" disk"	1
    """
    file = io.StringIO()
    writer = csv.writer(file, delimiter="\t", lineterminator="\n")
    writer.writerow(head)
    writer.writerows(rows)
    return file.getvalue()


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


def _flat_row(row: Mapping[str, Any]) -> dict[str, Any]:
    """One row, every `Spread` in two columns."""
    flat: dict[str, Any] = {}
    for name, cell in row.items():
        if isinstance(cell, Spread):
            flat[name], flat[f"{name} (sd)"] = cell.mean, None if math.isnan(cell.std) else cell.std
        else:
            flat[name] = cell
    return flat


def number_of(value: Any) -> Any:
    """A NumPy number, or an array of one alone, as Python's; everything else as it is."""
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def plain(value: Any) -> Any:
    """Only what JSON has: NaN and infinities become null, a `Spread` an object, an array a list, all else its text."""
    if isinstance(value, Spread):
        return plain({"mean": value.mean, "std": value.std, "n": value.n})
    if isinstance(value, Mapping):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    value = number_of(value)
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value if value is None or isinstance(value, (str, int, float)) else str(value)
