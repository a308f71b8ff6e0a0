"""Kernels that do not separate, with blocks that are not symmetric: every answer against the dense nd × nd system."""

import numpy as np
import pytest

import iokr.solvers.auto
from iokr import IOKR, IOKRCV
from iokr.kernels import RBF, Linear
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber, MaxMargin
from iokr.manifolds import Given, Laplacian
from iokr.operator_kernels import BlockKernel, Decomposable, Transformable
from iokr.solvers import ADMM, Auto, Cholesky, ConjugateGradient, CoordinateDescent, Eigen, ManifoldEigen
from reference import assert_close, delayed_blocks
from samples import each_intercept

D = 3
ALPHA = 0.1


def flat(X, Z):
    """𝐊 with block (i, j) = 𝒦(x_i, z_j)."""
    return delayed_blocks(X, Z).transpose(0, 2, 1, 3).reshape(len(X) * D, len(Z) * D)


class Dense:
    """(λI + (diag(w m) + μ L ⊗ I) 𝐊) vec C + w m b = w m vec Y, solved as it stands; b = 0 without an intercept."""

    def __init__(self, semi=False, weighted=False, holes=False, intercept=False, n=7):
        rng = np.random.default_rng(3)
        self.X, self.X_new, self.Y = (rng.normal(size=size) for size in ((n, 2), (5, 2), (n, D)))
        self.more = rng.normal(size=(4, 2)) if semi else np.empty((0, 2))
        N = n + len(self.more)
        B = rng.normal(size=(N, N))
        self.manifold = Given(0.2, B @ B.T) if semi else None
        self.weight = np.array([1.0, 2.0, 0.0, 1.0, 3.0, 0.5, 1.0]) if weighted else None
        self.targets = self.Y.copy()
        if holes:
            self.targets[0, 1] = self.targets[3, 0] = self.targets[3, 1] = np.nan
        self.points = np.vstack([self.X, self.more])
        self.K = flat(self.points, self.points)
        self.intercept = intercept

    def solution(self, left_out=None, alpha=ALPHA):
        """vec C, and b."""
        N, n = len(self.points), len(self.X)
        share = np.zeros((N, D))
        share[:n] = ~np.isnan(self.targets) * (1.0 if self.weight is None else self.weight[:, None])
        if left_out is not None:
            share[left_out] = 0.0
        M = np.diag(share.ravel())
        if self.manifold is not None:
            M = M + self.manifold.weight * np.kron(self.manifold.matrix, np.eye(D))
        y = np.zeros((N, D))
        y[:n] = np.nan_to_num(self.targets)
        system, rhs = alpha * np.eye(N * D) + M @ self.K, (share * y).ravel()
        if not self.intercept:
            return np.linalg.solve(system, rhs), np.zeros(D)
        E = share.ravel()[:, None] * np.tile(np.eye(D), (N, 1))  # Σ_i w_i m_ij (h_ij + b_j − y_ij) = 0
        system = np.block([[system, E], [E.T @ self.K, np.diag(share.sum(axis=0))]])
        found = np.linalg.solve(system, np.concatenate([rhs, (share * y).sum(axis=0)]))
        return found[: N * D], found[N * D :]

    def values(self, X, **how):
        C, b = self.solution(**how)
        return (flat(X, self.points) @ C).reshape(len(X), D) + b

    def loo(self, alpha=ALPHA):
        return np.array([self.values(self.X[i : i + 1], left_out=i, alpha=alpha)[0] for i in range(len(self.X))])

    def fit(self, model):
        unlabeled = self.more if len(self.more) else None
        return model.set_params(intercept=self.intercept).fit(
            self.X, self.targets, sample_weight=self.weight, X_unlabeled=unlabeled
        )


SETTINGS = [
    pytest.param(semi, weighted, holes, id=" ".join(["semi" * semi, "weights" * weighted, "holes" * holes]).strip())
    for semi in (False, True)
    for weighted in (False, True)
    for holes in (False, True)
]


