"""The tables of what goes with what: every cell is run, every refusal is refused in the words that the page gives."""

import itertools
import re
import warnings
from functools import cache
from pathlib import Path

import numpy as np
import pytest

import iokr.losses
import iokr.solvers
from iokr import IOKR, IOKRCV
from iokr.embeddings import Eigen, Implicit
from iokr.estimators.regression.base import fitted_problem
from iokr.kernels import RBF
from iokr.losses import Expectile, Huber, Loss, Pinball
from iokr.manifolds import Given, Laplacian
from iokr.operator_kernels import ConditionalCovariance, Covariance, Decomposable, Transformable
from iokr.solvers import Auto, ReducedRank
from iokr.solvers._units import own_units
from reference import graph_laplacian

GUIDE = Path(__file__).parents[2] / "docs" / "guide"
SETTINGS = {
    "supervised": frozenset(),
    "semi-supervised": frozenset({"unlabeled"}),
    "sample weights": frozenset({"weights"}),
    "missing targets": frozenset({"holes"}),
}
SCALAR = (RBF(0.5), Decomposable(RBF(0.5), 2 * np.eye(3)))
MIXED = (
    Decomposable(RBF(0.5), np.eye(3) + 0.5),
    Decomposable(RBF(0.5), np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 2.0]])),
)
COVARIANCES = (Covariance(RBF(0.5)), ConditionalCovariance(RBF(0.5), 0.1, centered=True))
BLOCKS = (Transformable(RBF(0.5), [np.eye(2), -np.eye(2), np.ones((2, 2))]), MIXED[0] + RBF(2.0))
OPERATORS = {  # column: output kernel, and the kernels that it speaks of
    "vectors, k·I": (None, SCALAR),
    "vectors, k·A": (None, MIXED),
    "vectors, covariance": (None, COVARIANCES),
    "vectors, blocks": (None, BLOCKS),
    "output kernel, k·I": (RBF(0.5), SCALAR),
    "output kernel, covariance": (RBF(0.5), COVARIANCES),
    "output kernel, k·A or blocks": (RBF(0.5), (MIXED[0], *BLOCKS)),
}
REST = ("predict", "decision_function", "scores", "distances")


def table(page, name):
    """The header and the rows of the csv-table called `name`, cells without their markup."""
    text = (GUIDE / page).read_text(encoding="utf-8")
    [block] = re.findall(rf"^\.\. csv-table::\n   :name: {name}\n(.*?)\n(?=\S)", text, flags=re.DOTALL | re.MULTILINE)
    [header] = re.findall(r"^   :header: (.*)$", block, flags=re.MULTILINE)
    rows = re.findall(r"^   (?!:)(.+)$", block, flags=re.MULTILINE)
    return [[cell.strip() for cell in line.split("|")] for line in (header, *rows)]


def bare(cell):
    return cell.replace("``", "")


def names(cell):
    """The classes that a cell names."""
    return sorted(EVERY) if cell == "every loss" else re.findall(r"``(\w+)\(\)``", cell)


def loss_of(name):
    """An instance of the loss of that name."""
    parameters = {
        "Huber": {"kappa": 0.5},
        "EpsilonSquare": {"epsilon": 0.2},
        "EpsilonInsensitive": {"epsilon": 0.2},
        "Insensitive": {"base": Huber(0.3), "epsilon": 0.2},
        "Pinball": {"levels": [0.2, 0.5, 0.7]},
    }
    return getattr(iokr.losses, name)(**parameters.get(name, {}))


EVERY = {name for name in iokr.losses.__all__ if not getattr(iokr.losses, name).__abstractmethods__}
HEADER, *ROWS = table("losses.rst", "support")
CELLS = {
    (loss, row[0], column): cell
    for row in ROWS
    for loss in names(row[1])
    for column, cell in zip(HEADER[2:], row[2:], strict=True)
}
REFUSALS = {row[0]: bare(row[1]) for row in table("losses.rst", "refusals")[1:]}


