"""What the attack found: one refusal for every kind of input, each by the argument's name.

`iokr._validation.arguments`, `iokr.data.objects`, `iokr.estimators.inputs`, `iokr.metrics.displays.axes`.
"""

from fractions import Fraction

import numpy as np
import pytest

from iokr import (
    IOKR,
    IOKRCV,
    Conformal,
    Functional,
    LinkPredictor,
    OutputKernelBoosting,
    OutputKernelTree,
    PairModel,
    QuantileCurves,
    QuantileCurvesCV,
)
from iokr._validation.arguments import check_folds, check_integer, check_number
from iokr.data.objects import key
from iokr.kernels import RBF, Hamming, Linear, Mallows, order_ranks
from iokr.losses import Huber
from iokr.manifolds import Laplacian
from iokr.metrics import rbf_loss, roc_auc_pairs
from iokr.solvers import ReducedRank

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
GRAPH = np.kron(np.eye(2), np.ones((6, 6)) - np.eye(6))


def with_object(A):
    A = A.astype(object)
    A[6, 0] = object()
    return A


@pytest.mark.parametrize(
    "call",
    [
        lambda A: IOKR().fit(A, Y),
        lambda A: IOKR().fit(X, Y).predict(A),
        lambda A: OutputKernelTree().fit(A, Y),
        lambda A: LinkPredictor().fit(A, GRAPH),
    ],
)
def test_an_object_among_numbers(refuses, call):
    with refuses(TypeError, "X", "matrix of numbers", "object"):
        call(with_object(X))


def test_numbers_are_floats_or_integers(refuses):
    """NumPy calls a duration an integer."""
    with refuses(TypeError, "k"):
        check_integer(np.timedelta64(3, "s"), "k", minimum=1)
    assert check_number(np.float32(0.5), "alpha") == 0.5


def test_durations_have_keys():
    rows = np.array([[1, 2], [1, 3]], dtype="timedelta64[s]")
    assert key(rows[0]) == key(rows[0].astype("timedelta64[ms]")) != key(rows[1])


def test_folds(refuses):
    for cv in ([([0], [])], [([0], [12])], [([0.5], [1])]):
        with refuses((TypeError, ValueError), "cv"):
            check_folds(cv, 12)
    with refuses(ValueError, "cv", "no fold"):
        check_folds([], 12)
    [(train, test)] = check_folds([(np.arange(12) < 6, [-1])], 12)
    assert train.tolist() == [0, 1, 2, 3, 4, 5] and test.tolist() == [11]


def test_unlabelled_inputs_of_another_library(refuses):
    torch = pytest.importorskip("torch")
    with refuses(TypeError, "X_unlabeled", "convert"):
        IOKR(manifold=Laplacian(0.5)).fit(X, Y, X_unlabeled=torch.asarray(X))


def test_y_of_a_score_is_an_output(refuses):
    nested = Y.astype(object)
    nested[1, 0] = [1.0, 2.0]
    with refuses(ValueError, "y"):
        IOKRCV(alphas=(0.1,)).fit(X, Y).score(X, nested, candidates=Y)
    with refuses(ValueError, "y", "infinity"):
        OutputKernelTree().fit(X, Y).score(X, np.where(Y > 1, np.inf, Y), candidates=Y)


def test_candidates_of_conformal_sets_matter_or_are_refused(refuses):
    with refuses(ValueError, "candidates", "relative"):
        Conformal(IOKR()).fit(X, Y).contains(X, Y, 0.5, candidates=Y)


def test_curves_to_choose_among(refuses):
    model = Functional().fit(X, Y)
    with refuses(ValueError, "candidates", "1", "gaps"):
        model.distances(X, [[0.0, 1.0], [np.nan, 1.0]])
    with refuses(ValueError, "candidates", "1", "overflows"):
        model.scores(X, [[0.0, 1.0], [1e300, 1.0]])
    for fit in (Functional(intercept=np.ones(3)).fit, IOKR(intercept=np.ones(3)).fit):
        with refuses(ValueError, "intercept"):
            fit(X, Y)


