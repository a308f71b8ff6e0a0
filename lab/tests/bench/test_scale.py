"""Every line of `iokr bench scale` runs at a small size, and what it compares agrees.

Tests of `iokr_lab.bench.scale.device`, `iokr_lab.bench.scale.exact`, `iokr_lab.bench.scale.growth`,
`iokr_lab.bench.scale.limits`.
"""

import numpy as np
import pytest

from iokr_lab import bench
from iokr_lab.bench import base
from iokr_lab.bench.base import Benchmark, Run, Section, Verdict, survey
from iokr_lab.bench.grams import smooth_vectors
from iokr_lab.bench.ridge import fit_floor
from iokr_lab.bench.scale import BENCHMARK, device, limits
from iokr_lab.bench.scale.exact import one_fit, packed_floor
from iokr_lab.bench.scale.growth import growth_items


@pytest.mark.parametrize("n", [1, 2, 63, 64, 129, 130, 201])
def test_the_packed_floor_is_the_full_one(n):
    X, Y = smooth_vectors(np.random.default_rng(0), n, 3, 2)
    np.testing.assert_allclose(packed_floor(X, Y, 0.3, 0.5), fit_floor(X, Y, 0.3, 0.5), rtol=1e-10, atol=1e-12)


@pytest.mark.parametrize("width", [16, 50, 100])
def test_the_floor_of_a_device_on_the_host(width):
    torch = pytest.importorskip("torch")
    X, Y = (torch.asarray(part) for part in smooth_vectors(np.random.default_rng(0), 90, 3, 2))
    expected = fit_floor(X.numpy(), Y.numpy(), device.GAMMA, device.ALPHA)
    np.testing.assert_allclose(device.packed_floor(X, Y, width), expected, rtol=1e-10, atol=1e-12)


def test_the_refusal_names_a_route_that_the_benchmark_runs():
    words, seconds = limits.refused(200_000, 2, 1, 0)
    assert "n_components=" in words
    assert seconds > 0
    assert limits.predictions(n=20, rows=30).ours.run().shape == (30, 5)


def test_a_process_of_its_own_is_measured_whole():
    found = limits.whole_process(200, 0)
    assert found["residual"] < 1e-12 and found["peak"] > 8 * 200 * 200 and found["seconds"] > 0


def test_sections_are_found_by_words_of_their_titles():
    assert [s.title for s in base.only(BENCHMARK, ["dask"]).sections] == ["Dask"]
    assert len(base.only(BENCHMARK, ["low rank"]).sections) == 2
    with pytest.raises(ValueError, match="'nothing' is not among those of this benchmark: 'exact fits on the CPU'"):
        base.only(BENCHMARK, ["nothing"])


def test_contenders_agree():
    table, verdicts = Run(0, True, 1, lambda what: None).ask(one_fit(n=90, p=3, q=2, threads=1))
    assert [row["contender"] for row in table.rows] == ["IOKR", "dpotrf of the full matrix", "KernelRidge", "floor"]
    assert len(verdicts) == 1


def test_growth_is_drawn_beside_the_law():
    rows = [{"n": n, "seconds": n**3 * 1e-9, "bytes": 4.2 * n * n} for n in (100, 200, 400)]
    table, figure = growth_items("a cube", rows)
    assert [row["exponent of time"] for row in table.rows][1:] == pytest.approx([3.0, 3.0])
    assert table.rows[-1]["n² doubles"] == pytest.approx(0.525)
    assert "<svg" in figure.svg
    growth_items("a stream", rows, time_power=1.0, memory="constant")


def test_sections_run_or_name_themselves_as_skipped():
    runs = []

    def work(run):
        run.step("in between")
        runs.append((run.seed, run.quick, run.repeat))
        return [], [Verdict("a bar", 0.5, at_most=1.0)]

    sections = (Section("here", work), Section("on a GPU", work, lambda: "there is no CUDA device"))
    steps = []
    report = survey(
        Benchmark("B", lambda seed, quick: (), sections=sections),
        repeat=2, seed=7, progress=lambda *step: steps.append(step), quick=False,
    )  # fmt: skip
    assert runs == [(7, False, 2)]
    assert "Skipped: on a GPU: there is no CUDA device." in report.notes
    assert [row["what"] for row in report.tables[-1].rows] == ["a bar"]
    assert steps == [(0, 1, "here"), (1, 1, "in between"), (1, 1, "done")]


def test_every_section_says_in_words_why_it_is_skipped():
    titles = [section.title for section in BENCHMARK.sections]
    assert len(titles) == len(set(titles))
    for section in BENCHMARK.sections:
        why = section.missing()
        assert why is None or len(why) > 10


@pytest.mark.slow
def test_a_quick_run():
    report = bench.run("scale", repeat=1, quick=True)
    assert report.tables
