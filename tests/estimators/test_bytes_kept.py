"""A fitted model keeps its inputs, its outputs and its coefficients, not what it computed on the way.

Tests of `iokr.estimators.base`.
"""

import gc
from types import FunctionType, ModuleType

import numpy as np
import pytest

from iokr import (
    IOKR,
    IOKRCV,
    LinkPredictor,
    LinkPredictorCV,
    MultiTask,
    MultiTaskCV,
    OutputKernelBoosting,
    OutputKernelForest,
    OutputKernelTree,
    PairModel,
)
from iokr.apps.links.baselines import Naive
from iokr.kernels import RBF, Fourier, Linear, Nystroem
from iokr.manifolds import Laplacian
from iokr_lab.baselines import LocalModels

N = 600
SLACK = 200_000  # bytes: small arrays, vectors with a number per row


def bytes_kept(*objects):
    """Bytes of all NumPy arrays that can be reached from the objects; of a view, those of the array it looks into."""
    arrays, seen, waiting = {}, set(), list(objects)
    while waiting:
        item = waiting.pop()
        if id(item) in seen or isinstance(item, (type, ModuleType, FunctionType)):
            continue
        seen.add(id(item))
        if isinstance(item, np.ndarray):
            while isinstance(item.base, np.ndarray):
                item = item.base
            arrays[id(item)] = item.nbytes
        waiting += gc.get_referents(item)
    return sum(arrays.values())


def data(n=N):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, np.column_stack([np.sin(X[:, 0]), X[:, 1] ** 2]) + 0.1 * rng.normal(size=(n, 2))


def network(n=N):
    X, _ = data(n)
    near = np.abs(X[:, :1] - X[:, 0]) < 0.1
    return X, near - np.eye(n)


def test_the_count_sees_through_views():
    K = np.zeros((100, 100))
    assert bytes_kept({"view": K[:0]}) == K.nbytes
    assert bytes_kept([K, K.T, K[::2]]) == K.nbytes


@pytest.mark.parametrize(
    "model",
    [
        IOKR(RBF(), output_kernel=RBF()),
        IOKR(RBF(), output_kernel=RBF(), manifold=Laplacian(0.1, n_neighbors=5)),
        IOKR(RBF()),
        MultiTask(RBF()),
        MultiTask(RBF(), coupling="output"),
        MultiTask(RBF(), learn_tasks=True),
        MultiTaskCV(RBF(), task_weights=(0.0, 0.5), alphas=(0.1, 1.0)),
        IOKRCV([RBF(), Linear()], alphas=(0.1, 1.0)),
        IOKR(Nystroem(RBF(), 60)),
        IOKR(Fourier(RBF(), 60)),
        IOKRCV([Nystroem(RBF(), 60), Fourier(RBF(), 60)], alphas=(0.1, 1.0)),
    ],
    ids=lambda model: f"{model!r:.50}",
)
def test_regression(model):
    X, Y = data()
    model.fit(X, Y)
    assert bytes_kept(model) <= 1.1 * (X.nbytes + Y.nbytes + model.solution_.C.nbytes) + SLACK


@pytest.mark.parametrize(
    "model",
    [
        OutputKernelTree(),
        OutputKernelTree(RBF()),
        OutputKernelForest(RBF(), n_estimators=3, random_state=0),
        OutputKernelBoosting(RBF(), n_estimators=3, random_state=0),
    ],
    ids=str,
)
def test_trees(model):
    """Outputs that are equal are embedded once; the trees themselves are not arrays."""
    X, Y = data()
    model.fit(X, np.round(Y))
    assert bytes_kept(model) <= 1.1 * (X.nbytes + Y.nbytes) + SLACK


def test_leave_one_out_keeps_the_output_gram_beside_the_coefficients():
    X, Y = data()
    model = IOKRCV(RBF(), output_kernel=RBF(), alphas=(0.1, 1.0)).fit(X, Y)
    assert bytes_kept(model) <= 1.1 * (X.nbytes + Y.nbytes + 2 * model.solution_.C.nbytes) + SLACK


@pytest.mark.parametrize("model", [LinkPredictor(RBF()), LinkPredictorCV(RBF(), alphas=(0.1, 1.0))], ids=str)
def test_links(model):
    """C has a column per coordinate of the output kernel, and so has V, the outputs."""
    X, W = network()
    model.fit(X, W)
    C = model.model_.solution_.C.nbytes
    assert bytes_kept(model) <= 1.1 * (X.nbytes + W.nbytes + 2 * C) + SLACK


def test_pairs():
    X, _ = data()
    rng = np.random.default_rng(1)
    pairs = rng.integers(N, size=(900, 2))
    model = PairModel(RBF(), alpha=1.0).fit(X, pairs, np.prod(pairs + 1.0, axis=1))
    assert bytes_kept(model) <= 1.1 * (X.nbytes + pairs.nbytes + model.solution_.C.nbytes) + SLACK


@pytest.mark.parametrize("model", [Naive(), LocalModels()], ids=str)
def test_rivals(model):
    """Naive keeps W, one model per node a matrix of coefficients."""
    X, W = network()
    model.fit(X, W)
    assert bytes_kept(model) <= 1.1 * (X.nbytes + 2 * W.nbytes) + SLACK
