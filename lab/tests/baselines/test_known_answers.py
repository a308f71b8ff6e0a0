"""Each rival on a case whose answer is known, and its formula against a slow one.

Tests of `iokr_lab.baselines.cca`, `iokr_lab.baselines.em`, `iokr_lab.baselines.local`, `iokr_lab.baselines.metric`,
`iokr.apps.links.baselines` and `iokr_lab.baselines.tppk`.
"""

import itertools

import numpy as np
import pytest
from scipy.linalg import block_diag, qr
from scipy.optimize import minimize
from sklearn.metrics import roc_auc_score
from sklearn.svm import SVC

from iokr import LinkPredictor
from iokr.apps.links.baselines import PKMR, Naive
from iokr.kernels import RBF, Centered, Diffusion, Linear, Mean, Normalized, Precomputed
from iokr_lab.baselines import TPPK, EMCompletion, KernelCCA, KernelMetricLearning, LocalModels
from iokr_lab.baselines.em import e_step
from tolerance import rounding

N, LABELED = 14, np.array([3, 0, 7, 9, 1, 12, 5, 4])
n = len(LABELED)
NEW = np.setdiff1d(np.arange(N), LABELED)
rng = np.random.default_rng(0)
X = rng.normal(size=(N, 3))
W = np.triu(rng.random((N, N)) < 0.35, 1).astype(float)
W = W + W.T
W_L = W[np.ix_(LABELED, LABELED)]
K = np.exp(-0.3 * ((X[:, None] - X[None, :]) ** 2).sum(axis=2))
K_LL = K[np.ix_(LABELED, LABELED)]
P = np.eye(n) - 1 / n
PERFECT = pytest.approx(1.0, abs=rounding(21, 1.0))  # an area is a sum over at most 21 pairs
LAPLACIAN = np.diag(W_L.sum(axis=1)) - W_L


def diffusion(W):
    L = np.diag(W.sum(axis=1)) - W
    s, U = np.linalg.eigh(L)
    D = (U * np.exp(-s)) @ U.T
    return D / np.sqrt(np.outer(np.diag(D), np.diag(D)))


K_Y = diffusion(W_L)


def given(matrix):
    """A kernel between labelled nodes as one over all nodes."""
    whole = np.eye(N)
    whole[np.ix_(LABELED, LABELED)] = matrix
    return Precomputed(whole)


def cliques(*sizes):
    return block_diag(*[np.ones((m, m)) - np.eye(m) for m in sizes])


def on_pairs(scores, W):
    i, j = np.triu_indices(len(W), 1)
    return W[i, j], scores[i, j]


def fit(model):
    return model.fit(X, W, labeled=LABELED)


def test_default_output_kernel_is_the_unit_diffusion_kernel_of_the_training_graph():
    ours = fit(PKMR(RBF(0.3), alpha=0.2)).decision_function()
    same = fit(PKMR(RBF(0.3), output_kernel=given(K_Y), alpha=0.2)).decision_function()
    np.testing.assert_allclose(ours, same, atol=1e-11)
    other = fit(PKMR(RBF(0.3), output_kernel=Diffusion(1.0), alpha=0.2)).decision_function()
    assert np.abs(other - ours).max() > 1e-3


# --------------------------------------------------------------------------------------------------------------- naive


def test_naive_on_two_groups_is_perfect_and_blind_to_links():
    groups = block_diag(np.ones((4, 4)), np.ones((3, 3)))
    model = Naive(Precomputed(groups)).fit(np.arange(7), cliques(4, 3))
    scores = model.decision_function()
    assert roc_auc_score(*on_pairs(scores, cliques(4, 3))) == PERFECT
    np.testing.assert_array_equal(
        scores, Naive(Precomputed(groups)).fit(np.arange(7), cliques(2, 5)).decision_function()
    )
    np.testing.assert_allclose(fit(Naive(RBF(0.3))).decision_function(), K, atol=1e-14)


