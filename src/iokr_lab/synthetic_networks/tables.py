"""What `synthetic-networks` measured, as tables: printed numbers beside ours, and which cause closes which gap."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from iokr.report import Table
from iokr_lab.synthetic_networks.gaps import (
    AS_SAID,
    CELLS,
    CLASSED,
    FIXED,
    FOLDS,
    FRACTIONS,
    GRAPHS,
    HEADLINE,
    INERTIAS,
    MIXED,
    OTHERS,
    RANDOM,
    RULES,
    TOLERANCE,
    Cell,
    Found,
    Gaps,
    fixed_gaps,
    margin_gaps,
    printed,
    rule_gaps,
    spread,
)
from iokr_lab.synthetic_networks.models import BLOCK_PLAIN, PENALTY, PLAIN
from iokr_lab.synthetic_networks.protocol import MEASURES, Areas

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


def rules_table(found: Found) -> Table:
    """Ridge: K_Y, penalty and rule, and how many cells they bring within the limits."""
    rows = [_count_row({"K_Y and penalty": PENALTY, "width and alpha by": FIXED}, fixed_gaps(found, "ridge"))]
    for interpretation, rule in itertools.product((PENALTY, PLAIN, BLOCK_PLAIN), RULES):
        label = {"K_Y and penalty": interpretation, "width and alpha by": rule}
        rows.append(_count_row(label, rule_gaps(found, interpretation, rule)))
    return Table("Ridge at 95 %: what decides", rows, ours=("cells within 1.5 and 3",))


def causes_table(found: Found) -> Table:
    """Ridge, cell by cell: the gaps of leave-one-out, and those when only the rule is changed."""
    columns = {
        "leave-one-out": rule_gaps(found, PENALTY, AS_SAID),
        "node folds": rule_gaps(found, PENALTY, FOLDS),
        "one setting": fixed_gaps(found, "ridge"),
    }
    return _cell_table("Ridge at 95 %, ΔROC and ΔPR of every cell: only the rule is changed", columns)


def margin_causes_table(found: Found) -> Table:
    """Margin, cell by cell: the gaps without the penalty, and those when only it is added."""
    columns = {name: margin_gaps(found, name) for name in ("no penalty", "centred kernel")}
    columns["exp(−L)"] = fixed_gaps(found, "margin")
    return _cell_table("Margin at 95 %, ΔROC and ΔPR of every cell: only the penalty is added", columns)


def _names(cell: Cell) -> dict[str, Any]:
    """Density, or those within and between classes, and the fraction of labelled nodes."""
    numbers = [float(part) for part in cell[0].split(", ")]
    names = ("density",) if len(numbers) == 1 else ("within", "between")
    return {**dict(zip(names, numbers, strict=True)), "labelled": f"{cell[1]:.0%}"}


def _cell_table(title: str, columns: Mapping[str, Gaps]) -> Table:
    rows = [{**_names(cell), **{name: gaps.text(i) for name, gaps in columns.items()}} for i, cell in enumerate(CELLS)]
    roc, pr = TOLERANCE[next(iter(columns.values())).model].values()
    counts = "; ".join(f"{name} {gaps.count}" for name, gaps in columns.items())
    note = f"Ours minus the printed mean; ✗ where it is more than {roc:g} or {pr:g}. Within: {counts}."
    return Table(title, rows, note=note, ours=(list(columns)[-1],))


def _area_table(title: str, model: str, measure: str, columns: Mapping[str, Callable[[Cell], list[Areas]]]) -> Table:
    """One measure at 95 %: printed, and a column for each way to have it; the first is stressed."""
    rows = [
        {
            **_names(cell),
            "published": printed(cell, model, measure),
            **{name: spread(values(cell), measure) for name, values in columns.items()},
        }
        for cell in CELLS
    ]
    return Table(f"{title} at 95 % inertia: AUC-{MEASURES[measure]} (%)", rows, ours=(next(iter(columns)),))


def headline_table(found: Found, measure: str) -> Table:
    """Table 8a at 95 %."""
    columns = {
        "one setting": lambda cell: found.fixed("ridge", cell),
        "node folds": lambda cell: found.chosen(PENALTY, FOLDS, cell),
        "leave-one-out": lambda cell: found.chosen(PENALTY, AS_SAID, cell),
    }
    return _area_table("Table 8a, ridge", "ridge", measure, columns)


def margin_table(found: Found, measure: str) -> Table:
    """Table 8b at 95 %."""
    columns = {
        "exp(−L)": lambda cell: found.fixed("margin", cell),
        "no penalty": lambda cell: found.margins("no penalty", cell),
        "centred kernel": lambda cell: found.margins("centred kernel", cell),
    }
    return _area_table("Table 8b, margin", "margin", measure, columns)


def margin_variants_table(found: Found) -> Table:
    """The margin with one thing changed at a time."""
    rows = [_count_row({"margin": "exp(−L)"}, fixed_gaps(found, "margin"))]
    rows += [_count_row({"margin": name}, margin_gaps(found, name)) for name in found.variants()]
    return Table("Margin at 95 %: one thing changed at a time", rows, ours=("cells within 2.5 and 4",))


def _both(cell: Cell, model: str, areas: Iterable[Areas], inertia: int = HEADLINE, ours: str = "") -> dict[str, Any]:
    """Both measures, printed and ours."""
    areas, row = list(areas), {}
    for measure, name in MEASURES.items():
        row[f"{name}, published"] = printed(cell, model, measure, inertia)
        row[f"{name}{ours}"] = spread(areas, measure)
    return row


_PARTS = {"ridge": "a", "margin": "b"}
_STRESSED = tuple(MEASURES.values())


def inertia_table(found: Found, model: str) -> Table:
    """Table 8a or b, whole."""
    rows = []
    for graph, inertia, fraction in itertools.product(GRAPHS, INERTIAS, FRACTIONS):
        cell = graph, fraction
        count = found.cells(cell, inertia)[0]["components"]
        of_paper = RANDOM[f"{graph}, {inertia} %"]["components"]
        names = {"density": float(graph), "inertia %": inertia, "components": f"{count} ({of_paper})"}
        labelled = {"labelled": f"{fraction:.0%}"}
        rows.append({**names, **labelled, **_both(cell, model, found.fixed(model, cell, inertia), inertia)})
    note = "Components: ours (printed). Every row with the one setting, found at 95 %."
    return Table(f"Table 8{_PARTS[model]}, {model}, every inertia", rows, note=note, ours=_STRESSED, folded=True)


def others_table(found: Found, model: str) -> Table:
    """Other draws of the graphs at 95 %."""
    rows = [{**_names(cell), **_both(cell, model, found.others(model, cell))} for cell in CELLS]
    title = f"Table 8{_PARTS[model]}, {model} at 95 %, {OTHERS} other draws of each graph"
    return Table(title, rows, note="± over graphs and labelled sets.", ours=_STRESSED, folded=True)


def mixture_as_said_table(found: Found) -> Table:
    """Table 9a at 95 %, supervised and by leave-one-out."""
    title, end = "Table 9a, three classes, ridge by leave-one-out at 95 % inertia", ", leave-one-out"
    rows = [{**_names(cell), **_both(cell, "ridge", found.fixed("as said", cell), ours=end)} for cell in MIXED]
    return Table(title, rows, ours=tuple(f"{name}{end}" for name in _STRESSED))


def mixture_table(found: Found, model: str) -> Table:
    """Table 9a or b, whole."""
    rows = []
    for graph, inertia, fraction in itertools.product(CLASSED, INERTIAS, FRACTIONS):
        names = _names((graph, fraction))
        cells = _both((graph, fraction), model, found.fixed(model, (graph, fraction), inertia), inertia)
        rows.append({"within": names["within"], "between": names["between"], "inertia %": inertia, **names, **cells})
    title = f"Table 9{_PARTS[model]}, three classes, {model}, every inertia"
    return Table(title, rows, note="With the one setting of Table 8.", ours=_STRESSED, folded=True)
