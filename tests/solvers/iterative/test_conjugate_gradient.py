"""Conjugate gradients on quadratic problems: starts, limits, and the gap that they state."""

from dataclasses import replace

import numpy as np
import pytest

from iokr.solvers import Cholesky, ConjugateGradient
from reference import assert_close
from samples import problem


@pytest.mark.parametrize("semi", [False, True], ids=["supervised", "semi-supervised"])
def test_a_start_saves_steps(semi):
    ours, _, _ = problem(semi=semi)
    cold = ConjugateGradient(1e-10).solve(ours)
    assert cold.converged and cold.n_iter > 1
    again = ConjugateGradient(1e-9).solve(ours, cold)
    assert again.n_iter == 1
    near = ConjugateGradient(1e-10).solve(replace(ours, alpha=1.001 * ours.alpha))
    warm = ConjugateGradient(1e-10).solve(ours, near)
    assert warm.n_iter <= cold.n_iter
    assert_close(ours.gram @ warm.C, ours.gram @ cold.C, 1e-7)


def test_the_gap_is_a_bound_where_steps_are_too_few():
    ours, _, _ = problem()
    best = ours.objective(Cholesky().solve(ours).C)
    with pytest.warns(match="raise `max_iter`"):
        few = ConjugateGradient(1e-12, max_iter=3).solve(ours)
    J_0 = ours.objective(0 * np.asarray(few.C))
    assert few.n_iter == 3 and not few.converged
    assert 0 <= ours.objective(few.C) - best <= few.gap * J_0
