"""metrics.json keeps its schema, which is in the wheel; tests of `iokr.apps.report.page`, too."""

import json
from importlib import resources

import numpy as np
import pytest

from iokr.apps.report import Report, Spread, Table
from iokr.apps.report.page import METRICS
from iokr.apps.report.run import write_run
from iokr_lab import find

jsonschema = pytest.importorskip("jsonschema")


def validator():
    schema = json.loads(resources.files("iokr.apps.report").joinpath("metrics.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


def test_a_page_of_every_kind_of_entry(tmp_path):
    row = {"a": 1, "b": 0.5, "c": "words", "d": None, "e": True, "f": float("nan"), "g": np.float64(2)}
    row |= {"h": Spread.of([1.0, 2.0]), "i": Spread.of([1.0]), "j": Spread(1.0, 2.0), "k": (1, 2)}
    write_run(Report("Title", "Summary.", (Table("T", [row, {}]),), ("A note.",)), tmp_path / "run")
    metrics = json.loads((tmp_path / "run" / "metrics.json").read_text("utf-8"))
    validator().validate(metrics)
    assert metrics["format"] == METRICS == validator().schema["properties"]["format"]["const"]


def test_a_run_of_the_laboratory(tmp_path):
    report = find("digits").run(plan="short", folder=tmp_path / "run")
    validator().validate(json.loads(json.dumps(report.metrics())))


@pytest.mark.parametrize(
    "change",
    [
        {"format": 2},
        {"title": None},
        {"tables": [{"title": "T", "note": "", "rows": [{"a": {"mean": 1}}]}]},
        {"tables": [{"title": "T", "rows": []}]},
        {"notes": "text"},
    ],
)
def test_what_does_not_keep_it(change):
    good = Report("Title", "Summary.").metrics()
    validator().validate(good)
    with pytest.raises(jsonschema.ValidationError):
        validator().validate({**good, **change})
