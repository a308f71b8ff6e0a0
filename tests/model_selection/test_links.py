"""Node folds cover every node once; figures are on pairs whose links the model never saw.

Tests of `iokr.model_selection.nodes`.
"""

from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from iokr import LinkPredictor
from iokr.kernels import RBF
from iokr.manifolds import Laplacian
from iokr.metrics import average_precision_pairs, early_precision, roc_auc_pairs
from iokr.model_selection import NodeKFold, TooFewLinks, cross_validate_links
from iokr.model_selection.links import SETTINGS
from network_samples import network

S = network(2, N=40, n=40, density=0.2)


def test_every_node_is_new_once():
    folds = list(NodeKFold(4, random_state=3).split(np.zeros((13, 2))))
    assert sorted(np.concatenate([test for _, test in folds])) == list(range(13))
    for train, test in folds:
        assert sorted(np.concatenate([train, test])) == list(range(13))
        assert len(test) in (3, 4)


def test_shuffled_with_a_seed():
    def tests(**options):
        return [test.tolist() for _, test in NodeKFold(3, **options).split(range(12))]

    assert tests() == tests(random_state=0) != tests(random_state=1)
    assert tests(shuffle=False) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9, 10, 11]]


def test_refusals_of_folds():
    with pytest.raises(ValueError, match="`n_splits` must be an integer of at least 2"):
        NodeKFold(1)
    with pytest.raises(TooFewLinks, match="3 nodes, too few for 5 folds"):
        list(NodeKFold(5).split(range(3)))


class Spy(BaseEstimator):
    """Scores what it was told; remembers it."""

    seen: ClassVar[list] = []

    def __init__(self, truth=None):
        self.truth = truth

    def fit(self, X, adjacency, labeled=None):
        W = adjacency.toarray() if hasattr(adjacency, "toarray") else adjacency
        self.S_ = np.zeros_like(self.truth)
        self.S_[np.ix_(labeled, labeled)] = W[np.ix_(labeled, labeled)]  # all that a model may read
        Spy.seen.append((self.S_.copy(), np.asarray(labeled)))
        return self

    def decision_function(self, X1=None, X2=None):
        return self.S_


def test_nothing_that_is_scored_was_seen():
    """A model that only repeats the links it was given does no better than chance, in any setting."""
    Spy.seen = []
    figures = cross_validate_links(Spy(S.W), S.X, S.W, cv=4)
    assert len(figures) == 12 and set(figures.setting) == set(SETTINGS)
    assert np.all(figures.roc_auc == 0.5)
    assert np.allclose(figures.average_precision, figures.prevalence)
    assert len(Spy.seen) == 8
    assert len(cross_validate_links(Spy(S.W), S.X, S.W, cv=4, settings=("new-new",))) == 4
    assert len(Spy.seen) == 12  # without known-known, one fit a fold


@pytest.mark.parametrize("manifold", [None, Laplacian(0.2, 5)], ids=["supervised", "semi-supervised"])
def test_figures_are_those_of_fits_by_hand(manifold):
    model = LinkPredictor(RBF(0.4), alpha=0.1, manifold=manifold)
    figures = cross_validate_links(model, S.X, S.W, NodeKFold(3, random_state=5))
    for fold, (train, test) in enumerate(NodeKFold(3, random_state=5).split(S.X)):
        scores = model.fit(S.X, S.W, train).decision_function()
        pairs = {
            "known-new": [(i, j) for i in train for j in test],
            "new-new": [(i, j) for i in test for j in test if i < j],
        }
        for setting, ends in pairs.items():
            truth, found = [S.W[i, j] for i, j in ends], [scores[i, j] for i, j in ends]
            row = figures[(figures.fold == fold) & (figures.setting == setting)].iloc[0]
            assert row.n_pairs == len(ends) and row.n_links == sum(truth)
            assert row.prevalence == np.mean(truth)
            np.testing.assert_allclose(row.roc_auc, roc_auc_pairs(truth, found), rtol=1e-9)
            np.testing.assert_allclose(row.average_precision, average_precision_pairs(truth, found), rtol=1e-9)
            np.testing.assert_allclose(row.early_precision, early_precision(truth, found), rtol=1e-9)


