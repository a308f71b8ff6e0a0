"""What `synthetic-networks` measured, as tables: printed figures beside ours, and which cause closes which gap."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from iokr.report import Table
from iokr_lab.synthetic_networks.gaps import (
    AS_SAID,
    CELLS,
    FIXED,
    FOLDS,
    HEADLINE,
    MEASURES,
    RULES,
    TOLERANCE,
    Gaps,
    Results,
    fixed_gaps,
    margin_gaps,
    published,
    rule_gaps,
    spread,
    variants,
)
from iokr_lab.synthetic_networks.models import BLOCK_PLAIN, PENALTY, PLAIN, Both
from iokr_lab.synthetic_networks.published import MIXTURES, RANDOM, SHARES, Row

__all__ = [
    "causes_table",
    "headline_table",
    "inertia_table",
    "margin_causes_table",
    "margin_table",
    "margin_variants_table",
    "mixture_as_said_table",
    "mixture_table",
    "others_table",
    "rules_table",
]


def _count_row(label: Mapping[str, str], gaps: Gaps) -> dict[str, Any]:
    roc, pr = TOLERANCE[gaps.model].values()
    return {
        **label,
        "worst ΔROC": gaps.worst(0),
        "worst ΔPR": gaps.worst(1),
        f"cells within {roc:g} and {pr:g}": gaps.count,
    }


def rules_table(results: Results) -> Table:
    """Ridge: K_Y, penalty and rule, and how many cells they bring within the limits."""
    rows = [_count_row({"K_Y and penalty": PENALTY, "width and alpha by": FIXED}, fixed_gaps(results, "ridge"))]
    for reading, rule in itertools.product((PENALTY, PLAIN, BLOCK_PLAIN), RULES):
        label = {"K_Y and penalty": reading, "width and alpha by": rule}
        rows.append(_count_row(label, rule_gaps(results, reading, rule)))
    return Table("Ridge at 95 %: what decides", rows, ours=("cells within 1.5 and 3",))


def causes_table(results: Results) -> Table:
    """Ridge, cell by cell: the gaps of leave-one-out, and those when only the rule is changed."""
    columns = {
        "leave-one-out": rule_gaps(results, PENALTY, AS_SAID),
        "node folds": rule_gaps(results, PENALTY, FOLDS),
        "one setting": fixed_gaps(results, "ridge"),
    }
    return _cell_table("Ridge at 95 %, ΔROC and ΔPR of every cell: only the rule is changed", columns)


def margin_causes_table(results: Results) -> Table:
    """Margin, cell by cell: the gaps without the penalty, and those when only it is added."""
    columns = {name: margin_gaps(results, name) for name in ("no penalty", "centred kernel")}
    columns["exp(−L)"] = fixed_gaps(results, "margin")
    return _cell_table("Margin at 95 %, ΔROC and ΔPR of every cell: only the penalty is added", columns)


def _cell_table(title: str, columns: Mapping[str, Gaps]) -> Table:
    rows = [
        {"density": density, "labelled": f"{share:.0%}", **{name: gaps.text(i) for name, gaps in columns.items()}}
        for i, (density, share) in enumerate(CELLS)
    ]
    roc, pr = TOLERANCE[next(iter(columns.values())).model].values()
    counts = "; ".join(f"{name} {gaps.count}" for name, gaps in columns.items())
    note = f"Ours minus the printed mean; ✗ where it is more than {roc:g} or {pr:g}. Within: {counts}."
    return Table(title, rows, note=note, ours=(list(columns)[-1],))


def headline_table(results: Results, measure: str) -> Table:
    """Table 8a at 95 %."""
    rows = [
        {
            "density": cell[0],
            "labelled": f"{cell[1]:.0%}",
            "published": published(RANDOM[cell[0], HEADLINE][1], "ridge", measure, cell[1]),
            "one setting": spread(results.fixed("ridge", cell), measure),
            "node folds": spread(results.chosen(PENALTY, FOLDS, cell), measure),
            "leave-one-out": spread(results.chosen(PENALTY, AS_SAID, cell), measure),
        }
        for cell in CELLS
    ]
    return Table(f"Table 8a, ridge at 95 % inertia: AUC-{MEASURES[measure]} (%)", rows, ours=("one setting",))


def margin_table(results: Results, measure: str) -> Table:
    """Table 8b at 95 %."""
    rows = [
        {
            "density": cell[0],
            "labelled": f"{cell[1]:.0%}",
            "published": published(RANDOM[cell[0], HEADLINE][1], "margin", measure, cell[1]),
            "exp(−L)": spread(results.fixed("margin", cell), measure),
            **{name: spread(results.margins[name, cell], measure) for name in ("no penalty", "centred kernel")},
        }
        for cell in CELLS
    ]
    return Table(f"Table 8b, margin at 95 % inertia: AUC-{MEASURES[measure]} (%)", rows, ours=("exp(−L)",))


def margin_variants_table(results: Results) -> Table:
    """The margin with one thing changed at a time."""
    rows = [_count_row({"margin": "exp(−L)"}, fixed_gaps(results, "margin"))]
    rows += [_count_row({"margin": name}, margin_gaps(results, name)) for name in variants(results)]
    return Table("Margin at 95 %: one thing changed at a time", rows, ours=("cells within 2.5 and 4",))


def _row(label: Mapping[str, Any], model: str, printed: Row, found: Sequence[Both], share: float) -> dict[str, Any]:
    row: dict[str, Any] = {**label, "labelled": f"{share:.0%}"}
    for measure, name in MEASURES.items():
        row[f"{name}, published"] = published(printed, model, measure, share)
        row[name] = spread((getattr(both, model) for both in found), measure)
    return row


_PARTS = {"ridge": "a", "margin": "b"}
_STRESSED = tuple(MEASURES.values())


def inertia_table(results: Results, model: str) -> Table:
    """Table 8a or b, whole."""
    rows = [
        _row(
            {"density": d, "inertia %": i, "components": f"{results.counts[d, i]} ({count})"},
            model,
            printed,
            results.inertia[i, (d, share)],
            share,
        )
        for (d, i), (count, printed) in RANDOM.items()
        for share in SHARES
    ]
    note = "Components: ours (printed). Every row with the one setting, found at 95 %."
    return Table(f"Table 8{_PARTS[model]}, {model}, every inertia", rows, note=note, ours=_STRESSED, folded=True)


def others_table(results: Results, model: str) -> Table:
    """Other draws of the graphs at 95 %."""
    rows = [
        _row(
            {"density": density},
            model,
            RANDOM[density, HEADLINE][1],
            list(itertools.chain(*results.others[density, share])),
            share,
        )
        for density, share in CELLS
    ]
    title = f"Table 8{_PARTS[model]}, {model} at 95 %, {len(results.others[CELLS[0]])} other draws of each graph"
    return Table(title, rows, note="± over graphs and labelled sets.", ours=_STRESSED, folded=True)


def mixture_as_said_table(results: Results) -> Table:
    """Table 9a at 95 %, supervised and by leave-one-out."""
    rows = []
    for (classes, share), found in results.mixtures_as_said.items():
        row: dict[str, Any] = {"within": classes[0], "between": classes[1], "labelled": f"{share:.0%}"}
        for measure, name in MEASURES.items():
            row[f"{name}, published"] = published(MIXTURES[(*classes, HEADLINE)], "ridge", measure, share)
            row[f"{name}, leave-one-out"] = spread(found, measure)
        rows.append(row)
    return Table(
        "Table 9a, three classes, ridge by leave-one-out at 95 % inertia",
        rows,
        ours=("ROC, leave-one-out", "PR, leave-one-out"),
    )


def mixture_table(results: Results, model: str) -> Table:
    """Table 9a or b, whole."""
    rows = [
        _row(
            {"within": inside, "between": between, "inertia %": inertia},
            model,
            printed,
            results.mixtures[inertia, (inside, between), share],
            share,
        )
        for (inside, between, inertia), printed in MIXTURES.items()
        for share in SHARES
    ]
    title = f"Table 9{_PARTS[model]}, three classes, {model}, every inertia"
    return Table(title, rows, note="With the one setting of Table 8.", ours=_STRESSED, folded=True)