@each_intercept
@pytest.mark.parametrize(("semi", "weighted", "holes"), SETTINGS)
@pytest.mark.parametrize("solver", [None, Eigen(), Cholesky(), ManifoldEigen(), ConjugateGradient(1e-13)], ids=repr)
def test_ridge_is_the_dense_system(solver, semi, weighted, holes, intercept):
    dense = Dense(semi, weighted, holes, intercept)
    if isinstance(solver, ManifoldEigen) and not semi:
        pytest.skip("needs a penalty")
    model = dense.fit(IOKR(BlockKernel(delayed_blocks), alpha=ALPHA, manifold=dense.manifold, solver=solver))
    assert_close(model.decision_function(dense.X_new), dense.values(dense.X_new), 1e-9)
    assert model.solution_.gap < 1e-12
    if not isinstance(solver, ConjugateGradient):
        assert_close(model.loo_decision_function(), dense.loo(), 1e-9)


@each_intercept
@pytest.mark.parametrize(("semi", "weighted", "holes"), SETTINGS)
def test_selection_by_leave_one_out(semi, weighted, holes, intercept):
    dense = Dense(semi, weighted, holes, intercept)
    alphas = [1e-2, 0.1, 3.0]
    model = dense.fit(IOKRCV(BlockKernel(delayed_blocks), alphas=alphas, manifold=dense.manifold))
    seen = ~np.isnan(dense.targets) * (np.ones(7) if dense.weight is None else dense.weight)[:, None]
    expected = [D * np.sum(seen * np.nan_to_num(dense.targets - dense.loo(a)) ** 2) / seen.sum() for a in alphas]
    assert_close(model.loo_errors_, expected, 1e-9)
    alone = dense.fit(IOKR(BlockKernel(delayed_blocks), alpha=model.alpha_, manifold=dense.manifold))
    assert_close(model.decision_function(dense.X_new), alone.decision_function(dense.X_new), 1e-9)


def test_the_transposed_order_would_be_wrong():
    """The blocks are not symmetric, so h(x) = Σ 𝒦(x, x_i) c_i differs from Σ 𝒦(x_i, x) c_i."""
    dense = Dense()
    C, _ = dense.solution()
    turned = (flat(dense.X, dense.X_new).T.reshape(5, D, 7, D).transpose(0, 3, 2, 1).reshape(5 * D, -1) @ C).reshape(
        5, D
    )
    assert np.abs(turned - dense.values(dense.X_new)).max() > 0.05


@each_intercept
@pytest.mark.parametrize("semi", [False, True], ids=["supervised", "semi-supervised"])
@pytest.mark.parametrize("loss", [MaxMargin(), Huber(0.5), EpsilonSquare(0.2), EpsilonInsensitive(0.2)], ids=repr)
def test_losses_reach_their_minimum(loss, semi, intercept):
    """No direction lowers the objective, written down in vec(C) without any of the library's algebra."""
    if isinstance(loss, MaxMargin) and intercept:
        pytest.skip("an intercept could follow the classes alone")
    dense = Dense(semi, intercept=intercept)
    dense.targets /= np.linalg.norm(dense.targets, axis=1, keepdims=True)
    model = IOKR(BlockKernel(delayed_blocks), alpha=ALPHA, loss=loss, manifold=dense.manifold, solver=Auto(tol=1e-11))
    model = dense.fit(model)
    assert model.solution_.converged
    N = len(dense.points)
    penalty = np.zeros((N * D, N * D)) if not semi else 0.2 * np.kron(dense.manifold.matrix, np.eye(D))

    def objective(c, b):
        H = dense.K @ c
        fit = np.sum(loss.value(H.reshape(N, D)[:7] + b, dense.targets))
        return fit + ALPHA / 2 * c @ H + H @ penalty @ H / 2

    best, b = model.solution_.C.ravel(), model.solution_.intercept if intercept else np.zeros(D)
    rng = np.random.default_rng(0)
    for size in (1e-1, 1e-3, 1e-4):
        moves = [(size * rng.normal(size=N * D), intercept * size * rng.normal(size=D)) for _ in range(200)]
        assert min(objective(best + to, b + shift) for to, shift in moves) >= objective(best, b) - 1e-9
    values = model.decision_function(dense.X_new)
    by_admm = dense.fit(model.set_params(solver=ADMM(tol=1e-11)))
    assert_close(by_admm.decision_function(dense.X_new), values, 1e-4)


