"""Whether the best of a row is ahead of TPPK and of local models, by a paired test over the folds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iokr.apps.report import Table
from iokr_lab.tables import Difference, difference, paired

__all__ = ["SAID", "significance_table"]

SAID = ("interaction, exp", "metabolic, exp")  # gains over both that the paper calls significant, p < 1e-3
Folds = Sequence[float]


def significance_table(rows: Mapping[str, tuple[str, Folds, Mapping[str, Folds]]], n_folds: int) -> Table:
    """The best of each row minus TPPK and minus local models: corrected resampled t-test, Holm over all of them.

    `rows[name]` is the best setting in words, its ROC in every fold, and those of the settings it is compared with.
    """
    found: list[tuple[dict[str, str], Difference]] = []
    for name, (best, folds, others) in rows.items():
        for other, values in others.items():
            if list(values) != list(folds):  # it is not that one itself
                names = {
                    "network, inputs": name,
                    "best": best,
                    "minus": other,
                    "published": "p < 1e-3" if name in SAID else "–",
                }
                found.append((names, difference(folds, values, ratio=1 / (n_folds - 1))))
    note = (
        "The best was picked on the folds that it is tested on, so p is too small. The paper calls the gains of two "
        "rows over both significant, and does not say by which test."
    )
    return paired("Is the best ahead? Differences of ROC over the folds", found, note=note)
