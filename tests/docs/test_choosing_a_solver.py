"""The tables of "Choosing a solver" are those of the rules and of the solvers' own estimates."""

import re
from pathlib import Path

import numpy as np
import pytest

from iokr.gram import FeatureGram, PairGram
from iokr.kernels import RBF
from iokr.losses import Huber, MaxMargin, Square
from iokr.problem import Problem
from iokr.solvers import (
    ADMM,
    IRLS,
    LBFGS,
    Cholesky,
    ConjugateGradient,
    CoordinateDescent,
    Eigen,
    LowRank,
    ManifoldEigen,
    MixedPrecision,
)
from iokr.solvers.auto import rule_rows
from iokr.solvers.pairs import PairMargin, PairRidge

PAGE = Path(__file__).parents[2] / "docs" / "guide" / "choosing_a_solver.rst"
N, M, P, Q = 10**7, 10**4, 10**6, 10**3


def rows(header):
    """The cells of the table with this header."""
    lines = PAGE.read_text().split(f":header: {header}")[1].strip("\n").split("\n\n")[0].splitlines()
    return [tuple(plain(cell.strip()) for cell in line.split("|")) for line in lines if line.strip()]


def plain(cell):
    """A cell with its formulas as plain text: :math:`0.5n^2` is 0.5n²."""
    return re.sub(r":math:`([^`]*)`", lambda formula: formula[1].replace("^2", "²"), cell)


def test_every_rule_is_in_the_table():
    assert rows("problem | ``Auto`` takes | because") == rule_rows()


def test_every_outcome_is_in_the_table_of_memory():
    estimated = {solver for solver, *_ in rows("solver | without a manifold | with a manifold")}
    assert {solver for _, solver, _ in rule_rows()} <= estimated


def posed(solver, zeros=None):
    zeros = np.broadcast_to(0.0, (N, Q)) if zeros is None else zeros
    loss = Huber() if isinstance(solver, (IRLS, LBFGS)) else Square()
    if isinstance(solver, PairMargin):
        zeros, loss = zeros[:, :1], MaxMargin()
    if isinstance(solver, (CoordinateDescent, ADMM)):
        loss = MaxMargin()
    gram = RBF(1.0).gram(zeros)
    if isinstance(solver, (PairRidge, PairMargin)):
        gram = PairGram(np.broadcast_to(0.0, (M, M)), np.broadcast_to(0, (N, 2)))
    if isinstance(solver, LowRank):
        gram = FeatureGram(np.broadcast_to(0.0, (N, P)))
    return Problem(gram, zeros, loss, 1.0)


def numbers(words):
    """3n² as a number; terms of lower order are left out of the table."""
    sizes = {"n": N, "N": N, "m": M, "p": P, "q": Q}
    total = 0.0
    for factor, letters in re.findall(r"([\d.]*)((?:[nNmpq]²?)+)", words.split(",")[0]):
        value = float(factor or 1)
        for letter, square in re.findall(r"([nNmpq])(²?)", letters):
            value *= sizes[letter] ** (2 if square else 1)
        total += value
    return total


SOLVERS = [
    *(Cholesky(), Eigen(), ManifoldEigen(), LowRank(), ADMM(), IRLS(), LBFGS(), CoordinateDescent()),
    *(ConjugateGradient(), MixedPrecision(), PairRidge(), PairMargin()),
]


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_memory(solver):
    words = {row[0]: row[1:] for row in rows("solver | without a manifold | with a manifold")}[f"``{solver!r}``"]
    for cell, awaits in zip(words, (False, True), strict=True):
        problem = Problem(**{**vars(posed(solver)), "awaits_penalty": awaits})
        if cell == "–":
            assert solver.refuses(problem) is not None or isinstance(solver, (PairRidge, PairMargin))
        else:
            assert solver.memory(problem) / 8 == pytest.approx(numbers(cell), rel=2e-3)


@pytest.mark.parametrize("solver", SOLVERS, ids=repr)
def test_memory_in_torch(solver):
    torch = pytest.importorskip("torch")
    words = {row[0]: row[1:] for row in rows("solver, in torch | without a manifold | with a manifold")}
    zeros = torch.zeros((), dtype=torch.float64).expand(N, Q)
    for cell, awaits in zip(words.get(f"``{solver!r}``", ()), (False, True), strict=False):
        problem = Problem(**{**vars(posed(solver, zeros)), "awaits_penalty": awaits})
        if cell == "–":
            assert solver.refuses(problem) is not None
        else:
            assert solver.memory(problem) / 8 == pytest.approx(numbers(cell), rel=2e-3)
