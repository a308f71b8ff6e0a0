"""Missing targets: by patterns of columns where A = aI, else one system over the observed entries."""

import numpy as np
import pytest

from iokr.solvers import Cholesky, Eigen
from iokr.solvers.closed_form.missing import masked_path
from reference import assert_close
from samples import problem


@pytest.mark.parametrize("kind", ["identity", "scaled", "full"])
@pytest.mark.parametrize("holes", ["entries", "one column"])
def test_leave_one_out_is_refitting(kind, holes):
    posed, ridge, _ = problem(kind, "any", holes)
    path = masked_path(Eigen().path, posed)
    observed = posed.mask
    expected = (posed.Psi - ridge.leave_one_out())[observed]
    assert_close(np.asarray(path.loo_residuals(posed.Psi, posed.alpha))[observed], expected, 1e-9)
    assert_close(path.loo_errors(posed.Psi, [posed.alpha]), [ridge.leave_one_out_error()], 1e-9)


def test_memory_of_a_coupled_system(monkeypatch):
    import iokr._system.memory

    posed = problem("full", holes="entries")[0]
    monkeypatch.setattr(iokr._system.memory, "available_memory", lambda like=None: 1000)
    with pytest.raises(MemoryError, match=r"entries coupled by A.*To reduce memory"):
        masked_path(Cholesky().path, posed)
