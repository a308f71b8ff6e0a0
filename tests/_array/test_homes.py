"""Arrays of other libraries to NumPy and back."""

import numpy as np
import pytest

from iokr._array import home_of, put_home, to_numpy


def test_numpy_has_no_home_to_remember():
    assert home_of(np.eye(2)) is None and home_of(3.0) is None


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_there_and_back(library):
    xp = pytest.importorskip(library)
    x = xp.asarray(np.eye(2))
    name, device = home_of(x)
    assert name == library and "cpu" in device.lower()
    again = put_home(to_numpy(x), name)
    assert type(again) is type(x) and home_of(again) == (name, device)


def test_torch_shares_the_memory_and_goes_where_it_is_told():
    torch = pytest.importorskip("torch")
    x = np.zeros(3)
    put_home(x, "torch")[0] = 1.0
    assert x[0] == 1.0
    assert put_home(x, "torch", "meta").device == torch.device("meta")


def test_arrays_of_cupy_can_stay_on_the_host():
    x = np.zeros(3)
    assert put_home(x, "cupy", "cpu") is x


def test_libraries_that_are_not_known_are_refused():
    with pytest.raises(ValueError, match="`library` must be one of torch"):
        put_home(np.zeros(3), "os")
