"""What the tests of iterative solvers share."""

import pytest

from iokr._system.compile import compiling


@pytest.fixture(params=["compiled", "plain"])
def sweeps(request):
    """With Numba's loops, and with NumPy's steps."""
    if request.param == "compiled":
        pytest.importorskip("numba")
    with compiling(request.param == "compiled"):
        yield request.param
