"""Progress through scikit-learn's callbacks, and nothing at all where it has none.

Tests of `iokr.estimators.progress`.
"""

import subprocess
import sys
import warnings

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from iokr import IOKR, IOKRCV
from iokr.kernels import RBF, Linear
from iokr.manifolds import Laplacian

N = 18


def problem():
    rng = np.random.default_rng(0)
    return rng.normal(size=(N, 3)), rng.normal(size=(N, 2))


class Recorder:
    """Writes down every hook and the place of its task in the tree."""

    max_propagation_depth = None

    def __init__(self):
        self.calls = []

    def setup(self, estimator, context):
        self.calls.append(("setup", ()))

    def teardown(self, estimator, context):
        self.calls.append(("teardown", ()))

    def on_fit_task_begin(self, estimator, context):
        self.calls.append(("begin", self.path(context)))

    def on_fit_task_end(self, estimator, context, *, fitted_estimator=None):
        self.calls.append(("end", self.path(context)))
        if context.parent is None and fitted_estimator is not None:
            self.fitted = fitted_estimator

    @staticmethod
    def path(context):
        path = []
        while context is not None:
            path.append(context.task_id)
            context = context.parent
        return tuple(path[::-1])

    def paths(self, hook):
        return [path for name, path in self.calls if name == hook]


@pytest.fixture
def callback():
    return pytest.importorskip("sklearn.callback")


@pytest.mark.parametrize("make", [IOKR, IOKRCV])
def test_fit_is_set_up_begun_ended_and_torn_down_once(callback, make):
    X, Y = problem()
    recorder = Recorder()
    model = make().set_callbacks(recorder).fit(X, Y)
    assert [name for name, path in recorder.calls if path == ()] == ["setup", "teardown"]
    assert recorder.calls[0][0] == "setup"
    assert recorder.calls[-1][0] == "teardown"
    assert recorder.paths("begin").count((0,)) == recorder.paths("end").count((0,)) == 1
    assert sorted(recorder.paths("begin")) == sorted(recorder.paths("end"))
    assert recorder.calls[-2] == ("end", (0,))
    np.testing.assert_array_equal(recorder.fitted.predict(X), model.predict(X))


@pytest.mark.parametrize("make", [IOKR, IOKRCV])
def test_fit_leaves_no_context_behind(callback, make):
    X, Y = problem()
    model = make().fit(X, Y)
    left = [name for name in vars(model) if "callback" in name]
    assert left == []


@pytest.mark.parametrize("make", [IOKR, IOKRCV])
def test_callbacks_are_torn_down_when_fit_fails(callback, make):
    X, Y = problem()
    recorder = Recorder()
    bad = X.copy()
    bad[0, 0] = np.nan
    model = make().set_callbacks(recorder)
    with pytest.raises(ValueError):
        model.fit(bad, Y)
    names = [name for name, _ in recorder.calls]
    assert names.count("setup") == names.count("teardown")
    recorder.calls.clear()
    model.fit(X, Y)  # and it can be used again
    assert recorder.calls[-1][0] == "teardown"


@pytest.mark.parametrize(
    ("model", "n_tasks"),
    [
        (IOKRCV([RBF(0.1), RBF(1.0), Linear()], alphas=(0.1, 1.0)), 3),
        (IOKRCV(RBF(0.1), alphas=(0.1, 1.0), manifold=Laplacian(1.0), manifold_weights=(0.1, 1.0, 2.0, 3.0)), 1),
        (IOKRCV(RBF(0.1), alphas=(0.1, 1.0), cv=3), 3),
    ],
    ids=["kernels", "manifold_weights", "folds"],
)
def test_iokrcv_reports_its_steps(callback, model, n_tasks):
    X, Y = problem()
    recorder = Recorder()
    model.set_callbacks(recorder).fit(X, Y)
    steps = [path for path in recorder.paths("end") if len(path) > 1]
    assert len(steps) >= n_tasks
    assert len(set(steps)) == len(steps)


@pytest.mark.parametrize("make", [IOKR, IOKRCV])
def test_grid_search_passes_its_callbacks_on(callback, make):
    X, Y = problem()
    recorder = Recorder()
    search = GridSearchCV(make(RBF(1.0)), {"kernel__gamma": [0.1, 1.0]}, cv=2).set_callbacks(recorder)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # "does not support callbacks" would be one
        search.fit(X, Y)
    begun = recorder.paths("begin")
    assert sorted(begun) == sorted(recorder.paths("end"))
    assert sum(len(path) == 3 for path in begun) >= 4  # candidates x folds, each a fit of ours
    assert [name for name, _ in recorder.calls].count("setup") == 1


def test_progress_bar_and_scoring_monitor(callback, capsys):
    pytest.importorskip("rich")
    X, Y = problem()
    monitor = callback.ScoringMonitor(scoring="r2")
    model = IOKRCV([RBF(0.1), RBF(1.0)]).set_callbacks(callback.ProgressBar(), monitor).fit(X, Y)
    assert "IOKRCV - fit" in capsys.readouterr().out
    scores = [row["r2"] for row in monitor.get_logs().data if "r2" in row]
    from sklearn.metrics import r2_score

    assert scores[-1] == pytest.approx(r2_score(Y, model.predict(X)))


WITHOUT_CALLBACKS = """
import builtins
import numpy as np

original = builtins.__import__

def before_callbacks(name, globals=None, *args, **kwargs):
    # scikit-learn needs its own callbacks, so they are hidden from us only.
    if name == "sklearn.callback" and globals["__name__"].startswith("iokr"):
        raise ImportError(name)
    return original(name, globals, *args, **kwargs)

builtins.__import__ = before_callbacks
from iokr import IOKR, IOKRCV

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(12, 3)), rng.normal(size=(12, 2))
for model in IOKR(), IOKRCV():
    assert not hasattr(model, "set_callbacks")
    assert model.fit(X, Y).predict(X).shape == (12, 2)
print("fitted")
"""


def test_scikit_learn_without_callbacks():
    command = [sys.executable, "-c", WITHOUT_CALLBACKS]
    run = subprocess.run(command, capture_output=True, text=True, check=False)
    assert run.stdout.strip() == "fitted", run.stderr
