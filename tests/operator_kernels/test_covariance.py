"""Covariance operators: the fast algorithm gives what the n² × n² system of the paper and explicit coordinates give."""

import numpy as np
import pytest

import iokr.gram.scalar
import iokr.solvers.closed_form.symmetric_system
from iokr import IOKR, IOKRCV
from iokr.embeddings import Eigen as EigenEmbedding
from iokr.kernels import RBF, Delta, Linear, Precomputed
from iokr.losses import EpsilonInsensitive, Huber, MaxMargin
from iokr.manifolds import Laplacian
from iokr.operator_kernels import ConditionalCovariance, Covariance, Decomposable
from iokr.solvers import Auto, Cholesky, ManifoldEigen
from reference import assert_close

EPSILON = 0.07
OPERATORS = [
    pytest.param(conditional, centered, id=f"{'conditional' if conditional else 'plain'}{' centred' * centered}")
    for conditional in (False, True)
    for centered in (False, True)
]
KERNELS = [
    pytest.param(RBF(0.5), RBF(0.3), id="regular"),
    pytest.param(Linear(), Linear(), id="singular"),
    pytest.param(RBF(0.5), Linear(), id="singular outputs"),
]


def operator_kernel(kernel, conditional, centered, epsilon=EPSILON):
    return ConditionalCovariance(kernel, epsilon, centered) if conditional else Covariance(kernel, centered)


def G_of(K, conditional, centered, epsilon=EPSILON):
    """A = (1/n) Φ G Φᵀ, by inverses."""
    n = len(K)
    P = np.eye(n) - centered / n
    return P @ (n * epsilon * np.linalg.inv(P @ K @ P + n * epsilon * np.eye(n)) if conditional else np.eye(n)) @ P


def data(n, seed=0, m=5, c=6):
    rng = np.random.default_rng(seed)
    X, X_new, Y, candidates = (rng.normal(size=size) for size in ((n, 2), (m, 2), (n, 3), (c, 3)))
    return X, X_new, Y, candidates


def coordinates(K_Y):
    t, Q = np.linalg.eigh(K_Y)
    return Q * np.sqrt(np.clip(t, 0, None))


@pytest.mark.parametrize(("kernel", "output_kernel"), KERNELS)
@pytest.mark.parametrize(("conditional", "centered"), OPERATORS)
@pytest.mark.parametrize("alpha", [1e-3, 0.2])
def test_scores_are_those_of_the_published_system(kernel, output_kernel, conditional, centered, alpha):
    n = 8
    X, X_new, Y, candidates = data(n)
    K, K_Y = kernel(X), output_kernel(Y)
    T = G_of(K, conditional, centered) @ K_Y
    system = np.kron(K, T) + n * alpha * np.eye(n * n)  # vec stacks columns here
    coefficients = np.linalg.solve(system, np.eye(n).ravel(order="F"))
    expected = [
        [k_y @ np.kron(k_x[None, :], T) @ coefficients for k_y in output_kernel(candidates, Y)]
        for k_x in kernel(X_new, X)
    ]
    model = IOKR(operator_kernel(kernel, conditional, centered), output_kernel=output_kernel, alpha=alpha).fit(X, Y)
    assert_close(model.scores(X_new, candidates), expected, 1e-10)


@pytest.mark.parametrize(("kernel", "output_kernel"), KERNELS)
@pytest.mark.parametrize(("conditional", "centered"), OPERATORS)
def test_explicit_coordinates_give_the_same_at_sixty_points(kernel, output_kernel, conditional, centered):
    X, X_new, Y, candidates = data(60)
    K, V = kernel(X), coordinates(output_kernel(Y))
    A = V.T @ G_of(K, conditional, centered) @ V / 60
    ours = operator_kernel(kernel, conditional, centered)
    structured = IOKR(ours, output_kernel=output_kernel, embedding=EigenEmbedding(), alpha=0.01)
    for intercept in (True, False):
        explicit = IOKR(Decomposable(kernel, (A + A.T) / 2), alpha=0.01, intercept=intercept).fit(X, V)
        as_vectors = IOKR(ours, alpha=0.01, intercept=intercept).fit(X, V)
        assert_close(as_vectors.decision_function(X_new), explicit.decision_function(X_new), 1e-9)
        eigen = structured.set_params(intercept=intercept).fit(X, Y)
        # inner products with ψ(y_i), as rounding of a zero eigenvalue of K_Y is a column of V of size √eps
        assert_close(eigen.weights(X_new) @ output_kernel(Y), explicit.decision_function(X_new) @ V.T, 1e-9)
        if intercept and centered:
            assert_close(eigen.weights(X_new).sum(axis=1), np.ones(len(X_new)), 1e-9)
    implicit = IOKR(ours, output_kernel=output_kernel, alpha=0.01).fit(X, Y)
    assert_close(implicit.weights(X_new) @ V, explicit.decision_function(X_new), 1e-9)
    assert_close(eigen.distances(X_new, candidates), implicit.distances(X_new, candidates), 1e-8)


