"""Dask: the same model as in one process, bit for bit when workers die; lazy answers; candidates in shards.

Tests of `iokr.gram.distributed` and `iokr.estimators.base`.
"""

import os
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from threadpoolctl import threadpool_limits

da = pytest.importorskip("dask.array")
pytest.importorskip("distributed")

from iokr import IOKR, IOKRCV, Stream  # noqa: E402
from iokr.decoders import MinimumRisk  # noqa: E402
from iokr.embeddings import Nystroem as FewOutputs  # noqa: E402
from iokr.gram.distributed import DaskSource  # noqa: E402
from iokr.kernels import RBF, Nystroem  # noqa: E402
from iokr.solvers import LowRank  # noqa: E402

rng = np.random.default_rng(0)
X = rng.normal(size=(600, 3))
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]]) + 0.1 * rng.normal(size=(600, 2))
NEW = rng.normal(size=(40, 3))
K = Nystroem(RBF(0.3), 20)
ALPHA = 0.1


def lazy(A, rows=50):
    return da.from_array(A, chunks=(rows, -1) if A.ndim == 2 else rows)


def _apart(y, z):
    return float(abs(y - z).sum())


def by_hand(model, intercept):
    """h(x) from all rows at once: of deviations from the means, and these."""
    Phi, new = model.kernel_.features(X), model.kernel_.features(NEW)
    centre, mean = (Phi.mean(axis=0), Y.mean(axis=0)) if intercept else (0.0, 0.0)
    Phi, new = Phi - centre, new - centre
    return new @ np.linalg.solve(Phi.T @ Phi + ALPHA * np.eye(Phi.shape[1]), Phi.T @ (Y - mean)) + mean


@pytest.fixture(scope="module", autouse=True)
def in_this_thread():
    import dask

    with dask.config.set(scheduler="synchronous"):
        yield


@pytest.mark.parametrize("intercept", [False, True])
def test_is_the_fit_of_all_rows_and_answers_lazily(intercept):
    model = IOKR(K, alpha=ALPHA, intercept=intercept).fit(lazy(X), lazy(Y))
    expected = by_hand(model, intercept)
    assert_allclose(model.predict(NEW), expected, atol=1e-10)
    later = model.predict(lazy(NEW, 15))
    assert isinstance(later, da.Array) and later.shape == (40, 2) and later.chunks[0] == (15, 15, 10)
    assert_allclose(later.compute(), model.predict(NEW), atol=1e-13)
    assert_allclose(model.decision_function(lazy(NEW, 15)).compute(), model.decision_function(NEW), atol=1e-13)
    numbers = IOKR(K, alpha=ALPHA).fit(lazy(X), lazy(Y[:, 0]))
    assert numbers.predict(lazy(NEW, 15)).compute().shape == (40,)


def test_equals_the_stream_of_the_same_chunks():
    """The same landmarks: then every way to add gives the same moments."""
    dask_model = IOKRCV(K, alphas=(1e-3, 0.1, 10.0), cv=3).fit(lazy(X), lazy(Y))
    fixed = dask_model.kernel_
    Phi = fixed.features(X)
    from iokr.kernels import Linear

    streamed = IOKRCV(Linear(), alphas=(1e-3, 0.1, 10.0), cv=3).fit(Stream((Phi, Y), rows=50))
    assert_allclose(dask_model.cv_errors_, streamed.cv_errors_, rtol=1e-10)
    assert_allclose(dask_model.predict(NEW), streamed.predict(fixed.features(NEW)), atol=1e-10)
    loo = IOKRCV(K, alphas=(1e-3, 0.1, 10.0)).fit(lazy(X), lazy(Y)).loo_errors_
    assert_allclose(
        loo, IOKRCV(Linear(), alphas=(1e-3, 0.1, 10.0), solver=LowRank()).fit(Phi, Y).loo_errors_, rtol=1e-9
    )


def test_outputs_on_a_kernel_and_candidates_in_shards():
    model = IOKR(K, output_kernel=RBF(0.5), embedding=FewOutputs(15), alpha=ALPHA).fit(lazy(X), lazy(Y))
    candidates = rng.normal(size=(500, 2))
    candidates[400] = candidates[3]  # equal ones keep their order
    index, values = model.rank(NEW, lazy(candidates, 60), k=7)
    expected, distances = model.rank(NEW, candidates, k=7)
    assert_array_equal(index, expected)
    assert_allclose(values, distances, atol=1e-12)
    assert model.rank(NEW, lazy(candidates, 60))[0].shape == (40, 500)
    risk = IOKR(K, decoder=MinimumRisk(_apart), alpha=ALPHA).fit(X, Y)
    assert_array_equal(risk.rank(NEW, lazy(candidates, 60), k=3)[0], risk.rank(NEW, candidates, k=3)[0])
    near = model.predict(lazy(NEW, 15), candidates).compute()
    assert_array_equal(near, model.predict(NEW, candidates))


BAD = {
    "columns": (lambda: (X_in(columns=1), lazy(Y)), ValueError, r"rechunk\(\{1: -1\}\)"),
    "no y": (lambda: (lazy(X), None), TypeError, "`y` must be one, too, got NoneType"),
    "y in memory": (lambda: (lazy(X), Y), TypeError, r"from_array\(y, chunks=X.chunks\[0\]\)"),
    "lengths": (lambda: (lazy(X), lazy(Y[:50])), ValueError, "same length"),
    "rows": (lambda: (lazy(X), lazy(Y, 30)), ValueError, "same chunks of rows"),
    "empty": (lambda: (da.zeros((0, 3)), da.zeros((0, 2))), ValueError, "0 sample"),
    "rank above n": (
        lambda: (lazy(X[:10], 5), lazy(Y[:10], 5)),
        ValueError,
        "landmarks are chosen from 10 rows; lower it",
    ),
    "outputs by columns": (lambda: (lazy(X), da.from_array(Y, chunks=(50, 1))), ValueError, "one chunk of columns"),
    "unknown": (lambda: (lazy(X)[lazy(X)[:, 0] > 0], lazy(Y)), ValueError, "compute_chunk_sizes"),
}


