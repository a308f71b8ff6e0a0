"""Our methods against boosting: the splits, and the verdict of the page."""

from iokr.apps.report import Text
from iokr_lab.links.boosted import NAMES, SEEN, NodeSplit, against_boosting, split_cases
from iokr_lab.study import Results


def verdict(roc, pr):
    """The verdict if ours exceed the areas of boosting, 90 and 30, by these points on ten splits."""
    cells = {}
    for case in split_cases(10):
        assert isinstance(case, NodeSplit)
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


def test_splits_of_the_design_are_excluded():
    splits = {case.split for case in split_cases(10)}
    assert splits == set(range(SEEN, SEEN + 10))


def test_the_verdict_names_significant_and_open_gains():
    assert "Better than boosting in ROC and PR" in verdict(2.0, 5.0)
    missing = verdict(0.3, 5.0)  # the waves of ten splits have the mean 0.1
    assert "Not significant" in missing and "in ROC, 0.40 points" in missing and "in PR," not in missing
    assert verdict(-0.3, 5.0) == "None of our methods is better than boosting in both areas."