def data(seed=0):
    rng = np.random.default_rng(seed)
    X, Y, more = rng.normal(size=(16, 2)), rng.normal(size=(16, 3)), rng.normal(size=(9, 2))
    return X, Y / np.linalg.norm(Y, axis=1, keepdims=True), more


def arguments_of(parts):
    """What `fit` is given beside X and Y."""
    arguments = {}
    if "unlabeled" in parts:
        arguments["X_unlabeled"] = data()[2]
    if "weights" in parts:
        arguments["sample_weight"] = np.linspace(0.0, 3.0, 16)
    return arguments


def fit(loss, parts, output_kernel, kernel, *, tol=1e-6):
    """A model of the loss in the settings `parts`, and of the kernel."""
    X, Y, more = data()
    manifold = None
    if "unlabeled" in parts:
        points = np.vstack([X, more])
        manifold = Given(0.5, graph_laplacian(RBF(0.5)(points))) if kernel in BLOCKS else Laplacian(0.5)
    if "holes" in parts:
        Y[::3, 1] = np.nan
    model = IOKR(kernel, output_kernel=output_kernel, loss=loss, alpha=0.3, manifold=manifold, solver=Auto(tol=tol))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        return model.fit(X, Y, **arguments_of(parts))


def refusal(cell):
    """What a refused cell says; None for a cell that is served."""
    if cell == "yes":
        return None
    return REFUSALS[cell.removeprefix("no: ")]


@cache
def plain(loss, column, i):
    output_kernel, kernels = OPERATORS[column]
    return fit(loss_of(loss), frozenset(), output_kernel, kernels[i]).distances(data()[0], data()[1])


def parts_of(solution):
    """C and B; B is None without an intercept."""
    return solution.C, None if solution.intercept is None else solution.intercept[None, :]


def serves(loss, parts, column):
    """The model fits to its certificate, and every part of the setting has its effect."""
    output_kernel, kernels = OPERATORS[column]
    X, Y, _ = data()
    for i, kernel in enumerate(kernels):
        model = fit(loss_of(loss), parts, output_kernel, kernel)
        assert model.solution_.converged
        assert model.solution_.gap <= 1e-6
        assert isinstance(model.embedding_, Eigen) == (output_kernel is not None and not model.loss_.quadratic)
        answer = model.distances(X, Y)
        assert np.all(np.isfinite(answer))
        if parts:
            assert np.abs(answer - plain(loss, column, i)).max() > 1e-3
        problem, C, B = fitted_problem(model), *parts_of(model.solution_)
        if problem.operator.oblique:  # the same in coordinates
            model.set_params(embedding=Eigen()).fit(X, Y, **arguments_of(parts))
            np.testing.assert_allclose(model.distances(X, Y), answer, atol=1e-9)
        elif model.loss_.quadratic:
            assert np.abs(problem.gram @ problem.gradient(C, B=B)).max() < 1e-9
        else:
            closer = fit(loss_of(loss), parts, output_kernel, kernel, tol=1e-9).solution_
            away = problem.objective(C, B) - problem.objective(*parts_of(closer))
            at_zero = problem.objective(0 * C, own_units(problem)[1].origin)
            assert -1e-9 <= away / at_zero <= model.solution_.gap + 1e-9


def refuses(loss, parts, column, words):
    output_kernel, kernels = OPERATORS[column]
    for kernel in kernels:
        with pytest.raises(ValueError, match=re.escape(words)):
            fit(loss_of(loss), parts, output_kernel, kernel)


def test_the_table_is_whole():
    assert set(CELLS) == set(itertools.product(EVERY, SETTINGS, OPERATORS))
    assert sum(len(names(row[1])) * len(OPERATORS) for row in ROWS) == len(CELLS), "a cell is there twice"
    assert {cell for cell in CELLS.values() if cell != "yes"} == {f"no: {name}" for name in REFUSALS}


@pytest.mark.parametrize(("loss", "setting", "column"), list(CELLS))
def test_every_cell(loss, setting, column):
    words = refusal(CELLS[loss, setting, column])
    if words is None:
        serves(loss, SETTINGS[setting], column)
    else:
        refuses(loss, SETTINGS[setting], column, words)