# ----------------------------------------------------------------------------------------------------------------- cca


def test_cca_of_a_kernel_with_itself():
    """K = K_Y, κ₁ = κ₂: ρ = s/(s + κ), and F Fᵀ = K̄(K̄ + κI)⁻¹ with all features."""
    kappa, kernel = 0.3, Precomputed(K_LL)
    model = KernelCCA(kernel, output_kernel=kernel, kappa_x=kappa, kappa_y=kappa, n_components=n, score="inner")
    model.fit(np.arange(n), W_L)
    centred = P @ K_LL @ P
    s = np.linalg.eigvalsh(centred)[::-1]
    np.testing.assert_allclose(model.correlations_[: n - 1], (s / (s + kappa))[: n - 1], rtol=1e-11)
    expected = centred @ np.linalg.inv(centred + kappa * np.eye(n))
    np.testing.assert_allclose(model.decision_function(), expected, atol=1e-12)


def test_cca_without_regularisation_is_classical():
    Y = np.column_stack([X[:n, 0] + X[:n, 1] ** 2, X[:n, 2] ** 3])
    model = KernelCCA(Linear(), output_kernel=Precomputed(Y @ Y.T), kappa_x=1e-12, kappa_y=1e-12)
    model.fit(X[:n], W_L)
    Q_x, Q_y = (qr(P @ Z, mode="economic")[0] for Z in (X[:n], Y))
    expected = np.linalg.svd(Q_x.T @ Q_y, compute_uv=False)
    np.testing.assert_allclose(model.correlations_, expected, rtol=1e-9)


def test_cca_solves_the_generalised_eigenproblem():
    kappa_x, kappa_y = 0.2, 0.5
    model = fit(KernelCCA(RBF(0.3), kappa_x=kappa_x, kappa_y=kappa_y, n_components=4, score="inner"))
    Kc, Yc, alpha, rho = P @ K_LL @ P, P @ K_Y @ P, model.coefficients_, model.correlations_
    A, B = Kc @ Kc + kappa_x * Kc, Yc @ Yc + kappa_y * Yc
    np.testing.assert_allclose(alpha.T @ A @ alpha, np.eye(4), atol=1e-11)
    beta = np.linalg.pinv(B) @ Yc @ Kc @ alpha / rho
    np.testing.assert_allclose(Kc @ Yc @ beta, A @ alpha * rho, atol=1e-11)
    features = (K[:, LABELED] - K_LL.mean(axis=1)) @ P @ alpha
    np.testing.assert_allclose(model.decision_function(), features @ features.T, atol=1e-11)
    weighted = fit(KernelCCA(RBF(0.3), kappa_x=kappa_x, kappa_y=kappa_y, n_components=4, score="weighted"))
    np.testing.assert_allclose(weighted.decision_function(), features * rho @ features.T, atol=1e-11)
    cosines = fit(KernelCCA(RBF(0.3), kappa_x=kappa_x, kappa_y=kappa_y, n_components=4)).decision_function()
    lengths = np.linalg.norm(features, axis=1)
    np.testing.assert_allclose(cosines, features @ features.T / np.outer(lengths, lengths), atol=1e-11)


def test_cca_in_the_other_form():
    model = fit(KernelCCA(RBF(0.3), kappa_x=0.2, kappa_y=0.5, n_components=n, exact=False))
    roots = [G @ np.linalg.inv(G + k * np.eye(n)) for G, k in ((P @ K_LL @ P, 0.2), (P @ K_Y @ P, 0.5))]
    expected = np.linalg.svd(roots[0] @ roots[1], compute_uv=False)
    np.testing.assert_allclose(model.correlations_, expected[: len(model.correlations_)], atol=1e-12)
    alpha, S = model.coefficients_, P @ K_LL @ P + 0.2 * np.eye(n)
    np.testing.assert_allclose(alpha.T @ S @ S @ alpha, np.eye(alpha.shape[1]), atol=1e-10)


