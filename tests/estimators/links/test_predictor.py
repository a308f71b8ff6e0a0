"""Link prediction against explicit features: labelled, unlabelled and unseen nodes, leave-one-out, the best pairs.

Tests of `iokr.estimators.links.network` and `iokr.estimators.links.ranking`.
"""

import pickle

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone

import iokr.estimators.links.ranking as ranking
import reference
from convex import Convex, Margin, factor
from iokr import LinkPredictor
from iokr.kernels import RBF, Diffusion, Normalized, Precomputed, RegularizedLaplacian
from iokr.losses import Huber, MaxMargin
from iokr.manifolds import Given, Laplacian
from iokr.solvers import CoordinateDescent
from network_samples import diffusion, laplacian, network, normalized
from reference import Ridge, assert_close

S = network()


def values(s, K_Y, alpha, mu=0.0, nodes=None):
    """h at `nodes` in explicit features of the labelled nodes: the dense system in all coefficients."""
    points = s.X[s.order] if mu else s.X[s.labeled]
    K = s.gram(points, points)
    problem = Ridge(K, factor(K_Y), alpha, L=reference.graph_laplacian(K, 3) if mu else None, mu=mu)
    return problem.values(s.gram(s.X if nodes is None else nodes, points))


def model(s, alpha, mu=0.0, **parts):
    manifold = Laplacian(mu, 3) if mu else None
    return LinkPredictor(RBF(s.gamma), alpha=alpha, manifold=manifold, **parts)


KERNELS = {
    "default": (None, lambda W: normalized(diffusion(W))),
    "plain diffusion": (Diffusion(0.5), lambda W: diffusion(W, 0.5)),
    "regularized": (RegularizedLaplacian(2.0), lambda W: np.linalg.inv(np.eye(len(W)) + 2.0 * laplacian(W))),
    "sum": (
        Diffusion(0.5) + Normalized(Diffusion(2.0)),
        lambda W: diffusion(W, 0.5) + normalized(diffusion(W, 2.0)),
    ),
}


@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("alpha", [1e-3, 1.0])
@pytest.mark.parametrize("name", KERNELS)
def test_ridge_scores_are_those_of_explicit_features(name, alpha, mu):
    output_kernel, K_Y = KERNELS[name]
    fitted = model(S, alpha, mu, output_kernel=output_kernel).fit(S.X, S.W, S.labeled)
    K_Y = K_Y(S.W_labeled)
    H, H_new = values(S, K_Y, alpha, mu), values(S, K_Y, alpha, mu, S.X_new)
    assert_close(fitted.decision_function(), H @ H.T, 1e-9)
    assert_close(fitted.decision_function(S.X_new), H_new @ H.T, 1e-9)
    assert_close(fitted.decision_function(S.X_new, S.X_new), H_new @ H_new.T, 1e-9)
    assert_close(fitted.decision_function(S.X[3:5], S.X_new), H[3:5] @ H_new.T, 1e-9)


@pytest.mark.parametrize("mu", [0.0, 0.5])
@pytest.mark.parametrize("alpha", [0.05, 1.0])
def test_margin_scores_are_those_of_explicit_features(alpha, mu):
    """The primal problem in features of the input kernel, by an interior point."""
    K_Y = normalized(diffusion(S.W_labeled))
    everything = np.vstack([S.X[S.order], S.X_new])
    Phi = factor(S.gram(everything, everything))
    N, n = len(S.X), len(S.labeled)
    K = S.gram(S.X[S.order], S.X[S.order])
    points = Phi[:N] if mu else Phi[:n]
    problem = Convex(points, factor(K_Y), Margin(), alpha, L=reference.graph_laplacian(K, 3) if mu else None, mu=mu)
    H = np.empty((N, n))
    H[S.order] = problem.values(Phi[:N])
    H_new = problem.values(Phi[N:])
    fitted = model(S, alpha, mu, loss=MaxMargin(), solver=CoordinateDescent(1e-12, 100_000))
    fitted.fit(S.X, S.W, S.labeled)
    assert_close(fitted.decision_function(), H @ H.T, 1e-5)
    assert_close(fitted.decision_function(S.X_new, S.X_new), H_new @ H_new.T, 1e-5)


def test_margin_dual_through_the_output_kernel():
    """B = diag(α): h(x) = (1/λ) Σ α_i k(x, x_i) ψ(y_i), with α of the dual in K_Y ∘ K / λ."""
    alpha = 0.3
    K_Y, K = normalized(diffusion(S.W_labeled)), S.gram(S.X[S.labeled], S.X[S.labeled])
    Q = K_Y * K / alpha
    a = np.zeros(len(Q))
    for _ in range(20_000):
        for i in range(len(Q)):
            a[i] = np.clip(a[i] - (Q[i] @ a - 1) / Q[i, i], 0, 1)
    B = S.gram(S.X, S.X[S.labeled]) * a / alpha
    fitted = model(S, alpha, loss=MaxMargin(), solver=CoordinateDescent(1e-12, 100_000)).fit(S.X, S.W, S.labeled)
    assert_close(fitted.decision_function(), B @ K_Y @ B.T, 1e-6)


