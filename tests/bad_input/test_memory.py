"""A fit that cannot fit into memory is refused before it is begun.

Tests of `iokr._system.memory`.
"""

import re

import numpy as np
import pytest
from scipy.sparse import csr_array, diags_array

import iokr._system.memory
from iokr import IOKR, IOKRCV, LinkPredictor, OutputKernelTree, PairModel
from iokr.apps.links.baselines import PKMR
from iokr.embeddings import Eigen, Implicit, KernelPCA
from iokr.kernels import (
    RBF,
    Aligned,
    Centered,
    Delta,
    EmpiricalMap,
    FromFunction,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
)
from iokr.losses import Square
from iokr.manifolds import Laplacian as GraphLaplacian
from iokr.operator_kernels import ConditionalCovariance, Covariance
from iokr.problem import Problem
from iokr.solvers import Cholesky
from iokr.solvers import Eigen as EigenSolver

N = 300  # one Gram matrix: 720 kB


def never(x, z):
    """A kernel that the user brings, which is not to be asked."""
    assert iokr._system.memory.available_memory() != 100_000
    return float(x @ z)


@pytest.fixture
def little(monkeypatch):
    """A machine with 100 kB left."""
    monkeypatch.setattr(iokr._system.memory, "available_memory", lambda like=None: 100_000)


@pytest.fixture
def large():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)), rng.normal(size=(N, 2))


@pytest.mark.parametrize(
    "model",
    [IOKR(), IOKRCV(), IOKR(RBF(0.5), output_kernel=RBF(0.5)), IOKRCV(output_kernel=RBF(0.5)), IOKRCV(cv=3)],
    ids=["IOKR", "IOKRCV", "output kernel", "IOKRCV with output kernel", "folds"],
)
def test_a_dense_fit_is_refused_with_figures_and_ways_out(little, large, refuses, model):
    with refuses(MemoryError, "needs", "100 kB", "points") as caught:
        model.fit(*large)
    message = str(caught.value)
    figures = re.findall(r"([\d.]+) ?([kMGT]?)B\b", message)
    units = {"": 1, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}
    sizes = [float(number) * units[unit] for number, unit in figures]
    assert max(sizes) >= 0.9 * 8 * (N * 2 // 3) ** 2  # at least the Gram matrix (of two folds out of three)
    assert len(message.split()) > 15  # the ways out, not only figures


def test_a_semi_supervised_fit_is_refused(little, large, refuses):
    X, Y = large
    with refuses(MemoryError, "100 kB"):
        IOKR(manifold=GraphLaplacian(0.1)).fit(X[:50], Y[:50], X_unlabeled=X[50:])


def ring(n):
    """Every node linked to the next."""
    return csr_array(diags_array([np.ones(n - 1)] * 2, offsets=[-1, 1]))


FITS = {
    "IOKR": lambda X, Y: IOKR(RBF(0.5)).fit(X, Y),
    "output kernel": lambda X, Y: IOKR(RBF(0.5), output_kernel=RBF(0.5)).fit(X, Y),
    "eigenbasis": lambda X, Y: IOKR(RBF(0.5), output_kernel=RBF(0.5), embedding=Eigen()).fit(X, Y),
    "conditional covariance": lambda X, Y: IOKR(ConditionalCovariance(RBF(0.5)), alpha=0.1).fit(X, Y),
    "trees": lambda X, Y: OutputKernelTree(RBF(0.5)).fit(X, Y),
    "links": lambda X, Y: LinkPredictor(RBF(0.5)).fit(X, ring(len(X))),
    "rival": lambda X, Y: PKMR(RBF(0.5)).fit(X, ring(len(X))),
}


def refused_early(monkeypatch, call, *large):
    """`call` is refused, and has not allocated a twentieth of a matrix before."""
    import tracemalloc

    monkeypatch.setattr(iokr._system.memory, "available_memory", lambda like=None: 100_000)
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError, match=r"needs about .* are available.* To reduce memory"):
            call(*large)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert peak < 8 * (10 * N) ** 2 / 20


@pytest.fixture
def very_large():
    rng = np.random.default_rng(0)
    return rng.normal(size=(10 * N, 3)), rng.normal(size=(10 * N, 2))


@pytest.mark.parametrize("name", FITS)
def test_nothing_large_is_allocated_before_the_refusal(monkeypatch, very_large, name):
    X, Y = very_large
    FITS[name](X[:5], Y[:5])  # imports
    refused_early(monkeypatch, FITS[name], X, Y)


KERNELS = [
    *(RBF(0.5), Linear(), Polynomial(), Laplacian(0.5), Delta(), FromFunction(never), RBF(0.5) + Linear()),
    *(Centered(RBF(0.5)), Normalized(Linear()), Aligned([RBF(0.5), Linear()]), EmpiricalMap(RBF(0.5))),
]


@pytest.mark.filterwarnings("ignore:Aligned")
@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: type(kernel).__name__)
def test_a_kernel_matrix(monkeypatch, very_large, kernel):
    X, _ = very_large
    fitted = kernel.fit(X[:5])
    refused_early(monkeypatch, fitted, X)
    monkeypatch.undo()
    refused_early(monkeypatch, fitted, X, X[:-1])


