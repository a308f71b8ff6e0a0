"""Published numbers as printed: a TSV file per table under `published/`.

Each line is a number: `row`, `column`, `mean`, `sd`; `sd` is empty if none is printed.
"""

import csv
import math
from importlib import resources

from iokr.apps.report import Spread

__all__ = ["Published", "published"]

Published = dict[str, dict[str, Spread]]
"""row → column → mean ± sd."""


def published(name: str, part: str = "", *, n: int | None = None) -> Published:
    """The numbers of the table `name`, with the printed number of decimals.

    Parameters
    ----------
    name : str
        Name of the file without `.tsv`.
    part : str, optional
        Only the columns `part, …`, without this prefix.
    n : int, optional
        Number of repetitions behind mean and deviation, if the paper gives it.

    Examples
    --------
    >>> from iokr_lab.published import published
    >>> print(published("b11_table2")["IOKR-ridge"]["ROC"])
    83.3 ± 2.1
    >>> list(published("b11_table3", "ROC")["none"])
    ['5%', '10%', '20%']
    """
    prefix = f"{part}, " if part else ""
    table: Published = {}
    text = (resources.files("iokr_lab") / "published" / f"{name}.tsv").read_text(encoding="utf-8")
    for line in csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE):
        mean = line["mean"]
        std = line["sd"]
        column = line["column"]
        if column.startswith(prefix):
            number = Spread(float(mean), float(std) if std else math.nan, n, digits=len(mean.partition(".")[2]))
            table.setdefault(line["row"], {})[column.removeprefix(prefix)] = number
    return table
