"""Inflection on a few made-up words: rules, kernels and choices against plain loops, and the page."""

import gzip

import numpy as np
import pytest

from iokr.apps.report import Figure
from iokr.datasets import DataNotFound
from iokr_lab import find
from iokr_lab.data import Inflection, load_inflection
from iokr_lab.words.inflection import (
    ALPHAS,
    METHODS,
    RULES,
    SIZES,
    STUDY,
    EditRule,
    input_kernel,
    inputs,
    possible,
    predictions,
    rule_of,
)

PAST, PARTICIPLE = "V;PST", "V;V.PTCP;PRS"


def regular(lemmas: list[str]) -> Inflection:
    """Past forms and participles, an e at the end left out before them."""
    rows = []
    for lemma in lemmas:
        stem = lemma.removesuffix("e")
        rows += [(lemma, stem + "ed", PAST), (lemma, stem + "ing", PARTICIPLE)]
    return Inflection(*np.array(rows, dtype=object).T)


TRAIN = regular(["walk", "talk", "bake", "hope", "jump", "look", "smoke", "rate", "fish", "dive"])
TEST = regular(["stalk", "take", "pump", "grope", "wish"])


@pytest.mark.parametrize(
    "lemma, form, rule",
    [
        ("stodge", "stodged", EditRule("", "", "", "d")),
        ("bake", "baking", EditRule("", "", "e", "ing")),
        ("machen", "gemacht", EditRule("", "ge", "en", "t")),
        ("go", "went", EditRule("", "", "go", "went")),
    ],
)
def test_rules_give_back_the_form(lemma, form, rule):
    found = rule_of(lemma, form)
    assert found.apply(lemma) == form
    assert found == rule


def test_rules_apply_where_beginning_and_end_fit():
    assert EditRule("ver", "", "en", "t").apply("verkaufen") == "kauft"
    assert EditRule("ver", "", "en", "t").apply("kaufen") is None
    assert EditRule("aba", "", "aba", "x").apply("abaa") is None, "beginning and end must not overlap"
    assert EditRule("", "", "a", "").apply("a") is None, "no empty form"
    rules = [EditRule("", "", "e", "ing"), EditRule("", "", "", "s")]
    assert possible("bake", rules) == [*rules, EditRule("", "", "", "")]
    assert possible("walk", rules) == [rules[1], EditRule("", "", "", "")]


def test_input_kernel_is_tags_squared_times_ends():
    x, z = "bake\tV;PST", "make\tV;PRS"
    tags = 1 / 3  # V is shared; V, PST, V;PST are three
    shared = ["$", "e$", "ke$", "ake$", "^"]  # of five ends and five beginnings, of 0 to 4 letters
    expected = tags**2 * len(shared) / 10
    kernel = input_kernel().fit(np.array([x, z], dtype=object))
    assert np.asarray(kernel(np.array([x, z], dtype=object)))[0, 1] == pytest.approx(expected)


def test_regular_words_are_learned():
    found = predictions(TRAIN, TEST)
    assert found[RULES].tolist() == TEST.form.tolist()
    assert set(found) == set(METHODS)
    assert found["lemma"].tolist() == TEST.lemma.tolist()
    assert all(len(forms) == len(TEST) for forms in found.values())


def test_rules_as_outputs_are_a_vote_of_kernel_ridge_among_the_possible():
    rules = [rule_of(a, b) for a, b in zip(TRAIN.lemma, TRAIN.form, strict=True)]
    kernel = input_kernel().fit(inputs(TRAIN))
    K, k = np.asarray(kernel(inputs(TRAIN))), np.asarray(kernel(inputs(TEST), inputs(TRAIN)))
    distinct = list(dict.fromkeys(rules))
    Y = np.array([[rule == other for other in distinct] for rule in rules], dtype=float)

    def left_out(alpha):
        H = K @ np.linalg.inv(K + alpha * np.eye(len(K)))
        return (((Y - H @ Y) / (1 - np.diag(H))[:, None]) ** 2).sum()

    alpha = min(ALPHAS, key=left_out)
    scores = k @ np.linalg.solve(K + alpha * np.eye(len(K)), Y)
    forms = []
    for lemma, row in zip(TEST.lemma, scores, strict=True):
        votes = {rule: row[distinct.index(rule)] if rule in distinct else 0.0 for rule in possible(lemma, distinct)}
        forms.append(max(votes, key=votes.get).apply(lemma))
    assert METHODS[RULES](TRAIN, TEST).tolist() == forms


def test_page(monkeypatch, tmp_path):
    (tmp_path / "inflection").mkdir()
    for language in ("english", "german", "turkish"):
        for part, words in (*((part, TRAIN) for part in SIZES), ("test", TEST)):
            lines = ("\t".join(row) for row in zip(words.lemma, words.form, words.tags, strict=True))
            with gzip.open(tmp_path / "inflection" / f"{language}-{part}.tsv.gz", "wt", encoding="utf-8") as file:
                file.write("\n".join(lines) + "\n")
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    steps = []
    report = find("inflection").run(progress=lambda done, total, what: steps.append((done, total)))
    assert steps[1:] == [*((i, 6) for i in range(7)), (6, 6)]
    exact, edits, *examples = report.tables
    assert len(exact.rows) == len(edits.rows) == 6 and len(examples) == 3
    assert exact.rows[0][RULES].mean == 100 and edits.rows[0][RULES].mean == 0
    assert exact.rows[0]["lemma"].mean == 0 and edits.rows[0]["lemma"].mean > 0
    assert sum(isinstance(item, Figure) for item in report.items) == 1
    assert "stalked" in report.html()
    short = find("inflection").run(plan="short")
    assert len(short.tables[0].rows) == 3 and {row["words"] for row in short.tables[0].rows} == {100}


def test_seeds_and_repeats_are_rejected():
    with pytest.raises(ValueError, match="`repeat` must be 1"):
        find("inflection").run(repeat=2)
    with pytest.raises(ValueError, match="`seed` must be 0"):
        STUDY.load(STUDY.plan(seed=1))


def test_real_words_beat_the_baseline():
    try:
        train, test = load_inflection("english", "train-low"), load_inflection("english", "test")
    except DataNotFound as error:
        pytest.skip(str(error))
    right = {name: np.mean(METHODS[name](train, test) == test.form) for name in (RULES, "lemma")}
    assert right[RULES] > 0.8 and right["lemma"] < 0.25
