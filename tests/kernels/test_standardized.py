"""Kernels on columns in units of their standard deviations."""

import numpy as np
import pytest
from scipy.sparse import csr_array
from sklearn.preprocessing import StandardScaler

from iokr import IOKR
from iokr.kernels import RBF, Laplacian, Linear, Spectrum, Standardized
from reference import assert_close


def table(n=30, seed=0):
    """Columns in different units, with means."""
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, 4)) * [1.0, 1e3, 1e-4, 5.0] + [0.0, 1e5, 3.0, -20.0]


@pytest.mark.parametrize("base", [RBF(), RBF(0.3), Laplacian(0.2), Linear()], ids=repr)
def test_it_is_the_kernel_on_scaled_columns(base):
    """Equal to scikit-learn's scaler before the kernel, on new rows, too."""
    X, Z = table(), table(7, 1)
    scaler = StandardScaler().fit(X)
    expected = base.fit(scaler.transform(X))
    ours = Standardized(base).fit(X)
    assert_close(ours(X), expected(scaler.transform(X)), 1e-9)  # offsets of 1e5 spreads leave eleven digits
    assert_close(ours(Z, X), expected(scaler.transform(Z), scaler.transform(X)), 1e-9)


def test_units_do_not_matter():
    """The same kernel for a X + c."""
    X, Z = table(), table(9, 1)
    moved = [A * [2.54, 1e-3, 60.0, 1e6] + [7.0, -1.0, 0.5, 1e3] for A in (X, Z)]
    assert_close(Standardized(RBF()).fit(X)(Z, X), Standardized(RBF()).fit(moved[0])(moved[1], moved[0]), 1e-8)


def test_constant_columns_play_no_role():
    """At fit and afterwards, also a constant that rounding has made uneven."""
    X = table()
    constant = np.column_stack([X, np.full(len(X), 0.1), 0.3 + 1e-16 * np.arange(len(X)), np.zeros(len(X))])
    new = np.column_stack([X, np.arange(len(X)), np.arange(len(X)), np.arange(len(X))])
    kernel = Standardized(RBF()).fit(constant)
    assert np.array_equal(np.isinf(kernel.scale_), [False] * 4 + [True] * 3)
    assert_close(kernel(new, constant), Standardized(RBF()).fit(X)(X), 1e-12)


def test_repeated_rows_change_nothing():
    """A weight of 2 is the row twice."""
    X, y = table(), np.arange(30.0)
    twice = np.concatenate([X, X[:5]])
    weight = np.r_[2 * np.ones(5), np.ones(25)]
    by_rows = IOKR(Standardized(RBF())).fit(twice, np.r_[y, y[:5]])
    by_weight = IOKR(Standardized(RBF())).fit(X, y, sample_weight=weight)
    assert_close(by_rows.predict(X), by_weight.predict(X), 1e-10)


def test_large_numbers_do_not_overflow():
    """Squares of the columns overflow, standardised ones do not."""
    X = table()
    assert_close(Standardized(RBF()).fit(1e200 * X)(1e200 * X), Standardized(RBF()).fit(X)(X), 1e-9)


def test_features_of_the_base():
    """A linear kernel keeps its p features, so that many rows cost little."""
    kernel = Standardized(Linear()).fit(table(100))
    assert kernel.has_features
    assert kernel.gram(kernel.represent(table(100))).factor is not None
    assert not Standardized(RBF()).has_features


def test_what_was_estimated_can_be_given():
    """The same kernel, on other rows, too; an infinite scale leaves a column out."""
    X, Z = table(), table(8, 1)
    estimated = Standardized(RBF(0.2)).fit(X)
    given = Standardized(RBF(0.2), estimated.mean_, estimated.scale_).fit(Z)
    assert_close(given(Z, X), estimated(Z, X), 1e-12)
    without = Standardized(RBF(0.2), estimated.mean_, [np.inf, *estimated.scale_[1:]]).fit(X)
    assert_close(without(X), Standardized(RBF(0.2)).fit(X[:, 1:])(X[:, 1:]), 1e-12)


def test_errors():
    """Sparse rows, objects without columns, another number of columns."""
    with pytest.raises(ValueError, match=r"sparse.*MaxAbsScaler"):
        Standardized(RBF()).fit(csr_array(table()))
    with pytest.raises(ValueError, match="kernel on vectors"):
        Standardized(Spectrum(3)).fit(table())
    with pytest.raises(ValueError, match="each of 4 columns"):
        Standardized(RBF(), mean=[1.0]).fit(table())
    with pytest.raises(ValueError, match="positive"):
        Standardized(RBF(), scale=np.zeros(4)).fit(table())
    with pytest.raises(ValueError, match="3 features"):
        Standardized(RBF()).fit(table())(table()[:, :3])