@pytest.mark.parametrize("loss", [None, MaxMargin(), Huber(0.5)], ids=repr)
def test_scores_of_all_nodes_are_positive_semidefinite(loss):
    fitted = model(S, 0.1, 0.2, loss=loss).fit(S.X, S.W, S.labeled)
    scores = fitted.decision_function()
    assert_close(scores, scores.T, 1e-14)
    assert np.linalg.eigvalsh(scores).min() >= -1e-12 * np.trace(scores)
    everyone = np.vstack([S.X, S.X_new])
    scores = fitted.decision_function(everyone, everyone)
    assert np.linalg.eigvalsh((scores + scores.T) / 2).min() >= -1e-12 * np.trace(scores)


@pytest.mark.parametrize("mu", [0.0, 0.5])
def test_leave_one_out_scores_are_those_of_refits_with_the_output_kernel_fixed(mu):
    """One refit per node without its label; with a manifold the node stays in the graph."""
    fitted = model(S, 0.1, mu).fit(S.X, S.W, S.labeled)
    points = S.X[S.order] if mu else S.X[S.labeled]
    K, V = S.gram(points, points), factor(normalized(diffusion(S.W_labeled)))
    H = Ridge(K, V, 0.1, L=reference.graph_laplacian(K, 3) if mu else None, mu=mu).leave_one_out()
    assert_close(fitted.loo_decision_function(), H @ H.T, 1e-9)


def test_leave_one_out_has_no_closed_form_with_a_margin():
    with pytest.raises(ValueError, match="quadratic"):
        model(S, 0.1, loss=MaxMargin()).fit(S.X, S.W, S.labeled).loo_decision_function()


# ----------------------------------------------------------------------------------------------------
# Forms of the same input
# ----------------------------------------------------------------------------------------------------


def test_forms_of_adjacency_and_labels_agree():
    expected = model(S, 0.1, 0.2).fit(S.X, S.W, S.labeled).decision_function()
    unknown = S.W.copy()
    unknown[S.unlabeled] = np.nan  # what is not labelled is not read
    unknown[:, S.unlabeled] = -3.0
    mask = np.isin(np.arange(len(S.X)), S.labeled)
    ascending = np.flatnonzero(mask)
    for adjacency, labeled in [
        (S.W_labeled, S.labeled),
        (sparse.csr_matrix(S.W), S.labeled.tolist()),
        (unknown, S.labeled),
        (S.W.astype(bool), mask),
        (sparse.coo_array(S.W[np.ix_(ascending, ascending)]), mask),
    ]:
        assert_close(model(S, 0.1, 0.2).fit(S.X, adjacency, labeled).decision_function(), expected, 1e-10)


def test_order_of_the_labelled_nodes_does_not_matter():
    some = model(S, 0.1).fit(S.X, S.W, S.labeled)
    other = model(S, 0.1).fit(S.X, S.W, S.labeled[::-1])
    assert_close(some.decision_function(), other.decision_function(), 1e-10)
    assert_close(some.loo_decision_function(), other.loo_decision_function()[::-1, ::-1], 1e-10)


def test_inputs_as_gram_matrices():
    K, K_new = S.gram(S.X, S.X), S.gram(S.X_new, S.X)
    expected = model(S, 0.1).fit(S.X, S.W, S.labeled)
    given = LinkPredictor(Precomputed(), alpha=0.1).fit(K, S.W, S.labeled)
    assert_close(given.decision_function(), expected.decision_function(), 1e-10)
    assert_close(given.decision_function(K_new), expected.decision_function(S.X_new), 1e-10)
    whole = LinkPredictor(Precomputed(K), alpha=0.1, manifold=Laplacian(0.3))
    whole.fit(np.arange(len(K)), S.W, S.labeled)
    assert_close(
        whole.decision_function(),
        clone(expected).set_params(manifold=Laplacian(0.3)).fit(S.X, S.W, S.labeled).decision_function(),
        1e-9,
    )


def test_output_kernel_of_the_whole_graph():
    """A kernel that brings its own graph is indexed by all nodes: the block of the labelled ones is the target."""
    own = Normalized(Diffusion(1.0, S.W))
    fitted = model(S, 0.1, output_kernel=own).fit(S.X, S.W, S.labeled)
    K_Y = normalized(diffusion(S.W))
    H = values(S, K_Y[np.ix_(S.labeled, S.labeled)], 0.1)
    assert_close(fitted.decision_function(), H @ H.T, 1e-9)
    same = model(S, 0.1, output_kernel=Precomputed(K_Y)).fit(S.X, S.W, S.labeled)
    assert_close(same.decision_function(), H @ H.T, 1e-9)