def test_the_margin_takes_coordinate_descent():
    dense = Dense()
    dense.targets /= np.linalg.norm(dense.targets, axis=1, keepdims=True)
    model = dense.fit(IOKR(BlockKernel(delayed_blocks), alpha=ALPHA, loss=MaxMargin()))
    assert isinstance(model.solver_.chosen_, CoordinateDescent)
    other = dense.fit(IOKR(BlockKernel(delayed_blocks), alpha=ALPHA, loss=MaxMargin(), solver=ADMM(tol=1e-10)))
    assert_close(model.decision_function(dense.X_new), other.decision_function(dense.X_new), 1e-3)


def test_transformable_is_the_scalar_kernel_of_transformed_inputs():
    dense = Dense()
    steps = np.arange(D) / 2
    kernel = Transformable(RBF(0.4), [lambda X, s=s: X + s for s in steps])
    model = dense.fit(IOKR(kernel, alpha=ALPHA))
    assert_close(model.decision_function(dense.X_new), dense.values(dense.X_new), 1e-10)
    S = [np.array([[1.0, 2.0]]), np.array([[0.5, -1.0]]), np.array([[0.0, 1.0]])]
    by_matrices = dense.fit(IOKR(Transformable(RBF(0.4), S), alpha=ALPHA)).decision_function(dense.X_new)
    functions = [lambda X, s=s: X @ s.T for s in S]
    assert_close(
        by_matrices, dense.fit(IOKR(Transformable(RBF(0.4), functions), alpha=ALPHA)).predict(dense.X_new), 1e-12
    )
    assert hasattr(IOKR(Transformable(RBF(), S)).fit(dense.X, dense.Y).kernel_.kernel_, "gamma_")


def test_sums_of_decomposable_kernels():
    dense = Dense()
    A, B = np.ones((D, D)), np.diag([1.0, 0.0, 2.0])
    kernel = Decomposable(RBF(0.2), A) + Decomposable(RBF(2.0), B) + 0.5 * Linear()

    def blocks(X, Z):
        return np.kron(RBF(0.2)(X, Z), A) + np.kron(RBF(2.0)(X, Z), B) + np.kron(0.5 * Linear()(X, Z), np.eye(D))

    C = np.linalg.solve(blocks(dense.X, dense.X) + ALPHA * np.eye(7 * D), dense.Y.ravel())
    expected = (blocks(dense.X_new, dense.X) @ C).reshape(5, D)
    for solver in (None, ConjugateGradient(1e-13)):
        model = dense.fit(IOKR(kernel, alpha=ALPHA, solver=solver))
        assert_close(model.decision_function(dense.X_new), expected, 1e-9)
    mixed = (0.5 * Linear()) + (Decomposable(RBF(0.2), A) + Decomposable(RBF(2.0), B))
    assert_close(dense.fit(IOKR(mixed, alpha=ALPHA)).predict(dense.X_new), expected, 1e-9)
    one = Decomposable(RBF(0.4), A) + Decomposable(RBF(0.4), B)
    together = dense.fit(IOKR(Decomposable(RBF(0.4), A + B), alpha=ALPHA))
    assert_close(dense.fit(IOKR(one, alpha=ALPHA)).predict(dense.X_new), together.predict(dense.X_new), 1e-10)
    assert_close(dense.fit(IOKR(one, alpha=ALPHA)).loo_decision_function(), together.loo_decision_function(), 1e-9)
    with_holes = Dense(holes=True)
    assert_close(
        with_holes.fit(IOKR(one, alpha=ALPHA)).loo_decision_function(),
        with_holes.fit(IOKR(Decomposable(RBF(0.4), A + B), alpha=ALPHA)).loo_decision_function(),
        1e-9,
    )


def test_conjugate_gradients_when_the_blocks_do_not_fit(monkeypatch):
    dense = Dense()
    exact = dense.fit(IOKR(BlockKernel(delayed_blocks), alpha=ALPHA))
    monkeypatch.setattr(iokr.solvers.auto, "available_memory", lambda like=None: 2000)
    monkeypatch.setattr("iokr._system.memory.available_memory", lambda like=None: 1 << 40)
    model = dense.fit(IOKR(BlockKernel(delayed_blocks), alpha=ALPHA))
    assert isinstance(model.solver_.chosen_, ConjugateGradient)
    assert "does not fit" in str(model.solver_)
    assert_close(model.predict(dense.X_new), exact.predict(dense.X_new), 1e-6)