SCORES = {
    "distances": lambda model, X: model.distances(X, X),
    "scores": lambda model, X: model.scores(X, X),
    "link scores": lambda model, X: model.decision_function(X, X),
    "link scores of old nodes": lambda model, X: model.decision_function(X),
    "similarities": lambda model, X: model.similarities(X),
    "rival": lambda model, X: model.decision_function(X, X),
}


@pytest.mark.parametrize("name", SCORES)
def test_scores_of_all_pairs(monkeypatch, very_large, name):
    X, _ = very_large
    some, W = X[:40], ring(40)
    match name:
        case "distances" | "scores":
            model = IOKR(RBF(0.5), output_kernel=RBF(0.5)).fit(some, some)
        case "link scores" | "link scores of old nodes":
            model = LinkPredictor(RBF(0.5)).fit(some, W)
        case "similarities":
            model = OutputKernelTree(RBF(0.5)).fit(some, some)
        case _:
            model = PKMR(RBF(0.5)).fit(some, W)
    refused_early(monkeypatch, SCORES[name], model, X)


def test_a_kernel_that_the_user_brings_is_not_evaluated_first(monkeypatch, very_large):
    X, Y = very_large
    for model in (
        IOKR(FromFunction(never)),
        IOKR(output_kernel=FromFunction(never), embedding=Eigen()),
        IOKR(output_kernel=FromFunction(never)),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(FromFunction, "diag", lambda self, R: np.ones(len(R)))
            refused_early(patch, model.fit, X, Y)


def test_of_pairs_the_kernel_between_nodes_is_asked_for(monkeypatch, very_large):
    X, _ = very_large
    pairs, y = np.array([[0, 1], [2, 3]]), np.array([0.0, 1.0])
    refused_early(monkeypatch, PairModel(RBF(0.5)).fit, X, pairs, y)


class Elsewhere:
    """What is asked for memory, in order."""

    def __init__(self, monkeypatch, free):
        self.asked = []
        self.free = free
        monkeypatch.setattr(iokr._system.memory, "available_memory", self)

    def __call__(self, like=None):
        self.asked.append("host" if like is None else type(like).__module__.split(".")[0])
        return self.free.get(self.asked[-1], 10**12)


@pytest.mark.parametrize("embedding", [Implicit(), Eigen(), KernelPCA()], ids=str)
def test_embeddings_ask_where_the_outputs_live(monkeypatch, large, embedding):
    torch = pytest.importorskip("torch")
    X, Y = (torch.asarray(values) for values in large)
    asked = Elsewhere(monkeypatch, {"torch": 1000})
    with pytest.raises(MemoryError, match="output kernel on 300 points"):
        IOKR(RBF(0.5), output_kernel=RBF(0.5), embedding=embedding).fit(X, Y)
    assert asked.asked[-1] == "torch"
    Elsewhere(monkeypatch, {"host": 1000})  # what is brought to the host needs memory there
    with pytest.raises(MemoryError, match="output kernel on 300 points"):
        IOKR(RBF(0.5), output_kernel=RBF(0.5), embedding=embedding).fit(X, Y)


@pytest.mark.parametrize(("solver", "host", "device"), [(Cholesky(), 1.0, 0.9), (EigenSolver(), 3.0, 6.3)], ids=str)
def test_what_a_library_holds(large, solver, host, device):
    """Arrays of n² numbers at the peak, q small: a triangle and panels, which are large beside a small matrix.

    Eigenvectors were seen to take 6.03 on CUDA.
    """
    torch = pytest.importorskip("torch")
    X, Y = large
    for to, squares in ((np.asarray, host), (torch.asarray, device)):
        gram = RBF(0.5).fit(to(X)).gram(RBF(0.5).fit(to(X)).represent(to(X)))
        needed = solver.memory(Problem(gram, to(Y), Square(), 1.0))
        assert 8 * N * N * squares * 0.9 <= needed <= 8 * N * N * (squares + 0.2)


def test_enough_memory_is_no_obstacle(monkeypatch, large):
    monkeypatch.setattr(iokr._system.memory, "available_memory", lambda like=None: 8 * N * N * 20)
    IOKR().fit(*large)
    IOKRCV().fit(*large)
    IOKR(Covariance(RBF(0.5)), output_kernel=RBF(0.5)).fit(*large)


def test_the_estimate_is_real():
    assert 10_000_000 < iokr._system.memory.available_memory() < 10**16


def test_the_largest_exact_fit_fits():
    for free in (10**8, 24 * 10**9, 150 * 10**9):
        n = iokr._system.memory.largest_exact(free)
        assert 4 * n * n <= 0.9 * free < 4 * (1.2 * n) ** 2
    assert iokr._system.memory.largest_exact(0) == 0


def test_doctor_shows_free_device_memory():
    import iokr.cli.doctor as doctor

    found = doctor._memory([140 * 10**9])
    assert found["free on cuda:0"] == "140 GB, largest exact fit n = 170000"
    assert found["largest exact fit"].startswith("n = ")
