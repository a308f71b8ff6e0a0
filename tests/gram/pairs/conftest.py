"""What the tests of the Gram of pairs share."""

import pytest

from iokr._system.compile import compiling


@pytest.fixture(params=["compiled", "numpy"])
def route(request):
    """The loops with and without Numba."""
    if request.param == "compiled":
        pytest.importorskip("numba")
    with compiling(request.param == "compiled"):
        yield request.param