def X_in(columns):
    return da.from_array(X, chunks=(50, columns))


@pytest.mark.parametrize("case", BAD)
def test_bad_arrays(case):
    make, error, words = BAD[case]
    with pytest.raises(error, match=words):
        IOKR(K).fit(*make())


def test_a_checkpoint_of_other_chunks_is_refused(tmp_path):
    model = IOKR(K, alpha=ALPHA, solver=LowRank(checkpoint=tmp_path / "kept")).fit(lazy(X), lazy(Y))
    with pytest.raises(ValueError, match="another"):
        model.fit(lazy(X, 30), lazy(Y, 30))


def test_an_exact_kernel_is_refused_with_its_size():
    big = da.zeros((4_000_000, 3), chunks=(100_000, 3))
    with pytest.raises(ValueError, match=r"4000000 rows take 64 TB on one device.*Nystroem\(RBF"):
        IOKR(RBF(0.3)).fit(big, big)


def test_too_few_chunks_for_the_folds():
    with pytest.raises(ValueError, match="fewer than cv=20"):
        IOKRCV(K, cv=20).fit(lazy(X), lazy(Y))


def test_a_worker_too_small_for_a_chunk_is_refused(monkeypatch):
    import iokr.gram.distributed as module

    class Client:
        def scheduler_info(self, n_workers):
            return {"workers": {"a": {"memory_limit": 10**6}, "b": {"memory_limit": 10**9}}}

    monkeypatch.setattr(module, "_client", Client)
    big = da.zeros((100_000, 3), chunks=(100_000, 3))
    with pytest.raises(MemoryError, match=r"more than half of the 1 MB of the smallest; use `X.rechunk\(\{0: "):
        DaskSource(big, big).reduce(lambda X, y, w: 0, width=20)
    with pytest.raises(MemoryError, match="a smaller `n_components`"):
        DaskSource(big, big).reduce(lambda X, y, w: 0, width=2000)


PROGRAM = """
    import os, sys, time
    import dask.array as da
    import numpy as np
    from distributed import Client, LocalCluster
    from iokr import IOKR
    from iokr.kernels import RBF, Nystroem
    from iokr.solvers import LowRank

    folder, done = sys.argv[1], sys.argv[2]

    def slow(block, block_info=None):
        number = block_info[0]["chunk-location"][0]
        time.sleep(0.25)
        return np.random.default_rng(number).normal(size=block.shape)

    def main():
        cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None, memory_limit="1GiB")
        client = Client(cluster)
        X = da.zeros((600, 3), chunks=(50, 3)).map_blocks(slow, dtype=float)
        Y = X[:, :2]
        pids = [worker.pid for worker in cluster.workers.values()]
        print("workers", *pids, flush=True)
        checkpoint = folder if folder != "-" else None
        model = IOKR(Nystroem(RBF(0.3), 20), alpha=0.1, solver=LowRank(checkpoint=checkpoint)).fit(X, Y)
        np.savez(done, G=model.inputs_.points.parts[0], C=model.solution_.C)
        print("fitted", flush=True)
        client.close()
        cluster.close()

    if __name__ == "__main__":
        main()
"""


def start(tmp_path, folder, answer):
    script = tmp_path / "program.py"
    script.write_text(textwrap.dedent(PROGRAM))
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    command = [sys.executable, str(script), str(folder), str(answer)]
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment, start_new_session=True)


def workers_of(process):
    line = process.stdout.readline()
    assert line.startswith("workers"), line
    return [int(pid) for pid in line.split()[1:]]


def wait_for(folder, count, process):
    """Until so many chunks are kept, or the program is through."""
    while len(list(Path(folder).glob("*.npz"))) < count and process.poll() is None:
        time.sleep(0.02)


def finished(process):
    assert "fitted" in process.communicate(timeout=500)[0]


def test_killed_workers_and_a_killed_cluster_change_no_bit(tmp_path):
    """SIGKILL of scheduler, workers and client at once; after the restart, of one of two workers. 12 chunks."""
    whole = start(tmp_path, tmp_path / "kept", tmp_path / "answer.npz")
    workers_of(whole)
    wait_for(tmp_path / "kept", 3, whole)
    os.killpg(whole.pid, signal.SIGKILL)
    whole.wait(timeout=60)
    assert not (tmp_path / "answer.npz").exists()
    before = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "kept").glob("*.npz")}
    assert 3 <= len(before) < 12

    again = start(tmp_path, tmp_path / "kept", tmp_path / "answer.npz")
    victim = workers_of(again)[0]
    wait_for(tmp_path / "kept", len(before) + 2, again)
    os.kill(victim, signal.SIGKILL)
    finished(again)
    after = {path.name: path.stat().st_mtime_ns for path in (tmp_path / "kept").glob("*.npz")}
    assert len(after) == 12
    assert all(after[name] == before[name] for name in before)  # finished chunks were not computed again

    with threadpool_limits(limits=1):  # the same in this process, with as many threads as a worker has
        rows = np.concatenate([np.random.default_rng(number).normal(size=(50, 3)) for number in range(12)])
        expected = IOKR(K, alpha=ALPHA).fit(lazy(rows), lazy(rows[:, :2]))
    found = np.load(tmp_path / "answer.npz")
    assert_array_equal(found["G"], expected.inputs_.points.parts[0])
    assert_array_equal(found["C"], expected.solution_.C)
