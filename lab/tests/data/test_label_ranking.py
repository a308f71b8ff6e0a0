"""Label ranking and inflection from files of the stated form.

Tests of `iokr_lab.data.inflection`.
"""

import gzip

import numpy as np
import pytest

from iokr.datasets import DataNotFound
from iokr_lab.data import label_ranking_sets, load_inflection, load_label_ranking


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    return tmp_path


def write(home, text, path="label_ranking/tiny.csv.gz"):
    (home / path).parent.mkdir(exist_ok=True)
    with gzip.open(home / path, "wt", encoding="utf-8") as file:
        file.write(text)


def test_ties_categories_and_labels_not_named(home):
    write(home, "season,size,ranking\nwinter,1.5,c>ab\nspring,2,a>b>c\nwinter,3,b>a\n")
    data = load_label_ranking("tiny")
    assert data.labels == ("a", "b", "c") and data.feature_names == ("size", "season_spring", "season_winter")
    np.testing.assert_array_equal(data.X, [[1.5, 0, 1], [2, 1, 0], [3, 0, 1]])
    np.testing.assert_array_equal(data.ranks, [[2.5, 2.5, 1], [1, 2, 3], [2, 1, np.nan]])
    assert [data.order(i) for i in range(len(data))] == ["c>ab", "a>b>c", "b>a"]
    assert label_ranking_sets() == ("tiny",)


@pytest.mark.parametrize(
    "text, message",
    [
        ("x,ranking\n1,a>b\n2,a>b>a\n", "row 1 must be a ranking"),
        ("x,ranking\n1,a>>b\n", "row 0 must be a ranking"),
        ("x,ranking\n1,a>b\n2,\n", "row 1 must be a ranking"),
        ("x,y\n1,2\n", "with features and a column `ranking`"),
        ("x,ranking\n1,a>b\n,b>a\n", "row 1 has a missing or infinite one"),
        ("x,ranking\n1,a\n", "at least two"),
    ],
)
def test_what_is_no_ranking_is_refused_by_its_row(home, text, message):
    write(home, text)
    with pytest.raises(ValueError, match=message):
        load_label_ranking("tiny")


def test_not_there(home):
    with pytest.raises(DataNotFound, match="label_ranking is not in"):
        load_label_ranking("iris")
    write(home, "x,ranking\n1,a>b\n")
    with pytest.raises(DataNotFound, match="available sets: tiny"):
        load_label_ranking("iris")


def test_the_sets_have_the_sizes_that_were_checked():
    try:
        sizes = {name: load_label_ranking(name) for name in ("iris", "glass", "algae", "vehicle")}
    except DataNotFound as error:
        pytest.skip(str(error))
    shapes = {name: (*data.X.shape, data.ranks.shape[1]) for name, data in sizes.items()}
    assert shapes["iris"] == (150, 4, 3) and shapes["glass"] == (214, 9, 6) and shapes["vehicle"] == (846, 18, 4)
    assert shapes["algae"][0] == 316 and shapes["algae"][2] == 7
    assert sizes["algae"].order(0) == "e>f>abcdg" and sizes["glass"].order(0) == "b>a>e>c>d>f"


def test_the_words_of_english():
    try:
        words = load_inflection("english", "train-low")
    except DataNotFound as error:
        pytest.skip(str(error))
    assert len(words) == 100


def test_words(home):
    write(home, "stodge\tstodged\tV;PST\nüben\tübte\tV;PST\n", "inflection/toy-dev.tsv.gz")
    words = load_inflection("toy", "dev")
    assert words.form.tolist() == ["stodged", "übte"] and words.tags.tolist() == ["V;PST"] * 2 and len(words) == 2
    with pytest.raises(DataNotFound, match="available sets: toy-dev"):
        load_inflection("toy", "test")
    with pytest.raises(ValueError, match="`part` must be one of"):
        load_inflection("toy", "some")
    write(home, "stodge\tV;PST\n", "inflection/toy-test.tsv.gz")
    with pytest.raises(ValueError, match="line 1 must have lemma, form and tags"):
        load_inflection("toy", "test")
