"""Outputs as estimators read them, fit components to them and give them back."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from scipy.sparse import csr_array

from iokr.decoders import Candidates
from iokr.embeddings import Eigen, Identity, Implicit
from iokr.estimators.outputs import (
    as_fitted,
    as_outputs,
    encode,
    known_rows,
    like_fitted,
    r2,
    require_y,
    single_precision,
)
from iokr.kernels import RBF, Delta, Precomputed
from iokr.losses import Huber

Y = np.random.default_rng(0).normal(size=(7, 2))


def test_no_y():
    for read in (require_y, lambda y: as_outputs(y, None)):
        with pytest.raises(ValueError, match="requires y to be passed"):
            read(None)


def test_outputs_are_arrays_where_they_can_be():
    assert_array_equal(as_outputs([[1, 2], [3, 4]], None), [[1, 2], [3, 4]])
    words = as_outputs(["sun", "sea"], Delta())
    assert words.dtype == object
    assert as_outputs(csr_array(Y), None).shape == Y.shape
    hidden = as_outputs(np.ma.masked_array(Y, mask=Y > 1), None)
    assert_array_equal(np.isnan(hidden), Y > 1)


def test_outputs_follow_arrays_of_inputs():
    strict = pytest.importorskip("array_api_strict")
    assert type(as_outputs(Y, None, strict.asarray(Y))) is type(strict.asarray(Y))
    assert isinstance(as_outputs(Y.tolist(), None, strict.asarray(Y)), np.ndarray)


def test_rows_with_positive_weight():
    weight = np.array([0.0, 1.0, 2.0, 0.0, 1.0, 0.0, 0.5])
    rows, number = known_rows(Y, weight)
    assert_array_equal(rows, Y[[1, 2, 4, 6]])
    assert [number(i) for i in range(4)] == [1, 2, 4, 6]
    assert known_rows(Y, None) == (Y, None)
    assert known_rows(Y, np.ones(7))[0] is Y


@pytest.mark.parametrize(
    ("x", "y", "single"),
    [("f4", None, True), ("f4", "f4", True), ("f4", "f8", False), ("f4", "i8", True), ("f8", "f4", False)],
)
def test_answers_are_single_where_inputs_are_and_no_output_is_double(x, y, single):
    assert single_precision(np.ones(3, dtype=x), None if y is None else np.ones(3, dtype=y)) == single


def test_vectors_are_their_own_coordinates():
    missing = Y.copy()
    missing[2, 1] = np.nan
    outputs, targets = encode(missing)
    assert isinstance(outputs.embedding, Identity)
    assert (outputs.kernel, outputs.decoder, outputs.shape) == (None, None, (2,))
    assert targets.Psi[2, 1] == 0
    assert_array_equal(targets.mask, ~np.isnan(missing))
    assert_array_equal(targets.observed(), missing)


def test_an_output_kernel_says_the_identity():
    given = RBF()
    outputs, targets = encode(Y, output_kernel=given, decoder=Candidates())
    assert isinstance(outputs.embedding, Implicit)
    assert outputs.kernel.gamma_ > 0
    assert not hasattr(given, "gamma_")
    assert (targets.n, targets.Psi, targets.mask) == (7, None, None)
    assert isinstance(encode(Y, output_kernel=given, loss=Huber())[0].embedding, Eigen)


def test_refusals():
    with pytest.raises(ValueError, match="`loss` must be quadratic"):
        encode(Y, output_kernel=RBF(), embedding=Implicit(), loss=Huber())
    with pytest.raises(ValueError, match="serves inputs only"):
        encode(Y, output_kernel=Precomputed())
    with pytest.raises(ValueError, match="contains NaN"):
        encode(np.full((3, 1), np.nan), output_kernel=RBF())


def test_errors_are_squared_distances():
    outputs, _ = encode(Y)
    assert_array_equal(outputs.errors(np.zeros_like(Y), Y), np.sum(Y**2, axis=1))


def test_decoded_outputs_have_the_form_of_fit():
    assert as_fitted(Y[:, :1], ()).shape == (7,)
    assert as_fitted(csr_array(Y), (2,)).shape == (7, 2)
    assert as_fitted(["a", "b"], None).dtype == object
    assert like_fitted(Y[:, :1], ()).shape == (7,)


def test_r2_where_nothing_varies():
    assert np.isnan(r2(0.0, 1.0, 1))
    assert (r2(0.0, 0.0, 2), r2(1.0, 0.0, 2), r2(1.0, 4.0, 2)) == (1.0, 0.0, 0.75)
