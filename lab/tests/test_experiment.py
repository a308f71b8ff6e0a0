"""What the list says of an experiment."""

import csv
from importlib.resources import files

from iokr_lab import EXPERIMENTS, find


def test_times_are_of_experiments_that_are_there_and_can_be_read():
    rows = list(csv.DictReader(files("iokr_lab").joinpath("times.tsv").read_text("utf-8").splitlines(), delimiter="\t"))
    names = [experiment.name for experiment in EXPERIMENTS]
    assert rows and {row["name"] for row in rows} <= set(names)
    for row in rows:
        assert float(row["seconds"]) > 0 and int(row["cells"]) > 0 and int(row["default_cells"]) > 0
        assert row["how"] in ("measured", "about")
        assert f"{row['cells']} cells; default {row['default_cells']}" in find(row["name"]).time
    assert find("digits").time.startswith("1 s for 4 cells")
