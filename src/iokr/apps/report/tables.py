"""Tables whose cells are text, numbers, or a mean with its standard deviation."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Self

__all__ = ["Spread", "Table", "no_formula", "number_of", "plain", "text_of"]

_FORMULA = ("=", "+", "-", "@", "\t", "\r", "＝", "＋", "－", "＠")


@dataclass(frozen=True)
class Spread:
    """mean ± standard deviation of n repetitions, or as printed in a paper.

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
        """The mean and the sample standard deviation (n − 1) of values; NaN for a single value."""
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
    """Rows of named cells: text, numbers, `Spread`, or None for missing values.

    Parameters
    ----------
    title : str
    rows : sequence of mappings
        The cell of a column that a row lacks is missing.
    note : str
        Below the table.
    ours : tuple of str
        Columns to highlight.
    our_rows : tuple of int
        Rows to highlight, from 0.
    folded : bool
        Whether the table is collapsed on the page.

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

    def __post_init__(self) -> None:
        if not all(self.columns):
            raise ValueError(f"Every column of the table {self.title!r:.60} must have a name, got {self.columns}.")

    @property
    def columns(self) -> list[str]:
        """Every column, in the order of first use."""
        return list(dict.fromkeys(name for row in self.rows for name in row))

    def numeric(self, column: str) -> bool:
        """Whether the column contains numbers or percentages, which are aligned at the right."""
        return all(cell is None or _is_number(cell) for cell in (row.get(column) for row in self.rows))

    def kinds(self) -> list[str]:
        """ "number" for each column of numbers, for the page."""
        return ["number" if self.numeric(column) else "" for column in self.columns]

    def texts(self) -> list[list[str]]:
        """The cells as printed, by row; the numbers of a column have the same number of decimals."""
        columns = [_texts_of([row.get(column) for row in self.rows]) for column in self.columns]
        return [list(row) for row in zip(*columns, strict=True)]

    def flat(self) -> list[dict[str, Any]]:
        """The rows as data: a `Spread` becomes the columns `name` and `name (sd)`."""
        return [_flat_row(row) for row in self.rows]


def text_of(cell: Any) -> str:
    """A cell as printed: four significant digits, yes or no, a dash for missing values.

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
    """The cell; text that a spreadsheet would execute as a formula gets an apostrophe before it, which prevents that.

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
    """Whether a cell is a number, a `Spread`, or the text of a number or percentage."""
    if not isinstance(cell, str):
        return isinstance(cell, (Real, Spread))
    try:
        float(cell.removesuffix("%"))
    except ValueError:
        return cell.endswith("%")
    return True


def _texts_of(cells: list[Any]) -> list[str]:
    """The cells of a column as printed."""
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
    """A row with two columns for every `Spread`."""
    flat: dict[str, Any] = {}
    for name, cell in row.items():
        if isinstance(cell, Spread):
            flat[name] = cell.mean
            flat[f"{name} (sd)"] = None if math.isnan(cell.std) else cell.std
        else:
            flat[name] = cell
    return flat


def number_of(value: Any) -> Any:
    """A number of NumPy, or an array with a single one, as a number of Python; other values as they are."""
    return value.item() if hasattr(value, "item") and getattr(value, "shape", None) == () else value


def plain(value: Any) -> Any:
    """A value as JSON: NaN and infinities become null, a `Spread` an object, an array a list, all else its text."""
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
