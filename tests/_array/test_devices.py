"""Where arrays live, in words; switches are as they were afterwards."""

import numpy as np
import pytest

from iokr._array import device_name, flops_per_second, is_cuda, slow_double, tensor_products


def test_the_host_is_no_device():
    x = np.zeros(3)
    assert device_name(x) == "this machine"
    assert not is_cuda(x)
    assert not slow_double(x)
    assert flops_per_second(x) > 1e6
    with tensor_products(x):
        pass


def test_torch_on_the_host():
    torch = pytest.importorskip("torch")
    x = torch.zeros(3, dtype=torch.float64)
    assert device_name(x) == "this machine"
    assert not slow_double(x)


@pytest.mark.gpu
def test_switches_are_restored():
    torch = pytest.importorskip("torch")
    x = torch.zeros(3, dtype=torch.float64, device="cuda")
    switch = torch.backends.cuda.matmul
    name = "fp32_precision" if hasattr(switch, "fp32_precision") else "allow_tf32"  # torch refuses a mix of the two
    before = getattr(switch, name)
    with pytest.raises(ZeroDivisionError), tensor_products(x):
        assert getattr(switch, name) in ("tf32", True)
        1 / 0  # noqa: B018
    assert getattr(switch, name) == before
    assert device_name(x).startswith("cuda")