# ------------------------------------------------------------------------------------------------------ metric learning


def test_metric_of_the_identity_kernel_is_the_spectrum_of_the_graph():
    model = KernelMetricLearning(Precomputed(np.eye(n)), alpha=0.4, n_components=n).fit(np.arange(n), W_L)
    values, vectors = np.linalg.eigh(P @ LAPLACIAN @ P + 100 * (np.eye(n) - P))
    np.testing.assert_allclose(model.ratios_ - 0.4, values[: n - 1], atol=1e-12)
    F = P @ model.coefficients_
    np.testing.assert_allclose(F @ F.T, vectors[:, : n - 1] @ vectors[:, : n - 1].T, atol=1e-12)


def test_metric_of_two_cliques():
    W = cliques(4, 3)
    model = KernelMetricLearning(Precomputed(np.eye(7)), alpha=0.4, n_components=1).fit(np.arange(7), W)
    assert model.ratios_[0] == pytest.approx(0.4, abs=1e-12)
    feature = P_of(7) @ model.coefficients_[:, 0]
    assert np.ptp(feature[:4]) < 1e-12 and np.ptp(feature[4:]) < 1e-12
    assert roc_auc_score(*on_pairs(model.decision_function(), W)) == PERFECT


def P_of(m):
    return np.eye(m) - 1 / m


def test_no_function_has_a_smaller_ratio():
    model = fit(KernelMetricLearning(RBF(0.3), alpha=0.4, n_components=3))
    Kc = P @ K_LL @ P
    for alpha in [*rng.normal(size=(50, n)), model.coefficients_[:, 0]]:
        f = Kc @ alpha
        ratio = (f @ LAPLACIAN @ f + 0.4 * alpha @ Kc @ alpha) / (f @ f)
        assert ratio >= model.ratios_[0] - 1e-10
    assert ratio == pytest.approx(model.ratios_[0], rel=1e-9)
    F = model.decision_function()[np.ix_(LABELED, LABELED)]
    features = Kc @ model.coefficients_
    np.testing.assert_allclose(features.T @ features, np.eye(3), atol=1e-10)
    np.testing.assert_allclose(F, -((features[:, None] - features[None, :]) ** 2).sum(axis=2), atol=1e-10)
    inner = fit(KernelMetricLearning(RBF(0.3), alpha=0.4, n_components=3, score="inner")).decision_function()
    np.testing.assert_allclose(inner[np.ix_(LABELED, LABELED)], features @ features.T, atol=1e-10)


# --------------------------------------------------------------------------------------------------------- local models


def separate(fit_one):
    """g_a(v) for all nodes v, one model at a time."""
    G = np.empty((N, n))
    for a in range(n):
        others = np.delete(np.arange(n), a)
        G[:, a] = fit_one(others, np.where(W_L[others, a] > 0, 1.0, -1.0))
    return G


def test_local_ridge_equals_separate_fits():
    def ridge(others, y):
        c = np.linalg.solve(K_LL[np.ix_(others, others)] + 0.3 * np.eye(n - 1), y)
        return K[:, LABELED[others]] @ c

    check_local(fit(LocalModels(RBF(0.3), loss="square", alpha=0.3)), separate(ridge))


def test_local_machines_equal_separate_fits():
    def machine(others, y):
        if len(set(y)) == 1:
            return np.full(N, -1.0)
        svc = SVC(C=1 / 0.05, kernel="precomputed").fit(K_LL[np.ix_(others, others)], y)
        return svc.decision_function(K[:, LABELED[others]])

    check_local(fit(LocalModels(RBF(0.3), alpha=0.05)), separate(machine))


