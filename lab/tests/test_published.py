"""Published numbers: every file is read, and some are compared with the papers."""

import math
from pathlib import Path

import pytest

import iokr_lab
from iokr_lab.published import published

FILES = sorted(file.stem for file in (Path(iokr_lab.__file__).parent / "published").glob("*.tsv"))


@pytest.mark.parametrize("name", FILES)
def test_every_file_is_a_table_of_numbers(name):
    for columns in published(name).values():
        assert all(math.isfinite(number.mean) for number in columns.values())


def test_decimals_deviations_and_parts():
    assert str(published("b11_table2")["IOKR-ridge"]["PR"]) == "13.7 ± 4.4"
    assert str(published("b16_table5")["kCCA"]["seconds"]) == "144.60 ± 70.70"
    assert str(published("b16_table8")["0.01, 95 %"]["components"]) == "227"
    assert published("b16_table6", "PR", n=10)["EM, transductive"]["5%"].n == 10
    assert list(published("b16_table6", "PR")["EM, transductive"]) == ["5%", "10%", "20%"]
