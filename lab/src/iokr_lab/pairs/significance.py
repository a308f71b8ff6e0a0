"""Paired tests over the folds of the best setting against TPPK and local models."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from iokr.apps.report import Table
from iokr_lab.tables import Difference, difference, paired

__all__ = ["SIGNIFICANT", "significance_table"]

SIGNIFICANT = ("interaction, exp", "metabolic, exp")  # gains over both that are significant in the paper, p < 1e-3
Folds = Sequence[float]


def significance_table(rows: Mapping[str, tuple[str, Folds, Mapping[str, Folds]]], n_folds: int) -> Table:
    """The best setting of each row minus TPPK and minus local models: corrected resampled t-test, Holm's correction.

    `rows[name]` is the name of the best setting, its ROC in every fold, and those of the settings it is compared with.
    """
    found: list[tuple[dict[str, str], Difference]] = []
    for name, (best, folds, others) in rows.items():
        for other, values in others.items():
            if list(values) == list(folds):  # the best setting itself
                continue
            published = "p < 1e-3" if name in SIGNIFICANT else "–"
            names = {"network, inputs": name, "best": best, "minus": other, "published": published}
            found.append((names, difference(folds, values, ratio=1 / (n_folds - 1))))
    note = (
        "The best setting was chosen on the folds of the test, so p is too small. In the paper the gains of two rows "
        "over both are significant, by a test that is not specified."
    )
    return paired("The best setting against TPPK and local models: differences of ROC over the folds", found, note=note)
