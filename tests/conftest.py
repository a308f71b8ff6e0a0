"""What every test shares: `reference` and `samples` can be imported from anywhere below this folder."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))


@pytest.fixture(params=["pandas", "polars", "pyarrow", "structured"])
def table(request):
    """A function that makes a table of a dictionary of columns, in every library that is installed."""
    if request.param == "structured":
        import numpy as np

        return lambda columns: np.rec.fromarrays([np.asarray(c) for c in columns.values()], names=list(columns))
    library = pytest.importorskip(request.param)
    return library.table if request.param == "pyarrow" else library.DataFrame
