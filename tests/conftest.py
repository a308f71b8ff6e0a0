"""What every test shares: `reference` and `samples` can be imported from anywhere below this folder.

Sweeps repeat a test over many inputs, array libraries or options: the tests of the folders `SWEEPS`, and those with the
mark `sweep`. With `--sweep part`, as in `make test`, one variant in `PART` of each of them runs, always the same ones;
without the option all run, as in `.ci/run`.
"""

import sys
from pathlib import Path
from zlib import crc32

import pytest

TESTS = Path(__file__).parent
sys.path.insert(0, str(TESTS))

SWEEPS = {"array_api", "bad_input", "ecosystem"}
PART = 4


def pytest_addoption(parser):
    parser.addoption("--sweep", choices=("part", "all"), default="all", help="run a part of every sweep, or all")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--sweep") == "all":
        return
    sweeps = {}
    for item in items:
        folder = item.path.relative_to(TESTS).parts[0] if item.path.is_relative_to(TESTS) else ""
        if folder in SWEEPS or item.get_closest_marker("sweep"):
            sweeps.setdefault(item.nodeid.partition("[")[0], []).append(item)
    left_out = {item for variants in sweeps.values() for item in set(variants) - set(part_of(variants))}
    config.hook.pytest_deselected(items=[item for item in items if item in left_out])
    items[:] = [item for item in items if item not in left_out]


def part_of(variants):
    """One in `PART` of the variants of a test, and at least one, drawn by a hash of their names."""
    ordered = sorted(variants, key=lambda item: crc32(item.nodeid.encode()))
    return ordered[: -(-len(ordered) // PART)]


@pytest.fixture(autouse=True)
def no_figure_is_left():
    """Figures of a test are closed after it: the next one may look at all open figures."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture(params=["pandas", "polars", "pyarrow", "structured"])
def table(request):
    """A function that makes a table of a dictionary of columns, in every library that is installed."""
    if request.param == "structured":
        import numpy as np

        return lambda columns: np.rec.fromarrays([np.asarray(c) for c in columns.values()], names=list(columns))
    library = pytest.importorskip(request.param)
    return library.table if request.param == "pyarrow" else library.DataFrame
