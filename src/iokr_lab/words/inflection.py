"""Inflected forms of words from 100 and 1000 examples: string to string, by rules and by n-grams of forms."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from iokr.report import INK, MUTED, OURS, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr_lab.data.inflection import Inflection, load_inflection
from iokr_lab.study import Case, Plan, Results, Study
from iokr_lab.words.inflection_protocol import (
    FORMS,
    LANGUAGES,
    LEMMA,
    METHODS,
    NEAR,
    RULES,
    SIMILAR,
    SIZES,
    SUFFIX,
    evaluate,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure as Canvas

__all__ = ["STUDY"]

MARKS = dict(
    zip(
        METHODS,
        [(OURS, "o"), (OURS, "x"), (OURS, "+"), (THEIRS, "^"), (INK, "s"), (MUTED, "|")],
        strict=True,
    )
)


@dataclass(frozen=True)
class Given(Plan):
    """The training parts; nothing is random."""

    repeat: int = 0
    parts: tuple[str, ...] = tuple(SIZES)


@dataclass(frozen=True)
class Language(Case):
    """A language and how many words there are to learn from."""

    language: str
    part: str

    def __str__(self) -> str:
        return f"{self.language}, {SIZES[self.part]} words"


Data = dict[tuple[str, str], Inflection]


def _load(plan: Given) -> Data:
    if plan.seed:
        raise ValueError("training and test words are given and nothing is random, so `--seed` has no effect.")
    return {which: load_inflection(*which) for which in itertools.product(LANGUAGES, (*plan.parts, "test"))}


def _page(results: Results, plan: Given, data: Data) -> Report:
    return Report(
        "Inflection: forms of words from few examples",
        _summary(results),
        (
            Text("The setting", (_SETTING, _METHODS)),
            _table(results, "exact", "Forms that are right, %"),
            _figure(results),
            _table(results, "edits", "Mean edit distance to the right form"),
            Text("What cannot be right", (_reach(results),)),
            *(_examples(case, cell) for case, cell in results.of(Language, part=plan.parts[-1]).items()),
        ),
        (
            "± is the standard error of a fraction of the test words; the training words are one given sample.",
            "λ is chosen by leave-one-out on the training words; nothing was chosen on the development words or the "
            "test words.",
        ),
    )


# ------------------------------------------------------------------------------------------------------------- text

_SETTING = (
    "The CoNLL–SIGMORPHON 2017 shared task 1: a lemma and grammatical tags in, the inflected form out, as in stodge "
    "and V;PST to stodged. 100 or 1000 words to learn from (low and medium), the official 1000 test words."
)
_METHODS = (
    "A training pair gives a rule: what changes before and after the longest run of letters that lemma and form share. "
    f"The rules that can be applied to a lemma make its candidates. “{RULES}”: the output is the rule, the output "
    f"kernel says whether two are the same; “{SIMILAR}”: rules are compared by pairs of letters side by side; "
    f"“{FORMS}”: the output is the form itself, compared by three letters side by side. The input kernel is the "
    "squared cosine of the tags times the cosine of beginnings and ends of the lemmas. Beside them: "
    f"“{SUFFIX}”, the most frequent rule of the same tags among the training words with the longest common end, in the "
    f"manner of the task's baseline; “{NEAR}”, the rule of the nearest training word under the same input kernel; and "
    f"the {LEMMA} as it is."
)


def _summary(results: Results) -> str:
    parts = [f"{case} {cell['exact'][SIMILAR]:.1f} % ({cell['exact'][SUFFIX]:.1f} %)" for case, cell in results.items()]
    return (
        "Forms that are right with rules as outputs, compared by their letters, and in brackets with the most frequent "
        f"rule of the longest common end: {'; '.join(parts)}."
    )


def _reach(results: Results) -> str:
    parts = [f"{case}: {cell['reachable']:.1f} % with {cell['rules']} rules" for case, cell in results.items()]
    return (
        "A form is among the candidates only when a rule seen in training makes it. How often one does, which no "
        f"choice among them can exceed: {'; '.join(parts)}. In Turkish endings pile up and follow the vowels of "
        "the stem, so many whole endings have not been seen; rules would have to be put together from parts."
    )


# ---------------------------------------------------------------------------------------------- tables and figures


def _table(results: Results, what: str, title: str) -> Table:
    rows = []
    for case, cell in results.of(Language).items():
        row: dict[str, Any] = {"language": case.language, "words": SIZES[case.part]}
        for method in METHODS:
            value = cell[what][method]
            error = float(np.sqrt(value * (100 - value) / cell["tested"])) if what == "exact" else float("nan")
            row[method] = Spread(value, error, digits=1 if what == "exact" else 2)
        rows.append(row)
    return Table(title, rows, ours=(RULES, SIMILAR, FORMS))


def _examples(case: Language, cell: Mapping[str, Any]) -> Table:
    shown = cell["shown"]
    rows = [dict(zip(shown, values, strict=True)) for values in zip(*shown.values(), strict=True)]
    return Table(f"The first test words, {case}", rows, folded=True)


def _figure(results: Results) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        for method, (colour, mark) in MARKS.items():
            values = [cell["exact"][method] for cell in results.values()]
            axes.plot(values, range(len(results)), mark, color=colour, markersize=5, label=method)
        for row, cell in enumerate(results.values()):
            axes.plot([cell["reachable"]] * 2, [row - 0.3, row + 0.3], color=MUTED, linewidth=1.0)
        axes.set_yticks(range(len(results)), [str(case) for case in results])
        axes.invert_yaxis()
        axes.set(xlabel="forms that are right, %", xlim=(0, 100))
        canvas.legend(loc="outside upper center", ncols=2)

    caption = "Forms that are right; the grey line is the fraction that some rule seen in training makes."
    return plot(draw, caption=caption, size=(6.0, 3.6))


STUDY = Study(
    plans={"short": Given(parts=("train-low",)), "default": Given()},
    load=_load,
    cases=lambda plan, data: [Language(name, part) for part, name in itertools.product(plan.parts, LANGUAGES)],
    work=lambda case, plan, data: evaluate(data[case.language, case.part], data[case.language, "test"]),
    page=_page,
)