def test_quantiles(refuses):
    y = Y[:, 0]
    with refuses(ValueError, "y", "real"):
        QuantileCurves().fit(X, y + 1j)
    with refuses(ValueError, "y", "real"):
        QuantileCurves(levels=(0.5,)).fit(X, y).score(X, y + 1j)
    for parameter, value in {"level_kernel": Huber(), "intercept": "yes", "levels": 5e-324}.items():
        with refuses((TypeError, ValueError), parameter):
            QuantileCurves(**{parameter: value}).fit(X, y)
    for value in (0.5, [], Fraction(1, 2), Huber()):
        with refuses((TypeError, ValueError), "level_kernel"):
            QuantileCurvesCV(level_kernels=value).fit(X, y)


def test_random_states_of_pairs(refuses):
    pairs = np.array([[i, j] for i in range(6) for j in range(i)])
    model = PairModel().fit(X, pairs, np.where(pairs.sum(axis=1) % 2, 1.0, -1.0))
    for value in (-1, NotImplemented):
        with refuses((TypeError, ValueError), "random_state"):
            model.cv_decision_function(cv=3, random_state=value)


def test_reduced_rank(refuses):
    for parameter, value in {"solver": 1.5, "rank": "", "alpha": ()}.items():
        with refuses((TypeError, ValueError), parameter):
            IOKR(solver=ReducedRank(**{parameter: value})).fit(X, Y)


def test_trees_read_structured_arrays_and_small_residuals():
    table = np.rec.fromarrays(X.T, names="a,b,c").view(np.ndarray)
    np.testing.assert_array_equal(
        OutputKernelTree(random_state=0).fit(table, Y).predict(table),
        OutputKernelTree(random_state=0).fit(X, Y).predict(X),
    )
    model = OutputKernelBoosting(  # of outputs whose squares nearly vanish
        learning_rate=1.0, max_depth=None, n_estimators=5
    )
    tiny = np.ldexp(Y, -450)
    np.testing.assert_allclose(np.ldexp(model.fit(X, tiny).predict(X), 450), Y, rtol=1e-12)


def test_kernels_called_with_two_lists(refuses):
    for kernel in (RBF(), Linear(), RBF() * Linear()):
        with refuses(ValueError, "Z", "2 columns", "3"):
            kernel(X, X[:, :2])
        with refuses(ValueError, "Z", "empty"):
            kernel(X, X[:0])
        with refuses(ValueError, "X", "no columns"):
            kernel(X[:, :0])
    with refuses(ValueError, "X", "at least two"):
        Mallows()(X[:, :1])
    with refuses(ValueError, "X", "labels at fit"):
        Hamming().fit([{"a", "b"}])(np.ones((2, 3)))


@pytest.mark.filterwarnings("error")
def test_the_largest_numbers():
    largest = np.sign(X) * np.finfo(float).max
    assert rbf_loss(largest, -largest) == 2.0


def test_orders(refuses):
    for orders, items in ((5, None), ([1, 2], None), ([["a"]], 5), ([["a"]], ["b"]), ([["a", "a"]], None)):
        with refuses((TypeError, ValueError), "items" if items == 5 else "order"):
            order_ranks(orders, items)
    ranks = order_ranks([[["a"], 2**60], [2**60 + 1, ["a"]]])  # lists are items like others
    np.testing.assert_array_equal(ranks, [[1, 2, np.nan], [2, np.nan, 1]])


def test_infinite_truth(refuses):
    with refuses(ValueError, "truth", "infinity"):
        roc_auc_pairs([0.0, np.inf, 1.0], [0.1, 0.2, 0.3])
    assert roc_auc_pairs([0.0, 1.0, 1.0], [-np.inf, 0.2, np.inf]) == 1.0  # only the order of scores counts
