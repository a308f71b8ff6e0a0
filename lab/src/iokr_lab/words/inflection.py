"""Inflected forms of words from 100 and 1000 examples, predicted by edit rules and by n-grams of forms."""

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
ENDS = 5  # maximal number of letters of a prefix or suffix
RISK = "IOKR, edits of rules"
RULES = "IOKR, rules"
SIMILAR = "IOKR, letters of rules"
FORMS = "IOKR, letters of forms"
SUFFIX = "longest common suffix"
NEAR = "nearest word"
LEMMA = "lemma"


# --------------------------------------------------------------------------------------------------------------- rules


class EditRule(NamedTuple):
    """Replace the prefix and the suffix of a stem."""

    start: str
    new_start: str
    end: str
    new_end: str

    def __str__(self) -> str:
        return f"^{self.start}>{self.new_start}|{self.end}>{self.new_end}$"

    def apply(self, lemma: str) -> str | None:
        """The form; None if the lemma does not have this prefix and suffix or the form would be empty."""
        stem = len(lemma) - len(self.start) - len(self.end)
        if stem < 0 or not lemma.startswith(self.start) or not lemma.endswith(self.end):
            return None
        return self.new_start + lemma[len(self.start) : len(self.start) + stem] + self.new_end or None


SAME = EditRule("", "", "", "")


def rule_of(lemma: str, form: str) -> EditRule:
    """The change around the longest substring that lemma and form share."""
    i, j, n = SequenceMatcher(None, lemma, form, autojunk=False).find_longest_match()
    return EditRule(lemma[:i], form[:j], lemma[i + n :], form[j + n :])


def rules_of(words: Inflection) -> list[EditRule]:
    """The rule of each word."""
    return [rule_of(lemma, form) for lemma, form in zip(words.lemma, words.form, strict=True)]


def possible(lemma: str, rules: Sequence[EditRule]) -> list[EditRule]:
    """The rules that can be applied; always including the one that changes nothing."""
    found = [rule for rule in rules if rule.apply(lemma) is not None]
    return found if SAME in found else [*found, SAME]


# ------------------------------------------------------------------------------------------------------------- kernels


def inputs(words: Inflection) -> Words:
    """Lemma and tags in one string."""
    return np.array([f"{lemma}\t{tags}" for lemma, tags in zip(words.lemma, words.tags, strict=True)], dtype=object)


def tags_of(x: str) -> list[str]:
    """Every tag, and all tags together."""
    tags = x.split("\t")[1]
    return [*tags.split(";"), tags]


def ends_of(x: str) -> list[str]:
    """Prefixes and suffixes of the lemma with 0 to `ENDS` letters."""
    lemma = x.split("\t")[0]
    lengths = range(min(ENDS, len(lemma)) + 1)
    return [f"{lemma[len(lemma) - n :]}$" for n in lengths] + [f"^{lemma[:n]}" for n in lengths]


def input_kernel() -> Kernel:
    """k(x, z) = cos(tags)² · cos(prefixes and suffixes of the lemmas)."""
    tags = Normalized(Features(CountVectorizer(analyzer=tags_of)))
    return tags * tags * Normalized(Features(CountVectorizer(analyzer=ends_of)))


# ------------------------------------------------------------------------------------------------------------- methods


def _by_rules(output_kernel: Kernel, decoder: Decoder | None = None) -> Callable[[Inflection, Inflection], Words]:
    """Rules as outputs; the candidates are the rules that can be applied to the lemma."""

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
    """Forms as outputs, compared by trigrams; the candidates are the forms that the rules give for the lemma."""
    model = IOKRCV(input_kernel(), alphas=ALPHAS, output_kernel=Normalized(Spectrum(3)))
    model.fit(inputs(train), np.array([_marked(form) for form in train.form], dtype=object))
    rules = list(dict.fromkeys(rules_of(train)))
    sets = [[_marked(str(rule.apply(lemma))) for rule in possible(lemma, rules)] for lemma in test.lemma]
    best = model.predict(inputs(test), CandidateSets(sets))
    return np.array([marked[2:-2] for marked in best], dtype=object)


def _marked(form: str) -> str:
    """The form with markers for its start and end."""
    return f"\x02\x02{form}\x03\x03"


def _by_suffix(train: Inflection, test: Inflection) -> Words:
    """The most frequent rule of the same tags among the training words with the longest common suffix."""
    rules = rules_of(train)
    chosen = []
    for lemma, tags in zip(test.lemma, test.tags, strict=True):
        longest = -1
        counts: Counter[EditRule] = Counter({SAME: 1})  # if no training word has the same tags
        for other, other_tags, rule in zip(train.lemma, train.tags, rules, strict=True):
            if other_tags != tags or rule.apply(lemma) is None:
                continue
            shared = _common_suffix(lemma, other)
            if shared > longest:
                longest = shared
                counts = Counter()
            if shared == longest:
                counts[rule] += 1
        [(best, _)] = counts.most_common(1)
        chosen.append(best)
    return _forms(test, chosen)


