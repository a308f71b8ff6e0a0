"""h(x) is the answer."""

import numpy as np
import pytest

from iokr import IOKR
from iokr.decoders import Identity
from iokr.embeddings import Identity as IdentityEmbedding
from iokr.kernels import RBF, Linear
from reference import assert_close
from samples import vectors


@pytest.mark.parametrize("intercept", [False, True])
def test_predictions_are_values_with_the_intercept(intercept):
    X, Y = vectors(6, seed=1), vectors(6, 2, seed=2) + 3.0
    model = IOKR(RBF(1.0), embedding=IdentityEmbedding(), decoder=Identity(), intercept=intercept).fit(X, Y)
    b = model.solution_.intercept if intercept else np.zeros(2)
    assert_close(model.predict(X), RBF(1.0)(X) @ model.solution_.C + b, 1e-15)
    assert_close(model.predict(X), model.decision_function(X), 0.0)


def test_is_the_default_for_vectors():
    X, Y = vectors(6, seed=3), vectors(6, 2, seed=4)
    assert isinstance(IOKR(RBF(1.0)).fit(X, Y).decoder_, Identity)


def test_refused_with_an_output_kernel():
    with pytest.raises(ValueError, match="Candidates"):
        IOKR(RBF(1.0), output_kernel=Linear(), decoder=Identity()).fit(vectors(4), vectors(4))
