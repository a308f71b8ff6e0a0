"""A sample of the attack: no silent wrong answer, no internal traceback, no hang, no unclear message.

All of it is `make attack`.
"""

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from attack.classes import unknown as unknown_classes
from attack.functions import unknown as unknown_functions
from attack.judge import Case, Wrong, check_finite, check_same
from attack.problems import unknown as unknown_estimators
from attack.server import attempt
from iokr import IOKR
from iokr._system.memory import check_memory

SAMPLE = 120
TESTS = Path(__file__).parents[1]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_a_sample_of_all_cases(tmp_path):
    failures = tmp_path / "failures.tsv"
    command = [sys.executable, "-m", "attack", "--sample", str(SAMPLE), "--jobs", "1", "--output", str(failures)]
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, cwd=TESTS, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True)
    assert done.returncode == 0, failures.read_text() if failures.exists() else done.stderr


def test_every_public_callable_is_attacked():
    """A name that the introspection cannot call is taught in attack/problems.py, functions.py or classes.py."""
    assert unknown_estimators() + unknown_functions() + unknown_classes() == []


def _recursion(n=0):
    return _recursion(n + 1)


def _forever():
    while True:
        pass


OUTCOMES = {
    "right": lambda: 1,
    "refused": lambda: IOKR(alpha=-1.0).fit([[0.0]], [[1.0]]),
    "wrong": lambda: check_same(np.ones(3), np.array([1.0, 1.0, 1.5])),
    "traceback": _recursion,
    "warning": lambda: np.array(1e300) * 1e300,
    "hang": _forever,
    "memory": lambda: np.ones(1 << 40),
    "crash": lambda: os._exit(3),
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.parametrize("outcome", OUTCOMES)
def test_outcomes_are_told_apart(outcome):
    assert attempt(Case("nobody/nothing", OUTCOMES[outcome], ("alpha",), seconds=1.0)).word == outcome


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_who_sleeps_hangs_and_who_waits_for_a_busy_machine_does_not():
    case = Case("nobody/nothing", lambda: time.sleep(1.5), seconds=1.0)
    assert attempt(case).word == "right"
    assert attempt(case, patience=0.5).word == "hang"


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
def test_memory_that_is_announced_is_a_refusal():
    case = Case("nobody/nothing", lambda: check_memory(1 << 60, "This `kernel`", "Use fewer rows."), ("kernel",))
    assert attempt(case).word == "refused"
    assert attempt(Case("nobody/nothing", lambda: int("x"), ("x",))).word == "traceback"


def test_what_is_finite_and_what_is_the_same():
    check_finite({"a": [np.ones(2), 1.0]})
    check_same([(1, 2), (3, 4)], [(1, 2), (3, 4)])
    for wrong in (
        lambda: check_finite(np.array([1.0, np.nan])),
        lambda: check_same(np.ones(3), np.ones(4)),
        lambda: check_same(np.array(["a"]), np.array(["b"])),
        lambda: check_same(np.array([2**60]), np.array([2**60 + 1])),
        lambda: check_same(np.array([1.0 + 1j]), np.array([1.0])),
    ):
        with pytest.raises(Wrong):
            wrong()
