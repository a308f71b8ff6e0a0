"""What is refused names routes that fit, and those that it names run."""

import re
import time
import tracemalloc
import weakref

import numpy as np
import pytest

import iokr._system.memory
from iokr import IOKR, IOKRCV, Stream
from iokr._system.memory import device_errors
from iokr.embeddings import Nystroem as OutputNystroem
from iokr.kernels import RBF, Nystroem
from iokr.losses import Huber
from iokr.operator_kernels import Decomposable
from iokr.solvers import Auto, Cholesky, ConjugateGradient
from iokr.solvers._routes import expected_time

N, FREE = 3000, 34_000_000  # half of K is 36 MB
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
Y = np.sin(X @ rng.normal(size=(3, 2)))


@pytest.fixture
def little(monkeypatch):
    monkeypatch.setattr(iokr._system.memory, "available_memory", lambda like=None: FREE)
    monkeypatch.setattr("iokr.gram.scalar._PRODUCT", 1 << 19)  # a panel of 4 MB


def refused(model, *data):
    with pytest.raises(MemoryError) as caught:
        model.fit(*data)
    return str(caught.value)


def test_the_routes_run_in_what_is_free(little):
    words = refused(IOKR(RBF(0.1), alpha=0.1), X, Y)
    assert re.search(r"exact fit of 3000 points with Auto\(\) needs about .* but 34 MB .* are available", words)
    (conjugate,) = re.findall(r"`solver=(ConjugateGradient\(rank=\d+\))`", words)
    (approximate,) = re.findall(r"`(Nystroem\(RBF\(gamma=0.1\), n_components=\d+\))`", words)
    exact = IOKR(RBF(0.1), alpha=0.1, solver=eval(conjugate, {"ConjugateGradient": ConjugateGradient})).fit(X, Y)
    assert exact.solution_.converged
    low = IOKR(eval(approximate, {"Nystroem": Nystroem, "RBF": RBF}), alpha=0.1).fit(X, Y)
    assert np.abs(low.predict(X[:100]) - exact.predict(X[:100])).max() < 0.1


def test_the_routes_are_in_the_order_of_the_pages(little):
    """Some rows exactly, all rows approximately, all rows exactly; docs/guide/scale.rst has what each is worth."""
    words = refused(IOKR(RBF(0.1), alpha=0.1), X, Y)
    order = ["an exact fit of 500 rows", "approximate, `Nystroem(", "`solver=ConjugateGradient(", "more memory"]
    places = [words.index(route) for route in order]
    assert places == sorted(places)


def test_the_rows_that_are_named_have_room_for_a_search(little):
    words = refused(IOKRCV(RBF(0.1)), X, Y)
    (rows,) = re.findall(r"an exact fit of (\d+) rows", words)
    IOKRCV(RBF(0.1), alphas=(1e-9, 1e-6, 1.0)).fit(X[: int(rows)], Y[: int(rows)])


def bytes_in(words):
    number, unit = re.match(r"([\d.]+) (kB|MB|GB)", words).groups()
    return float(number) * {"kB": 1e3, "MB": 1e6, "GB": 1e9}[unit]


