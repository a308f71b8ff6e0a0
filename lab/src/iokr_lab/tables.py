"""Tables that most pages have: published and our numbers, chosen parameters, paired differences."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from iokr.apps.report import Spread, Table

if TYPE_CHECKING:
    import pandas as pd

Row = str | tuple[str, ...]
Ours = Mapping[Any, Mapping[str, Iterable[float]]]
"""row → column → one value per repetition."""


def beside(
    title: str,
    published: Mapping[Any, Mapping[str, Spread]],
    ours: Ours,
    *,
    columns: Sequence[str],
    rows: Iterable[Row] | None = None,
    label: Row = "method",
    digits: int = 1,
    **more: Any,
) -> Table:
    """A row per method with the published and our number of each column; – for a missing number.

    Parameters
    ----------
    title : str
    published : mapping of row to column to Spread
        See `iokr_lab.published.published`.
    ours : mapping of row to column to values
    columns : sequence of str
    rows : iterable of str or of tuples of str, optional
        None: the published rows, then those without a published number.
    label : str or tuple of str
        Header of the columns that name the rows.
    digits : int
        Number of decimals of our numbers.
    **more
        Further arguments of the table: `note`, `folded`, …

    Examples
    --------
    >>> from iokr_lab.published import published
    >>> from iokr_lab.tables import beside
    >>> table = beside("Table 2", published("b11_table2"), {"EM": {"ROC": [80.0, 82.0]}}, columns=("ROC",), rows=["EM"])
    >>> table.texts()
    [['EM', '80.6 ± 1.1', '81.0 ± 1.4']]
    """
    if rows is None:
        rows = dict.fromkeys([*published, *ours])
    lines = []
    for name in rows:
        line: dict[str, Any] = dict(zip(_tuple(label), _tuple(name), strict=True))
        for column in columns:
            values = ours.get(name, {}).get(column)
            line[f"{column}, published"] = published.get(name, {}).get(column)
            line[f"{column}, ours"] = None if values is None else Spread.of(values, digits=digits)
        lines.append(line)
    return Table(title, lines, ours=tuple(f"{column}, ours" for column in columns), **more)


def _tuple(row: Row) -> tuple[str, ...]:
    return (row,) if isinstance(row, str) else row


# -------------------------------------------------------------------------------------------------- chosen parameters


def frequent(values: Iterable[Any], most: int = 4) -> str:
    """The most frequent values with their counts: `b (2 ×); a (1 ×)`."""
    texts = [f"{value:.3g}" if isinstance(value, float) else str(value) for value in values]
    return "; ".join(f"{text} ({n} ×)" for text, n in Counter(texts).most_common(most) if text)


def median_range(values: Iterable[float]) -> str:
    """median (smallest to largest): `1 (0.1 to 10)`."""
    values = list(values)
    return f"{np.median(values):.3g} ({min(values):.3g} to {max(values):.3g})"


def chosen(
    frame: pd.DataFrame,
    *,
    by: Mapping[str, str],
    what: Mapping[str, str],
    title: str = "Chosen parameters, the four most frequent",
    numbers: str = "frequent",
    most: int = 4,
) -> Table:
    """The chosen parameters in each group of cells, most frequent first.

    Parameters
    ----------
    frame : DataFrame
        A row per cell.
    by : mapping of str to str
        Columns of the frame that define the groups, with their names in the table.
    what : mapping of str to str
        Columns with the chosen parameters, with their names in the table; a group without any has no row.
    title : str
    numbers : {"frequent", "range"}
        Whether numbers are counted, or summarised as median (smallest to largest).
    most : int
        Number of values shown.

    Examples
    --------
    >>> import pandas as pd
    >>> from iokr_lab.tables import chosen
    >>> cells = pd.DataFrame({"set": ["x", "x", "y"], "alpha": [1.0, 1.0, 0.1]})
    >>> chosen(cells, by={"set": "set"}, what={"alpha": "λ"}).texts()
    [['x', '1 (2 ×)'], ['y', '0.1 (1 ×)']]
    """
    rows = []
    for group, cells in frame.groupby(list(by), sort=False, dropna=False):
        row: dict[str, Any] = dict(zip(by.values(), group, strict=True))
        for column, name in what.items():
            row[name] = _summary(cells[column].dropna().tolist(), numbers, most)
        if any(row[name] for name in what.values()):
            rows.append(row)
    return Table(title, rows, folded=True)


def _summary(values: list[Any], numbers: str, most: int) -> str | None:
    if not values:
        return None
    if numbers == "range" and all(isinstance(value, (int, float)) for value in values):
        return median_range(values)
    return frequent(values, most)


# -------------------------------------------------------------------------------------------------- paired differences


@dataclass(frozen=True)
class Difference:
    """Mean of n paired differences, its standard error, number of wins of the first, p-value of the paired test."""

    mean: float
    error: float
    wins: int
    n: int
    p: float

    def __str__(self) -> str:
        return self.text(".3g", ".2g")

    def text(self, mean: str, error: str | None = None) -> str:
        """Signed mean ± standard error in these formats; the mean alone for a single split."""
        shown = f"{self.mean:+{mean}}"
        return shown if math.isnan(self.error) else f"{shown} ± {self.error:{error or mean}}"


def difference(first: Iterable[float], second: Iterable[float], *, ratio: float, larger: bool = True) -> Difference:
    """d = first − second over the same splits, by the corrected resampled t-test of Nadeau and Bengio (2003).

    With J splits of n examples into training and test parts and s² the variance of the differences (divisor J − 1),

        t = mean(d) / √((1/J + ρ) s²),    ρ = n_test / n_train,

    is compared with Student's t distribution with J − 1 degrees of freedom, two-sided. Splits of one sample share
    training examples, so differences are correlated; the plain t-test (ρ = 0) assumes independence and rejects far too
    often. Use ρ = 0 for independent samples; for k folds ρ = 1/(k − 1), repeated or not (Bouckaert and Frank, 2004).

    Parameters
    ----------
    first, second : iterable of float
        Scores on the same splits in the same order.
    ratio : float
        ρ.
    larger : bool, default=True
        Whether larger values are better; decides what counts as a win. Ties do not count.

    Returns
    -------
    Difference
        `error` is √((1/J + ρ) s²); `error` and `p` are NaN for a single split; p = 1 where all differences are 0.

    References
    ----------
    C. Nadeau, Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003, Sec. 3.

    Examples
    --------
    >>> from iokr_lab.tables import difference
    >>> found = difference([0.9, 0.8, 0.9], [0.7, 0.7, 0.8], ratio=0.5)
    >>> found.wins, round(found.mean, 3), round(found.p, 3)
    (3, 0.133, 0.127)
    """
    from scipy.stats import t as student

    d = np.array(list(first), dtype=float) - np.array(list(second), dtype=float)
    mean = float(d.mean())
    wins = int(((d if larger else -d) > 0).sum())
    J = len(d)
    if J < 2:
        return Difference(mean, math.nan, wins, J, math.nan)
    error = float(np.sqrt((1 / J + ratio) * d.var(ddof=1)))
    if error == 0:
        return Difference(mean, error, wins, J, 1.0 if mean == 0 else 0.0)
    return Difference(mean, error, wins, J, float(2 * student.sf(abs(mean) / error, J - 1)))


def holm(p: Sequence[float]) -> list[float]:
    """Holm's correction over all tests; NaN marks a missing test and is returned as it is.

    Sorted, p₍₁₎ ≤ … ≤ p₍ₘ₎ become max over i ≤ j of min(1, (m − i + 1) p₍ᵢ₎).

    Examples
    --------
    >>> from iokr_lab.tables import holm
    >>> holm([0.04, 0.01, 0.5])
    [0.08, 0.03, 0.5]
    """
    tested = [i for i in range(len(p)) if not math.isnan(p[i])]
    corrected = list(p)
    worst = 0.0
    for rank, i in enumerate(sorted(tested, key=lambda i: p[i])):
        worst = max(worst, min(1.0, (len(tested) - rank) * p[i]))
        corrected[i] = worst
    return corrected


def paired(
    title: str, rows: Sequence[tuple[Mapping[str, Any], Difference]], *, note: str = "", digits: int = 3, **more: Any
) -> Table:
    """A row per comparison: mean difference ± its error, wins, p of the paired test, and p with Holm's correction.

    Parameters
    ----------
    title : str
    rows : sequence of (mapping, Difference)
        The columns that name the row, and the comparison; see `difference`. Holm's correction is over all rows.
    note : str
    digits : int
        Number of decimals of the mean.
    **more
        Further arguments of the table.

    Examples
    --------
    >>> from iokr_lab.tables import difference, paired
    >>> rows = [({"method": "b"}, difference([0.9, 0.8], [0.7, 0.7], ratio=0.25))]
    >>> paired("a minus …", rows).texts()
    [['b', '+0.150 ± 0.061', '2 of 2', '0.2', '0.2']]
    """
    corrected = holm([found.p for _, found in rows])
    lines = []
    for (names, found), p in zip(rows, corrected, strict=True):
        tested = not math.isnan(p)
        lines.append(
            {
                **names,
                "difference": found.text(f".{digits}f"),
                "wins": f"{found.wins} of {found.n}",
                "p": f"{found.p:.1g}" if tested else None,
                "p, Holm": f"{p:.1g}" if tested else None,
            }
        )
    return Table(title, lines, note=f"{note} {_TEST}".strip(), **more)


_TEST = (
    "± is the standard error of Nadeau and Bengio's corrected resampled t-test, p its two-sided p-value; Holm's "
    "correction is over all rows."
)
