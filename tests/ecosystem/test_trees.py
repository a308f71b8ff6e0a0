"""Trees, forests and boosting as scikit-learn estimators: its own checks, copies, pipelines, searches, arrays."""

import pickle
from io import BytesIO

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

from iokr import CandidateSets, OutputKernelBoosting, OutputKernelForest, OutputKernelTree
from iokr.kernels import RBF, Delta, FromFunction, Linear
from iokr.model_selection import cross_val_rank

WEIGHT_CHECKS = (
    "check_sample_weight_equivalence_on_dense_data",
    "check_sample_weight_equivalence_on_sparse_data",
)
REASON = "resampling draws rows, and drawing one of two equal rows is not drawing a row of weight two"

MODELS = [
    OutputKernelTree(random_state=0),
    OutputKernelTree(Linear(), n_components=2, random_state=0),
    OutputKernelForest(n_estimators=5, random_state=0),
    OutputKernelBoosting(n_estimators=5, random_state=0),
]


@parametrize_with_checks(
    [
        OutputKernelTree(random_state=0),
        OutputKernelTree(splitter="random", max_depth=4, random_state=0),
        OutputKernelForest(n_estimators=5, random_state=0),
        OutputKernelBoosting(n_estimators=5, random_state=0),
        OutputKernelForest(splitter="best", bootstrap=True, n_estimators=5, random_state=0),
        OutputKernelForest(n_estimators=5, n_components=1, projection="random", random_state=0),
        OutputKernelBoosting(subsample=0.5, n_estimators=5, random_state=0),
    ]
)
def test_scikit_learn_accepts(estimator, check):
    resamples = estimator.get_params().get("bootstrap") or estimator.get_params().get("subsample", 1.0) < 1
    if resamples and check.func.__name__ in WEIGHT_CHECKS:
        pytest.skip(REASON)
    check(estimator)


@pytest.mark.parametrize(
    "model",
    [
        OutputKernelTree(RBF(0.3), max_depth=3, random_state=0),
        OutputKernelTree(RBF(0.3), max_depth=3, n_components=3, random_state=0),
        OutputKernelForest(RBF(0.3), max_depth=3, n_estimators=5, random_state=0),
        OutputKernelBoosting(RBF(0.3), max_depth=2, n_estimators=20, random_state=0),
        OutputKernelBoosting(max_depth=2, n_estimators=20, n_components=1, random_state=0),
    ],
    ids=str,
)
def test_weight_two_is_the_row_twice_where_the_best_split_is_unique(model):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(80, 3)), rng.normal(size=(80, 2))
    weight = rng.integers(0, 4, size=80).astype(float)
    rows = rng.permutation(np.repeat(np.arange(80), weight.astype(int)))
    weighted = clone(model).fit(X, Y, sample_weight=weight)
    repeated = clone(model).fit(X[rows], Y[rows])
    there = X[weight > 0]  # elsewhere, features that split these rows equally differ
    assert_allclose(weighted.scores(there, Y), repeated.scores(there, Y), atol=1e-9)
    assert_allclose(weighted.lost_variance_, repeated.lost_variance_, atol=1e-12)


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_tags(model):
    tags = get_tags(model)
    assert tags.estimator_type is None
    assert tags.target_tags.required
    assert tags.target_tags.multi_output
    assert tags.input_tags.allow_nan
    assert tags.input_tags.sparse


def words(n=40):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    Y = np.array(["".join(("a" if row[0] > 0 else "b", "c" if row[1] > 0 else "d")) for row in X], dtype=object)
    return X, Y


def shared(a, b):
    return float(len(set(a) & set(b)))


STRUCTURED = [
    OutputKernelTree(FromFunction(shared), random_state=0),
    OutputKernelForest(FromFunction(shared), n_estimators=10, random_state=0),
    OutputKernelBoosting(FromFunction(shared), n_estimators=10, random_state=0),
]