def _common_suffix(a: str, b: str) -> int:
    n = 0
    while n < min(len(a), len(b)) and a[-1 - n] == b[-1 - n]:
        n += 1
    return n


def _by_neighbour(train: Inflection, test: Inflection) -> Words:
    """The rule of the nearest training word under the same input kernel whose rule can be applied."""
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


# ---------------------------------------------------------------------------------------------------------- evaluation


def predictions(train: Inflection, test: Inflection) -> dict[str, Words]:
    """The forms that each method predicts."""
    return {name: method(train, test) for name, method in METHODS.items()}


def evaluate(train: Inflection, test: Inflection, n_shown: int = 8) -> dict[str, Any]:
    """Exact match in percent and mean edit distance on the test words; how often a training rule gives the form."""
    rules = list(dict.fromkeys(rules_of(train)))
    found = predictions(train, test)
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
class Parts(Plan):
    """The training parts; no random choices."""

    repeat: int = 0
    parts: tuple[str, ...] = tuple(SIZES)


@dataclass(frozen=True)
class Language(Case):
    """A language and a training part."""

    language: str
    part: str

    def __str__(self) -> str:
        return f"{self.language}, {SIZES[self.part]} words"


MARKS = ((OURS, "o"), (OURS, "x"), (OURS, "."), (OURS, "+"), (THEIRS, "^"), (INK, "s"), (MUTED, "|"))  # one per method
Data = dict[tuple[str, str], Inflection]


def _load(plan: Parts) -> Data:
    if plan.seed:
        raise ValueError(f"`seed` must be 0, as this experiment makes no random choices, got {plan.seed}.")
    return {which: load_inflection(*which) for which in itertools.product(LANGUAGES, (*plan.parts, "test"))}


def _page(results: Results, plan: Parts, data: Data) -> Report:
    return Report(
        "Inflected forms of words from few examples",
        _summary(results),
        (
            Text("The setting", (_SETTING, _METHODS)),
            _table(results, "exact", "Correct forms, %"),
            _figure(results),
            _table(results, "edits", "Mean edit distance to the correct form"),
            Text("Upper bound of the candidates", (_reach(results),)),
            *(_examples(case, cell) for case, cell in results.of(Language, part=plan.parts[-1]).items()),
        ),
        (
            "± is the standard error of a fraction of the test words; the training words are fixed.",
            "λ is chosen by leave-one-out on the training words; development and test words were not used for any "
            "choice.",
        ),
    )


_SETTING = (
    "The CoNLL–SIGMORPHON 2017 shared task 1: a lemma and grammatical tags in, the inflected form out, as in stodge "
    "and V;PST to stodged. 100 or 1000 training words (low and medium), the official 1000 test words."
)
_METHODS = (
    "Each training pair gives an edit rule: the change before and after the longest substring that lemma and form "
    f"share. The candidates for a lemma are the rules that can be applied to it. “{RULES}”: the output is the rule, "
    f"the output kernel compares rules for equality; “{SIMILAR}”: rules are compared by bigrams; “{RISK}”: the same "
    "weights β(x), and the rule with the smallest Σ_i β_i(x) Δ(y_i, y), where Δ is the edit distance between rules "
    f"(`MinimumRisk`); “{FORMS}”: the output is the form itself, compared by trigrams. The input kernel is the squared "
    f"cosine of the tags times the cosine of prefixes and suffixes of the lemmas. Baselines: “{SUFFIX}”, the most "
    "frequent rule of the same tags among the training words with the longest common suffix, similar to the baseline "
    f"of the shared task; “{NEAR}”, the rule of the nearest training word under the same input kernel; and the {LEMMA} "
    "itself."
)


def _summary(results: Results) -> str:
    parts = [f"{case} {cell['exact'][SIMILAR]:.1f} % ({cell['exact'][SUFFIX]:.1f} %)" for case, cell in results.items()]
    return (
        f"Correct forms with rules as outputs, compared by bigrams (in brackets: with the rule of the {SUFFIX}): "
        f"{'; '.join(parts)}."
    )


def _reach(results: Results) -> str:
    parts = [f"{case}: {cell['reachable']:.1f} % with {cell['rules']} rules" for case, cell in results.items()]
    return (
        "A form is a candidate only if some training rule gives it. The share of such test words is an upper bound on "
        f"the accuracy: {'; '.join(parts)}. In Turkish, suffixes are concatenated and follow the vowels of the stem, "
        "therefore many complete suffixes do not occur in training; rules would have to be composed from parts."
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
        axes.set(xlabel="correct forms, %", xlim=(0, 100))
        canvas.legend(loc="outside upper center", ncols=2)

    caption = "Correct forms; the grey line is the share that some training rule can give."
    return plot(draw, caption=caption, size=(6.0, 3.6))


STUDY = Study(
    plans={"short": Parts(parts=("train-low",)), "default": Parts()},
    load=_load,
    cases=lambda plan, data: [Language(name, part) for part, name in itertools.product(plan.parts, LANGUAGES)],
    work=lambda case, plan, data: evaluate(data[case.language, case.part], data[case.language, "test"]),
    page=_page,
)
