"""Peak memory of a contender, in a process of its own."""

import pytest

from iokr_lab.bench.memory import Footprint

MODULE = """
import numpy as np
from iokr_lab.bench.base import Contender, Question

def holding(*, doubles):
    data = np.ones(doubles)  # there before the run: not counted

    def one():
        return np.ones(doubles)

    def two_after_each_other():
        np.ones(doubles)
        np.ones(doubles)

    def two_at_once():
        return np.ones(doubles) + np.ones(doubles) * data

    def breaks():
        raise ValueError("no such luck")

    runs = {"one": one, "in turn": two_after_each_other, "at once": two_at_once, "breaks": breaks}
    return Question("holding", tuple(Contender(name, run, dict) for name, run in runs.items()))
"""


@pytest.fixture
def footprint(tmp_path, monkeypatch):
    """Of a contender of the module above, which needs 40 MB an array."""
    (tmp_path / "holders.py").write_text(MODULE)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    n = 5_000_000
    return lambda name: Footprint(name, "holders", "holding", name, {"doubles": n}, {"doubles": 10})


@pytest.mark.parametrize(("contender", "arrays"), [("one", 1), ("in turn", 1)])
def test_the_peak_is_what_is_held_at_once(footprint, contender, arrays):
    assert footprint(contender).measure(1) / 40e6 == pytest.approx(arrays, abs=0.1)


def test_temporaries_count(footprint):
    assert footprint("at once").measure(1) / 40e6 > 1.9


def test_what_goes_wrong_in_the_other_process_is_told(footprint):
    with pytest.raises(RuntimeError, match="no such luck"):
        footprint("breaks").measure(1)


def test_a_row_is_in_megabytes_and_in_squares_of_n():
    row = Footprint("a fit", "m", "q", "ours", {}, {}, n=1000).row(12_000_000)
    assert row == {"what": "a fit", "contender": "ours", "MB": 12.0, "n² doubles": 1.5}
    assert Footprint("ranking", "m", "q", "ours", {}, {}).row(5)["n² doubles"] is None
