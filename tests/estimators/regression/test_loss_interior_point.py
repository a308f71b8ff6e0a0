"""Losses without closed form against an interior-point solution of the original problem (invariants 6, 8 and 14)."""

import numpy as np
import pytest
from sklearn.base import clone

import reference
from convex import Convex, factor
from iokr import IOKR
from iokr.embeddings import Eigen
from iokr.kernels import RBF, Linear
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import Auto
from loss_samples import (
    HOLES,
    NAMES,
    NORMS,
    OUTPUTS,
    SETTINGS,
    case,
    each_loss,
    each_loss_and_intercept,
    each_norm,
    fitted,
    structured,
)
from reference import assert_close
from samples import GAMMA, each_intercept, operator

CASES = [(name, setting) for name in NAMES for setting in SETTINGS if name != "margin" or "intercept" not in setting]
CASES += [(name, setting) for name in NORMS for setting in HOLES]


def of(name, setting, **more):
    return case(name, **(SETTINGS | HOLES)[setting], **more)


def agrees(model, s, rtol=1e-5):
    """h is the minimiser, at new and at training points, and the solution says so."""
    convex, solution = s.convex, model.solution_
    assert_close(model.decision_function(s.X_new), convex.values(s.Phi_new), rtol)
    assert_close(model.decision_function(s.X), convex.values(convex.Phi[: convex.n]), rtol)
    assert -1e-14 <= solution.gap <= 1e-12
    assert solution.converged
    assert (solution.intercept is not None) is convex.intercept
    b = 0.0 if solution.intercept is None else solution.intercept
    value, best = convex.objective(convex.theta(np.asarray(solution.C)), b), convex.optimum
    assert best.bound - convex.rounding <= value <= best.value + 1e-11 * convex.at_zero + convex.rounding


@pytest.mark.parametrize(("name", "setting"), CASES)
def test_predictions_are_those_of_an_interior_point(name, setting):
    s = of(name, setting)
    agrees(fitted(s), s)


@pytest.mark.parametrize(("name", "setting"), CASES)
def test_the_interior_point_is_itself_certified(name, setting):
    """Primal and dual of its own answer are 1e-11 apart: what the other tests rest on."""
    convex = of(name, setting).convex
    gap = convex.optimum.value - convex.optimum.bound
    assert -convex.rounding <= gap <= 1e-11 * convex.at_zero + convex.rounding


@pytest.mark.parametrize("setting", ["plain", "operator", "semi-supervised", "semi-supervised, operator"])
@pytest.mark.parametrize("alpha", [0.01, 1.0, 10.0])
@each_loss_and_intercept
def test_other_values_of_alpha(name, intercept, alpha, setting):
    s = of(name, setting, alpha=alpha, intercept=intercept, seed=3)
    agrees(fitted(s), s)


@pytest.mark.parametrize("mu", [1e-3, 30.0])
@pytest.mark.parametrize("kind", ["identity", "full"])
@each_loss_and_intercept
def test_other_strengths_of_the_manifold(name, intercept, kind, mu):
    s = case(name, u=7, mu=mu, kind=kind, intercept=intercept, seed=4)
    agrees(fitted(s), s)


