"""With every loss: scores, distances, ranking, decoding, weights, scores of models, and scikit-learn's tools."""

import pickle
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import reference
from iokr import IOKR, CandidateSets
from iokr.decoders import Candidates, Threshold
from iokr.embeddings import Eigen, Identity
from iokr.kernels import RBF, Delta, Linear, Normalized, Polynomial
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber, MaxMargin
from iokr.operator_kernels import Decomposable
from iokr.solvers import Auto
from loss_samples import NAMES, OUTPUTS, PAIRS, case, each_loss, each_loss_and_intercept, each_norm, fitted, structured
from reference import assert_close
from samples import GAMMA, operator

TIGHT = Auto(tol=1e-12)


# ------------------------------------------------------------------------------------------ ranking


@pytest.mark.parametrize("outputs", OUTPUTS)
@each_loss
def test_ranking(name, outputs):
    """By score, descending, for the margin; by distance, ascending, for the others."""
    s = structured(name, outputs)
    model = fitted(s)
    H = s.convex.values(s.Phi_new)
    scores = H @ s.Psi_candidates.T
    distances = np.sum((H[:, None] - s.Psi_candidates) ** 2, axis=2)
    costs = -scores if name == "margin" else distances
    assert reference.well_separated(costs, 1e-4)
    indices, values = model.rank(s.X_new, s.candidates)
    np.testing.assert_array_equal(indices, reference.ranking(costs))
    expected = np.sort(costs, axis=1)
    assert_close(values, -expected if name == "margin" else expected, 1e-5)
    best, _ = model.rank(s.X_new, s.candidates, k=1)
    np.testing.assert_array_equal(best[:, 0], np.argmin(costs, axis=1))
    chosen = model.predict(s.X_new, candidates=s.candidates)
    np.testing.assert_array_equal(chosen, np.asarray(s.candidates)[np.argmin(costs, axis=1)])