@pytest.mark.parametrize("alpha", [1e-9, 1e-3, 0.2, 50.0])
@pytest.mark.parametrize(("kernel", "output_kernel"), KERNELS)
@pytest.mark.parametrize(("conditional", "centered"), OPERATORS)
def test_leave_one_out_is_refitting_with_the_operator_held_fixed(kernel, output_kernel, conditional, centered, alpha):
    n = 9
    X, _, Y, _ = data(n, 1)
    K, V = kernel(X), coordinates(output_kernel(Y))
    A = V.T @ G_of(K, conditional, centered) @ V / n
    A = (A + A.T) / 2
    refits = []
    for i in range(n):
        rest = np.delete(np.arange(n), i)
        model = IOKR(Decomposable(kernel, A), alpha=alpha, intercept=False).fit(X[rest], V[rest])
        refits.append(model.decision_function(X[i : i + 1])[0])
    ours = operator_kernel(kernel, conditional, centered)
    implicit = IOKR(ours, output_kernel=output_kernel, alpha=alpha).fit(X, Y)
    assert_close(implicit.loo_decision_function() @ V, refits, 1e-5 if alpha < 1e-6 else 1e-9)
    errors = IOKRCV(ours, output_kernel=output_kernel, alphas=[alpha, 1.0]).fit(X, Y).loo_errors_
    assert_close(errors[0], np.mean(np.sum((V - refits) ** 2, axis=1)), 1e-5 if alpha < 1e-6 else 1e-9)


@pytest.mark.parametrize(("conditional", "centered"), OPERATORS)
@pytest.mark.parametrize("epsilon", [EPSILON, None])
def test_a_weight_of_two_is_the_row_twice(conditional, centered, epsilon):
    X, X_new, Y, candidates = data(8)
    weight = np.array([1, 2, 0, 3, 1, 1, 0, 2])
    kernel = operator_kernel(RBF(0.5), conditional, centered, epsilon)
    rows = np.repeat(np.arange(8), weight)
    weighted = IOKR(kernel, output_kernel=RBF(0.3), alpha=0.1).fit(X, Y, sample_weight=weight)
    repeated = IOKR(kernel, output_kernel=RBF(0.3), alpha=0.1).fit(X[rows], Y[rows])
    assert_close(weighted.scores(X_new, candidates), repeated.scores(X_new, candidates), 1e-11)
    vectors = IOKR(kernel, alpha=0.1).fit(X, Y, sample_weight=weight).predict(X_new)
    assert_close(vectors, IOKR(kernel, alpha=0.1).fit(X[rows], Y[rows]).predict(X_new), 1e-11)


@pytest.mark.parametrize(("conditional", "centered"), OPERATORS)
def test_weighted_leave_one_out_is_refitting(conditional, centered):
    X, _, Y, _ = data(8)
    weight = np.array([1.0, 2.0, 0.0, 0.5, 1.0, 1e-9, 0.0, 2.0])
    ours = operator_kernel(RBF(0.5), conditional, centered)
    V = coordinates(RBF(0.3)(Y))
    A = IOKR(ours, alpha=0.1).fit(X, V, sample_weight=weight).kernel_.A_
    fixed = IOKR(Decomposable(RBF(0.5), A), alpha=0.1, intercept=False).fit(X, V, sample_weight=weight)
    implicit = IOKR(ours, output_kernel=RBF(0.3), alpha=0.1).fit(X, Y, sample_weight=weight)
    assert_close(implicit.loo_decision_function() @ V, fixed.loo_decision_function(), 1e-9)
    errors = [
        IOKRCV(kernel, alphas=[1e-3, 0.1, 10.0], intercept=False, **outputs).fit(X, y, sample_weight=weight).loo_errors_
        for kernel, y, outputs in ((ours, Y, {"output_kernel": RBF(0.3)}), (Decomposable(RBF(0.5), A), V, {}))
    ]
    assert_close(*errors, 1e-9)


