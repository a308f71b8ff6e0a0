"""Published numbers, as printed: a TSV file per table under `published/`.

Each line is a number: `row`, `column`, `mean`, `sd`; `sd` is empty where none is printed.
"""

import csv
import math
from importlib import resources

from iokr.apps.report import Spread

__all__ = ["Published", "published"]

Published = dict[str, dict[str, Spread]]
"""row → column → mean ± sd."""


def published(name: str, part: str = "", *, n: int | None = None) -> Published:
    """The numbers of the table `name`, with as many decimals as are printed.

    Parameters
    ----------
    name : str
        Of the file, without `.tsv`.
    part : str, optional
        Only the columns `part, …`, without that beginning.
    n : int, optional
        Over how many repetitions the paper took mean and deviation, where it says.

    Examples
    --------
    >>> from iokr_lab.published import published
    >>> print(published("b11_table2")["IOKR-ridge"]["ROC"])
    83.3 ± 2.1
    >>> list(published("b11_table3", "ROC")["none"])
    ['5%', '10%', '20%']
    """
    begin = f"{part}, " if part else ""
    table: Published = {}
    text = (resources.files("iokr_lab") / "published" / f"{name}.tsv").read_text(encoding="utf-8")
    for line in csv.DictReader(text.splitlines(), delimiter="\t", quoting=csv.QUOTE_NONE):
        mean, std, column = line["mean"], line["sd"], line["column"]
        if column.startswith(begin):
            number = Spread(float(mean), float(std) if std else math.nan, n, digits=len(mean.partition(".")[2]))
            table.setdefault(line["row"], {})[column.removeprefix(begin)] = number
    return table
