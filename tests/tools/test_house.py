"""The rules of `tools/check_house.py` hold for this tree."""

from pathlib import Path

import pytest

RULES = ["cycles", "imported", "private", "grams", "lines", "laboratory", "loaded", "walk"]


@pytest.mark.parametrize("rule", RULES)
def test_nothing_is_found(tool, rule):
    check = tool("check_house")
    assert list(check.RULES) == RULES
    assert check.RULES[rule][0](check.House(Path(__file__).parents[2])) == []
