"""Multi-task models are what their formulas say: explicit solves, refits, the identity of models 0 and 1.

Tests of `iokr.estimators.multitask.cv` and `iokr.estimators.multitask.operators`.
"""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV

from iokr import IOKR, MultiTask, MultiTaskCV
from iokr.decoders import Candidates
from iokr.embeddings import Identity
from iokr.estimators.multitask.operators import task_operator, task_similarity
from iokr.kernels import RBF, Precomputed
from iokr.losses import Huber, MaxMargin
from iokr.manifolds import Given, Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import Cholesky
from reference import Ridge, assert_close
from task_samples import GAMMA, kernel_matrix, sample


def similarity_by_loops(Y, w=None, centred=False):
    """exp(−‖Y^p − Y^q‖² / median), distances as means over the rows that have both targets, or variances."""
    n, d = Y.shape
    w = np.ones(n) if w is None else w
    D = np.full((d, d), np.nan)
    for p in range(d):
        for q in range(d):
            both = [i for i in range(n) if not np.isnan(Y[i, p] + Y[i, q]) and w[i] > 0]
            if both:
                total = sum(w[i] for i in both)
                mean = sum(w[i] * (Y[i, p] - Y[i, q]) for i in both) / total if centred else 0.0
                D[p, q] = sum(w[i] * (Y[i, p] - Y[i, q] - mean) ** 2 for i in both) / total
    apart = [D[p, q] for p in range(d) for q in range(p) if D[p, q] > 0]
    M = np.where(np.isnan(D), 0.0, np.exp(-np.nan_to_num(D) / (np.median(apart) if apart else 1.0)))
    np.fill_diagonal(M, 1.0)
    return M


def operator(M, mu):
    return np.linalg.inv(mu * (np.diag(M.sum(axis=1)) - M) + (1 - mu) * np.eye(len(M)))


# ------------------------------------------------------------------------------------------------ similarity, operator


@pytest.mark.parametrize("centred", [False, True])
def test_similarity_is_the_formula(centred):
    _, Y, _, rng = sample()
    assert_close(task_similarity(Y, centred=centred), similarity_by_loops(Y, centred=centred), 1e-12)
    Y[rng.uniform(size=Y.shape) < 0.3] = np.nan
    w = rng.uniform(size=len(Y)) * (np.arange(len(Y)) != 3)
    assert_close(task_similarity(Y, w, centred=centred), similarity_by_loops(Y, w, centred), 1e-12)


@pytest.mark.parametrize("shift", [1e6, 1e9])
def test_similarity_of_targets_far_from_the_origin(shift):
    _, Y, _, rng = sample()
    far = Y + shift
    far[rng.uniform(size=Y.shape) < 0.2] = np.nan
    assert_close(task_similarity(far), similarity_by_loops(far - shift), 1e-12)


def test_similarity_of_equal_and_of_unrelated_tasks():
    assert_close(task_similarity(np.ones((3, 2))), np.ones((2, 2)))
    apart = np.array([[1.0, np.nan], [np.nan, 2.0]])
    assert_close(task_similarity(apart), np.eye(2))
    assert_close(task_similarity(np.arange(3.0)[:, None]), np.eye(1))


def test_the_norm_is_the_sum_of_differences_and_tasks():
    """‖h‖² = Σ (A⁻¹)_pq ⟨h^p, h^q⟩ = (μ/2) Σ M_pq ‖h^p − h^q‖² + (1−μ) Σ ‖h^p‖²."""
    rng = np.random.default_rng(1)
    M = rng.uniform(size=(4, 4))
    M = M + M.T
    H = rng.normal(size=(6, 4))  # a column per task
    for mu in (0.0, 0.3, 0.9):
        pairs = sum(M[p, q] * np.sum((H[:, p] - H[:, q]) ** 2) for p in range(4) for q in range(4))
        expected = mu / 2 * pairs + (1 - mu) * np.sum(H**2)
        assert_close(np.sum(np.linalg.inv(task_operator(M, mu)) * (H.T @ H)), expected, 1e-11)


# ----------------------------------------------------------------------------------------------------- explicit solves