def test_given_penalty_is_over_labelled_then_unlabelled_nodes():
    K = S.gram(S.X[S.order], S.X[S.order])
    given = LinkPredictor(RBF(S.gamma), alpha=0.1, manifold=Given(0.5, reference.graph_laplacian(K, 3)))
    expected = model(S, 0.1, 0.5).fit(S.X, S.W, S.labeled).decision_function()
    assert_close(given.fit(S.X, S.W, S.labeled).decision_function(), expected, 1e-9)


def test_without_unlabelled_nodes_a_manifold_is_over_the_labelled_ones():
    fitted = model(S, 0.1, 0.5).fit(S.X[S.labeled], S.W_labeled)
    K = S.gram(S.X[S.labeled], S.X[S.labeled])
    H = Ridge(K, factor(normalized(diffusion(S.W_labeled))), 0.1, L=reference.graph_laplacian(K, 3), mu=0.5).values(K)
    assert_close(fitted.decision_function(), H @ H.T, 1e-9)


def test_single_precision_is_answered_in_kind():
    fitted = model(S, 0.1).fit(S.X.astype(np.float32), S.W, S.labeled)
    expected = model(S, 0.1).fit(S.X.astype(np.float32).astype(float), S.W, S.labeled)
    assert fitted.decision_function().dtype == np.float32
    assert_close(fitted.decision_function(), expected.decision_function(), 1e-6)


def test_clones_prints_and_survives_pickling():
    fitted = model(S, 0.1, 0.2, output_kernel=2.0 * Diffusion(0.5)).fit(S.X, S.W, S.labeled)
    restored = pickle.loads(pickle.dumps(fitted))
    assert_close(restored.decision_function(S.X_new), fitted.decision_function(S.X_new), 1e-15)
    assert restored.best_threshold() == fitted.best_threshold()
    assert repr(clone(fitted)) == repr(fitted)
    assert clone(fitted).set_params(output_kernel__base__beta=2.0).output_kernel.base.beta == 2.0


def test_a_second_fit_forgets_the_first():
    fitted = model(S, 0.1).fit(S.X, S.W, S.labeled)
    before = fitted.best_threshold()
    again = fitted.set_params(alpha=10.0).fit(S.X, S.W, S.labeled).best_threshold()
    assert again == model(S, 10.0).fit(S.X, S.W, S.labeled).best_threshold() != before


def test_fit_leaves_the_components_alone():
    parts = {"output_kernel": Normalized(Diffusion(1.0)), "loss": MaxMargin(), "manifold": Laplacian(0.1)}
    LinkPredictor(RBF(0.4), **parts).fit(S.X, S.W, S.labeled)
    assert parts["output_kernel"].base.graph is None
    assert not any(name.endswith("_") for part in parts.values() for name in vars(part))


# ----------------------------------------------------------------------------------------------------
# Links
# ----------------------------------------------------------------------------------------------------


def best(scores, top=None, above=-np.inf, known=(), among=True):
    """All pairs, sorted: the obvious way."""
    pairs = [
        (-scores[i, j], i, j)
        for i in range(scores.shape[0])
        for j in range(i + 1 if among else 0, scores.shape[1])
        if scores[i, j] > above and (i, j) not in known
    ]
    return [(i, j) for _, i, j in sorted(pairs)][:top]


@pytest.mark.parametrize("panel", [1, 40, 1 << 22])
@pytest.mark.parametrize("top", [1, 7, 60, 10_000, None])
def test_blocked_best_pairs_are_the_dense_ones(top, panel, monkeypatch):
    monkeypatch.setattr(ranking, "_PANEL", panel)
    rng = np.random.default_rng(1)
    H = rng.integers(-2, 3, size=(23, 3)).astype(float)  # many equal scores, exactly
    G = rng.integers(-2, 3, size=(9, 3)).astype(float)
    known = np.array([[0, 3], [5, 7], [2, 22]])
    for above in (-np.inf, 0.0, 3.0):
        pairs, scores = ranking.best_pairs(H, H, top=top, above=above, known=known, one_list=True)
        assert list(map(tuple, pairs)) == best(H @ H.T, top, above, set(map(tuple, known.tolist())))
        np.testing.assert_array_equal(scores, (H @ H.T)[pairs[:, 0], pairs[:, 1]])
        pairs, scores = ranking.best_pairs(H, G, top=top, above=above)
        assert list(map(tuple, pairs)) == best(H @ G.T, top, above, among=False)
        np.testing.assert_array_equal(scores, (H @ G.T)[pairs[:, 0], pairs[:, 1]])