def check_local(model, G):
    scores = model.decision_function()
    np.testing.assert_allclose(scores[np.ix_(NEW, LABELED)], G[NEW], atol=1e-9)
    np.testing.assert_allclose(scores[np.ix_(LABELED, NEW)], G[NEW].T, atol=1e-9)
    both = (G[LABELED] + G[LABELED].T) / 2
    off = ~np.eye(n, dtype=bool)
    np.testing.assert_allclose(scores[np.ix_(LABELED, LABELED)][off], both[off], atol=1e-9)
    assert np.isnan(scores[np.ix_(NEW, NEW)]).all()
    np.testing.assert_allclose(model.decision_function(X[NEW])[:, LABELED], G[NEW], atol=1e-9)
    with pytest.raises(ValueError, match="must contain labelled nodes"):
        model.decision_function(X[NEW], X[NEW])


def test_a_node_without_links_says_no():
    lonely = W_L.copy()
    lonely[2, :] = lonely[:, 2] = 0
    model = LocalModels(RBF(0.3)).fit(X, lonely, labeled=LABELED)
    np.testing.assert_array_equal(model.decision_function()[NEW, LABELED[2]], -1.0)


# ------------------------------------------------------------------------------------------------------- EM completion


def kl(D, M):
    A = np.linalg.solve(M, D)
    return (np.trace(A) - np.linalg.slogdet(A)[1] - len(D)) / 2


def test_e_step_is_stationary_and_keeps_the_divergence():
    B = rng.normal(size=(N, N))
    M = B @ B.T + np.eye(N)
    D = e_step(K_Y, M)
    gradient = np.linalg.inv(M) - np.linalg.inv(D)
    np.testing.assert_allclose(gradient[n:], 0, atol=1e-10)
    assert kl(D, M) == pytest.approx(kl(K_Y, M[:n, :n]), rel=1e-10)
    np.testing.assert_allclose(D[:n, :n], K_Y)
    np.testing.assert_allclose(e_step(M[:n, :n], M), M, atol=1e-10)


def test_em_is_regression_plus_covariance():
    sigma2 = 0.3
    model = fit(EMCompletion(RBF(0.3), alpha=sigma2))
    order = np.concatenate([LABELED, NEW])
    M = K[np.ix_(order, order)] + sigma2 * np.eye(N)
    c = np.trace(np.linalg.solve(M[:n, :n], K_Y)) / n
    D = e_step(K_Y, c * M)
    ours = model.decision_function()[np.ix_(order, order)]
    off = ~np.eye(N, dtype=bool)
    np.testing.assert_allclose(ours[off], D[off], atol=1e-11)
    Q = np.linalg.inv(K_LL + sigma2 * np.eye(n))
    B = K[np.ix_(NEW, LABELED)] @ Q
    covariance = K[np.ix_(NEW, NEW)] - B @ K[np.ix_(LABELED, NEW)]
    fact = B @ K_Y @ B.T + c * covariance
    np.testing.assert_allclose(model.decision_function(X[NEW], X[NEW]), fact, atol=1e-11)
    np.testing.assert_allclose(ours[:n, :n], K_Y, atol=1e-12)
    grid = [kl(K_Y, scale * M[:n, :n]) for scale in (0.99 * c, c, 1.01 * c)]
    assert grid[1] == min(grid)


def test_em_without_its_covariance_is_ridge_for_two_new_nodes():
    ours = fit(EMCompletion(RBF(0.3), alpha=0.3, covariance=False))
    theirs = fit(LinkPredictor(RBF(0.3), alpha=0.3))
    np.testing.assert_allclose(
        ours.decision_function(X[NEW], X[NEW]), theirs.decision_function(X[NEW], X[NEW]), atol=1e-10
    )


def test_a_kernel_that_is_its_own_reference_is_kept():
    noisy = K_LL + 0.3 * np.eye(n)
    model = EMCompletion(RBF(0.3), output_kernel=given(noisy), alpha=0.3).fit(X, W, labeled=LABELED)
    off = ~np.eye(N, dtype=bool)
    np.testing.assert_allclose(model.weights_, 1.0)
    np.testing.assert_allclose(model.decision_function()[off], K[off], atol=1e-11)


