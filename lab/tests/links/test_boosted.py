"""Ours against boosting: which splits, and what the page says of the differences."""

from iokr.apps.report import Text
from iokr_lab.links.boosted import NAMES, SEEN, SplitOff, against_boosting, split_cases
from iokr_lab.study import Results


def words(roc, pr):
    """What the page says where ours have these areas on ten splits, and boosting 90 and 30."""
    cells = {}
    for case in split_cases(10):
        assert isinstance(case, SplitOff)
        ours = case.method != NAMES[0]
        wave = (case.split % 3) - 1.0  # so that differences vary, by nearly one
        cells[case] = {
            "roc_auc": 90.0 + ours * (roc + wave),
            "average_precision": 30.0 + ours * (pr + wave),
            "seconds": 1.0,
        }
    text, *_ = against_boosting(Results(cells), "features")
    assert isinstance(text, Text)
    return text.paragraphs[1]


def test_splits_that_were_looked_at_are_left_out():
    splits = {case.split for case in split_cases(10)}
    assert splits == set(range(SEEN, SEEN + 10))


def test_the_page_says_which_part_is_missing():
    assert "Ahead of boosting in ROC and in PR" in words(2.0, 5.0)
    missing = words(0.3, 5.0)  # the waves of ten splits have the mean 0.1
    assert "What is missing" in missing and "in ROC by 0.40 points" in missing and "in PR by" not in missing
    assert words(-0.3, 5.0) == "None of ours is ahead of boosting in both areas."
