"""`LowRank` equals the dense solvers on kernels with few features, covariance operators included."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from sklearn.preprocessing import StandardScaler

from iokr import IOKR, IOKRCV
from iokr.embeddings import Nystroem as NystroemEmbedding
from iokr.estimators.regression.base import fitted_problem
from iokr.kernels import RBF, Cosine, EmpiricalMap, Features, Linear, Nystroem, Polynomial
from iokr.losses import Huber
from iokr.manifolds import Laplacian
from iokr.operator_kernels import ConditionalCovariance, Covariance, Decomposable
from iokr.solvers import Cholesky, Eigen, LowRank
from iokr.solvers.closed_form.lowrank import MomentsPath, ThinPath
from reference import Ridge
from samples import each_intercept

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(50, 3)), rng.normal(size=(50, 2))
X_new, Y_new = rng.normal(size=(6, 3)), rng.normal(size=(7, 2))
K = Nystroem(RBF(0.3), n_components=8)
WEIGHT = np.concatenate([np.zeros(3), rng.uniform(0.5, 2.0, size=47)])
A = np.array([[1.0, 0.4], [0.4, 0.5]])


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("operator", [lambda k: k, lambda k: Decomposable(k, A)], ids=["identity", "full"])
def test_equals_cholesky(operator, weight):
    ours = IOKR(operator(K), alpha=0.05, solver=LowRank()).fit(X, Y, sample_weight=weight)
    dense = IOKR(operator(K), alpha=0.05, solver=Cholesky()).fit(X, Y, sample_weight=weight)
    assert_allclose(ours.predict(X_new), dense.predict(X_new), atol=1e-10)
    assert_allclose(ours.loo_decision_function(), dense.loo_decision_function(), atol=1e-9)
    problem = fitted_problem(ours)
    assert_allclose(problem.objective(ours.solution_.C), problem.objective(dense.solution_.C), rtol=1e-10)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
def test_path_equals_that_of_eigen(weight):
    ours = IOKRCV(K, alphas=(1e-3, 1e-1, 10.0), solver=LowRank()).fit(X, Y, sample_weight=weight)
    dense = IOKRCV(K, alphas=(1e-3, 1e-1, 10.0), solver=Eigen()).fit(X, Y, sample_weight=weight)
    assert_allclose(ours.loo_errors_, dense.loo_errors_, rtol=1e-9)
    assert ours.alpha_ == dense.alpha_


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("epsilon", ["covariance", None, 0.02])
def test_covariance_operators_equal_the_dense_ones(epsilon, weight, centered):
    """The same kernel k̂, as features and as a matrix that does not show them, through two different algorithms."""

    def operator(kernel):
        if epsilon == "covariance":
            return Covariance(kernel, centered=centered)
        return ConditionalCovariance(kernel, epsilon, centered=centered)

    class Hidden(Nystroem):
        def gram(self, R, S=None):
            return super(Nystroem, self).gram(R, S)

    outputs = {"output_kernel": RBF(0.4), "alpha": 1e-3}
    ours = IOKR(operator(K), embedding=NystroemEmbedding(50), solver=LowRank(), **outputs)
    dense = IOKR(operator(Hidden(RBF(0.3), 8)), **outputs)
    ours.fit(X, Y, sample_weight=weight)
    dense.fit(X, Y, sample_weight=weight)
    assert_allclose(ours.scores(X_new, Y_new), dense.scores(X_new, Y_new), atol=1e-6)
    implicit = IOKR(operator(K), **outputs).fit(X, Y, sample_weight=weight)
    assert_allclose(implicit.scores(X_new, Y_new), dense.scores(X_new, Y_new), atol=1e-9)


def test_full_rank_on_both_sides_is_the_exact_model():
    kernel, embedding = Nystroem(RBF(0.3), 50), NystroemEmbedding(50)
    low = IOKR(Covariance(kernel), output_kernel=RBF(0.4), embedding=embedding, alpha=0.01, solver=LowRank())
    exact = IOKR(Covariance(RBF(0.3)), output_kernel=RBF(0.4), alpha=0.01)
    assert_allclose(low.fit(X, Y).scores(X_new, Y_new), exact.fit(X, Y).scores(X_new, Y_new), atol=1e-5)


def test_error_falls_with_the_rank():
    exact = IOKR(Covariance(RBF(0.3)), output_kernel=RBF(0.4), alpha=0.01).fit(X, Y).scores(X_new, Y_new)
    apart = []
    for rank in (10, 45):
        kernel, embedding = Covariance(Nystroem(RBF(0.3), rank)), NystroemEmbedding(rank)
        model = IOKR(kernel, output_kernel=RBF(0.4), embedding=embedding, alpha=0.01, solver=LowRank()).fit(X, Y)
        apart.append(np.linalg.norm(model.scores(X_new, Y_new) - exact) / np.linalg.norm(exact))
    assert apart[1] < 0.05 and apart[1] < apart[0] / 5


def test_no_matrix_of_all_points_is_formed(monkeypatch):
    from iokr.gram import ScalarGram

    def refuse(self, **options):
        raise AssertionError("an n × n matrix was formed")

    monkeypatch.setattr(ScalarGram, "_evaluate", refuse)
    for operator in (Covariance, ConditionalCovariance):
        model = IOKR(operator(K), output_kernel=RBF(0.4), embedding=NystroemEmbedding(8), solver=LowRank())
        model.fit(X, Y).predict(X_new, Y_new)


@pytest.mark.parametrize(
    ("model", "words"),
    [
        (IOKR(RBF(0.3), solver=LowRank()), "fewer explicit features"),
        (IOKR(Covariance(K), output_kernel=RBF(0.4), solver=LowRank()), r"embedding=Nystroem\(n_components\)"),
        (IOKR(K, loss=Huber(0.3), solver=LowRank()), "quadratic"),
        (IOKR(K, manifold=Laplacian(0.1), solver=LowRank()), "manifold"),
    ],
    ids=["dense", "implicit", "loss", "manifold"],
)
def test_refuses_in_words(model, words):
    with pytest.raises(ValueError, match=words):
        model.fit(X, Y)


def test_refuses_missing_targets():
    holes = Y.copy()
    holes[3, 1] = np.nan
    with pytest.raises(ValueError, match="missing targets"):
        IOKR(K, solver=LowRank()).fit(X, holes)


def test_is_chosen_where_features_are_few():
    few = IOKR(K, alpha=0.1).fit(X, Y)
    assert isinstance(few.solver_.chosen_, LowRank)
    assert "8 features for 50 points" in few.solver_.explain()
    assert_allclose(few.predict(X_new), IOKR(K, alpha=0.1, solver=Cholesky()).fit(X, Y).predict(X_new), atol=1e-10)
    path, dense = (IOKRCV(K, solver=solver).fit(X, Y, sample_weight=WEIGHT) for solver in (None, Eigen()))
    assert isinstance(path.solver_, LowRank) or isinstance(path.solver_.chosen_, LowRank)
    assert_allclose(path.loo_errors_, dense.loo_errors_, rtol=1e-6)
    assert_allclose(few.weights(X_new) @ Y, few.predict(X_new), atol=1e-10)
    for rank, solver in ((25, LowRank), (26, Cholesky)):  # half of 50 points, and more
        assert isinstance(IOKR(Nystroem(RBF(0.3), n_components=rank), alpha=0.1).fit(X, Y).solver_.chosen_, solver)


def test_many_points_need_little_memory(monkeypatch):
    import iokr._system.memory

    monkeypatch.setattr(
        iokr._system.memory, "available_memory", lambda like=None: 8 * 2000 * 200
    )  # n × n: ten times that
    points = rng.normal(size=(2000, 3))
    assert IOKR(K, alpha=0.1).fit(points, points).score(points, points) > 0
    with pytest.raises(MemoryError, match="2000 points"):
        IOKR(K, alpha=0.1, solver=Cholesky()).fit(points, points)


@pytest.mark.parametrize("weight", [None, WEIGHT], ids=["unweighted", "weighted"])
@pytest.mark.parametrize("operator", [lambda k: k, lambda k: Decomposable(k, A)], ids=["identity", "full"])
def test_moments_equal_singular_vectors(operator, weight):
    problem = fitted_problem(IOKR(operator(K), solver=LowRank()).fit(X, Y, sample_weight=weight))
    moments, vectors = MomentsPath(problem), ThinPath(problem)
    for alpha in (1e-3, 1.0):
        left, right = (problem.gram @ path.coefficients(problem.Psi, alpha) for path in (moments, vectors))
        assert_allclose(left, right, atol=1e-10)
        assert_allclose(moments.loo_residuals(Y, alpha), vectors.loo_residuals(Y, alpha), atol=1e-9)
    alphas = (1e-3, 0.1, 10.0)
    assert_allclose(moments.loo_errors(Y, alphas), vectors.loo_errors(Y, alphas), rtol=1e-9)


@each_intercept
def test_rows_that_alone_decide_their_value_keep_their_digits(intercept):
    """h_ii → 1: 1 − h_ii would cancel. But for a fraction of 1e-11 the other rows are a problem of their own."""
    Phi, y = np.zeros((60, 3)), rng.normal(size=(60, 1))
    Phi[0, 0], Phi[1:, 1:] = 1e4, rng.normal(size=(59, 2))
    # with an intercept e₀ has a part in two spaces, so that 1 − h₀₀ ≈ 1e-11 is a difference: eps/1e-11, a few times
    first = 1e-4 if intercept else 1e-8
    model, expected = IOKR(Linear(), solver=LowRank(), intercept=intercept), {}
    for alpha in (1e-3, 1.0):
        others = Ridge(Phi[1:] @ Phi[1:].T, y[1:], alpha, intercept=intercept)
        expected[alpha] = np.vstack([others.solution()[1], others.leave_one_out()])
        left_out = model.set_params(alpha=alpha).fit(Phi, y).loo_decision_function()
        assert_allclose(left_out[0], expected[alpha][0], atol=first)
        assert_allclose(left_out[1:], expected[alpha][1:], atol=1e-8)
    errors = [np.mean((y - H) ** 2) for H in expected.values()]
    path = IOKRCV(Linear(), alphas=tuple(expected), solver=LowRank(), intercept=intercept).fit(Phi, y)
    assert_allclose(path.loo_errors_, errors, rtol=1e-6)
    if not intercept:  # rounding of the centred matrix would show
        dense = IOKRCV(Linear(), alphas=tuple(expected), solver=Eigen(), intercept=False).fit(Phi, y)
        assert_allclose(dense.loo_errors_, errors, rtol=1e-6)


KERNELS = {
    "linear": Linear(),
    "scaled": 2.5 * Linear(),
    "sum": Linear() + 0.5 * Cosine(),
    "cosine": Cosine(),
    "polynomial": Polynomial(2, 0.5, 1.0),
    "homogeneous": Polynomial(2, 0.5, 0.0),
    "features": Features(StandardScaler()),
}


@each_intercept
@pytest.mark.parametrize("kernel", KERNELS.values(), ids=KERNELS)
def test_every_kernel_with_few_dense_features_is_solved_by_them(kernel, intercept):
    few = IOKR(kernel, alpha=0.1, intercept=intercept).fit(X, Y)
    assert isinstance(few.solver_.chosen_, LowRank)
    exact = kernel(X)
    expected = Ridge(exact, Y, 0.1, intercept=intercept).values(kernel.fit(X)(X_new, X))
    assert_allclose(few.predict(X_new), expected, atol=1e-10)
    assert_allclose(few.kernel_.gram(few.inputs_.points).dense(), exact, atol=1e-12)


def test_as_many_features_as_objects_are_no_low_rank():
    assert EmpiricalMap(RBF(0.3)).fit(X).gram(np.ones((60, 50))).factor is None
    assert Linear().gram(np.ones((3, 3))).factor is None


def test_few_columns_cost_little_time_and_memory(monkeypatch):
    """3 columns and 20 000 rows: 8n² bytes would be 3 GB."""
    import iokr._system.memory

    monkeypatch.setattr(iokr._system.memory, "available_memory", lambda like=None: 3 * 10**8)
    points = rng.normal(size=(20_000, 3))
    model = IOKRCV(Linear()).fit(points, points[:, 0])
    assert model.loo_errors_.min() < 1e-9
