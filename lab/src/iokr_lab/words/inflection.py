"""Inflected forms of words from 100 and 1000 examples: string to string, by rules and by n-grams of forms."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from sklearn.feature_extraction.text import CountVectorizer

from iokr.apps.report import INK, MUTED, OURS, THEIRS, Figure, Report, Spread, Table, Text, plot
from iokr.apps.report.figures import Canvas
from iokr.data.candidates import CandidateSets
from iokr.decoders.base import Decoder
from iokr.decoders.risk import MinimumRisk
from iokr.estimators.regression.cv import IOKRCV
from iokr.kernels.algebra import Normalized
from iokr.kernels.base import Kernel
from iokr.kernels.features import Features
from iokr.kernels.generic import Delta
from iokr.kernels.structured.strings import Spectrum
from iokr.metrics import edit_distance
from iokr_lab.data.inflection import Inflection, load_inflection
from iokr_lab.study import Case, Plan, Results, Study

__all__ = ["STUDY"]

Words = NDArray[np.object_]

LANGUAGES = ("english", "german", "turkish")
SIZES = {"train-low": 100, "train-medium": 1000}
ALPHAS = tuple(np.logspace(-3, 1, 9))
ENDS = 5  # letters of a beginning or an end, at most
RISK = "IOKR, edits of rules"
RULES, SIMILAR, FORMS = "IOKR, rules", "IOKR, letters of rules", "IOKR, letters of forms"
SUFFIX, NEAR, LEMMA = "common end", "nearest word", "lemma"


# --------------------------------------------------------------------------------------------------------------- rules


class EditRule(NamedTuple):
    """Put another beginning and another end around a stem."""

    start: str
    new_start: str
    end: str
    new_end: str

    def __str__(self) -> str:
        return f"^{self.start}>{self.new_start}|{self.end}>{self.new_end}$"

    def apply(self, lemma: str) -> str | None:
        """The form; None where the lemma does not begin and end so, or nothing would be left."""
        stem = len(lemma) - len(self.start) - len(self.end)
        if stem < 0 or not lemma.startswith(self.start) or not lemma.endswith(self.end):
            return None
        return self.new_start + lemma[len(self.start) : len(self.start) + stem] + self.new_end or None


SAME = EditRule("", "", "", "")


def rule_of(lemma: str, form: str) -> EditRule:
    """What changes around the longest run of letters that lemma and form share."""
    i, j, n = SequenceMatcher(None, lemma, form, autojunk=False).find_longest_match()
    return EditRule(lemma[:i], form[:j], lemma[i + n :], form[j + n :])


def rules_of(words: Inflection) -> list[EditRule]:
    """One for each word."""
    return [rule_of(lemma, form) for lemma, form in zip(words.lemma, words.form, strict=True)]


def possible(lemma: str, rules: Sequence[EditRule]) -> list[EditRule]:
    """The rules that can be applied, the one that changes nothing always among them."""
    found = [rule for rule in rules if rule.apply(lemma) is not None]
    return found if SAME in found else [*found, SAME]


# ------------------------------------------------------------------------------------------------------------- kernels


def inputs(words: Inflection) -> Words:
    """Lemma and tags in one string."""
    return np.array([f"{lemma}\t{tags}" for lemma, tags in zip(words.lemma, words.tags, strict=True)], dtype=object)


def tags_of(x: str) -> list[str]:
    """Every tag, and all of them as one."""
    tags = x.split("\t")[1]
    return [*tags.split(";"), tags]


def ends_of(x: str) -> list[str]:
    """Beginnings and ends of the lemma of 0 to `ENDS` letters."""
    lemma = x.split("\t")[0]
    lengths = range(min(ENDS, len(lemma)) + 1)
    return [f"{lemma[len(lemma) - n :]}$" for n in lengths] + [f"^{lemma[:n]}" for n in lengths]


def input_kernel() -> Kernel:
    """k(x, z) = cos(tags)² · cos(ends of the lemmas): the same form is asked for, of words that look alike."""
    tags = Normalized(Features(CountVectorizer(analyzer=tags_of)))
    return tags * tags * Normalized(Features(CountVectorizer(analyzer=ends_of)))


# ------------------------------------------------------------------------------------------------------------- methods


def _by_rules(output_kernel: Kernel, decoder: Decoder | None = None) -> Callable[[Inflection, Inflection], Words]:
    """Rules as outputs; those that can be applied to the lemma are the candidates."""

    def predicted(train: Inflection, test: Inflection) -> Words:
        rules = rules_of(train)
        model = IOKRCV(input_kernel(), alphas=ALPHAS, output_kernel=output_kernel, decoder=decoder)
        model.fit(inputs(train), np.array([str(rule) for rule in rules], dtype=object))
        distinct = {str(rule): rule for rule in [*rules, SAME]}
        sets = [[str(rule) for rule in possible(lemma, list(distinct.values()))] for lemma in test.lemma]
        best = model.predict(inputs(test), CandidateSets(sets))
        return _forms(test, [distinct[name] for name in best])

    return predicted


def _by_forms(train: Inflection, test: Inflection) -> Words:
    """Forms as outputs, compared by three letters side by side; what the rules make of the lemma are the candidates."""
    model = IOKRCV(input_kernel(), alphas=ALPHAS, output_kernel=Normalized(Spectrum(3)))
    model.fit(inputs(train), np.array([_marked(form) for form in train.form], dtype=object))
    rules = list(dict.fromkeys(rules_of(train)))
    sets = [[_marked(str(rule.apply(lemma))) for rule in possible(lemma, rules)] for lemma in test.lemma]
    best = model.predict(inputs(test), CandidateSets(sets))
    return np.array([marked[2:-2] for marked in best], dtype=object)


def _marked(form: str) -> str:
    """With its ends as letters of their own."""
    return f"\x02\x02{form}\x03\x03"


def _by_suffix(train: Inflection, test: Inflection) -> Words:
    """The most frequent rule of the same tags among training words with the longest common end."""
    rules = rules_of(train)
    chosen = []
    for lemma, tags in zip(test.lemma, test.tags, strict=True):
        best: tuple[int, Counter[EditRule]] = (-1, Counter())
        for other, other_tags, rule in zip(train.lemma, train.tags, rules, strict=True):
            if other_tags == tags and rule.apply(lemma) is not None:
                shared = _common_end(lemma, other)
                if shared > best[0]:
                    best = (shared, Counter())
                if shared == best[0]:
                    best[1][rule] += 1
        chosen.append(best[1].most_common(1)[0][0] if best[1] else SAME)
    return _forms(test, chosen)


def _common_end(a: str, b: str) -> int:
    n = 0
    while n < min(len(a), len(b)) and a[-1 - n] == b[-1 - n]:
        n += 1
    return n


def _by_neighbour(train: Inflection, test: Inflection) -> Words:
    """The rule of the nearest training word, under the same input kernel, whose rule can be applied."""
    rules = rules_of(train)
    kernel = input_kernel().fit(inputs(train))
    K = np.asarray(kernel.block(kernel.represent(inputs(test)), kernel.represent(inputs(train))))
    chosen = []
    for lemma, row in zip(test.lemma, K, strict=True):
        order = np.argsort(-row, kind="stable")
        chosen.append(next((rules[i] for i in order if rules[i].apply(lemma) is not None), SAME))
    return _forms(test, chosen)


def _forms(test: Inflection, rules: Sequence[EditRule]) -> Words:
    return np.array([rule.apply(lemma) for rule, lemma in zip(rules, test.lemma, strict=True)], dtype=object)


METHODS: dict[str, Callable[[Inflection, Inflection], Words]] = {
    RULES: _by_rules(Delta()),
    SIMILAR: _by_rules(Normalized(Spectrum(2))),
    RISK: _by_rules(Normalized(Spectrum(2)), MinimumRisk("edit")),
    FORMS: _by_forms,
    SUFFIX: _by_suffix,
    NEAR: _by_neighbour,
    LEMMA: lambda train, test: test.lemma,
}


# --------------------------------------------------------------------------------------------------------- one case


def answers(train: Inflection, test: Inflection) -> dict[str, Words]:
    """The forms that each method gives."""
    return {name: method(train, test) for name, method in METHODS.items()}


def evaluate(train: Inflection, test: Inflection, n_shown: int = 8) -> dict[str, Any]:
    """Exact match in percent and mean edit distance on the test words; how often any known rule makes the form."""
    rules, found = list(dict.fromkeys(rules_of(train))), answers(train, test)
    reachable = [
        form in {rule.apply(lemma) for rule in possible(lemma, rules)}
        for lemma, form in zip(test.lemma, test.form, strict=True)
    ]
    words = [f"{lemma} ({tags})" for lemma, tags in zip(test.lemma, test.tags, strict=True)]
    shown: dict[str, Any] = {"word": words, "form": test.form, **found}
    return {
        "exact": {name: 100 * float(np.mean(forms == test.form)) for name, forms in found.items()},
        "edits": {name: edit_distance(test.form, forms) for name, forms in found.items()},
        "tested": len(test),
        "rules": len(rules),
        "reachable": 100 * float(np.mean(reachable)),
        "shown": {name: forms[:n_shown] for name, forms in shown.items()},
    }


# --------------------------------------------------------------------------------------------------- cases and page


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


MARKS = ((OURS, "o"), (OURS, "x"), (OURS, "."), (OURS, "+"), (THEIRS, "^"), (INK, "s"), (MUTED, "|"))  # of the methods
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


_SETTING = (
    "The CoNLL–SIGMORPHON 2017 shared task 1: a lemma and grammatical tags in, the inflected form out, as in stodge "
    "and V;PST to stodged. 100 or 1000 words to learn from (low and medium), the official 1000 test words."
)
_METHODS = (
    "A training pair gives a rule: what changes before and after the longest run of letters that lemma and form share. "
    f"The rules that can be applied to a lemma make its candidates. “{RULES}”: the output is the rule, the output "
    f"kernel says whether two are the same; “{SIMILAR}”: rules are compared by pairs of letters side by side; "
    f"“{RISK}”: the same weights β(x), and the rule of least Σ_i β_i(x) Δ(y_i, y), Δ the edit distance of two rules "
    "(`MinimumRisk`); "
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


def _table(results: Results, what: str, title: str) -> Table:
    rows = []
    for case, cell in results.of(Language).items():
        row: dict[str, Any] = {"language": case.language, "words": SIZES[case.part]}
        for method in METHODS:
            value = cell[what][method]
            error = float(np.sqrt(value * (100 - value) / cell["tested"])) if what == "exact" else float("nan")
            row[method] = Spread(value, error, digits=1 if what == "exact" else 2)
        rows.append(row)
    return Table(title, rows, ours=(RULES, SIMILAR, RISK, FORMS))


def _examples(case: Language, cell: Mapping[str, Any]) -> Table:
    shown = cell["shown"]
    rows = [dict(zip(shown, values, strict=True)) for values in zip(*shown.values(), strict=True)]
    return Table(f"The first test words, {case}", rows, folded=True)


def _figure(results: Results) -> Figure:
    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        for method, (colour, mark) in zip(METHODS, MARKS, strict=True):
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