@pytest.mark.parametrize("mu", [0.0, 0.5, 0.95])
@pytest.mark.parametrize("given", [True, False])
@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("manifold", [False, True])
@pytest.mark.parametrize("intercept", [False, True])
def test_operator_model_solves_the_system(mu, given, missing, weighted, manifold, intercept):
    X, Y, X_u, rng = sample()
    M = rng.uniform(size=(4, 4))
    M = (M + M.T) / 2 * (rng.uniform(size=(4, 4)) < 0.9).all()
    w = rng.integers(1, 4, size=len(X)).astype(float) if weighted else None
    if missing:
        Y[rng.uniform(size=Y.shape) < 0.25] = np.nan
        Y[0] = 1.0
        assert not np.isnan(Y).all(axis=1).any()
    everything = np.vstack([X, X_u]) if manifold else X
    K, B = kernel_matrix(everything), rng.normal(size=(len(everything), 9))
    L = B @ B.T if manifold else None
    model = MultiTask(
        RBF(GAMMA),
        tasks=M if given else None,
        task_weight=mu,
        alpha=0.2,
        manifold=Given(0.3, L) if manifold else None,
        intercept=intercept,
    ).fit(X, Y, sample_weight=w, X_unlabeled=X_u if manifold else None)
    A = operator(M if given else similarity_by_loops(Y, w, intercept), mu)
    expected = Ridge(K, Y, 0.2, A=A, L=L, mu=0.3 if manifold else 0.0, weight=w, intercept=intercept)
    new = rng.normal(size=(5, 2))
    assert_close(model.A_, A, 1e-10)
    assert_close(model.predict(new), expected.values(kernel_matrix(new, everything)), 1e-9)
    assert_close(model.loo_decision_function(), expected.leave_one_out(), 1e-8)
    assert_close(model.loo_error(), expected.leave_one_out_error(), 1e-8)


def test_without_coupling_it_is_iokr():
    X, Y, _, _ = sample()
    for embedding in (None, Identity()):
        expected = IOKR(RBF(GAMMA), alpha=0.3, embedding=embedding).fit(X, Y)
        alone = MultiTask(RBF(GAMMA), coupling=None, alpha=0.3, embedding=embedding).fit(X, Y)
        zero = MultiTask(RBF(GAMMA), task_weight=0.0, alpha=0.3, embedding=embedding).fit(X, Y)
        for model in (alone, zero):
            assert_close(model.predict(X), expected.predict(X), 1e-12)
            assert model.score(X, Y) == pytest.approx(expected.score(X, Y), rel=1e-12)
        assert alone.tasks_ is None
        assert_close(alone.A_, np.eye(4))


# ----------------------------------------------------------------------------------------- coupling through the outputs


@pytest.mark.parametrize("manifold", [None, Laplacian(0.3)])
@pytest.mark.parametrize("mu", [0.1, 0.5, 0.99])
def test_with_ridge_output_coupling_predicts_the_same_y(mu, manifold):
    """Model 1 and model 0 agree on y for the same (λ, μ), in the fit and in leave-one-out."""
    X, Y, X_u, _ = sample()
    extra = {} if manifold is None else {"X_unlabeled": X_u}
    settings = {"alpha": 0.3, "manifold": manifold, "embedding": Identity()}
    alone = MultiTask(RBF(GAMMA), coupling=None, **settings).fit(X, Y, **extra)
    coupled = MultiTask(RBF(GAMMA), coupling="output", task_weight=mu, **settings).fit(X, Y, **extra)
    assert_close(coupled.predict(X_u), alone.predict(X_u), 1e-10)
    assert coupled.score(X_u, Y[: len(X_u)]) == pytest.approx(alone.score(X_u, Y[: len(X_u)]), rel=1e-10)
    assert coupled.loo_error() == pytest.approx(alone.loo_error(), rel=1e-9)
    A = mu * similarity_by_loops(Y - Y.mean(axis=0)) + (1 - mu) * np.eye(4)
    values, V = np.linalg.eigh(A)
    root = (V * np.sqrt(values)) @ V.T
    assert_close(coupled.decision_function(X_u), alone.decision_function(X_u) @ root, 1e-10)
    assert_close(coupled.weights(X_u), alone.weights(X_u), 1e-9)


