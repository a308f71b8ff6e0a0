"""Chunks of the benchmark follow from their numbers, and its sections agree at a small size.

Tests of `iokr_lab.bench.scale.streams`.
"""

import numpy as np
import pytest

from iokr_lab.bench.base import Run
from iokr_lab.bench.scale import streams

RUN = Run(0, True, 1, lambda what: None)


def test_chunks_follow_from_their_numbers():
    X, Y = streams.made(0, 3, 10)
    again = streams.made(0, 3, 10)
    assert np.array_equal(X, again[0]) and np.array_equal(Y, again[1])
    assert not np.array_equal(X, streams.made(0, 4, 10)[0])


def test_a_small_stream_keeps_its_promises():
    tables, verdicts = streams.SECTIONS[0].work(RUN)
    by_name = {verdict.what: verdict for verdict in verdicts}
    assert [row["n"] for row in tables[0].rows] == [500, 1000, 5000]
    assert by_name["partial_fit and fit, relative difference"].met


@pytest.mark.slow
def test_two_workers_give_the_bits_of_one_process():
    pytest.importorskip("distributed")
    _, verdicts = streams.SECTIONS[1].work(RUN)
    assert all(verdict.met for verdict in verdicts if "time" not in verdict.what)


def test_lazy_rows_are_the_chunks():
    pytest.importorskip("dask.array")
    import dask

    X, Y = streams._lazy_rows(0, 30, 10)
    with dask.config.set(scheduler="synchronous"):
        assert np.array_equal(X.compute(), np.concatenate([streams.made(0, i, 10)[0] for i in range(3)]))
        assert Y.shape == (30, streams.Q)
