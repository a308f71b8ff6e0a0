"""Kronecker ridge on two kinds of nodes: beside plain NumPy, refits, and what users would do instead."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.sparse import csr_array
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.kernel_ridge import KernelRidge
from sklearn.metrics import roc_auc_score

from iokr import BipartitePredictor
from iokr.kernels import RBF, Aligned, Columns, Linear, Precomputed, Spectrum
from iokr.kernels.alignment import alignment_weights

rng = np.random.default_rng(0)
X, Z = rng.normal(size=(14, 3)), rng.normal(size=(9, 2))
Y = (rng.random((14, 9)) < 0.3).astype(float)
K1, K2 = RBF(0.3)(X), RBF(0.5)(Z)


def model(**options):
    return BipartitePredictor(RBF(0.3), RBF(0.5), **{"alpha": 0.4, **options})


def kronecker(K1, K2, Y, alpha):
    """C of the (n1 n2)² system, written out: the slow and obvious way. NaN entries are left out."""
    seen = ~np.isnan(Y.ravel())
    G = np.kron(K1, K2)[np.ix_(seen, seen)]
    C = np.zeros(Y.size)
    C[seen] = np.linalg.solve(G + alpha * np.eye(seen.sum()), Y.ravel()[seen])
    return C.reshape(Y.shape)


def with_gaps(share=0.25):
    gaps = Y.copy()
    gaps[np.random.default_rng(5).random(Y.shape) < share] = np.nan
    return gaps


@pytest.mark.parametrize("links", [Y, with_gaps()], ids=["all pairs", "some not known"])
def test_equals_kronecker_ridge_in_plain_numpy(links):
    fitted, C = model().fit(X, Z, links), kronecker(K1, K2, links, 0.4)
    new, news = rng.normal(size=(4, 3)), rng.normal(size=(5, 2))
    assert_allclose(fitted.decision_function(), K1 @ C @ K2, rtol=1e-6, atol=1e-8)
    expected = RBF(0.3)(new, X) @ C @ RBF(0.5)(Z, news)
    assert_allclose(fitted.decision_function(new, news), expected, rtol=1e-6, atol=1e-8)
    assert_allclose(fitted.decision_function(Z=news), K1 @ C @ RBF(0.5)(Z, news), rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize("links", [Y, with_gaps()], ids=["all pairs", "some not known"])
def test_leaving_out_a_row_or_a_column_equals_refits(links):
    fitted = model().fit(X, Z, links)
    rows, columns = fitted.loo_decision_function("row"), fitted.loo_decision_function("column")
    for i in range(len(X)):
        kept = np.arange(len(X)) != i
        again = model().fit(X[kept], Z, links[kept]).decision_function(X[[i]])
        assert_allclose(rows[[i]], again, rtol=1e-6, atol=1e-8)
    for j in range(len(Z)):
        kept = np.arange(len(Z)) != j
        again = model().fit(X, Z[kept], links[:, kept]).decision_function(Z=Z[[j]])
        assert_allclose(columns[:, [j]], again, rtol=1e-6, atol=1e-8)


def test_both_kinds_see_one_model():
    fitted = model().fit(X, Z, Y)
    assert_allclose(
        fitted.row_model_.decision_function(X), fitted.column_model_.decision_function(Z).T, rtol=1e-9, atol=1e-12
    )
    turned = BipartitePredictor(RBF(0.5), RBF(0.3), alpha=0.4).fit(Z, X, Y.T)
    assert_allclose(turned.decision_function(), fitted.decision_function().T, rtol=1e-9, atol=1e-12)


def test_alpha_and_kernels_are_those_of_the_best_left_out_scores():
    kernels, partners, alphas = [RBF(0.01), RBF(0.3)], [RBF(0.5), Linear()], (0.1, 1.0, 10.0)
    for leave in ("row", "column", "both"):
        chosen = BipartitePredictor(kernels, partners, alpha=alphas, leave=leave).fit(X, Z, Y)
        assert chosen.scores_.shape == (2, 2, 3)
        for i, j, a in np.ndindex(2, 2, 3):
            one = BipartitePredictor(kernels[i], partners[j], alpha=alphas[a]).fit(X, Z, Y)
            sides = [one.loo_decision_function(side) for side in ("row", "column") if leave in (side, "both")]
            areas = [roc_auc_score(Y.ravel(), S.ravel()) for S in sides]
            assert chosen.scores_[i, j, a] == pytest.approx(np.mean(areas), abs=1e-9)
        best = np.unravel_index(chosen.scores_.argmax(), (2, 2, 3))
        expected = BipartitePredictor(kernels[best[0]], partners[best[1]], alpha=alphas[best[2]]).fit(X, Z, Y)
        assert chosen.alpha_ == alphas[best[2]]
        assert_allclose(chosen.decision_function(), expected.decision_function(), rtol=1e-9)


def test_numbers_are_chosen_by_their_squared_error():
    values = X[:, :1] + Z[:, :1].T
    chosen = model(alpha=(1e-3, 1e3)).fit(X, Z, values)
    assert chosen.alpha_ == 1e-3 and np.all(chosen.scores_ < 0)
    with pytest.raises(ValueError, match="two different values"):
        model(alpha=(0.1, 1.0), scoring="roc_auc").fit(X, Z, values)


def test_links_best_first_and_known_ones_left_out():
    fitted = model().fit(X, Z, with_gaps())
    S = fitted.decision_function()
    pairs, scores = fitted.predict_links(top=500)
    assert {tuple(pair) for pair in pairs.tolist()} == {
        tuple(pair) for pair in np.argwhere(~(fitted.links_ > 0)).tolist()
    }
    assert_allclose(scores, np.sort(S[~(fitted.links_ > 0)])[::-1], rtol=1e-9, atol=1e-12)
    assert len(fitted.predict_links(top=500, known=True)[0]) == S.size
    above, _ = fitted.predict_links()
    assert len(above) == np.count_nonzero((fitted.best_threshold() < S) & ~(fitted.links_ > 0))


def test_strings_sparse_links_and_given_matrices():
    words = ["abab", "abba", "cdcd", "ccdd"]
    links = csr_array(np.array([[1.0, 0, 0], [1, 0, 1], [0, 1, 0], [0, 1, 0]]))
    fitted = BipartitePredictor(Spectrum(2), Precomputed(np.eye(3)), alpha=0.1).fit(words, np.arange(3), links)
    assert fitted.decision_function(["abab"])[0].argmax() == 0
    assert fitted.score(words, np.arange(3), links) > 0.9


@pytest.mark.parametrize(
    ("arguments", "links", "message"),
    [
        ({}, Y.T, r"shape \(14, 9\), rows of X and rows of Z, got \(9, 14\)"),
        ({}, np.full(Y.shape, np.nan), "every entry is NaN"),
        ({}, np.where(Y > 0, np.inf, 0), "infinity|infinite"),
        ({"alpha": 0.0}, Y, "alpha"),
        ({"leave": "pair"}, Y, "leave"),
        ({"kernel": []}, Y, "`kernel` is an empty list"),
        ({"kernel": Precomputed()}, Y, r"Precomputed\(matrix\)"),
        ({"scoring": "accuracy"}, Y, "scoring"),
    ],
)
def test_what_cannot_be_is_refused(arguments, links, message):
    with pytest.raises(ValueError, match=message):
        BipartitePredictor(**arguments).fit(X, Z, links)


def synthetic(n=60, m=40, seed=1):
    """Affinities ⟨g(x), q(z)⟩ of hidden places, links the largest tenth; noisy features of the places."""
    rng = np.random.default_rng(seed)
    A, B = rng.normal(size=(n, 3)), rng.normal(size=(m, 3))
    truth = A @ B.T + 0.3 * rng.normal(size=(n, m))
    features = [np.hstack([P, rng.normal(size=(len(P), 3))]) + 0.1 * rng.normal(size=(len(P), 6)) for P in (A, B)]
    return *features, (truth > np.quantile(truth, 0.9)).astype(float)


def test_finds_links_of_new_rows_beside_local_models_and_boosting():
    """A row is new: our closed form, Kronecker ridge in NumPy, a ridge per column, boosting on both features."""
    X, Z, Y = synthetic()
    fitted = BipartitePredictor(
        [RBF(g) for g in (0.01, 0.03, 0.1)], [RBF(g) for g in (0.01, 0.03, 0.1)], alpha=(0.01, 0.1, 1.0, 10.0)
    ).fit(X, Z, Y)
    ours = fitted.loo_decision_function("row")
    g, h, alpha = fitted.kernel_.gamma, fitted.partner_kernel_.gamma, fitted.alpha_
    plain, local, boosted = (np.empty(Y.shape) for _ in range(3))
    for part in np.array_split(
        np.arange(len(X)), 5
    ):  # boosting in five folds of rows; the others leave single rows out
        kept = np.setdiff1d(np.arange(len(X)), part)
        pairs = np.hstack([np.repeat(X[kept], len(Z), axis=0), np.tile(Z, (len(kept), 1))])
        trees = HistGradientBoostingClassifier(random_state=0).fit(pairs, Y[kept].ravel())
        asked = np.hstack([np.repeat(X[part], len(Z), axis=0), np.tile(Z, (len(part), 1))])
        boosted[part] = trees.predict_proba(asked)[:, 1].reshape(len(part), -1)
    s, U = np.linalg.eigh(RBF(h)(Z))
    for i in range(len(X)):
        kept = np.arange(len(X)) != i
        t, V = np.linalg.eigh(RBF(g)(X[kept]))
        C = V @ ((V.T @ Y[kept] @ U) / (np.outer(t, s) + alpha)) @ U.T
        plain[i] = RBF(g)(X[[i]], X[kept])[0] @ C @ RBF(h)(Z)
        local[i] = KernelRidge(kernel="rbf", gamma=g, alpha=alpha).fit(X[kept], Y[kept]).predict(X[[i]])
    assert_allclose(ours, plain, rtol=1e-6, atol=1e-8)
    areas = {
        name: roc_auc_score(Y.ravel(), S.ravel())
        for name, S in (("ours", ours), ("local", local), ("boosted", boosted))
    }
    assert areas["ours"] >= max(areas["local"], areas["boosted"]) - 0.005, areas


def test_aligned_kernels_are_weighted_by_the_links_of_their_kind():
    """ω of rows by Y Yᵀ, of columns by Yᵀ Y, what is not known being 0; and then the model of the weighted sum."""
    parts = [Columns(RBF(0.5), [0]), Columns(RBF(0.5), [1])]
    links = Y.copy()
    links[0, 1] = np.nan
    known = np.where(np.isnan(links), 0.0, links)
    model = BipartitePredictor(Aligned(parts), Aligned(parts, "align"), alpha=0.3).fit(X, Z, links)
    for kernel, P, objects, method in (
        (model.kernel_, known, X, "alignf"),
        (model.partner_kernel_, known.T, Z, "align"),
    ):
        expected, *_ = alignment_weights([k(objects) for k in parts], P @ P.T, method)
        assert_allclose(kernel.weights_, expected, rtol=1e-9, atol=1e-12)
    sums = [
        float(kernel.weights_[0]) * parts[0] + float(kernel.weights_[1]) * parts[1]
        for kernel in (model.kernel_, model.partner_kernel_)
    ]
    plain = BipartitePredictor(*sums, alpha=0.3).fit(X, Z, links)
    assert_allclose(model.decision_function(X[:3] + 0.1), plain.decision_function(X[:3] + 0.1), rtol=1e-9, atol=1e-12)
    for leave in ("row", "column"):
        assert_allclose(model.loo_decision_function(leave), plain.loo_decision_function(leave), rtol=1e-8, atol=1e-10)
