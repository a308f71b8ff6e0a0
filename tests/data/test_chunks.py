"""Rows in chunks: every way to bring them gives the same model, and what cannot be one is refused in words.

Tests of `iokr.data.chunks` and `iokr.estimators.regression.streaming`.
"""

import pickle

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import iokr
from iokr import IOKR, IOKRCV, Stream
from iokr.embeddings import Nystroem as FewOutputs
from iokr.kernels import RBF, Fourier, Linear, Nystroem, Sketch
from iokr.losses import Huber
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Covariance, Decomposable
from iokr.solvers import Cholesky, LowRank

rng = np.random.default_rng(0)
X, W = rng.normal(size=(230, 3)), rng.uniform(0.0, 2.0, size=230)
Y = np.column_stack([np.sin(X[:, 0]), X[:, 1] * X[:, 2]]) + 0.1 * rng.normal(size=(230, 2))
NEW = rng.normal(size=(6, 3))
A = np.array([[1.0, 0.4], [0.4, 0.5]])
K = Nystroem(RBF(0.3), 20)
ALPHA = 0.1
CUTS = [slice(0, 60), slice(60, 61), slice(61, 150), slice(150, 230)]


def chunks():
    for cut in CUTS:
        yield X[cut], Y[cut]


def weighted():
    for cut in CUTS:
        yield X[cut], Y[cut], W[cut]


def by_hand(model, targets=Y, weight=None, A=None, alpha=ALPHA, intercept=True):
    """h(x) of the features that the model ended up with, from all rows at once: deviations from means, and these."""
    kernel = getattr(model.kernel_, "kernel_", model.kernel_)
    Phi, new, w = kernel.features(X), kernel.features(NEW), np.ones(len(X)) if weight is None else weight
    centre, mean = (w @ Phi / w.sum(), w @ targets / w.sum()) if intercept else (0.0, 0.0)
    Phi, new, targets = Phi - centre, new - centre, targets - mean
    A = np.eye(targets.shape[1]) if A is None else A
    gamma, E = np.linalg.eigh(A)
    D = [
        g * np.linalg.solve(g * (Phi.T * w) @ Phi + alpha * np.eye(Phi.shape[1]), (Phi.T * w) @ targets @ e)
        for g, e in zip(gamma, E.T, strict=True)
    ]
    return new @ np.column_stack(D) @ E.T + mean


KERNELS = [K, Sketch(RBF(0.3), 20), Fourier(RBF(0.3), 40), Linear()]


@pytest.mark.parametrize("kernel", KERNELS, ids=repr)
@pytest.mark.parametrize("intercept", [False, True])
def test_is_the_fit_of_all_rows(kernel, intercept):
    model = IOKR(kernel, alpha=ALPHA, intercept=intercept).fit(Stream(chunks))
    assert_allclose(model.predict(NEW), by_hand(model, intercept=intercept), atol=1e-10)
    assert "230 rows in chunks" in model.solver_.explain()


@pytest.mark.parametrize("intercept", [False, True])
def test_weights_and_operators(intercept):
    model = IOKR(Decomposable(K, A), alpha=ALPHA, intercept=intercept).fit(Stream(weighted))
    assert_allclose(model.predict(NEW), by_hand(model, weight=W, A=A, intercept=intercept), atol=1e-10)


def test_outputs_on_a_kernel():
    model = IOKR(K, output_kernel=RBF(0.5), embedding=FewOutputs(15), alpha=ALPHA).fit(Stream(chunks))
    Z = model.embedding_.transform(Y)
    assert_allclose(model.decision_function(NEW), by_hand(model, Z, intercept=False), atol=1e-10)
    squares = np.sum(model.decision_function(NEW) ** 2, axis=1)[:, None] + 1
    assert_allclose(model.distances(NEW, Y[:4]), squares - 2 * model.scores(NEW, Y[:4]), atol=1e-10)
    assert model.predict(NEW, Y[:9]).shape == (6, 2)