def test_output_coupling_changes_decoding_over_candidates():
    X, Y, X_u, rng = sample()
    candidates = rng.normal(size=(40, 4))
    alone = MultiTask(RBF(GAMMA), coupling=None, alpha=0.3, decoder=Candidates()).fit(X, Y)
    coupled = MultiTask(RBF(GAMMA), coupling="output", task_weight=0.95, alpha=0.3, decoder=Candidates()).fit(X, Y)
    gap = candidates[None] - alone.decision_function(X_u)[:, None]
    expected = np.einsum("acp,pq,acq->ac", gap, coupled.A_, gap)
    assert_close(coupled.distances(X_u, candidates), expected, 1e-9)
    order, _ = coupled.rank(X_u, candidates)
    assert np.array_equal(order, np.argsort(expected, axis=1))
    assert not np.array_equal(order, alone.rank(X_u, candidates)[0])
    truth = candidates[order[:, 0]]
    assert coupled.score(X_u, truth, candidates=candidates) == 1.0


def test_singular_metric_answers_the_least_norm_output():
    """M = [[0, 1], [1, 0]] at μ = ½: A = ½ 11ᵀ, and y is the projection of h₀ on (1, 1)."""
    X, Y, X_u, _ = sample(d=2)
    M = np.array([[0.0, 1.0], [1.0, 0.0]])
    coupled = MultiTask(RBF(GAMMA), tasks=M, coupling="output", task_weight=0.5, alpha=0.3).fit(X, Y)
    H = IOKR(RBF(GAMMA), alpha=0.3).fit(X, Y).predict(X_u)
    assert_close(coupled.predict(X_u), np.repeat(H.mean(axis=1, keepdims=True), 2, axis=1), 1e-9)


def test_indefinite_metric_is_refused_and_the_bound_is_right():
    X, Y, _, _ = sample(d=2)
    M = np.array([[0.0, 2.0], [2.0, 0.0]])
    with pytest.raises(ValueError, match=r"Lower `task_weight` to 0\.333 at most"):
        MultiTask(tasks=M, coupling="output", task_weight=0.5).fit(X, Y)
    MultiTask(tasks=M, coupling="output", task_weight=1 / 3).fit(X, Y)
    MultiTask(tasks=M, task_weight=0.5).fit(X, Y)


def test_output_coupling_with_another_loss_is_that_loss_in_the_metric():
    X, Y, X_u, rng = sample()
    M = task_similarity(rng.normal(size=(9, 4)))
    coupled = MultiTask(RBF(GAMMA), tasks=M, coupling="output", task_weight=0.9, loss=Huber(0.2), alpha=0.3).fit(X, Y)
    root = coupled.embedding_.root_
    assert_close(root @ root, 0.9 * M + 0.1 * np.eye(4), 1e-12)
    expected = IOKR(RBF(GAMMA), loss=Huber(0.2), alpha=0.3).fit(X, Y @ root)
    assert_close(coupled.decision_function(X_u), expected.predict(X_u), 1e-4)
    assert_close(coupled.predict(X_u), expected.predict(X_u) @ np.linalg.inv(root), 1e-4)
    assert not np.allclose(
        coupled.predict(X_u),
        MultiTask(RBF(GAMMA), coupling=None, loss=Huber(0.2), alpha=0.3).fit(X, Y).predict(X_u),
        rtol=1e-3,
    )


def test_margin_has_its_own_score():
    X, Y, _, _ = sample()
    labels = np.sign(Y)
    for coupling in ("operator", "output", None):
        model = MultiTask(RBF(GAMMA), coupling=coupling, loss=MaxMargin(), alpha=0.1, decoder=Candidates()).fit(
            X, labels
        )
        assert -1 < model.score(X, labels) <= 0


# ------------------------------------------------------------------------------------------------------------ selection