def traced(work):
    """Bytes at the peak above what was there."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


def test_the_approximate_route_runs_in_the_memory_that_it_says(little):
    words = refused(IOKR(RBF(0.1), alpha=0.1), X, Y)
    found = re.search(r"n_components=(\d+)\)` as the kernel, (.*?), less with rows in chunks", words)
    model = IOKR(Nystroem(RBF(0.1), int(found[1])), alpha=0.1)
    model.fit(X[:900], Y[:900])  # imports
    assert traced(lambda: model.fit(X, Y)) <= bytes_in(found[2])
    chunks = traced(lambda: model.fit(Stream((X, Y), rows=300)))
    assert chunks <= bytes_in(found[2])


def test_implicit_outputs_are_given_low_rank_too(little):
    words = refused(IOKR(RBF(0.1), output_kernel=RBF(0.1)), X, Y)
    assert "ConjugateGradient" not in words
    (rank,) = re.findall(r"`embedding=Nystroem\(n_components=(\d+)\)`", words) or [None]
    if rank is not None:
        IOKR(Nystroem(RBF(0.1), int(rank)), output_kernel=RBF(0.1), embedding=OutputNystroem(int(rank))).fit(X, Y)


@pytest.mark.parametrize(
    "model",
    [
        IOKR(Decomposable(RBF(0.1), np.array([[2.0, 1.0], [1.0, 2.0]]))),
        IOKR(RBF(0.1), loss=Huber()),
        IOKR(RBF(0.1), solver=Cholesky()),
        IOKRCV(RBF(0.1)),
    ],
    ids=["operator", "loss", "given", "path"],
)
def test_every_refusal_has_ways_out(little, model):
    assert "To reduce memory" in refused(model, X, Y)


def test_four_hundred_thousand_points_are_refused_at_once():
    """Nothing of the order of n² or n·m is touched before, and nothing is evaluated."""
    many = np.broadcast_to(np.zeros(1), (400_000, 1)) + rng.normal(size=(400_000, 1))
    IOKR(RBF(0.1)).fit(many[:10], many[:10])  # imports
    start = time.process_time()
    words = refused(IOKR(RBF(0.1)), many, many)
    assert time.process_time() - start < 20  # a bound of sanity; `iokr bench scale` holds it to a second
    assert re.search(r"needs about 6\d\d GB", words)


def test_the_shapes_are_enough_to_refuse(monkeypatch):
    """Before a value is read: on a device the first look at one would be a compilation."""

    def fail(*args, **kwargs):
        raise AssertionError("a value was looked at")

    monkeypatch.setattr("iokr.estimators.regression.posing.adapt", fail)
    many = np.full((400_000, 3), np.nan)
    for model, outputs in (
        (IOKR(RBF(0.1)), many),
        (IOKR(RBF(0.1)), many[:, 0]),
        (IOKR(RBF(0.1), output_kernel=RBF()), many),
        (IOKRCV(RBF(0.1)), many),
    ):
        assert "`Nystroem(RBF(gamma=0.1), n_components=" in refused(model, many, outputs)
    for model in (IOKR(Nystroem(RBF(0.1), 5)), IOKR(RBF(0.1), loss=Huber())):
        with pytest.raises(AssertionError, match="looked at"):
            model.fit(many, many)


def test_a_device_that_runs_out_says_it_in_the_same_words():
    class OutOfMemoryError(RuntimeError):
        """As torch and CuPy call it."""

    held = []

    def allocate():
        large = np.zeros(10)
        held.append(weakref.ref(large))
        raise OutOfMemoryError("CUDA")

    with (
        pytest.raises(MemoryError, match=r"A fit needs about .* are available. Buy more."),
        device_errors(1e15, "A fit", "Buy more."),
    ):
        allocate()
    assert held[0]() is None  # although the error is the cause of the other
    with pytest.raises(KeyError), device_errors(1.0, "A fit", "Buy more."):
        raise KeyError


def test_an_error_in_the_middle_of_a_fit(monkeypatch):
    class OutOfMemoryError(RuntimeError):
        """As torch calls it."""

    def fail(self, scale=None, *, single=False):
        raise OutOfMemoryError

    monkeypatch.setattr("iokr.gram.scalar.ScalarGram.packed", fail)
    for model in (IOKR(RBF(0.1)), IOKR(RBF(0.1), solver=Cholesky()), IOKRCV(RBF(0.1), alphas=[0.1, 1.0])):
        with pytest.raises(MemoryError, match="exact fit of 50 points"):
            model.fit(X[:50], Y[:50])


def test_times_in_words(monkeypatch):
    monkeypatch.setattr("iokr.solvers._routes.flops_per_second", lambda like: 1e9)
    words = [expected_time(flops, X) for flops in (1e6, 1e10, 1e12, 1e14)]
    assert words == ["less than a second", "about 10 s", "about 17 min", "about 28 h"]


def test_auto_refuses_as_its_choice_does(little):
    assert "Auto()" in refused(IOKR(RBF(0.1), solver=Auto()), X, Y)