def test_every_source_gives_the_same_model(tmp_path):
    expected = IOKR(K, alpha=ALPHA).fit(Stream((X, Y), rows=50)).predict(NEW)
    stored = np.lib.format.open_memmap(tmp_path / "X.npy", "w+", float, X.shape)
    stored[:] = X
    stored.flush()
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    assert_allclose(IOKR(K, alpha=ALPHA).fit(Stream((mapped, Y), rows=50)).predict(NEW), expected, atol=1e-10)
    parts = IOKR(K, alpha=ALPHA)
    for start in range(0, 230, 50):
        parts.partial_fit(X[start : start + 50], Y[start : start + 50])
    assert_allclose(parts.predict(NEW), expected, atol=1e-10)
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    table = pyarrow.table({**{f"x{j}": X[:, j] for j in range(3)}, "a": Y[:, 0], "b": Y[:, 1]})
    parquet.write_table(table, tmp_path / "rows.parquet", row_group_size=70)
    model = IOKR(K, alpha=ALPHA).fit(Stream(tmp_path / "rows.parquet", y=["a", "b"], rows=50))
    assert_allclose(model.predict(NEW), expected, atol=1e-10)
    with pytest.raises(ValueError, match="`y` must name columns"):
        IOKR(K).fit(Stream(tmp_path / "rows.parquet", y="c"))


class Stored:
    """What Zarr and h5py arrays have: `shape`, `dtype`, `chunks`, slices."""

    def __init__(self, array):
        self.array, self.shape, self.dtype, self.chunks = array, array.shape, array.dtype, (32, *array.shape[1:])
        self.asked = []

    def __getitem__(self, rows):
        self.asked.append(rows)
        return self.array[rows]


def test_stored_arrays_are_sliced_along_their_chunks():
    stored = Stored(X)
    model = IOKR(K, alpha=ALPHA).fit(stored, Stored(Y))
    assert_allclose(model.predict(NEW), by_hand(model), atol=1e-10)
    IOKR(K, alpha=ALPHA).fit(Stream((stored, Stored(Y)), rows=70))
    assert stored.asked[-1].start == 192  # chunks of 64 rows


@pytest.mark.parametrize("name", ["torch"])
def test_chunks_of_another_library(name):
    xp = pytest.importorskip(name)
    model = IOKR(K, alpha=ALPHA).fit(Stream((xp.asarray(X), xp.asarray(Y)), rows=50))
    found = model.predict(xp.asarray(NEW))
    assert type(found) is type(xp.asarray(X))
    assert_allclose(np.asarray(found), IOKR(K, alpha=ALPHA).fit(Stream((X, Y), rows=50)).predict(NEW), atol=1e-9)


def test_float32_is_cast_a_chunk_at_a_time():
    model = IOKR(K, alpha=ALPHA).fit(Stream((X.astype(np.float32), Y.astype(np.float32)), rows=50))
    assert model.predict(NEW.astype(np.float32)).dtype == np.float32
    assert model.solution_.C.dtype == np.float64


def test_a_reservoir_holds_every_row_with_the_same_probability():
    counts = np.zeros(2000)
    rows = np.arange(2000.0)[:, None]
    kept, outputs, _ = Stream((rows, rows), rows=64, landmarks="reservoir").sample(500)
    counts[kept[:, 0].astype(int)] += 1
    assert kept.shape == (500, 1) and np.array_equal(kept, outputs)
    assert len(np.unique(kept)) == 500
    assert 80 <= counts[:400].sum() <= 120 and 80 <= counts[-400:].sum() <= 120
    model = IOKR(K, alpha=ALPHA).fit(Stream(weighted, landmarks="reservoir"))
    assert_allclose(model.predict(NEW), by_hand(model, weight=W), atol=1e-10)


ALPHAS = (1e-3, 0.1, 10.0)


