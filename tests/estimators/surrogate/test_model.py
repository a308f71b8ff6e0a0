"""Any regressor on coordinates of an output kernel."""

import numpy as np
import pytest
from sklearn.ensemble import GradientBoostingRegressor, RandomForestRegressor
from sklearn.feature_extraction.text import CountVectorizer
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import parametrize_with_checks

from iokr import IOKR, Surrogate
from iokr.decoders import MinimumRisk
from iokr.embeddings import Eigen, Implicit, Nystroem, Sketch
from iokr.kernels import RBF, Delta, Spectrum, Tanimoto
from members import objects
from samples import vectors

X, NEW = vectors(40, seed=1), vectors(7, seed=2)
WORDS = objects("strings", 40)
KERNEL_RIDGE = KernelRidge(kernel="rbf", gamma=0.3, alpha=0.1)


@pytest.mark.parametrize("embedding", [None, Eigen(), Eigen(n_components=4), Nystroem(6, random_state=0)], ids=repr)
def test_kernel_ridge_is_ours_on_the_same_coordinates(embedding):
    ours = IOKR(RBF(0.3), output_kernel=Spectrum(2), embedding=embedding or Eigen(), alpha=0.1).fit(X, WORDS)
    theirs = Surrogate(KERNEL_RIDGE, output_kernel=Spectrum(2), embedding=embedding).fit(X, WORDS)
    np.testing.assert_allclose(theirs.decision_function(NEW), ours.decision_function(NEW), atol=1e-10)
    np.testing.assert_allclose(theirs.distances(NEW, WORDS), ours.distances(NEW, WORDS), atol=1e-9)
    np.testing.assert_array_equal(theirs.rank(NEW, WORDS, k=3)[0], ours.rank(NEW, WORDS, k=3)[0])
    np.testing.assert_array_equal(theirs.predict(NEW), ours.predict(NEW))
    assert theirs.score(X, WORDS) == pytest.approx(ours.score(X, WORDS), abs=1e-10)


@pytest.mark.parametrize("embedding", [Nystroem(8, random_state=0), Sketch(8, random_state=0)], ids=repr)
def test_a_perfect_answer_is_decoded(embedding):
    """z(y) → y for the landmarks, where nothing is lost."""

    class Perfect:
        def fit(self, X, Z):
            self.Z = Z
            return self

        def predict(self, X):
            return self.Z

        def get_params(self, deep=True):
            return {}

        def set_params(self):
            return self

    model = Surrogate(Perfect(), output_kernel=Delta(), embedding=embedding).fit(X, objects("labels", 40))
    np.testing.assert_array_equal(model.predict(X), objects("labels", 40))
    assert model.error_ == pytest.approx(0.0, abs=1e-9)


def test_the_rank_is_the_first_that_suffices():
    bits = objects("fingerprints", 400)
    model = Surrogate(Ridge(), output_kernel=Tanimoto()).fit(vectors(400), bits)
    tried = list(model.perfect_)
    assert tried == [50, 100, 200, 400][: len(tried)]
    assert model.embedding_.n_components in tried
    assert 0 <= model.error_ < 1
    accuracies = list(model.perfect_.values())
    assert model.perfect_[model.embedding_.n_components] >= max(accuracies) - 0.01


@pytest.mark.parametrize(
    "regressor",
    [
        LinearRegression(),
        KNeighborsRegressor(3),
        RandomForestRegressor(3, random_state=0),
        GradientBoostingRegressor(n_estimators=2, random_state=0),
    ],
    ids=lambda r: type(r).__name__,
)
def test_regressors_of_scikit_learn(regressor):
    model = Surrogate(regressor, output_kernel=Spectrum(2), embedding=Nystroem(4)).fit(X, WORDS)
    assert set(model.predict(NEW)) <= set(WORDS)
    assert model.decision_function(NEW).shape == (7, model.rank_)
    one = Surrogate(regressor).fit(X, X[:, 0])
    assert one.predict(NEW).shape == (7,)


