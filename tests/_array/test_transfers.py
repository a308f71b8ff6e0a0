"""Rows of a stream on a torch device: the same model, chunks in order, errors of the source come out."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

from iokr import IOKR, Stream
from iokr._array import ahead
from iokr.kernels import RBF, Nystroem

torch = pytest.importorskip("torch")
rng = np.random.default_rng(0)
X = rng.normal(size=(600, 3))
Y = np.sin(X @ rng.normal(size=(3, 2)))


def test_a_stream_on_a_device_is_the_same_model():
    model = IOKR(Nystroem(RBF(0.3), 40), alpha=0.1)
    here = model.fit(Stream((X, Y), rows=170)).predict(X[:20])
    there = model.fit(Stream((X, Y), rows=170).to("cpu")).predict(torch.asarray(X[:20]))
    assert isinstance(there, torch.Tensor)
    np.testing.assert_allclose(there.numpy(), here, rtol=0, atol=1e-10)


def test_weights_stay_and_chunks_keep_their_order():
    weight = rng.uniform(1, 2, size=600)
    chunks = list(Stream((X, Y, weight), rows=100).to("cpu").chunks())
    assert [chunk.number for chunk in chunks] == list(range(6))
    assert torch.equal(torch.concat([chunk.X for chunk in chunks]), torch.asarray(X))
    assert isinstance(chunks[0].weight, np.ndarray) and isinstance(chunks[0].y, torch.Tensor)


def test_the_next_chunk_is_read_while_one_is_worked_on():
    asked = threading.Event()

    def source() -> Iterator[tuple[Any, Any]]:
        yield X[:10], Y[:10]
        asked.set()
        yield X[10:20], Y[10:20]

    found = ahead(source(), "cpu")
    next(found)
    assert asked.wait(timeout=30)  # before anybody has asked for the second
    assert len(list(found)) == 1


def test_memory_maps_that_cannot_be_written_to_are_copied(tmp_path):
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    moved, _ = next(ahead([(mapped[:5], Y[:5])], "cpu"))
    moved += 1
    np.testing.assert_array_equal(mapped[:5], X[:5])


def test_errors_of_the_source_come_out():
    def source() -> Iterator[tuple[Any, Any]]:
        yield X[:10], Y[:10]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        list(ahead(source(), "cpu"))


@pytest.mark.parametrize(
    ("device", "error", "words"),
    [
        ("cuda:99", ValueError, "CUDA devices"),
        ("nowhere", ValueError, "the name of a torch device"),
        (3, TypeError, "the name of a torch device"),
    ],
)
def test_devices_that_are_not_there_are_refused_at_once(device, error, words):
    with pytest.raises(error, match=words):
        Stream((X, Y)).to(device)


def test_what_is_no_array_of_numbers_is_refused():
    stream = Stream(lambda: iter([(["a", "b"], [1, 2])])).to("cpu")
    with pytest.raises(TypeError, match="Only arrays of numbers can be moved to cpu, got a list"):
        list(stream.chunks())