@pytest.mark.parametrize("operator", [None, A], ids=["identity", "full"])
def test_leave_one_out_in_two_passes(operator):
    kernel = K if operator is None else Decomposable(K, A)
    model = IOKRCV(kernel, alphas=ALPHAS).fit(Stream(weighted))
    scalar = getattr(model.kernel_, "kernel_", model.kernel_)
    Phi = scalar.features(X)
    fixed = Linear() if operator is None else Decomposable(Linear(), A)
    expected = IOKRCV(fixed, alphas=ALPHAS, solver=LowRank()).fit(Phi, Y, sample_weight=W)
    assert_allclose(model.loo_errors_, expected.loo_errors_, rtol=1e-9)
    assert model.alpha_ == expected.alpha_
    assert_allclose(model.predict(NEW), expected.predict(scalar.features(NEW)), atol=1e-9)


def test_folds_in_one_pass():
    opened = []

    def counted():
        opened.append(1)
        return chunks()

    model = IOKRCV(K, alphas=ALPHAS, cv=2).fit(Stream(counted))
    assert len(opened) == 2  # the first chunk, for landmarks; then all of them
    Phi = model.kernel_.features(X)
    fold = np.concatenate([np.full(cut.stop - cut.start, i % 2) for i, cut in enumerate(CUTS)])
    for k, alpha in enumerate(ALPHAS):
        error = 0.0
        for f in range(2):
            refit = IOKR(Linear(), alpha=alpha).fit(Phi[fold != f], Y[fold != f])
            error += np.sum((Y[fold == f] - refit.predict(Phi[fold == f])) ** 2)
        assert model.cv_errors_[k] == pytest.approx(error / 230, rel=1e-9)


def test_several_kernels_and_output_ranks_compare():
    outputs = {"output_kernel": RBF(0.5), "embedding": FewOutputs(15), "alphas": ALPHAS}
    model = IOKRCV([Nystroem(RBF(0.3), 5), K], **outputs).fit(Stream(chunks))
    assert model.loo_errors_.shape == (2, 3)
    Z = model.embedding_.transform(Y)
    Phi = Nystroem(RBF(0.3), 20).fit(X[:60]).features(X)
    loo = IOKRCV(Linear(), alphas=ALPHAS, solver=LowRank(), intercept=False).fit(Phi, Z).loo_errors_
    assert_allclose(model.loo_errors_[1], loo + np.mean(1 - np.sum(Z**2, axis=1)), rtol=1e-8)


def test_partial_fit_is_solved_by_methods_and_by_no_attribute():
    model = IOKR(K, alpha=ALPHA).partial_fit(X[:60], Y[:60])
    model._repr_html_()  # printing solves nothing
    assert not hasattr(model, "solution_")
    assert model.finalize() is model
    first = model.solution_.C
    assert model.finalize().solution_.C is first
    model.partial_fit(X[60:], Y[60:])
    assert not hasattr(model, "solution_")
    model.predict(X)
    assert model.solution_.C is not first


def test_partial_fit_is_fit_and_can_be_put_away():
    model = IOKR(K, alpha=ALPHA)
    for i, cut in enumerate(CUTS):
        model.partial_fit(X[cut], Y[cut], W[cut])
        if i == 1:
            model = pickle.loads(pickle.dumps(model))
    whole = IOKR(K, alpha=ALPHA).fit(Stream(weighted))
    assert_allclose(model.predict(NEW), whole.predict(NEW), atol=1e-10)
    before = model.predict(NEW)
    model.partial_fit(X[:3], Y[:3])
    assert np.abs(model.predict(NEW) - before).max() > 0


def test_a_partly_fitted_model_can_be_saved(tmp_path):
    pytest.importorskip("safetensors")
    model = IOKR(K, alpha=ALPHA).partial_fit(X[:60], Y[:60])
    iokr.save(model, tmp_path / "part.safetensors")
    again = iokr.load(tmp_path / "part.safetensors")
    for part in (model, again):
        part.partial_fit(X[60:], Y[60:])
    assert_allclose(again.predict(NEW), model.predict(NEW), atol=1e-12)