@pytest.mark.parametrize("solver", [None, ManifoldEigen(), ManifoldEigen("eigen")], ids=repr)
@pytest.mark.parametrize(("conditional", "centered"), OPERATORS)
def test_unlabelled_points(conditional, centered, solver):
    X, X_new, Y, _ = data(9, 2)
    more = np.random.default_rng(5).normal(size=(6, 2))
    V = coordinates(RBF(0.3)(Y))
    A = V.T @ G_of(RBF(0.5)(X), conditional, centered) @ V / 9
    A = (A + A.T) / 2
    ours = operator_kernel(RBF(0.5), conditional, centered)
    implicit = IOKR(ours, output_kernel=RBF(0.3), alpha=0.1, manifold=Laplacian(0.4), solver=solver)
    explicit = IOKR(Decomposable(RBF(0.5), A), alpha=0.1, manifold=Laplacian(0.4), intercept=False)
    implicit.fit(X, Y, X_unlabeled=more)
    explicit.fit(X, V, X_unlabeled=more)
    assert_close(implicit.weights(X_new) @ V, explicit.decision_function(X_new), 1e-9)
    assert_close(implicit.loo_decision_function() @ V, explicit.loo_decision_function(), 1e-9)
    grid = {"alphas": [1e-3, 1.0], "manifold_weights": [0.0, 0.4, 3.0], "manifold": Laplacian(1.0)}
    ours_cv = IOKRCV(ours, output_kernel=RBF(0.3), **grid).fit(X, Y, X_unlabeled=more)
    theirs = IOKRCV(Decomposable(RBF(0.5), A), intercept=False, **grid).fit(X, V, X_unlabeled=more)
    assert_close(ours_cv.loo_errors_, theirs.loo_errors_, 1e-9)


@pytest.mark.parametrize("loss", [Huber(0.3), EpsilonInsensitive(0.1), MaxMargin()], ids=repr)
@pytest.mark.parametrize(("conditional", "centered"), OPERATORS)
def test_other_losses_through_coordinates(loss, conditional, centered):
    X, X_new, Y, candidates = data(12, 3)
    output_kernel = RBF(0.3)
    V = coordinates(output_kernel(Y))
    A = V.T @ G_of(RBF(0.5)(X), conditional, centered) @ V / 12
    solver = Auto(tol=1e-10)
    implicit = IOKR(
        operator_kernel(RBF(0.5), conditional, centered),
        output_kernel=output_kernel,
        loss=loss,
        alpha=0.01,
        solver=solver,
    ).fit(X, Y)
    kernel = Decomposable(RBF(0.5), (A + A.T) / 2)
    explicit = IOKR(kernel, loss=loss, alpha=0.01, solver=solver, intercept=False).fit(X, V)
    new = output_kernel(candidates, Y) @ np.linalg.pinv(V).T
    assert_close(implicit.scores(X_new, candidates), explicit.decision_function(X_new) @ new.T, 1e-4)
    assert_close(implicit.weights(X_new) @ V, explicit.decision_function(X_new), 1e-4)


def test_limits_of_epsilon():
    X, X_new, Y, candidates = data(10)
    plain = IOKR(Covariance(RBF(0.5)), output_kernel=RBF(0.3), alpha=0.1).fit(X, Y).scores(X_new, candidates)

    def conditional(epsilon):
        kernel = ConditionalCovariance(RBF(0.5), epsilon)
        return IOKR(kernel, output_kernel=RBF(0.3), alpha=0.1).fit(X, Y).scores(X_new, candidates)

    assert_close(conditional(1e9), plain, 1e-8)
    assert np.abs(conditional(1e-9)).max() < 1e-4 * np.abs(plain).max()  # K is regular, so nothing is left unexplained


def test_default_epsilon_is_a_hundredth_of_the_largest_eigenvalue():
    X, _, Y, _ = data(300)
    fitted = IOKR(ConditionalCovariance(RBF(0.5))).fit(X, Y).kernel_
    assert_close(fitted.epsilon_, 1e-2 * np.linalg.eigvalsh(RBF(0.5)(X))[-1] / 300, 1e-10)


