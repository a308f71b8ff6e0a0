"""Metrics as scorers: signs, candidates, and searches over output kernels."""

import pickle

import numpy as np
import pytest
from sklearn import config_context
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from iokr import IOKR
from iokr.data.objects import as_objects
from iokr.decoders import Assignment, Positions, TreeEdits
from iokr.kernels import RBF, Delta, Kendall, Positional, Spearman, Spectrum, Subtree, Tanimoto
from iokr.metrics import (
    character_accuracy,
    decoded_scorer,
    edit_distance,
    f1_samples,
    hamming,
    kendall_tau,
    rbf_loss,
    subset_accuracy,
    tree_edit_distance,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
SETS = (X @ RNG.normal(size=(3, 4)) > 0).astype(float)
RANKS = np.argsort(np.argsort(X @ RNG.normal(size=(3, 4)), axis=1), axis=1) + 1.0
WORDS = np.array(["".join("ab"[int(bit)] for bit in row) for row in SETS], dtype=object)
POINTS = np.sin(X)
TREES = as_objects((a, (b, c), d) for a, b, c, d in WORDS)

CASES = {
    "hamming": (hamming, -1, SETS, Tanimoto(), None),
    "f1_samples": (f1_samples, 1, SETS, Tanimoto(), None),
    "subset_accuracy": (subset_accuracy, 1, WORDS, Spectrum(2), None),
    "kendall_tau": (kendall_tau, 1, RANKS, Kendall(), Assignment()),
    "edit_distance": (edit_distance, -1, WORDS, Positional(Delta()), Positions()),
    "character_accuracy": (character_accuracy, 1, WORDS, Positional(Delta()), Positions()),
    "rbf_loss": (rbf_loss, -1, POINTS, RBF(0.5), None),
    "tree_edit_distance": (tree_edit_distance, -1, TREES, Subtree(depth=1), TreeEdits()),
}


@pytest.mark.parametrize("name", CASES)
def test_a_score_is_the_metric_of_decoded_outputs_with_its_sign(name):
    metric, sign, y, output_kernel, decoder = CASES[name]
    model = IOKR(RBF(0.3), output_kernel=output_kernel, decoder=decoder, alpha=0.1)
    scorer = decoded_scorer(name)
    cv = KFold(3)
    expected = [sign * metric(y[test], clone(model).fit(X[a], y[a]).predict(X[test])) for a, test in cv.split(X)]
    np.testing.assert_allclose(cross_val_score(model, X, y, scoring=scorer, cv=cv), expected, rtol=1e-12)
    model.fit(X, y)
    assert decoded_scorer(metric)(model, X[:4], y[:4]) == pickle.loads(pickle.dumps(scorer))(model, X[:4], y[:4])
    assert repr(scorer) == f"decoded_scorer({name!r})"


def test_the_truth_scores_best():
    """A larger score is a better answer, for every metric."""

    class Fixed:
        def __init__(self, answer):
            self.answer = answer

        def predict(self, X):
            return self.answer

    for name, (_, _, y, _, _) in CASES.items():
        right, wrong = Fixed(y), Fixed(np.roll(y, 1, axis=0))
        assert decoded_scorer(name)(right, X, y) > decoded_scorer(name)(wrong, X, y), name


def test_options_go_to_the_metric():
    model = IOKR(RBF(0.3), alpha=0.1).fit(X, POINTS)
    expected = -rbf_loss(POINTS, model.predict(X), gamma=0.01)
    scorer = decoded_scorer("rbf_loss", gamma=0.01)
    assert scorer(model, X, POINTS) == expected
    assert repr(scorer) == "decoded_scorer('rbf_loss', gamma=0.01)"


def test_candidates_are_searched():
    """None of the training outputs is right for the others; with candidates the answers are."""
    angle = np.linspace(0, 3, 40)
    x, y = np.column_stack([np.cos(angle), np.sin(angle)]), np.round(angle, 3)[:, None]
    model = IOKR(RBF(5.0), output_kernel=RBF(2.0), alpha=1e-4).fit(x[::2], y[::2])
    assert decoded_scorer("subset_accuracy")(model, x[1::2], y[1::2]) == 0
    assert decoded_scorer("subset_accuracy", candidates=y)(model, x[1::2], y[1::2]) > 0.8
    assert repr(decoded_scorer("subset_accuracy", candidates=y)).endswith("candidates=<40 objects>)")
    pipe = make_pipeline(StandardScaler(), IOKR(RBF(5.0), output_kernel=RBF(2.0), alpha=1e-4)).fit(x[::2], y[::2])
    assert decoded_scorer("subset_accuracy", candidates=y)(pipe, x[1::2], y[1::2]) > 0.5


def test_searches_output_kernels_where_scores_in_feature_space_mislead():
    """R² is highest for the output kernel that tells least apart; the decoded loss finds one that tells words apart."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(80, 2))
    y = np.array(["ab" if a > 0 else "ba" for a in x[:, 0]], dtype=object)
    blind = Spectrum(1)  # counts letters: both words are the same to it
    grid = {"output_kernel": [blind, Spectrum(2), Positional(Delta())]}
    model = IOKR(RBF(0.5), alpha=0.1)
    by_r2 = GridSearchCV(model, grid, cv=KFold(4)).fit(x, y)
    by_loss = GridSearchCV(model, grid, scoring=decoded_scorer("subset_accuracy"), cv=KFold(4)).fit(x, y)
    scores = by_loss.cv_results_["mean_test_score"]
    assert scores[0] < 0.7 < 0.9 < scores[1:].min()
    assert by_loss.best_params_["output_kernel"] is not blind
    assert by_r2.cv_results_["mean_test_score"].shape == (3,)


def test_searches_decoders_with_their_kernels():
    grid = {"output_kernel": [Kendall(), Spearman()], "decoder": [Assignment()]}
    search = GridSearchCV(IOKR(RBF(0.3), alpha=0.1), grid, scoring=decoded_scorer("kendall_tau"), cv=3).fit(X, RANKS)
    assert search.best_score_ > 0.6 and len(search.cv_results_["params"]) == 2


@pytest.mark.parametrize("routing", [False, True])
def test_several_at_once_with_and_without_metadata_routing(routing):
    scoring = {name: decoded_scorer(name) for name in ("hamming", "f1_samples", "subset_accuracy")}
    model = IOKR(RBF(0.3), output_kernel=Tanimoto(), alpha=0.1)
    with config_context(enable_metadata_routing=routing):
        found = cross_validate(model, X, SETS, scoring=scoring, cv=3)
        search = GridSearchCV(model, {"alpha": [0.1, 1.0]}, scoring=scoring, refit="hamming", cv=3).fit(X, SETS)
    for name, scorer in scoring.items():
        np.testing.assert_array_equal(found[f"test_{name}"], cross_val_score(model, X, SETS, scoring=scorer, cv=3))
    assert search.best_score_ == search.cv_results_["mean_test_hamming"].max() <= 0


def test_another_function():
    def longer(y, z):
        return float(np.mean([len(b) - len(a) for a, b in zip(y, z, strict=True)]))

    model = IOKR(RBF(0.3), output_kernel=Spectrum(2), alpha=0.1).fit(X, WORDS)
    assert decoded_scorer(longer, greater_is_better=False)(model, X, WORDS) == 0
    assert repr(decoded_scorer(longer, greater_is_better=False)) == "decoded_scorer(longer, greater_is_better=False)"
    with pytest.raises(ValueError, match="`greater_is_better` must be True or False for the metric longer"):
        decoded_scorer(longer)


def test_refuses_what_it_does_not_know():
    with pytest.raises(ValueError, match=r"`metric` must be one of 'character_accuracy', .*, got 'r2'"):
        decoded_scorer("r2")
    with pytest.raises(TypeError, match="`metric` must be a name or a function of y and ŷ, got 3"):
        decoded_scorer(3)
    with pytest.raises(ValueError, match="`greater_is_better` must be False for edit_distance, got True"):
        decoded_scorer("edit_distance", greater_is_better=True)
    with pytest.raises(TypeError, match="`candidates` must be a sequence of objects"):
        decoded_scorer("edit_distance", candidates="abc")