def test_predicted_links_leave_out_the_known_ones():
    fitted = model(S, 0.1, 0.2).fit(S.X, S.W, S.labeled)
    scores = fitted.decision_function()
    links = {tuple(sorted((i, j))) for i in S.labeled for j in S.labeled if S.W[i, j]}
    assert links
    pairs, values_ = fitted.predict_links(top=20)
    assert list(map(tuple, pairs)) == best(scores, 20, known=links)
    assert_close(values_, [scores[i, j] for i, j in pairs], 1e-12)
    pairs, _ = fitted.predict_links(top=20, known=True)
    assert list(map(tuple, pairs)) == best(scores, 20)
    pairs, _ = fitted.predict_links()
    assert list(map(tuple, pairs)) == best(scores, above=fitted.best_threshold(), known=links)
    pairs, _ = fitted.predict_links(threshold=0.3, top=5)
    assert list(map(tuple, pairs)) == best(scores, 5, above=0.3, known=links)


def test_links_of_new_nodes():
    fitted = model(S, 0.1).fit(S.X, S.W, S.labeled)
    pairs, _ = fitted.predict_links(S.X_new, top=9)
    assert list(map(tuple, pairs)) == best(fitted.decision_function(S.X_new), 9, among=False)
    pairs, _ = fitted.predict_links(S.X_new, S.X_new, top=4)
    assert list(map(tuple, pairs)) == best(fitted.decision_function(S.X_new, S.X_new), 4)
    pairs, _ = fitted.predict_links(S.X_new, S.X_new.copy(), top=4)  # two lists: self-pairs are pairs
    assert list(map(tuple, pairs)) == best(fitted.decision_function(S.X_new, S.X_new), 4, among=False)


def f1(truth, predicted):
    return 2 * np.sum(truth & predicted) / (truth.sum() + predicted.sum())


def test_threshold_has_the_best_f1_on_leave_one_out_scores():
    fitted = model(S, 0.1).fit(S.X, S.W, S.labeled)
    rows, columns = np.triu_indices(len(S.labeled), k=1)
    truth, scores = S.W_labeled[rows, columns] > 0, fitted.loo_decision_function()[rows, columns]
    tried = [f1(truth, scores > t) for t in np.append(scores, scores.min() - 1)]
    assert f1(truth, scores > fitted.best_threshold()) == max(tried)


def test_threshold_with_ties_and_at_the_ends():
    truth, scores = np.array([True, True, False, True, False]), np.array([1.0, 1.0, 1.0, 0.5, 0.2])
    assert 0.2 < ranking.f1_threshold(truth, scores) < 0.5
    assert ranking.f1_threshold(np.array([True, True]), np.array([0.3, 0.1])) < 0.1
    assert 0.1 < ranking.f1_threshold(np.array([True, False]), np.array([0.3, 0.1])) < 0.3


def test_threshold_between_neighbouring_numbers():
    for low in (np.nextafter(1.0, 0.0), 1.0, np.nextafter(1.0, 2.0)):
        high = np.nextafter(low, np.inf)
        theta = ranking.f1_threshold(np.array([True, False]), np.array([high, low]))
        assert low <= theta < high


def test_threshold_by_node_folds_with_a_margin():
    """Out-of-fold scores by hand: every pair with a node of the fold, by a model of the other nodes' links."""
    from iokr.model_selection import NodeKFold

    fitted = model(S, 0.3, loss=MaxMargin()).fit(S.X, S.W, S.labeled)
    truth, scores = [], []
    for train, test in NodeKFold(5).split(S.labeled):
        part = model(S, 0.3, loss=MaxMargin()).fit(S.X, S.W, S.labeled[train])
        for i in range(len(S.labeled)):
            for j in range(i + 1, len(S.labeled)):
                if i in test or j in test:
                    u, v = S.labeled[i], S.labeled[j]
                    truth.append(S.W[u, v] > 0)
                    scores.append(part.decision_function(S.X[[u]], S.X[[v]])[0, 0])
    truth, scores = np.array(truth), np.array(scores)
    tried = [f1(truth, scores > t) for t in np.append(scores, scores.min() - 1)]
    assert f1(truth, scores > fitted.best_threshold()) >= max(tried) - 1e-12


def test_finds_links_of_nodes_without_any_known():
    """A sanity check of the whole, not of a formula."""
    from iokr.metrics import roc_auc_pairs

    found = []
    for seed in range(5):
        s = network(seed, N=150, n=15, density=0.1)
        new = ~np.isin(np.arange(150), s.labeled)
        plain = LinkPredictor(alpha=0.1).fit(s.X, s.W, s.labeled)
        found.append(roc_auc_pairs(s.W, plain.decision_function(), where=new[:, None] | new[None, :]))
    assert np.mean(found) > 0.7
