"""Every solver either solves a problem as the dense system does, or refuses it in words."""

import numpy as np
import pytest

from iokr.solvers import ReducedRank
from members import SOLVERS
from reference import assert_close
from samples import problem

INSTANCES = [solver for rows in SOLVERS.values() for solver in rows]
EXACT = [solver for solver in INSTANCES if not isinstance(solver, ReducedRank)]  # a projection is another answer


@pytest.mark.parametrize("semi", [False, True], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("holes", ["none", "entries"])
@pytest.mark.parametrize("weighted", ["none", "zeros"])
@pytest.mark.parametrize("kind", ["identity", "full", "singular"])
@pytest.mark.parametrize("solver", EXACT, ids=repr)
def test_agrees_with_the_dense_system(solver, kind, weighted, holes, semi):
    ours, ridge, K_new = problem(kind, weighted, holes, semi)
    reason = solver.refuses(ours)
    if reason is not None:
        assert len(reason) > 20
        with pytest.raises(ValueError, match="cannot solve this problem"):
            solver.solve(ours)
        return
    solution = solver.solve(ours)
    assert solution.C.shape == (len(ridge.K), 3)
    assert_close(K_new @ np.asarray(solution.C) @ ridge.operator, ridge.values(K_new), 1e-9)
    assert_close(ours.objective(solution.C), ridge.objective(ridge.coefficients()), 1e-10)
    assert abs(solution.gap) <= 1e-8
    assert solution.n_iter >= 1


@pytest.mark.parametrize("solver", INSTANCES, ids=repr)
def test_memory_is_stated_in_bytes(solver):
    ours, _, _ = problem(semi=True)
    assert solver.memory(ours) >= 8 * 14 * 14
    assert isinstance(solver.explain(), str)