def test_hidden_pairs_are_a_share_of_those_between_known_nodes():
    figures = cross_validate_links(Spy(S.W), S.X, S.W, cv=4, settings=("known-known",))
    known = 30 * 29 / 2
    assert np.all(np.abs(figures.n_pairs / known - 0.25) < 0.08)
    assert figures.n_links.sum() > 0


class Silent(Spy):
    """Has nothing to say about two new nodes, as local models."""

    def decision_function(self, X1=None, X2=None):
        labeled = Spy.seen[-1][1]
        new = ~np.isin(np.arange(len(self.S_)), labeled)
        return np.where(new[:, None] & new[None, :], np.nan, self.S_)


def test_pairs_without_a_score_have_no_figure():
    figures = cross_validate_links(Silent(S.W), S.X, S.W, cv=4).set_index("setting")
    assert figures.loc["new-new"].roc_auc.isna().all()
    assert figures.loc["new-new"].prevalence.notna().all()
    assert figures.loc["known-new"].roc_auc.notna().all()


def test_refusals():
    with pytest.raises(ValueError, match="`settings` must be among"):
        cross_validate_links(LinkPredictor(), S.X, S.W, settings=("known",))
    with pytest.raises(ValueError, match="`adjacency` has 39 nodes but X has 40"):
        cross_validate_links(LinkPredictor(), S.X, S.W[1:, 1:])
    with pytest.raises(ValueError, match="symmetric"):
        cross_validate_links(LinkPredictor(), S.X, np.triu(S.W))


def test_folds_are_any_integer_or_a_splitter():
    options = {"settings": ("new-new",)}
    figures = cross_validate_links(Spy(S.W), S.X, S.W, cv=np.int64(4), **options)
    assert figures.equals(cross_validate_links(Spy(S.W), S.X, S.W, cv=NodeKFold(4), **options))
    for cv in ([(np.arange(30), np.arange(30, 40))], 2.5, "four"):
        with pytest.raises(TypeError, match="`cv` must be a number of folds or a splitter"):
            cross_validate_links(Spy(S.W), S.X, S.W, cv=cv)


def test_a_fold_without_links_to_learn_from_is_named():
    W = np.zeros((6, 6))
    W[0, 1] = W[1, 0] = 1.0
    with pytest.raises(TooFewLinks, match="Fold 0 leaves no link between known nodes"):
        cross_validate_links(LinkPredictor(), np.arange(6.0)[:, None], W, NodeKFold(3, shuffle=False))


def test_nodes_outside_the_labelled_ones_lend_their_features_only():
    """Scores of the labelled nodes by hand, the others being given to the model."""
    labeled = np.random.default_rng(0).permutation(40)[:30]
    model = LinkPredictor(RBF(0.5), alpha=0.1, manifold=Laplacian(0.5, 5))
    figures = cross_validate_links(model, S.X, S.W, cv=3, labeled=labeled).set_index(["fold", "setting"])
    for fold, (train, test) in enumerate(NodeKFold(3).split(labeled)):
        scores = model.fit(S.X, S.W, labeled=labeled[train]).decision_function()
        ends = np.ix_(labeled[test], labeled[train])
        assert figures.roc_auc[fold, "known-new"] == roc_auc_pairs(S.W[ends].ravel(), scores[ends].ravel())
        assert figures.n_pairs[fold, "known-new"] == 200
        assert figures.n_pairs[fold, "new-new"] == 45
    alone = cross_validate_links(model, S.X[labeled], S.W[np.ix_(labeled, labeled)], cv=3)
    assert not np.allclose(alone.roc_auc, figures.roc_auc)
    mask = np.isin(np.arange(40), labeled)
    same = cross_validate_links(LinkPredictor(), S.X, S.W, cv=3, labeled=mask)
    assert same.equals(cross_validate_links(LinkPredictor(), S.X, S.W, cv=3, labeled=np.sort(labeled)))
    with pytest.raises(
        ValueError, match="`labeled` must be a mask or hold node numbers, integers from 0 to 39, got 40"
    ):
        cross_validate_links(model, S.X, S.W, labeled=[0, 40])