@pytest.mark.parametrize("column", OPERATORS)
@pytest.mark.parametrize("loss", sorted(EVERY))
def test_settings_combine(loss, column):
    """Two and three settings at once: served where each is, else refused as one of them is."""
    single = {setting: CELLS[loss, setting, column] for setting in list(SETTINGS)[1:]}
    for size in (2, 3):
        for chosen in itertools.combinations(single, size):
            parts = frozenset().union(*(SETTINGS[setting] for setting in chosen))
            reasons = [words for words in map(refusal, (single[setting] for setting in chosen)) if words is not None]
            if not reasons:
                serves(loss, parts, column)
                continue
            with pytest.raises(ValueError) as caught:
                fit(loss_of(loss), parts, OPERATORS[column][0], OPERATORS[column][1][0])
            assert any(words in str(caught.value) for words in reasons)


@pytest.mark.parametrize("loss", sorted(EVERY))
def test_implicit_outputs_are_for_the_square(loss):
    X, Y, _ = data()
    model = IOKR(output_kernel=RBF(0.5), embedding=Implicit(), loss=loss_of(loss))
    if loss_of(loss).quadratic:
        assert model.fit(X, Y).solution_.converged
    else:
        with pytest.raises(ValueError, match="does not compute ψ"):
            model.fit(X, Y)


# ------------------------------------------------------------------------------------------ after the fit

METHODS_HEADER, *METHODS = table("losses.rst", "methods")
COLUMNS = [names(cell) for cell in METHODS_HEADER[1:]]
METHOD_CELLS = {row[0]: dict(zip(range(len(COLUMNS)), row[1:], strict=True)) for row in METHODS}


def answers(what, loss):
    """Run one row of the table for a loss: "yes", "no" for a refusal, or what the row says of it."""
    X, Y, _ = data()
    model = fit(loss_of(loss), frozenset(), None, RBF(0.5))
    match what:
        case "``predict``, ``decision_function``, ``scores``, ``distances``":
            shapes = [getattr(model, name)(X[:4], *([Y] if name in REST[2:] else [])).shape for name in REST]
            assert shapes == [(4, 3), (4, 3), (4, 16), (4, 16)]
            return "yes"
        case "``rank`` orders by":
            _, values = model.rank(X[:4], Y)
            by = "distance" if np.all(np.diff(values) >= 0) else "score"
            np.testing.assert_allclose(
                np.sort(values), np.sort(model.distances(X[:4], Y) if by == "distance" else model.scores(X[:4], Y))
            )
            return by
        case "``score(X, y)`` is":
            H, score = model.decision_function(X), model.score(X, Y)
            r2 = 1 - np.sum((H - Y) ** 2) / np.sum((Y - Y.mean(axis=0)) ** 2)
            hinge = np.maximum(0, 1 - np.sum(H * Y, axis=1)).mean()
            [name] = [
                name for name, value in (("R²", r2), ("minus the mean hinge", -hinge)) if np.isclose(score, value)
            ]
            return name
        case "``weights``, for k·I or a covariance, without missing targets":
            for kernel in (RBF(0.5), *COVARIANCES):
                model = fit(loss_of(loss), frozenset(), None, kernel)
                if model.loss_.entrywise:
                    with pytest.raises(ValueError, match="each coordinate has its own weights"):
                        model.weights(X)
                    continue
                np.testing.assert_allclose(model.weights(X) @ Y, model.decision_function(X), atol=1e-9)
            return "no" if loss_of(loss).entrywise else "yes"
        case "``weights``, for k·A, blocks, or with missing targets":
            for kernel in (MIXED[0], *BLOCKS):
                with pytest.raises(ValueError, match="the outputs are mixed"):
                    fit(loss_of(loss), frozenset(), None, kernel).weights(X)
            if refusal(CELLS[loss, "missing targets", "vectors, k·I"]) is None:
                with pytest.raises(ValueError, match="each coordinate has its own weights"):
                    fit(loss_of(loss), SETTINGS["missing targets"], None, RBF(0.5)).weights(X)
            return "no"
        case "``loo_decision_function``, ``IOKRCV(cv=None)``":
            chosen = IOKRCV(RBF(0.5), alphas=(0.1, 1.0), loss=loss_of(loss))
            if loss_of(loss).quadratic:
                assert model.loo_decision_function().shape == Y.shape
                assert chosen.fit(X, Y).loo_errors_.shape == (2,)
                return "yes"
            for call in (model.loo_decision_function, lambda: chosen.fit(X, Y)):
                with pytest.raises(ValueError, match="closed form for quadratic losses only"):
                    call()
            return "no"
        case "``IOKRCV(cv=5)``":
            chosen = IOKRCV(RBF(0.5), alphas=(0.1, 1.0), loss=loss_of(loss), cv=5).fit(X, Y)
            assert chosen.cv_errors_.shape == (2,)
            assert chosen.solution_.gap <= 1e-6
            return "yes"
    raise AssertionError(f"no check for the row {what!r}")


