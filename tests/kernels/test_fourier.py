"""`Fourier` is the kernel on average: its variance falls with the number of features, more if they are orthogonal."""

import numpy as np
import pytest
from scipy import sparse

from iokr import IOKR
from iokr.kernels import RBF, Fourier, Laplacian, Polynomial

X = np.random.default_rng(0).normal(size=(30, 8))


@pytest.mark.parametrize("base", [RBF(0.1), Laplacian(0.1)], ids=["RBF", "Laplacian"])
def test_is_the_kernel_on_average(base):
    mean = np.mean([Fourier(base, 200, random_state=seed)(X) for seed in range(100)], axis=0)
    assert np.abs(mean - base(X)).max() < 5 / np.sqrt(100 * 100)  # five standard errors, each at most 1/√k
    np.testing.assert_allclose(np.diag(Fourier(base, 6)(X)), 1.0, atol=1e-12)


def test_orthogonal_frequencies_have_less_variance():
    def apart(orthogonal):
        kernels = [Fourier(RBF(0.05), 16, orthogonal, seed) for seed in range(50)]
        return np.mean([(kernel(X) - RBF(0.05)(X)) ** 2 for kernel in kernels])

    assert apart(True) < 0.8 * apart(False)


def test_does_not_depend_on_where_the_data_lie():
    far = X + 1e8
    np.testing.assert_allclose(Fourier(RBF(0.1), 50)(far), Fourier(RBF(0.1), 50)(far - 1e8), atol=1e-6)


def test_sparse_rows_and_models():
    rows = sparse.random(40, 6, 0.4, random_state=0, format="csr")
    np.testing.assert_allclose(Fourier(RBF(0.3), 20)(rows), Fourier(RBF(0.3), 20)(rows.toarray()), atol=1e-12)
    model = IOKR(Fourier(RBF(0.1), 7), alpha=0.1).fit(X, X[:, 0])
    assert model.inputs_.points.shape == (30, 6)


@pytest.mark.parametrize(
    ("kernel", "words"),
    [
        (Fourier(Polynomial()), "must be `RBF` or `Laplacian`"),
        (Fourier(Laplacian(), orthogonal=True), "must be False or None with `Laplacian`"),
        (Fourier(RBF(), n_components=1), "`n_components`"),
        (Fourier(RBF(), orthogonal="yes"), "`orthogonal` must be one of"),
        (Fourier("rbf"), "`base` must be a component"),
    ],
)
def test_refusals(kernel, words):
    with pytest.raises((TypeError, ValueError), match=words):
        kernel.fit(X)
