"""The two forms with unlabelled points agree, and each is taken where it should be."""

import pytest

from iokr.solvers.closed_form.deformed import DeformedPath, ManifoldPath, PlainKernel, Shared, deformed_kernel
from iokr.solvers.closed_form.spectral import SpectralPath
from reference import assert_close
from samples import problem


def path(form=None, **case):
    posed = problem(semi=True, **case)[0]
    return posed, ManifoldPath(posed, Shared(posed), form)


@pytest.mark.parametrize("g", [1.0, 3.0])
def test_both_give_one_deformed_kernel(g):
    posed, ours = path()
    a = posed.Psi
    one, other = ours.deformed_form, ours.eigen_form
    assert_close(one.deformed(0.2, g), other.deformed(0.2, g), 1e-9)
    K = ours.gram.K.dense()
    assert_close(K @ one.lift(a, 0.2, g), K @ other.lift(a, 0.2, g), 1e-8)


def test_which_is_taken():
    assert isinstance(path("deformed")[1].at(1e-9), DeformedPath)
    assert isinstance(path("eigen")[1].at(10.0), SpectralPath)
    assert isinstance(path()[1].at(0.1), DeformedPath)
    assert isinstance(path()[1].at(1e-9), SpectralPath)  # μγw_max/λ > 1e6: the deformed form loses its digits
    assert isinstance(path()[1].at(0.1, n_alphas=1000), SpectralPath)  # one eigendecomposition is cheaper


def test_without_a_penalty_the_kernel_is_plain():
    assert isinstance(deformed_kernel(problem()[0]), PlainKernel)
    assert isinstance(deformed_kernel(problem(semi=True, mu=0.0)[0]), PlainKernel)
    assert isinstance(deformed_kernel(problem(semi=True)[0]), ManifoldPath)