def test_every_loss_has_its_column():
    assert sorted(itertools.chain(*COLUMNS)) == sorted(EVERY)


@pytest.mark.parametrize("what", list(METHOD_CELLS), ids=bare)
def test_what_follows_a_fit(what):
    for i, column in enumerate(COLUMNS):
        for loss in column:
            assert answers(what, loss) == METHOD_CELLS[what][i], loss


# ---------------------------------------------------------------------------------------- solvers × losses

TAKES = {solver: names(row[1]) for row in table("solvers.rst", "solver-losses")[1:] for solver in names(row[0])}


def test_every_solver_has_its_row():
    classes = [cls for cls in (getattr(iokr.solvers, name) for name in iokr.solvers.__all__) if hasattr(cls, "solve")]
    concrete = {cls.__name__ for cls in classes if not cls.__abstractmethods__}
    assert set(TAKES) == concrete - {"ManifoldEigen", "LowRank"}  # they need a penalty, and features


@pytest.mark.parametrize("loss", sorted(EVERY))
@pytest.mark.parametrize("solver", TAKES)
def test_which_solver_takes_which_loss(solver, loss):
    X, Y, _ = data()
    model = IOKR(RBF(0.5), loss=loss_of(loss), alpha=0.3, solver=getattr(iokr.solvers, solver)())
    if loss in TAKES[solver]:
        assert model.fit(X, Y).solution_.converged
    else:
        with pytest.raises(ValueError, match="cannot solve this problem"):
            model.fit(X, Y)


@pytest.mark.parametrize("loss", sorted(EVERY))
def test_a_given_rank_goes_with_every_loss(loss):
    X, Y, _ = data()
    model = IOKR(RBF(0.5), loss=loss_of(loss), alpha=0.3, solver=ReducedRank(1)).fit(X, Y)
    assert model.solution_.converged
    H = model.decision_function(X)
    around = H.mean(axis=0) if model.solution_.intercept is not None else 0.0
    assert np.linalg.matrix_rank(H - around, tol=1e-8) == 1


@pytest.mark.parametrize("loss", [Pinball(0.9), Expectile(0.9)], ids=repr)
def test_an_entrywise_loss_needs_the_coordinates_of_the_user(loss):
    X, Y, _ = data()
    with pytest.raises(ValueError, match="no preferred basis; use vector outputs"):
        IOKR(RBF(0.5), output_kernel=RBF(0.5), loss=loss).fit(X, Y)


def test_a_loss_of_ones_own_needs_a_gradient_everywhere_or_a_proximal_map():
    class Fourth(Loss):
        def value(self, H, Psi):
            return np.sum((H - Psi) ** 4, axis=1)

        def gradient(self, H, Psi):
            return 4 * (H - Psi) ** 3

    X, Y, _ = data()

    class Kinked(Fourth):
        smooth = False

    assert IOKR(RBF(0.5), loss=Fourth()).fit(X, Y).solution_.gap <= 1e-6
    with pytest.raises(ValueError, match="has no `prox`"):
        IOKR(loss=Kinked()).fit(X, Y)