@pytest.mark.parametrize("model", ["spectral", "kernels"])
def test_em_iterations_lower_the_divergence(model):
    kernel = Mean([RBF(0.3), RBF(3.0), Linear()])
    completion = fit(EMCompletion(kernel, alpha=0.3, model=model, max_iter=30, tol=0))
    steps = np.diff(completion.divergences_)
    assert len(steps) > 5 and np.all(steps <= 1e-9) and steps[0] < 0
    scores = completion.decision_function()
    np.testing.assert_allclose(scores[np.ix_(LABELED, LABELED)], K_Y, atol=1e-12)
    np.testing.assert_array_equal(scores, scores.T)
    with pytest.raises(ValueError, match="scores nodes of `fit` only"):
        completion.decision_function(X[:2])


def test_spectral_m_step_is_the_minimum():
    completion = fit(EMCompletion(RBF(0.3), alpha=0.3, model="spectral", max_iter=1))
    V = np.linalg.eigh(K[np.ix_(o := np.concatenate([LABELED, NEW]), o)])[1]
    D = completion.decision_function()[np.ix_(o, o)]
    best = np.sum(V * (D @ V), axis=0)
    for factor in (0.9, 1.1):
        for j in range(N):
            other = best.copy()
            other[j] *= factor
            assert kl(D, (V * best) @ V.T) < kl(D, (V * other) @ V.T)


def test_kernels_model_finds_the_kernel_that_made_the_outputs():
    parts = [RBF(0.3)(X), RBF(3.0)(X)]
    truth = parts[0] + 1e-3 * np.eye(N)
    kernel = Mean([Precomputed(part) for part in parts])
    model = EMCompletion(
        kernel, output_kernel=given(truth[np.ix_(LABELED, LABELED)]), alpha=1.0, model="kernels", max_iter=3000
    )
    model.fit(np.arange(N), W, labeled=LABELED)
    assert model.weights_[0] == pytest.approx(1, abs=0.05) and np.all(model.weights_[1:] < 0.05)


# ---------------------------------------------------------------------------------------------------------------- PKMR


def test_pkmr_without_penalty_interpolates():
    for penalty in ("trace", "norm"):
        model = fit(PKMR(RBF(0.3), alpha=0.0, penalty=penalty))
        scores = model.decision_function()
        np.testing.assert_allclose(scores[np.ix_(LABELED, LABELED)], K_Y, atol=1e-7)
        B = np.linalg.solve(K_LL, K[LABELED]).T
        np.testing.assert_allclose(scores, B @ K_Y @ B.T, atol=1e-6)


def test_pkmr_of_the_kernel_itself():
    model = PKMR(RBF(0.3), output_kernel=given(K_LL), alpha=0.0).fit(X, W, labeled=LABELED)
    np.testing.assert_allclose(model.decision_function()[np.ix_(LABELED, LABELED)], K_LL, atol=1e-9)


@pytest.mark.parametrize("penalty", ["trace", "norm"])
def test_pkmr_is_the_minimum(penalty):
    lam, m = 0.1, 5
    K, T = K_LL[:m, :m], K_Y[:m, :m]
    model = PKMR(Precomputed(K), output_kernel=Precomputed(T), alpha=lam, penalty=penalty).fit(
        np.arange(m), W_L[:m, :m]
    )

    def objective(flat):
        G = flat.reshape(m, m)
        A = G @ G.T if penalty == "trace" else (G + G.T) / 2
        E = T - K @ A @ K
        extra = lam * np.trace(A @ K) if penalty == "trace" else lam / 2 * np.trace(A @ K @ A @ K)
        gradient = -K @ E @ K + (lam * K if penalty == "trace" else lam * K @ A @ K)
        return (E**2).sum() / 2 + extra, (2 * gradient @ G if penalty == "trace" else gradient).ravel()

    start = np.random.default_rng(1).normal(size=m * m)
    best = minimize(objective, start, jac=True, method="BFGS", options={"maxiter": 5000, "gtol": 1e-11}).x.reshape(m, m)
    A = best @ best.T if penalty == "trace" else (best + best.T) / 2
    np.testing.assert_allclose(model.decision_function(), K @ A @ K, atol=1e-5)


