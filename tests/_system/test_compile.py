"""Loops are compiled where Numba is installed, unless the caller says no."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from iokr._system.compile import compiled, compiling
from iokr.gram.pairs import loops
from iokr.solvers.iterative import box_qp


def total(x):
    s = 0.0
    for value in x:
        s += value
    return s


@pytest.mark.parametrize("reorder", [False, True])
def test_a_compiled_loop_is_the_loop(reorder):
    pytest.importorskip("numba")
    loop = compiled(total, reorder=reorder)
    assert loop is compiled(total, reorder=reorder)
    x = np.arange(100.0)
    assert loop(x) == total(x)


def test_switched_off_within_a_block_alone():
    before = compiled(total)
    with compiling(False):
        assert compiled(total) is None
        assert not loops.has_compiler()
        assert box_qp.DenseQuadratic(np.eye(2)).first == 1
        with compiling(True):
            assert compiled(total) is before
        assert compiled(total) is None
    assert compiled(total) is before


def test_switched_on_again_after_an_error():
    with pytest.raises(RuntimeError), compiling(False):
        raise RuntimeError
    assert (compiled(total) is not None) == loops.has_compiler()


def test_other_threads_do_not_notice():
    with compiling(False), ThreadPoolExecutor(1) as pool:
        assert pool.submit(loops.has_compiler).result() == (compiled_elsewhere() is not None)


def compiled_elsewhere():
    with compiling(True):
        return compiled(total)