def test_vectors_and_pipelines_and_text():
    both = np.column_stack([X[:, 0], X[:, 1]])
    np.testing.assert_allclose(Surrogate(LinearRegression()).fit(X, both).predict(NEW), NEW[:, :2], atol=1e-10)
    texts = make_pipeline(CountVectorizer(analyzer="char"), Ridge(0.1))
    model = Surrogate(texts, output_kernel=Delta()).fit(WORDS, [w[0] for w in WORDS])
    assert set(model.predict(WORDS)) <= set("abcd")


def test_parameters_are_searched():
    search = GridSearchCV(Surrogate(Ridge(), output_kernel=Spectrum(2)), {"regressor__alpha": [0.1, 10.0]}, cv=3)
    assert search.fit(X, WORDS).best_params_["regressor__alpha"] in (0.1, 10.0)


def test_weights_of_rows():
    w = np.random.default_rng(0).integers(0, 3, size=40).astype(float)
    rows = np.repeat(np.arange(40), w.astype(int))
    model = Surrogate(Ridge(), output_kernel=Spectrum(2), embedding=Eigen())
    weighted = model.fit(X, WORDS, sample_weight=w).distances(NEW, WORDS[:5])
    np.testing.assert_allclose(weighted, model.fit(X[rows], WORDS[rows]).distances(NEW, WORDS[:5]), atol=1e-8)
    with pytest.raises(ValueError, match="does not take"):
        Surrogate(KNeighborsRegressor()).fit(X, X, sample_weight=w)


@pytest.mark.parametrize(
    ("model", "y", "message"),
    [
        (Surrogate(3), WORDS, "fit"),
        (Surrogate(Ridge(), output_kernel=Spectrum(2), embedding=Implicit()), WORDS, "Eigen"),
        (Surrogate(Ridge()), np.where(np.eye(40) > 0, np.nan, 1.0), "NaN"),
        (Surrogate(Ridge(), output_kernel=Spectrum(2)), WORDS[:3], "3"),
        (Surrogate(Ridge(), output_kernel=Spectrum(2)), None, "requires y"),
    ],
)
def test_bad_input(model, y, message):
    with pytest.raises((ValueError, TypeError), match=message):
        model.fit(X, y)


def test_no_weights_for_a_risk():
    model = Surrogate(Ridge(), decoder=MinimumRisk("hamming")).fit(X, objects("fingerprints", 40))
    with pytest.raises(ValueError, match="weights"):
        model.predict(NEW)


def test_a_regressor_of_the_wrong_width():
    class Wrong(Ridge):
        def predict(self, X):
            return super().predict(X)[:, :1]

    with pytest.raises(ValueError, match="coordinates"):
        Surrogate(Wrong(), output_kernel=Spectrum(2)).fit(X, WORDS).predict(NEW)


@parametrize_with_checks([Surrogate(Ridge())])
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


def test_what_regressors_misread_is_read_before_they_see_it():
    """A hidden entry is refused, a structured array and a frame that waits are matrices."""
    import polars as pl

    Z = np.round(8 * vectors(20, seed=1)) / 8
    model = Surrogate(Ridge()).fit(Z, Z[:, :2])
    expected = model.predict(Z)
    names = [f"c{j}" for j in range(Z.shape[1])]
    structured = np.array([tuple(row) for row in Z], dtype=[(name, float) for name in names])
    for given in (np.ma.array(Z), structured, pl.DataFrame(Z, schema=names).lazy()):
        np.testing.assert_allclose(model.predict(given), expected)
        np.testing.assert_allclose(Surrogate(Ridge()).fit(given, Z[:, :2]).predict(Z), expected)
    hidden = np.ma.array(Z, mask=np.eye(*Z.shape, dtype=bool))
    for call in (lambda: model.predict(hidden), lambda: Surrogate(Ridge()).fit(hidden, Z[:, :2])):
        with pytest.raises(ValueError, match="`X`"):
            call()