@pytest.mark.parametrize("missing", [False, True])
@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("manifold", [None, Laplacian(0.1)])
def test_selection_is_the_leave_one_out_error_of_every_pair(missing, weighted, manifold):
    X, Y, X_u, rng = sample(n=9, d=3)
    w = rng.integers(1, 4, size=len(X)).astype(float) if weighted else None
    if missing:
        Y[1, 0] = Y[4, 2] = np.nan
    task_weights, alphas = (0.0, 0.6, 0.9), (0.05, 0.5)
    settings = {"intercept": True, "manifold": manifold}
    extra = {"sample_weight": w} if manifold is None else {"sample_weight": w, "X_unlabeled": X_u}
    model = MultiTaskCV(RBF(GAMMA), task_weights=task_weights, alphas=alphas, **settings).fit(X, Y, **extra)
    models = [
        [MultiTask(RBF(GAMMA), task_weight=mu, alpha=alpha, **settings).fit(X, Y, **extra) for alpha in alphas]
        for mu in task_weights
    ]
    assert_close(model.loo_errors_, [[m.loo_error() for m in row] for row in models], 1e-9)
    i, j = model.best_index_
    assert model.loo_errors_[i, j] == model.loo_errors_.min()
    assert (model.task_weight_, model.alpha_) == (task_weights[i], alphas[j])
    assert_close(model.predict(X_u), models[i][j].predict(X_u), 1e-9)
    assert model.loo_error() == pytest.approx(model.loo_errors_.min(), rel=1e-9)


def test_axes_of_length_one_are_dropped():
    X, Y, _, _ = sample()
    assert MultiTaskCV(task_weights=(0.5,)).fit(X, Y).loo_errors_.shape == (19,)
    one = MultiTaskCV(task_weights=(0.5,), alphas=(1.0,)).fit(X, Y)
    assert one.loo_errors_.shape == () and one.best_index_ == ()


def test_coupling_helps_tasks_that_are_one():
    """Without intercepts: these are not coupled."""
    rng = np.random.default_rng(0)
    X = np.linspace(0, 6, 25)[:, None]
    truth = np.repeat(np.sin(X), 8, axis=1)
    Y = truth + 0.7 * rng.normal(size=truth.shape)
    alone = MultiTaskCV(RBF(0.5), task_weights=(0.0,), intercept=False).fit(X, Y)
    for model in (
        MultiTaskCV(RBF(0.5), intercept=False).fit(X, Y),
        MultiTaskCV(RBF(0.5), learn_tasks=True, alphas=(0.1, 1.0, 10.0), intercept=False).fit(X, Y),
    ):
        assert np.mean((model.predict(X) - truth) ** 2) < 0.6 * np.mean((alone.predict(X) - truth) ** 2)


# ------------------------------------------------------------------------------------------------------------ ecosystem


@pytest.mark.parametrize(
    "model",
    [
        MultiTask(RBF(GAMMA)),
        MultiTask(RBF(GAMMA), coupling="output", task_weight=0.3),
        MultiTask(RBF(GAMMA), tasks=np.ones((4, 4)), alpha=0.1),
        MultiTask(RBF(GAMMA), learn_tasks=True),
        MultiTaskCV(RBF(GAMMA), alphas=(0.1, 1.0)),
    ],
    ids=repr,
)
def test_clones_and_pickles(model):
    X, Y, X_u, _ = sample()
    fitted = clone(model).fit(X, Y)
    again = pickle.loads(pickle.dumps(fitted))
    np.testing.assert_array_equal(again.predict(X_u), fitted.predict(X_u))
    np.testing.assert_array_equal(clone(fitted).fit(X, Y).predict(X_u), fitted.predict(X_u))
    assert again.loo_error() == fitted.loo_error()


def test_grid_search_over_strength_and_alpha():
    X, Y, _, _ = sample(n=20)
    grid = {"alpha": [0.1, 1.0], "task_weight": [0.0, 0.8], "kernel__gamma": [0.1, 0.4]}
    search = GridSearchCV(MultiTask(RBF(GAMMA)), grid, cv=3).fit(X, Y)
    assert set(search.best_params_) == set(grid)
    best = MultiTask(
        RBF(search.best_params_["kernel__gamma"]),
        alpha=search.best_params_["alpha"],
        task_weight=search.best_params_["task_weight"],
    )
    assert_close(search.predict(X), best.fit(X, Y).predict(X), 1e-12)