def test_twenty_chunks_are_the_union():
    model, size = IOKR(K, alpha=ALPHA), 23
    for start in range(0, 230, size):
        model.partial_fit(X[start : start + size], Y[start : start + size])
    assert_allclose(model.predict(NEW), by_hand(model), atol=1e-10)


def test_progress_is_reported():
    callback = pytest.importorskip("sklearn.callback")
    model = IOKR(K, alpha=ALPHA)
    model.set_callbacks(callback.ProgressBar())
    model.fit(Stream(chunks))


def test_predictions_run_in_parts(monkeypatch):
    import iokr.data.chunks

    model = IOKR(K, alpha=ALPHA).fit(X, Y)
    many = rng.normal(size=(5000, 3))
    whole = model.predict(many)
    monkeypatch.setattr(iokr.data.chunks, "_WORK", 1)
    seen = []
    monkeypatch.setattr(
        Nystroem, "represent", lambda self, X, old=Nystroem.represent: seen.append(len(X)) or old(self, X)
    )
    assert_allclose(model.predict(many), whole, atol=1e-12)
    assert max(seen) == 1024


@pytest.mark.parametrize("kernel", [RBF(0.3), K], ids=["exact", "low rank"])
def test_ten_times_the_predictions_take_ten_times_the_answer_and_no_more(kernel, monkeypatch):
    """Above three times the answer and the inputs' checks nothing grows with the rows."""
    import tracemalloc

    import iokr.data.chunks

    monkeypatch.setattr(iokr.data.chunks, "_WORK", 1 << 17)  # 1 MB beside the answer
    model = IOKR(kernel, alpha=ALPHA).fit(X, Y)
    model.predict(rng.normal(size=(10, 3)))
    above = []
    for rows in (20_000, 200_000):
        many = rng.normal(size=(rows, 3))
        tracemalloc.start()
        answer = model.predict(many)
        above.append(tracemalloc.get_traced_memory()[1] - 3 * answer.nbytes)
        tracemalloc.stop()
    assert above[0] < 25e6 and above[1] < 25e6  # a matrix of 200 000 × 300 is 480 MB


def test_what_needs_rows_says_so():
    model = IOKR(K, alpha=ALPHA).fit(Stream(chunks))
    for ask in (model.loo_decision_function, lambda: model.weights(NEW)):
        with pytest.raises(ValueError, match="does not keep"):
            ask()
    with pytest.raises(ValueError, match="keeps its training rows"):
        iokr.model_selection.certify(model)


@pytest.mark.parametrize("intercept", [False, True])
def test_the_variance_needs_moments_alone(intercept):
    """αφᵀ(ΦᵀΦ + αI)⁻¹φ of deviations from the mean, and α/n of the intercept."""
    model = IOKR(K, alpha=ALPHA, intercept=intercept).fit(Stream(chunks))
    Phi, new = model.kernel_.features(X), model.kernel_.features(NEW)
    if intercept:
        Phi, new = Phi - Phi.mean(axis=0), new - Phi.mean(axis=0)
    expected = ALPHA * np.sum(new * np.linalg.solve(Phi.T @ Phi + ALPHA * np.eye(20), new.T).T, axis=1)
    assert_allclose(model.variance(NEW), expected + intercept * ALPHA / 230, atol=1e-9)


def generator():
    return ((X[cut], Y[cut]) for cut in CUTS)


