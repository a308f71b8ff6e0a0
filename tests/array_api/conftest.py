import pytest

from libraries import library_of


@pytest.fixture(
    params=[
        ("array_api_strict", "CPU_DEVICE"),
        ("array_api_strict", "device1"),
        ("torch", "cpu"),
        pytest.param(("torch", "cuda"), marks=pytest.mark.gpu),
        pytest.param(("cupy", "cuda"), marks=pytest.mark.gpu),
    ],
    ids="-".join,
)
def library(request):
    return library_of(*request.param)