@pytest.mark.parametrize("centered", [False, True])
def test_several_epsilons_share_the_eigendecomposition_of_the_inputs(monkeypatch, centered):
    X, _, Y, _ = data(12)
    calls = []
    for module in (iokr.gram.scalar, iokr.solvers.closed_form.symmetric_system):
        original = module.eigh
        monkeypatch.setattr(module, "eigh", lambda *a, f=original, **how: calls.append(1) or f(*a, **how))
    kernel = RBF(0.5)
    epsilons = [1e-3, 1e-2, 1e-1]
    grid = [ConditionalCovariance(kernel, e, centered) for e in epsilons]
    together = IOKRCV(grid, output_kernel=RBF(0.3), alphas=[0.01, 1.0])
    errors = together.fit(X, Y).loo_errors_
    assert len(calls) == 1
    apart = [IOKRCV(one, output_kernel=RBF(0.3), alphas=[0.01, 1.0]).fit(X, Y).loo_errors_ for one in grid]
    assert_close(errors, apart, 1e-12)
    best = epsilons[together.best_index_[0]]
    assert together.kernel_.epsilon == best
    alone = IOKR(ConditionalCovariance(kernel, best, centered), output_kernel=RBF(0.3), alpha=together.alpha_).fit(X, Y)
    assert_close(together.decision_function(X), alone.decision_function(X), 1e-12)


def test_folds_estimate_the_operator_anew():
    X, _, Y, _ = data(15)
    model = IOKRCV(Covariance(RBF(0.5)), output_kernel=RBF(0.3), alphas=[0.05], cv=3).fit(X, Y)
    total = 0.0
    for test in np.array_split(np.arange(15), 3):
        train = np.setdiff1d(np.arange(15), test)
        part = IOKR(Covariance(RBF(0.5)), output_kernel=RBF(0.3), alpha=0.05).fit(X[train], Y[train])
        total += float(np.sum(np.diagonal(part.distances(X[test], Y[test]))))
    assert_close(float(model.cv_errors_), total / 15, 1e-10)


def test_labels_as_outputs_and_decoding():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 2))
    y = np.where(X[:, 0] > 0, np.where(X[:, 1] > 0, "ne", "se"), np.where(X[:, 1] > 0, "nw", "sw")).astype(object)
    for kernel in (Covariance(RBF(0.5)), ConditionalCovariance(RBF(0.5))):
        model = IOKRCV(kernel, output_kernel=Delta(), alphas=(1e-5, 1e-4, 1e-3)).fit(X, y)
        assert np.mean(model.predict(X) == y) > 0.9
        order, _ = model.rank(X[:3], ["ne", "se", "nw", "sw"])
        assert [["ne", "se", "nw", "sw"][i] for i in order[:, 0]] == list(model.predict(X[:3]))


def test_precomputed_inputs_and_outputs():
    X, X_new, Y, _ = data(8)
    direct = IOKR(ConditionalCovariance(RBF(0.5), 0.1), output_kernel=RBF(0.3), alpha=0.1).fit(X, Y)
    square = IOKR(ConditionalCovariance(Precomputed(), 0.1), output_kernel=Precomputed(RBF(0.3)(Y)), alpha=0.1)
    square.fit(RBF(0.5)(X), np.arange(8))
    assert_close(square.weights(RBF(0.5)(X_new, X)), direct.weights(X_new), 1e-12)


@pytest.mark.parametrize("bad", [None, "rbf", Covariance(RBF())])
@pytest.mark.parametrize("make", [Covariance, ConditionalCovariance, lambda k: Decomposable(k, np.eye(2))])
def test_what_is_no_scalar_kernel_is_refused(make, bad):
    with pytest.raises(TypeError, match=r"`kernel` of .* must be a scalar kernel, got"):
        IOKR(make(bad)).fit(np.ones((3, 1)), np.ones((3, 2)))


def test_centring_is_yes_or_no():
    with pytest.raises(ValueError, match="`centered` must be one of True, False, got 'no'"):
        IOKR(Covariance(RBF(), "no")).fit(np.ones((3, 1)), np.ones((3, 2)))


def test_what_has_no_formula_is_refused():
    X, _, Y, _ = data(8)
    holes = Y.copy()
    holes[0, 1] = np.nan
    with pytest.raises(ValueError, match="missing entries"):
        IOKR(Covariance(RBF(0.5))).fit(X, holes)
    with pytest.raises(ValueError, match="`epsilon` must be a positive number"):
        IOKR(ConditionalCovariance(RBF(0.5), 0.0)).fit(X, Y)
    with pytest.raises(TypeError, match="scalar kernel"):
        IOKR(Covariance(Decomposable(RBF(0.5), np.eye(3)))).fit(X, Y)
    with pytest.raises(ValueError, match="as many eigenvalues"):
        IOKR(Covariance(RBF(0.5)), output_kernel=RBF(0.3), solver=Cholesky()).fit(X, Y)


