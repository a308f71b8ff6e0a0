"""Models of torch and CuPy: saved from a device, loaded to another. On an accelerator: `pytest -m gpu tests/files`."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import iokr
from fitted_models import vectors
from iokr.kernels import RBF
from libraries import library_of

PLACES = [
    ("torch", "cpu"),
    pytest.param(("torch", "cuda"), marks=pytest.mark.gpu),
    pytest.param(("cupy", "cuda"), marks=pytest.mark.gpu),
]
NEW = vectors(5, 1)


@pytest.fixture(params=PLACES, ids=lambda place: "-".join(place) if isinstance(place, tuple) else None)
def library(request):
    return library_of(*request.param)


def links():
    W = np.triu(np.random.default_rng(2).uniform(size=(14, 14)) < 0.4, k=1)
    return (W | W.T).astype(float)


MODELS = {
    "IOKR": lambda put: iokr.IOKR(output_kernel=RBF()).fit(put(vectors()), put(vectors(seed=3))),
    "IOKRCV": lambda put: iokr.IOKRCV([RBF(0.1), RBF(1.0)], alphas=(0.1, 1.0)).fit(
        put(vectors()), put(vectors(seed=3, p=2))
    ),
    "LinkPredictor": lambda put: iokr.LinkPredictor().fit(put(vectors()), links()),
}


@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("mmap", [False, True])
def test_from_a_device_and_back(name, mmap, library, tmp_path):
    model, new = MODELS[name](library), library(NEW)
    expected = library.numpy(model.decision_function(new))
    iokr.save(model, tmp_path / "m")
    device = library.device if library.name == "torch" else None
    again = iokr.load(tmp_path / "m", mmap=mmap, device=device)
    answer = library.numpy(again.decision_function(new))  # fails where it is another library's or device's
    assert answer.dtype == expected.dtype
    assert_allclose(answer, expected, rtol=0, atol=1e-10 * np.abs(expected).max())
    iokr.save(again, tmp_path / "n")
    assert len((tmp_path / "n").read_bytes()) == len((tmp_path / "m").read_bytes())


@pytest.mark.parametrize("name", MODELS)
def test_to_the_host(name, library, tmp_path):
    """Torch's arrays on the CPU, without a device being asked for too; CuPy's as NumPy's."""
    model = MODELS[name](library)
    expected = library.numpy(model.decision_function(library(NEW)))
    iokr.save(model, tmp_path / "m")
    options = [{}, {"device": "cpu"}] if library.name == "torch" else [{"device": "cpu"}]
    for option in options:
        again = iokr.load(tmp_path / "m", **option)
        home = library_of("torch", "cpu") if library.name == "torch" else np.asarray
        answer = again.decision_function(home(NEW))
        host = home.numpy(answer) if library.name == "torch" else answer
        assert type(host) is np.ndarray
        assert_allclose(host, expected, rtol=0, atol=1e-10 * np.abs(expected).max())


@pytest.mark.gpu
def test_from_the_host_to_an_accelerator(tmp_path):
    cuda = library_of("torch", "cuda")
    host = library_of("torch", "cpu")
    model = MODELS["IOKR"](host)
    iokr.save(model, tmp_path / "m")
    answer = cuda.numpy(iokr.load(tmp_path / "m", device="cuda").decision_function(cuda(NEW)))
    assert_allclose(answer, host.numpy(model.decision_function(host(NEW))), rtol=0, atol=1e-10)


def test_float32_stays(library, tmp_path):
    model = iokr.IOKR().fit(library(vectors(), np.float32), library(vectors(seed=3), np.float32))
    iokr.save(model, tmp_path / "m")
    again = iokr.load(tmp_path / "m", device=library.device if library.name == "torch" else None)
    new = library(NEW, np.float32)
    assert library.numpy(again.decision_function(new)).dtype == np.float32
    assert_array_equal(library.numpy(again.decision_function(new)), library.numpy(model.decision_function(new)))


@pytest.mark.parametrize("device", ["nowhere", "cuda:99", 3.5])
def test_a_device_that_is_not_there_is_named(device, tmp_path):
    torch = pytest.importorskip("torch")
    iokr.save(iokr.IOKR().fit(torch.asarray(vectors()), torch.asarray(vectors(seed=3))), tmp_path / "m")
    with pytest.raises(ValueError, match=f"such as 'cpu', got {device!r}"):
        iokr.load(tmp_path / "m", device=device)