def test_bad_blocks_are_refused():
    dense = Dense()
    X, Y = dense.X, dense.Y
    with pytest.raises(ValueError, match=r"3 × 3 but the outputs have 2"):
        IOKR(BlockKernel(delayed_blocks)).fit(X, Y[:, :2])
    with pytest.raises(ValueError, match=r"shape \(n, m, d, d\)"):
        IOKR(BlockKernel(lambda X, Z: X @ Z.T)).fit(X, Y)
    with pytest.raises(TypeError, match="function"):
        IOKR(BlockKernel(3)).fit(X, Y)
    with pytest.raises(ValueError, match="symmetric"):
        IOKR(BlockKernel(lambda X, Z: delayed_blocks(X, Z + 1))).fit(X, Y)
    with pytest.raises(ValueError, match="semi-definite"):
        IOKR(BlockKernel(lambda X, Z: -delayed_blocks(X, Z))).fit(X, Y)
    with pytest.raises(ValueError, match="not finite"):
        IOKR(BlockKernel(lambda X, Z: np.nan * delayed_blocks(X, Z))).fit(X, Y)
    with pytest.raises(ValueError, match="Given"):
        IOKR(BlockKernel(delayed_blocks), manifold=Laplacian(0.1)).fit(X, Y, X_unlabeled=X)
    with pytest.raises(ValueError, match=r"transforms\[1\]"):
        IOKR(Transformable(RBF(), [np.eye(2), np.eye(3), np.eye(2)])).fit(X, Y)
    with pytest.raises(ValueError, match="2 × 2 but the outputs have 3"):
        IOKR(Transformable(RBF(), [np.eye(2), np.eye(2)])).fit(X, Y)
    with pytest.raises(ValueError, match="output_kernel"):
        IOKR(BlockKernel(delayed_blocks), output_kernel=RBF()).fit(X, Y)
    with pytest.raises(ValueError, match="mixed"):
        IOKR(BlockKernel(delayed_blocks)).fit(X, Y).weights(X)


def test_objects_of_any_kind():
    words = np.array(["ab", "b", "abc", "ca"], dtype=object)

    def blocks(X, Z):
        shared = np.array([[len(set(x) & set(z)) for z in Z] for x in X], dtype=float)
        return shared[:, :, None, None] * np.array([[2.0, 1.0], [1.0, 2.0]])

    Y = np.arange(8.0).reshape(4, 2)
    model = IOKR(BlockKernel(blocks), alpha=0.1, intercept=False).fit(words, Y)
    K = np.kron(blocks(words, words)[:, :, 0, 0] / 2, np.array([[2.0, 1.0], [1.0, 2.0]]))
    assert_close(model.predict(words).ravel(), K @ np.linalg.solve(K + 0.1 * np.eye(8), Y.ravel()), 1e-10)
    with_mean = IOKR(BlockKernel(blocks), alpha=0.1).fit(words, Y + 100.0).predict(words)
    assert_close(with_mean, IOKR(BlockKernel(blocks), alpha=0.1).fit(words, Y).predict(words) + 100.0, 1e-10)


def test_torch_gives_the_same():
    torch = pytest.importorskip("torch")
    dense = Dense()
    S = [np.eye(2), np.diag([1.0, -1.0]), np.ones((2, 2))]
    for kernel in (Transformable(RBF(0.4), S), Decomposable(RBF(0.2), np.ones((3, 3))) + RBF(2.0)):
        ours = IOKRCV(kernel, alphas=[0.01, 1.0]).fit(dense.X, dense.Y)
        theirs = IOKRCV(kernel, alphas=[0.01, 1.0]).fit(torch.asarray(dense.X), torch.asarray(dense.Y))
        answer = theirs.predict(torch.asarray(dense.X_new))
        assert isinstance(answer, torch.Tensor)
        assert_close(answer.numpy(), ours.predict(dense.X_new), 1e-9)
        assert_close(theirs.loo_errors_, ours.loo_errors_, 1e-9)