def test_torch_gives_the_same():
    torch = pytest.importorskip("torch")
    X, X_new, Y, _ = data(10)
    for conditional in (False, True):
        kernel = operator_kernel(RBF(0.5), conditional, True)
        model = IOKRCV(kernel, output_kernel=RBF(0.3), alphas=[1e-3, 0.1]).fit(X, Y)
        theirs = IOKRCV(kernel, output_kernel=RBF(0.3), alphas=[1e-3, 0.1]).fit(torch.asarray(X), torch.asarray(Y))
        answer = theirs.decision_function(torch.asarray(X_new))
        assert isinstance(answer, torch.Tensor)
        assert_close(answer.numpy(), model.decision_function(X_new), 1e-10)
        assert_close(theirs.loo_errors_, model.loo_errors_, 1e-10)


def random_G(n, rank, seed=4):
    R = np.random.default_rng(seed).normal(size=(n, rank))
    return R @ R.T


@pytest.mark.parametrize("centered", [False, True])
@pytest.mark.parametrize("rank", [3, 8])
def test_a_given_G_is_the_published_system_with_it(centered, rank):
    n, alpha = 8, 0.05
    X, X_new, Y, candidates = data(n)
    G, P = random_G(n, rank), np.eye(n) - centered / n
    K, K_Y = RBF(0.5)(X), RBF(0.3)(Y)
    T = P @ G @ P @ K_Y
    coefficients = np.linalg.solve(np.kron(K, T) + n * alpha * np.eye(n * n), np.eye(n).ravel(order="F"))
    expected = [
        [k_y @ np.kron(k_x[None, :], T) @ coefficients for k_y in RBF(0.3)(candidates, Y)] for k_x in RBF(0.5)(X_new, X)
    ]
    model = IOKR(Covariance(RBF(0.5), centered, G), output_kernel=RBF(0.3), alpha=alpha).fit(X, Y)
    assert_close(model.scores(X_new, candidates), expected, 1e-9)


def test_a_given_G_on_vectors_weights_and_known_cases():
    n = 20
    X, X_new, Y, _ = data(n)
    G = random_G(n, 20)
    ours = IOKR(Covariance(RBF(0.5), G=G), alpha=0.02).fit(X, Y)
    assert_close(ours.kernel_.A_, Y.T @ G @ Y / n, 1e-12)
    dense = IOKR(Decomposable(RBF(0.5), Y.T @ G @ Y / n), alpha=0.02).fit(X, Y)
    assert_close(ours.predict(X_new), dense.predict(X_new), 1e-9)
    plain = IOKR(Covariance(RBF(0.5)), output_kernel=RBF(0.3)).fit(X, Y)
    identity = IOKR(Covariance(RBF(0.5), G=np.eye(n)), output_kernel=RBF(0.3)).fit(X, Y)
    assert_close(identity.scores(X_new, Y), plain.scores(X_new, Y), 1e-9)
    K = RBF(0.5)(X)
    conditional = IOKR(ConditionalCovariance(RBF(0.5), EPSILON), output_kernel=RBF(0.3)).fit(X, Y)
    given = IOKR(Covariance(RBF(0.5), G=G_of(K, True, False)), output_kernel=RBF(0.3)).fit(X, Y)
    assert_close(given.scores(X_new, Y), conditional.scores(X_new, Y), 1e-8)
    w = 1.0 + (np.arange(n) == 4)
    weighted = IOKR(Covariance(RBF(0.5), G=G), alpha=0.02).fit(X, Y, sample_weight=w)
    D = np.sqrt(w / w.sum())
    assert_close(weighted.kernel_.A_, Y.T @ (D[:, None] * G * D) @ Y, 1e-12)


def test_a_G_that_is_none_is_refused():
    X, _, Y, _ = data(10)
    with pytest.raises(ValueError, match="`G` must have a row and a column for each of the 10 labelled rows"):
        IOKR(Covariance(RBF(0.5), G=np.eye(9)), output_kernel=RBF(0.3)).fit(X, Y)
    with pytest.raises(ValueError, match="positive semi-definite"):
        IOKR(Covariance(RBF(0.5), G=-np.eye(10))).fit(X, Y)
    with pytest.raises(ValueError, match="symmetric"):
        IOKR(Covariance(RBF(0.5), G=np.triu(np.ones((10, 10))))).fit(X, Y)