@pytest.mark.parametrize("model", STRUCTURED, ids=lambda model: type(model).__name__)
class TestStructuredOutputs:
    def test_clone_and_pickle(self, model):
        X, Y = words()
        model = clone(model).set_params(n_components=3).fit(X, Y)
        assert clone(model).get_params()["n_components"] == 3
        copy = pickle.loads(pickle.dumps(model))
        assert_array_equal(copy.predict(X), model.predict(X))
        assert_allclose(copy.weights(X), model.weights(X))

    def test_in_a_grid_search_and_a_pipeline(self, model):
        X, Y = words()
        search = GridSearchCV(make_pipeline(StandardScaler(), model), _grid(model), cv=3).fit(X, Y)
        assert search.best_score_ > 0.3
        assert search.predict(X).dtype == object
        assert np.mean(cross_val_predict(model, X, Y, cv=3) == Y) > 0.5
        assert np.mean(cross_val_score(model, X, Y, cv=3)) > 0.2

    def test_candidates(self, model):
        X, Y = words()
        model = clone(model).fit(X, Y)
        pool = ["ac", "ad", "bc", "bd", "xy"]
        index, values = model.rank(X, pool, k=2)
        assert index.shape == values.shape == (40, 2)
        own = CandidateSets([["ac", "bd"], ["bc"], ["ad", "ac", "bd"]])
        parts, _ = model.rank(X[:3], own)
        assert [len(part) for part in parts] == [2, 1, 3]
        assert list(model.predict(X[:3], candidates=own))[1] == "bc"
        assert np.mean(cross_val_rank(model, X, Y, pool, cv=3) == 1) > 0.5

    def test_refitting_is_the_same_and_leaves_the_parts_alone(self, model):
        X, Y = words()
        model = clone(model).fit(X, Y)
        once = model.weights(X)
        assert_array_equal(model.fit(X, Y).weights(X), once)
        assert not [name for name in vars(model.output_kernel) if name.endswith("_")]


def _grid(model):
    name = type(model).__name__.lower()
    return {f"{name}__max_depth": [1, 3], f"{name}__n_components": [1, None]}


def test_parameters_of_the_output_kernel_are_searched():
    X, _ = words()
    Y = (X > 0).astype(float)
    search = GridSearchCV(
        OutputKernelForest(RBF(1.0), n_estimators=5, random_state=0), {"output_kernel__gamma": [0.1, 1.0]}, cv=3
    ).fit(X, Y)
    assert search.best_estimator_.output_kernel_.gamma in (0.1, 1.0)


def test_a_pickle_does_not_hold_the_coordinates_of_every_node():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(300, 3)), rng.normal(size=(300, 2))
    buffer = BytesIO()
    pickle.dump(OutputKernelForest(RBF(), n_estimators=10, random_state=0).fit(X, Y), buffer)
    nodes = 10 * 599
    assert buffer.tell() < nodes * 300 * 8 / 5  # scikit-learn's own trees would hold nodes × coordinates numbers


@pytest.mark.parametrize("model", [*MODELS[1:], OutputKernelForest(RBF(), n_estimators=3, random_state=0)], ids=str)
@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_predictions_are_arrays_of_the_library_of_the_inputs(model, library):
    xp = pytest.importorskip(library)
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 3)), rng.normal(size=(30, 2))
    expected = clone(model).fit(X, Y)
    ours = clone(model).fit(xp.asarray(X), xp.asarray(Y))
    for method in ("decision_function", "weights", "predict"):
        answer = getattr(ours, method)(xp.asarray(X))
        assert type(answer) is type(xp.asarray(X))
        assert_allclose(np.asarray(answer), getattr(expected, method)(X), atol=1e-12)
    scores = ours.scores(xp.asarray(X), xp.asarray(Y[:5]))
    assert_allclose(np.asarray(scores), expected.scores(X, Y[:5]), atol=1e-12)
    assert_allclose(ours.score(xp.asarray(X), xp.asarray(Y)), expected.score(X, Y))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_single_precision_gives_single_precision(model):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 3)).astype(np.float32), rng.normal(size=(30, 2)).astype(np.float32)
    model = clone(model).fit(X, Y)
    assert model.decision_function(X).dtype == model.weights(X).dtype == np.float32


def test_tables():
    pandas = pytest.importorskip("pandas")
    X, _ = words()
    frame = pandas.DataFrame(X, columns=["u", "v", "w"])
    labels = pandas.Series(np.where(X[:, 0] > 0, "up", "down"))
    model = OutputKernelForest(Delta(), n_estimators=5, random_state=0).fit(frame, labels)
    assert list(model.feature_names_in_) == ["u", "v", "w"]
    assert_array_equal(model.predict(frame), labels.to_numpy())
    assert model.feature_importances_[0] > 0.9


def test_progress():
    callback = pytest.importorskip("sklearn.callback")
    assert callback
    X, Y = words()

    class Count:
        max_propagation_depth = None
        begun = ended = 0

        def setup(self, estimator, context):
            pass

        def teardown(self, estimator, context):
            pass

        def on_fit_task_begin(self, estimator, context):
            self.begun += 1

        def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
            self.ended += 1

    for model, tasks in ((STRUCTURED[0], 1), (STRUCTURED[1], 11), (STRUCTURED[2], 11)):
        count = Count()
        clone(model).set_callbacks(count).fit(X, Y)
        assert count.begun == count.ended == tasks