def test_precomputed_gram_and_one_dimensional_targets():
    X, Y, X_u, _ = sample()
    expected = MultiTask(RBF(GAMMA), alpha=0.3).fit(X, Y)
    model = MultiTask(Precomputed(), alpha=0.3).fit(kernel_matrix(X), Y)
    assert_close(model.predict(kernel_matrix(X_u, X)), expected.predict(X_u), 1e-10)
    assert MultiTask().fit(X, Y[:, 0]).predict(X_u).shape == (len(X_u),)


def test_weight_two_is_the_row_twice():
    X, Y, X_u, rng = sample()
    w = rng.integers(1, 3, size=len(X))
    rows = np.repeat(np.arange(len(X)), w)
    for settings in ({}, {"coupling": "output"}, {"learn_tasks": True, "tol": 1e-12}):
        model = MultiTask(RBF(GAMMA), alpha=0.3, **settings)
        weighted = clone(model).fit(X, Y, sample_weight=w.astype(float)).predict(X_u)
        assert_close(clone(model).fit(X[rows], Y[rows]).predict(X_u), weighted, 1e-6)


# ------------------------------------------------------------------------------------------------------------ refusals


@pytest.mark.parametrize(
    ("settings", "error", "words"),
    [
        ({"task_weight": 1.0}, ValueError, "below 1"),
        ({"task_weight": -0.1}, ValueError, "`task_weight`"),
        ({"task_weight": "a"}, TypeError, "`task_weight`"),
        ({"coupling": "outputs"}, ValueError, "`coupling` must be one of"),
        ({"tasks": np.eye(3)}, ValueError, r"must be \(4, 4\)"),
        ({"tasks": -np.eye(4)}, ValueError, "negative entries"),
        ({"tasks": np.triu(np.ones((4, 4)))}, ValueError, "symmetric"),
        ({"alpha": 0.0}, ValueError, "`alpha`"),
        ({"kernel": Decomposable(RBF(), np.eye(4))}, TypeError, "scalar kernel"),
        ({"learn_tasks": True, "tasks": np.eye(4)}, ValueError, "must be None"),
        ({"learn_tasks": True, "coupling": "output"}, ValueError, "coupling"),
        ({"learn_tasks": True, "loss": Huber()}, ValueError, "Square"),
        ({"learn_tasks": True, "solver": Cholesky()}, ValueError, "own solver"),
        ({"learn_tasks": "yes"}, ValueError, "learn_tasks"),
        ({"learn_tasks": True, "tol": 0.0}, ValueError, "`tol`"),
        ({"max_iter": 0}, ValueError, "max_iter"),
    ],
)
def test_bad_parameters_are_named(settings, error, words):
    X, Y, _, _ = sample()
    with pytest.raises(error, match=words):
        MultiTask(**settings).fit(X, Y)


def test_selection_refuses_bad_grids():
    X, Y, _, _ = sample()
    with pytest.raises(ValueError, match="below 1"):
        MultiTaskCV(task_weights=(0.5, 1.0)).fit(X, Y)
    with pytest.raises(ValueError, match="`alphas` is empty"):
        MultiTaskCV(alphas=()).fit(X, Y)


def test_missing_targets_need_the_operator():
    X, Y, _, _ = sample()
    Y[0, 0] = np.nan
    with pytest.raises(ValueError, match='coupling="operator"'):
        MultiTask(coupling="output").fit(X, Y)
    Y[0] = np.nan
    with pytest.raises(ValueError, match="X_unlabeled"):
        MultiTask().fit(X, Y)


def test_refitting_forgets():
    X, Y, _, _ = sample()
    model = MultiTask(learn_tasks=True).fit(X, Y)
    assert hasattr(model, "objective_")
    assert not hasattr(model.set_params(learn_tasks=False).fit(X, Y), "objective_")