def test_a_large_penalty_leaves_nothing():
    bound = np.linalg.eigvalsh(K_LL)[-1] * np.linalg.eigvalsh(K_Y)[-1]
    model = fit(PKMR(RBF(0.3), alpha=bound))
    assert model.rank_ == 0
    np.testing.assert_array_equal(model.decision_function(), np.zeros((N, N)))
    ranks = [fit(PKMR(RBF(0.3), alpha=alpha)).rank_ for alpha in (1e-3, 0.1, 1.0)]
    assert ranks == sorted(ranks, reverse=True) and ranks[0] > ranks[-1]


# ---------------------------------------------------------------------------------------------------------------- TPPK


def tppk(pairs, others):
    (a, b), (c, d) = np.transpose(pairs), np.transpose(others)
    return K[np.ix_(a, c)] * K[np.ix_(b, d)] + K[np.ix_(a, d)] * K[np.ix_(b, c)]


@pytest.mark.parametrize("unlinked", [-1.0, 0.0])
def test_tppk_ridge_equals_the_dense_solution_over_all_pairs(unlinked):
    pairs = LABELED[list(itertools.combinations_with_replacement(range(n), 2))]
    own = pairs[:, 0] == pairs[:, 1]
    y = np.where(own, 1.0, np.where(W[pairs[:, 0], pairs[:, 1]] > 0, 1.0, unlinked))
    alpha = np.linalg.solve(tppk(pairs, pairs) + 0.3 * np.diag(np.where(own, 2.0, 1.0)), y)
    scores = fit(TPPK(RBF(0.3), alpha=0.3, unlinked=unlinked)).decision_function()
    every = np.array(list(itertools.product(range(N), repeat=2)))
    np.testing.assert_allclose(scores.ravel(), tppk(every, pairs) @ alpha, atol=1e-10)
    np.testing.assert_allclose(scores, scores.T, atol=1e-12)


def test_tppk_machine_equals_a_machine_on_pairs():
    pairs = LABELED[np.array(list(itertools.combinations(range(n), 2)))]
    y = W[pairs[:, 0], pairs[:, 1]] > 0
    machine = SVC(C=1 / 0.5, kernel="precomputed", tol=1e-8).fit(tppk(pairs, pairs), y)
    scores = fit(TPPK(RBF(0.3), loss="hinge", alpha=0.5, ratio=100)).decision_function()
    every = np.array(list(itertools.product(range(N), repeat=2)))
    expected = machine.decision_function(tppk(every, pairs))
    np.testing.assert_allclose(scores.ravel(), expected, atol=0.02)  # the machines stop at 1e-3


def test_decoys_follow_the_ratio(monkeypatch):
    sizes = []
    original = SVC.fit
    monkeypatch.setattr(SVC, "fit", lambda self, G, y: sizes.append((len(y), y.sum())) or original(self, G, y))
    first = fit(TPPK(RBF(0.3), loss="hinge", ratio=1)).decision_function()
    again = fit(TPPK(RBF(0.3), loss="hinge", ratio=1)).decision_function()
    links = int(W_L.sum() / 2)
    assert sizes == [(2 * links, links)] * 2
    np.testing.assert_array_equal(first, again)


def test_normalised_and_centred_kernels_are_kernels_like_others():
    """A kernel that is already centred changes nothing for a method that centres."""
    plain = fit(KernelCCA(RBF(0.3))).decision_function()
    centred = fit(KernelCCA(Centered(RBF(0.3)))).decision_function()
    np.testing.assert_allclose(plain, centred, atol=1e-9)
    assert isinstance(fit(Naive(Normalized(Linear()))).decision_function(), np.ndarray)