def test_margin_ranks_by_score_also_where_distance_says_otherwise():
    """‖ψ(y)‖ differs among the candidates: the two orders differ, and `Candidates(by=...)` chooses."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(15, 2)), np.round(rng.uniform(-2, 2, size=(15, 1)), 1)
    candidates = np.linspace(-3, 3, 9)[:, None]
    common = {"output_kernel": Polynomial(2, 1.0, 1.0), "loss": MaxMargin(), "alpha": 0.1}
    with pytest.warns(UserWarning, match="[Nn]ormalise"):
        model = IOKR(RBF(GAMMA), **common).fit(X, y)
    scores, distances = model.scores(X, candidates), model.distances(X, candidates)
    np.testing.assert_array_equal(model.rank(X, candidates)[0][:, 0], scores.argmax(axis=1))
    assert np.any(scores.argmax(axis=1) != distances.argmin(axis=1))
    with pytest.warns(UserWarning, match="[Nn]ormalise"):
        by_distance = IOKR(RBF(GAMMA), decoder=Candidates(by="distance"), **common).fit(X, y)
    np.testing.assert_array_equal(by_distance.rank(X, candidates)[0][:, 0], distances.argmin(axis=1))
    np.testing.assert_array_equal(by_distance.predict(X, candidates), candidates[distances.argmin(axis=1)])


def test_norm_losses_can_rank_by_score():
    s = structured("huber", "polynomial")
    model = fitted(s, decoder=Candidates(by="score"))
    indices, values = model.rank(s.X_new, s.candidates)
    scores = model.scores(s.X_new, s.candidates)
    np.testing.assert_array_equal(indices[:, 0], scores.argmax(axis=1))
    assert_close(values, -np.sort(-scores, axis=1), 1e-12)


@each_loss
def test_candidate_sets(name):
    s = structured(name, "labels")
    model = fitted(s)
    sets = [["a", "b"], ["c"], ["b", "c"], ["a", "b", "c"], ["c", "a"]]
    together = model.scores(s.X_new, s.candidates)
    for own, row, names in zip(model.scores(s.X_new, CandidateSets(sets)), together, sets, strict=True):
        assert_close(own, [row["abc".index(c)] for c in names], 1e-12)
    predicted = model.predict(s.X_new, candidates=CandidateSets(sets))
    for chosen, row, names in zip(predicted, together, sets, strict=True):
        assert chosen == max(names, key=lambda c: row["abc".index(c)])  # all norms are 1: both orders agree


@each_loss
def test_predict_without_candidates_chooses_among_the_training_outputs(name):
    s = structured(name, "labels")
    model = fitted(s)
    known = sorted(set(s.y))
    costs = model.distances(s.X_new, known) if name != "margin" else -model.scores(s.X_new, known)
    assert model.predict(s.X_new).tolist() == [known[j] for j in costs.argmin(axis=1)]


def test_a_separable_problem_is_learned_by_every_loss():
    rng = np.random.default_rng(2)
    y = np.array(list("abc") * 10, dtype=object)
    X = np.array([[0.0, 0.0], [3.0, 0.0], [0.0, 3.0]])["abc".index("a") :][[list("abc").index(c) for c in y]]
    X = X + 0.3 * rng.normal(size=X.shape)
    for loss in (MaxMargin(), Huber(0.5), EpsilonSquare(0.1), EpsilonInsensitive(0.1)):
        model = IOKR(RBF(0.5), output_kernel=Delta(), loss=loss, alpha=0.1).fit(X, y)
        assert model.predict(X).tolist() == y.tolist()
        assert model.score(X, y, candidates=["a", "b", "c"]) == 1.0


# ------------------------------------------------------------------------------------------- scores


def test_score_of_the_margin_is_minus_the_mean_hinge():
    s = case("margin", weighted="any")
    model = fitted(s)
    H = model.decision_function(s.X)
    hinge = np.maximum(0, 1 - np.sum(H * s.Y, axis=1))
    assert_close(model.score(s.X, s.Y), -hinge.mean(), 1e-12)
    assert_close(model.score(s.X, s.Y, sample_weight=s.w), -(s.w @ hinge) / s.w.sum(), 1e-12)
    assert hinge.mean() > 1e-3


@pytest.mark.parametrize("outputs", OUTPUTS)
def test_score_of_the_margin_with_an_output_kernel(outputs):
    """New outputs count by ⟨h(x), ψ(y)⟩, be they in the span of the training outputs or not."""
    s = structured("margin", outputs)
    model = fitted(s)
    y = np.resize(s.candidates, (5, *np.shape(s.candidates)[1:]))
    place = np.resize(np.arange(len(s.candidates)), 5)
    H = s.convex.values(s.Phi_new)
    hinge = np.maximum(0, 1 - np.sum(H * s.Psi_candidates[place], axis=1))
    assert_close(model.score(s.X_new, y), -hinge.mean(), 1e-5)


@each_norm
def test_score_of_the_others_is_r2(name):
    s = case(name, weighted="any")
    model = fitted(s)
    H = model.decision_function(s.X)
    assert_close(model.score(s.X, s.Y), reference.r2_score(H, s.Y), 1e-11)
    assert_close(model.score(s.X, s.Y, sample_weight=s.w), reference.r2_score(H, s.Y, s.w), 1e-11)


@each_loss
def test_score_with_candidates_is_accuracy(name):
    s = structured(name, "labels")
    model = fitted(s)
    hits = model.predict(s.X, candidates=s.candidates) == s.y
    assert_close(model.score(s.X, s.y, candidates=s.candidates), hits.mean(), 1e-12)


def test_score_of_the_margin_of_one_row():
    model = IOKR(RBF(1.0), loss=MaxMargin(), alpha=4.0).fit([[0.0]], [1.0])
    assert_close(model.score([[0.0]], [1.0]), -0.75, 1e-12)  # h = 1/4


# ------------------------------------------------------------------------------------------- weights


@pytest.mark.parametrize("u", [0, 6], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("kind", ["identity", "scaled"])
@each_loss
def test_weights_of_vector_outputs(name, kind, u):
    """h(x) = Σ β_i(x) y_i."""
    s = case(name, u=u, kind=kind, weighted="zeros")
    model = fitted(s)
    beta = model.weights(s.X_new)
    assert beta.shape == (5, 14)
    assert_close(beta @ s.Y, model.decision_function(s.X_new), 1e-9)


@pytest.mark.parametrize("u", [0, 6], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("outputs", OUTPUTS)
@each_loss
def test_weights_with_an_output_kernel(name, outputs, u):
    """⟨h(x), ψ(y)⟩ = Σ β_i(x) k_Y(y_i, y) for any y, K_Y singular."""
    s = structured(name, outputs, u=u)
    model = fitted(s)
    beta = model.weights(s.X_new)
    assert beta.shape == (5, 14)
    assert_close(beta @ s.Psi, s.convex.values(s.Phi_new), 1e-5)
    assert_close(beta @ s.Psi @ s.Psi_candidates.T, model.scores(s.X_new, s.candidates), 1e-9)


def test_weights_of_the_margin_are_not_negative():
    """β_i(x) = α_i k(x, x_i)/λ with α_i ≥ 0, for outputs that are linearly independent."""
    rng = np.random.default_rng(3)
    X, Y = rng.normal(size=(5, 2)), np.eye(5)
    model = IOKR(RBF(GAMMA), loss=MaxMargin(), alpha=0.5, solver=TIGHT).fit(X, Y)
    beta, K = model.weights(X), RBF(GAMMA)(X)
    alphas = 0.5 * beta / K
    assert_close(alphas, np.tile(alphas[0], (5, 1)), 1e-9)
    assert np.all((alphas >= -1e-12) & (alphas <= 1 + 1e-12))


@pytest.mark.parametrize("u", [0, 6], ids=["supervised", "semi-supervised"])
@each_norm
def test_weights_with_an_intercept_sum_to_one(name, u):
    """h(x) = Σ β_i(x) y_i: a constant of the outputs is one of h."""
    s = case(name, u=u, weighted="zeros", intercept=True)
    model = fitted(s)
    beta = model.weights(s.X_new)
    assert_close(beta.sum(axis=1), np.ones(5), 1e-9)
    assert_close(beta @ s.Y, model.decision_function(s.X_new), 1e-9)


def test_there_are_no_weights_with_an_operator_or_with_holes():
    for name in NAMES:
        s = case(name, kind="full")
        with pytest.raises(ValueError, match=r"weights|β|sum"):
            fitted(s).weights(s.X_new)
    s = case("huber", holes="entries")
    with pytest.raises(ValueError, match="missing"):
        fitted(s).weights(s.X_new)


# -------------------------------------------------------------------------- embeddings and decoders


@each_loss
def test_the_embedding_is_chosen_by_the_loss(name):
    s = structured(name, "labels")
    assert isinstance(fitted(s).embedding_, Eigen)
    assert isinstance(fitted(case(name)).embedding_, Identity)


@each_loss
def test_an_embedding_of_lower_rank(name):
    """`Eigen(n_components)`: h has the leading coordinates of the outputs, and 0 for what is left of them."""
    rng = np.random.default_rng(4)
    X, X_new = rng.normal(size=(12, 2)), rng.normal(size=(4, 2))
    Y = rng.normal(size=(12, 3))
    loss = PAIRS[name][0]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # the projections of unit vectors differ in length
        common = {"loss": loss, "solver": TIGHT, "intercept": False}
        model = IOKR(RBF(GAMMA), output_kernel=Linear(), embedding=Eigen(n_components=2), **common).fit(X, Y)
        Z = Y @ np.linalg.eigh(Y.T @ Y)[1]  # the first coordinate is the smallest
        direct = IOKR(Decomposable(RBF(GAMMA), np.diag([0.0, 1.0, 1.0])), **common).fit(X, Z)
    found, expected = model.decision_function(X_new), direct.decision_function(X_new)
    assert_close(found @ found.T, expected @ expected.T, 1e-5)  # coordinates up to signs


@each_loss_and_intercept
def test_linear_output_kernel_is_no_output_kernel(name, intercept):
    s = case(name, intercept=intercept)
    with_kernel = s.model(TIGHT, output_kernel=Linear()).fit(s.X, s.Y)
    H = fitted(s).decision_function(s.X_new)
    assert_close(with_kernel.scores(s.X_new, s.Y), H @ s.Y.T, 1e-5)


def test_threshold_decoder():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(30, 2))
    Y = (X @ rng.normal(size=(2, 4)) > 0).astype(float)
    for loss in (Huber(0.3), EpsilonSquare(0.1), EpsilonInsensitive(0.1)):
        model = IOKR(RBF(GAMMA), intercept=True, loss=loss, alpha=0.1, decoder=Threshold()).fit(X, Y)
        predicted = model.predict(X)
        assert set(np.unique(predicted)) <= {0.0, 1.0}
        assert np.mean(predicted == Y) > 0.85


def test_one_dimensional_targets():
    s = case("huber", d=1)
    flat = s.model(TIGHT).fit(s.X, s.Y[:, 0])
    assert flat.predict(s.X_new).shape == (5,)
    assert_close(flat.predict(s.X_new), fitted(s).predict(s.X_new)[:, 0], 1e-12)


# ------------------------------------------------------------------------------ scikit-learn's tools


@pytest.mark.parametrize("u", [0, 5])
@each_loss
def test_pickled_models_give_the_same_answers(name, u):
    s = case(name, u=u, kind="full")
    model = fitted(s)
    copy = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(copy.decision_function(s.X_new), model.decision_function(s.X_new))
    assert copy.solution_.gap == model.solution_.gap
    assert str(copy.solver_) == str(model.solver_)


@each_loss
def test_clone_keeps_the_parameters_of_the_loss(name):
    model = case(name).model(Auto(tol=1e-7))
    copy = clone(model)
    assert copy.loss is not model.loss
    assert copy.loss.get_params() == model.loss.get_params()
    assert copy.solver.tol == 1e-7
    assert not hasattr(copy, "solution_")


def test_fit_changes_none_of_the_given_components():
    s = case("huber")
    loss, solver = Huber(0.4), Auto(tol=1e-7)
    IOKR(RBF(), loss=loss, solver=solver).fit(s.X, s.Y)
    assert vars(loss) == {"kappa": 0.4}
    assert vars(solver) == {"tol": 1e-7, "max_iter": None}


@pytest.mark.parametrize(
    ("loss", "parameter", "values"),
    [
        (Huber(1.0), "kappa", [0.05, 0.5, 5.0]),
        (EpsilonSquare(0.1), "epsilon", [0.0, 0.2, 1.0]),
        (EpsilonInsensitive(0.1), "epsilon", [0.0, 0.2, 1.0]),
    ],
    ids=["huber", "epsilon square", "epsilon insensitive"],
)
def test_grid_search_over_the_parameter_of_the_loss(loss, parameter, values):
    s = case("huber", n=24, seed=6)
    search = GridSearchCV(IOKR(RBF(GAMMA), loss=loss, alpha=0.1), {f"loss__{parameter}": values}, cv=3)
    search.fit(s.X, s.Y)
    by_hand = []
    for value in values:
        scores = []
        for train, test in KFold(3).split(s.X):
            model = IOKR(RBF(GAMMA), loss=type(loss)(value), alpha=0.1).fit(s.X[train], s.Y[train])
            scores.append(model.score(s.X[test], s.Y[test]))
        by_hand.append(np.mean(scores))
    assert_close(search.cv_results_["mean_test_score"], by_hand, 1e-9)
    assert search.best_params_[f"loss__{parameter}"] == values[int(np.argmax(by_hand))]


def test_grid_search_over_losses():
    s = case("huber", n=24, seed=7)
    losses = [Huber(0.3), EpsilonInsensitive(0.2), EpsilonSquare(0.2)]
    search = GridSearchCV(IOKR(RBF(GAMMA), alpha=0.1), {"loss": losses, "alpha": [0.1, 1.0]}, cv=3).fit(s.X, s.Y)
    assert len(search.cv_results_["params"]) == 6
    assert np.isfinite(search.cv_results_["mean_test_score"]).all()


@each_loss
def test_pipelines_and_cross_validation(name):
    s = case(name, n=24, seed=8)
    model = make_pipeline(StandardScaler(), s.model())
    scores = cross_val_score(model, s.X, s.Y, cv=3)
    assert scores.shape == (3,)
    assert np.isfinite(scores).all()


@each_loss
def test_repr_shows_the_loss(name):
    model = case(name).model(Auto())
    assert type(model.loss).__name__ in repr(model)
    assert repr(PAIRS[name][0]).startswith(type(model.loss).__name__)


@each_loss
def test_models_stay_small(name):
    """A pickle holds the points and the coefficients, not a Gram matrix or a factor."""
    rng = np.random.default_rng(9)
    X, Y = rng.normal(size=(300, 2)), rng.normal(size=(300, 2))
    Y /= np.linalg.norm(Y, axis=1, keepdims=True)
    model = IOKR(RBF(GAMMA), loss=PAIRS[name][0], alpha=1.0).fit(X, Y)
    assert len(pickle.dumps(model)) < 8 * 300 * 300 / 4


def test_operator_with_an_output_kernel_is_refused_unless_it_is_a_multiple_of_the_identity():
    s = structured("huber", "labels")
    kernel = Decomposable(RBF(GAMMA), operator("full", 3))
    with pytest.raises(ValueError, match="A"):
        IOKR(kernel, output_kernel=Delta(), loss=Huber(0.4)).fit(s.X, s.y)


def test_normalised_output_kernel_silences_the_warning():
    rng = np.random.default_rng(10)
    X, y = rng.normal(size=(12, 2)), rng.uniform(-2, 2, size=(12, 1))
    with pytest.warns(UserWarning, match="[Nn]ormalise"):
        IOKR(RBF(GAMMA), output_kernel=Polynomial(2, 1.0, 1.0), loss=MaxMargin()).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        IOKR(RBF(GAMMA), output_kernel=Normalized(Polynomial(2, 1.0, 1.0)), loss=MaxMargin()).fit(X, y)