@pytest.mark.parametrize("u", [0, 6], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("outputs", OUTPUTS)
@each_loss_and_intercept
def test_output_kernels_with_singular_gram_matrix(name, intercept, outputs, u):
    """K_Y has rank 3: the same scores and distances as with explicit features of the outputs."""
    s = structured(name, outputs, u=u, intercept=intercept)
    model = fitted(s)
    H = s.convex.values(s.Phi_new)
    assert isinstance(model.embedding_, Eigen)
    assert_close(model.scores(s.X_new, s.candidates), H @ s.Psi_candidates.T, 1e-5)
    distances = np.sum((H[:, None] - s.Psi_candidates) ** 2, axis=2)
    assert_close(model.distances(s.X_new, s.candidates), distances, 1e-5)
    assert -1e-14 <= model.solution_.gap <= 1e-12


@pytest.mark.parametrize("setting", ["intercept", "intercept, weights", "intercept, semi-supervised, operator"])
@each_norm
def test_far_from_all_inputs_h_is_the_intercept(name, setting):
    s = of(name, setting)
    assert_close(fitted(s).predict(s.X_new + 1e3), np.tile(s.convex.optimum.b, (5, 1)), 1e-5)


def test_the_margin_has_no_intercept():
    """Moved to the mean of the classes, all margins would be those of the larger class."""
    s = of("margin", "plain")
    assert fitted(s, intercept=None).solution_.intercept is None
    with pytest.raises(ValueError, match="set `intercept=False`"):
        s.fit(intercept=True)


@pytest.mark.parametrize("setting", ["plain", "operator", "semi-supervised", "weights of zero"])
def test_margin_with_outputs_of_different_norms(setting):
    s = of("margin", setting)
    Y = s.Y * np.linspace(0.5, 3.0, len(s.Y))[:, None]
    convex = s.convex.at(Y=Y)
    with pytest.warns(UserWarning, match="norm"):
        model = s.model(Auto(tol=1e-12)).fit(s.X, Y, sample_weight=s.w, X_unlabeled=s.U if len(s.U) else None)
    assert_close(model.decision_function(s.X_new), convex.values(s.Phi_new), 1e-5)


@pytest.mark.parametrize("kind", ["identity", "full"])
@each_loss_and_intercept
def test_penalty_from_the_kernel(name, intercept, kind):
    """`Laplacian(manifold_weight)`: W is the Gram matrix of the input kernel over labelled, then unlabelled points."""
    s = case(name, u=6, kind=kind, intercept=intercept, seed=5)
    convex = s.convex.at(L=reference.graph_laplacian(s.convex.Phi @ s.convex.Phi.T))
    model = fitted(s, manifold=Laplacian(s.mu))
    assert_close(model.decision_function(s.X_new), convex.values(s.Phi_new), 1e-5)


@pytest.mark.parametrize("u", [0, 5])
@each_loss_and_intercept
def test_more_outputs_than_points(name, intercept, u):
    s = case(name, n=6, u=u, d=9, kind="tasks", intercept=intercept, seed=6)
    agrees(fitted(s), s)


@pytest.mark.parametrize("epsilon", [0.0, 1e-3])
@pytest.mark.parametrize("kind", ["identity", "full"])
@each_intercept
def test_tubes_that_are_thin_or_none(intercept, kind, epsilon):
    """ε = 0: the norm itself, no longer differentiable at the target."""
    from convex import EpsilonInsensitiveLoss
    from iokr.losses import EpsilonInsensitive

    for alpha in (0.1, 2.0):
        s = case("epsilon insensitive", kind=kind, alpha=alpha, intercept=intercept, seed=7)
        convex = s.convex.at(loss=EpsilonInsensitiveLoss(epsilon))
        model = fitted(s, loss=EpsilonInsensitive(epsilon))
        assert_close(model.decision_function(s.X_new), convex.values(s.Phi_new), 1e-5)


@pytest.mark.parametrize("kappa", [1e-2, 0.1, 1.0, 10.0])
@each_intercept
def test_other_thresholds_of_huber(intercept, kappa):
    from convex import HuberLoss
    from iokr.losses import Huber

    for kind in ("identity", "full"):
        s = case("huber", kind=kind, intercept=intercept, seed=8)
        convex = s.convex.at(loss=HuberLoss(kappa))
        assert_close(fitted(s, loss=Huber(kappa)).decision_function(s.X_new), convex.values(s.Phi_new), 1e-5, atol=1e-7)


@each_loss_and_intercept
def test_everything_at_once(name, intercept):
    """K of rank 2, A of rank 2, a graph in two parts, weights of zero and, but for the margin, holes."""
    options = {"kernel": "linear", "kind": "singular", "weighted": "zeros", "graph": "two parts", "u": 8}
    s = case(name, **options, holes="none" if name == "margin" else "entries", intercept=intercept, seed=9)
    agrees(fitted(s), s)


def test_wrong_answers_are_far_away():
    """The comparison can tell: without weights, holes, operator or penalty the answers differ by more than 1 %."""
    for setting in ("weights of zero", "operator", "semi-supervised"):
        for name in NAMES:
            s = of(name, setting)
            other = s.convex.at(weight=None, A=None, L=None)
            if setting == "weights of zero":
                other = s.convex.at(weight=None)
            right, wrong = s.convex.values(s.Phi_new), other.values(s.Phi_new)
            assert np.abs(right - wrong).max() > 1e-2 * np.abs(right).max()


def test_linear_support_vector_machines():
    """One output: the margin is scikit-learn's hinge SVM with C = 1/α, the ε loss its support vector regression."""
    from sklearn.svm import SVR, LinearSVC, LinearSVR

    from iokr.losses import EpsilonInsensitive, MaxMargin

    rng = np.random.default_rng(10)
    X, X_new = rng.normal(size=(30, 3)), rng.normal(size=(6, 3))
    y = X @ [1.0, -0.5, 0.2] + 0.5 * rng.normal(size=30)
    labels = np.sign(y)
    common = {"fit_intercept": False, "tol": 1e-10, "max_iter": 1_000_000, "random_state": 0}
    svc = LinearSVC(loss="hinge", C=1 / 2.0, **common).fit(X, labels)
    ours = IOKR(Linear(), loss=MaxMargin(), alpha=2.0, solver=Auto(tol=1e-12)).fit(X, labels)
    assert_close(ours.decision_function(X_new)[:, 0], svc.decision_function(X_new), 1e-5)
    svr = LinearSVR(epsilon=0.2, loss="epsilon_insensitive", C=1 / 2.0, **common).fit(X, y)
    ours = IOKR(Linear(), loss=EpsilonInsensitive(0.2), alpha=2.0, solver=Auto(tol=1e-12))
    assert_close(clone(ours).set_params(intercept=False).fit(X, y).predict(X_new), svr.predict(X_new), 1e-5)
    svr = SVR(kernel="linear", epsilon=0.2, C=1 / 2.0, tol=1e-10).fit(X, y + 5.0)  # its bias has no penalty
    assert_close(ours.fit(X, y + 5.0).predict(X_new), svr.predict(X_new), 1e-5)


@each_loss
def test_singular_operator_is_its_restriction_to_its_range(name):
    """Components of h along the null space of A are 0 (invariant 5)."""
    s = case(name, kind="singular", seed=11)
    H = fitted(s).decision_function(s.X_new)
    gamma, E = np.linalg.eigh(operator("singular", 3))
    assert_close(H @ E[:, :1], np.zeros((5, 1)), atol=1e-12 * np.abs(H).max())
    assert gamma[0] < 1e-12


@pytest.mark.parametrize("kind", ["identity", "full"])
@each_intercept
@each_norm
def test_larger_problem(name, intercept, kind):
    s = case(name, n=25, u=10, kind=kind, weighted="zeros", holes="entries", intercept=intercept, seed=12)
    agrees(fitted(s), s)


def test_features_of_the_oracle_reproduce_the_gram_matrix():
    s = case("huber", u=6)
    K = reference.gram(reference.rbf(GAMMA), s.points)
    Phi = np.vstack([s.convex.Phi, s.Phi_new])
    assert_close(Phi @ Phi.T, K, 1e-13)
    A = operator("singular", 3)
    assert factor(A).shape == (3, 2)
    assert_close(Convex(Phi, s.Y, s.slow, A=A).B @ Convex(Phi, s.Y, s.slow, A=A).B.T, A, 1e-14)


def test_one_intercept_per_column_with_decomposable_kernel():
    s = of("huber", "intercept")
    A = operator("full", 3)
    convex = s.convex.at(A=A)
    model = IOKR(
        Decomposable(RBF(GAMMA), A),
        intercept=True,
        loss=s.loss,
        alpha=s.alpha,
        solver=Auto(tol=1e-12),
    ).fit(s.X, s.Y)
    assert_close(model.predict(s.X_new), convex.values(s.Phi_new), 1e-5)
