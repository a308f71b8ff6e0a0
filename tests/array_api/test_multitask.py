"""Multi-task models answer in the library of X, with NumPy's figures."""

import numpy as np
import pytest

from iokr import MultiTask, MultiTaskCV
from iokr.kernels import RBF
from iokr.manifolds import Laplacian
from reference import assert_close
from task_samples import sample

MODELS = {
    "operator": MultiTask(RBF(0.3)),
    "centred": MultiTask(RBF(0.3), intercept=True),
    "output": MultiTask(RBF(0.3), coupling="output"),
    "learned": MultiTask(RBF(0.3), learn_tasks=True),
    "learned on a graph": MultiTask(RBF(0.3), learn_tasks=True, manifold=Laplacian(0.1)),
    "chosen": MultiTaskCV(RBF(0.3), alphas=(0.1, 1.0)),
    "learned and chosen": MultiTaskCV(RBF(0.3), alphas=(0.1, 1.0), learn_tasks=True),
}


@pytest.mark.parametrize("name", ["torch", "array_api_strict"])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("model", MODELS.values(), ids=MODELS)
def test_agrees_with_numpy(model, missing, name):
    xp = pytest.importorskip(name)
    X, Y, X_new, _ = sample()
    if missing:
        if getattr(model, "coupling", None) == "output":
            pytest.skip("the metric needs every target")
        Y[0, 0] = np.nan
    expected = model.fit(X, Y)
    prediction, error, score = expected.predict(X_new), expected.loo_error(), expected.score(X, Y)
    found = model.fit(xp.asarray(X), xp.asarray(Y))
    answer = found.predict(xp.asarray(X_new))
    assert type(answer) is type(xp.asarray(X))
    assert_close(np.asarray(answer), prediction, 1e-6)
    assert found.loo_error() == pytest.approx(error, rel=1e-6)
    assert found.score(xp.asarray(X), xp.asarray(Y)) == pytest.approx(score, rel=1e-6)