BAD = {
    "a generator": (generator(), TypeError, "must be a function that returns an iterator"),
    "no function": (3, TypeError, "must be a function"),
    "nothing": (lambda: iter(()), ValueError, "stream is empty"),
    "no iterator": (lambda: 3, TypeError, "must return an iterator"),
    "no pairs": (lambda: iter([X]), TypeError, "must be \\(X, y\\)"),
    "other columns": (lambda: iter([(X, Y), (X[:, :2], Y)]), ValueError, "chunk 1 .* first chunk"),
    "other types": (lambda: iter([(X, Y), (X.tolist(), Y)]), ValueError, "same type and columns, but `X` of chunk 1"),
    "other lengths": (lambda: iter([(X, Y[:3])]), ValueError, "same length"),
    "few rows": (lambda: iter([(X[:5], Y[:5])]), ValueError, "landmarks are chosen from 5 rows"),
    "missing": (lambda: iter([(X, Y), (X, np.full_like(Y, np.nan))]), ValueError, "drop these rows"),
    "arrays": ((X, Y[:3]), ValueError, "must have the same number of rows"),
    "other names": (
        lambda: iter([(pd.DataFrame(X, columns=list("abc")), Y), (pd.DataFrame(X, columns=list("abd")), Y)]),
        ValueError,
        "same type and columns, but `X` of chunk 1",
    ),
    "words": (lambda: iter([(X, Y), (np.full(X.shape, "a"), Y)]), ValueError, "must be a matrix of numbers"),
    "infinite": (lambda: iter([(X, Y), (np.full_like(X, np.inf), Y)]), ValueError, "contains infinity"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_streams(case):
    source, error, words = BAD[case]
    with pytest.raises(error, match=words):
        IOKR(K, alpha=ALPHA).fit(Stream(source))


def test_a_checkpoint_of_another_stream_is_refused(tmp_path):
    IOKR(K, alpha=ALPHA, solver=LowRank(checkpoint=tmp_path / "kept")).fit(Stream(chunks))
    with pytest.raises(ValueError, match="another"):
        IOKR(Nystroem(RBF(0.9), 20), alpha=ALPHA, solver=LowRank(checkpoint=tmp_path / "kept")).fit(Stream(chunks))


def test_an_iterator_that_is_used_up_is_seen():
    once = generator()
    with pytest.raises(ValueError, match="new iterator"):
        IOKR(K, alpha=ALPHA).fit(Stream(lambda: once))


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (IOKR(RBF(0.3)), r"kernel=Nystroem\(RBF\(gamma=0.3\), n_components"),
        (IOKR(K, loss=Huber()), "quadratic losses only"),
        (IOKR(K, manifold=Laplacian(0.1)), "manifold=None"),
        (IOKR(K, output_kernel=RBF()), r"embedding=Nystroem\(n_components\)"),
        (IOKR(Covariance(K)), "Decomposable"),
        (IOKR(K, solver=Cholesky()), r"LowRank\(\)"),
    ],
    ids=["exact", "loss", "manifold", "implicit", "covariance", "solver"],
)
def test_models_that_need_all_rows(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(Stream(chunks))


def test_other_refusals():
    with pytest.raises(ValueError, match="leave it out"):
        IOKR(K).fit(Stream(chunks), Y)
    with pytest.raises(ValueError, match="come with the chunks"):
        IOKR(K).fit(Stream(chunks), sample_weight=W)
    with pytest.raises(ValueError, match="`landmarks` must be one of"):
        IOKR(K).fit(Stream(chunks, landmarks="last"))
    with pytest.raises(ValueError, match="cv=9 needs as many chunks"):
        IOKRCV(K, cv=9).fit(Stream(chunks))
    with pytest.raises(TypeError, match="number of folds"):
        IOKRCV(K, cv=[1]).fit(Stream(chunks))
    with pytest.raises(AttributeError, match="no `partial_fit`: it was fitted by `fit`"):
        IOKR(K).fit(X, Y).partial_fit(X, Y)
    assert not hasattr(IOKR(RBF()), "partial_fit") and hasattr(IOKR(K), "partial_fit")
    with pytest.raises(ValueError, match="features"):
        IOKR(K).partial_fit(X, Y).partial_fit(X[:, :2], Y)
    with pytest.raises(ValueError, match="requires y"):
        IOKR(K).fit(X)
