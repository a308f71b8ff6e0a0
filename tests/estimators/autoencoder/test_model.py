"""Codes between two layers: principal components where both are linear, the same by kernels and by coordinates."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.exceptions import ConvergenceWarning
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from iokr import IOKR, KernelAutoencoder
from iokr.decoders import MinimumRisk
from iokr.embeddings import Eigen, Identity
from iokr.kernels import RBF, Delta, Laplacian, Linear, Normalized, Precomputed, Spectrum, Tanimoto
from iokr.losses import EpsilonSquare, Huber, MaxMargin
from members import objects
from reference import assert_close

RNG = np.random.default_rng(0)
X, NEW = RNG.normal(size=(30, 4)), RNG.normal(size=(7, 4))
SMOOTH = np.sin(X @ RNG.normal(size=(4, 2)))
T = np.linspace(0, 2 * np.pi, 40)
CIRCLE = np.column_stack([np.cos(T), np.sin(T)])
EXACT = {"tol": 1e-15, "max_iter": 5000, "random_state": 0}


@pytest.mark.parametrize("d", [1, 2, 3])
def test_linear_layers_are_principal_components(d):
    """α, α₁ → 0: the error is that of the first d principal components, and codes span them."""
    shared = {"code_kernel": Linear(), "alpha": 1e-5, "code_alpha": 1e-5, "embedding": Identity()}
    centred = X - X.mean(axis=0)
    model = KernelAutoencoder(Linear(), d, **shared, **EXACT).fit(centred)
    pca = PCA(d).fit(X)
    ours = np.sum((centred - model.predict(centred)) ** 2)
    theirs = np.sum((X - pca.inverse_transform(pca.transform(X))) ** 2)
    assert_close(ours, theirs, 1e-6)
    codes, components = model.transform(centred), pca.transform(X)
    rest = components - codes @ np.linalg.lstsq(codes, components, rcond=None)[0]
    assert np.abs(rest).max() < 1e-3 * np.abs(components).max()


def test_kernel_principal_components_of_objects():
    """The same for strings under a kernel: the error in its features is the sum of the other eigenvalues."""
    words = np.unique(objects("strings", 40))
    kernel = Normalized(Spectrum(2))
    shared = {"code_kernel": Linear(), "alpha": 1e-5, "code_alpha": 1e-5, "output_kernel": kernel}
    model = KernelAutoencoder(kernel, 3, **shared, **EXACT).fit(words)
    error = np.diag(model.distances(words, words)).sum()
    assert_close(error, np.sort(np.linalg.eigvalsh(kernel(words)))[:-3].sum(), 1e-5)


def test_a_circle_is_a_curve():
    """One number tells more of a circle than a line through it does, also of points that were not there."""
    model = KernelAutoencoder(RBF(2.0), 1, random_state=0).fit(CIRCLE)
    line = PCA(1).fit(CIRCLE).explained_variance_ratio_[0]
    assert model.score(CIRCLE) > 0.8 > 0.55 > line
    middle = (CIRCLE[1:] + CIRCLE[:-1]) / 2
    assert model.score(middle) > 0.7
    np.testing.assert_allclose(model.inverse_transform(model.transform(middle)), model.predict(middle), atol=1e-12)


def test_the_search_that_ends_lowest_counts():
    one, several = (KernelAutoencoder(RBF(2.0), 1, n_starts=k, random_state=0).fit(CIRCLE) for k in (1, 6))
    assert several.objectives_.shape == (6,)
    assert several.objectives_[0] == one.objectives_[0]
    assert several.objectives_.min() < one.objectives_[0] - 1e-3
    again = KernelAutoencoder(RBF(2.0), 1, n_starts=6, random_state=0).fit(CIRCLE)
    np.testing.assert_array_equal(again.codes_, several.codes_)
    least = several.objectives_.min()
    outer = IOKR(RBF(1.0), alpha=1.0, intercept=False).fit(several.codes_, CIRCLE)
    H = outer.decision_function(several.codes_)
    assert np.sum((CIRCLE - H) ** 2) / 2 + np.sum(outer.solution_.C * H) / 2 < least


@pytest.mark.parametrize("code_kernel", [RBF(0.5), Linear()], ids=repr)
def test_by_the_kernel_and_by_exact_coordinates(code_kernel):
    """ψ abstract, ψ in coordinates: one objective, one search."""
    bits = objects("fingerprints", 30)
    implicit, explicit = (
        KernelAutoencoder(
            RBF(0.2),
            2,
            code_kernel=code_kernel,
            output_kernel=Tanimoto(),
            embedding=embedding,
            tol=1e-9,
            random_state=0,
        ).fit(X, bits)
        for embedding in (None, Eigen())
    )
    assert implicit.objectives_.min() == pytest.approx(explicit.objectives_.min(), rel=1e-6)
    assert_close(implicit.distances(NEW, bits), explicit.distances(NEW, bits), 1e-3)


def test_the_outer_layer_is_iokr_on_codes():
    Y = SMOOTH
    model = KernelAutoencoder(RBF(0.1), 2, code_kernel=RBF(0.7), alpha=0.3, random_state=0).fit(X, Y)
    outer = IOKR(RBF(0.7), alpha=0.3, intercept=False).fit(model.codes_, Y)
    assert_close(model.transform(X), model.codes_, 1e-6)
    assert_close(model.predict(NEW), outer.predict(model.transform(NEW)), 1e-9)
    assert_close(model.inverse_transform(model.codes_[:4]), outer.predict(model.codes_[:4]), 1e-9)


@pytest.mark.parametrize("loss", [None, Huber(0.5), EpsilonSquare(0.4)], ids=repr)
def test_no_step_is_left_that_helps(loss):
    """The objective of the codes found, and of codes a little beside them, by fits of IOKR."""
    Y = SMOOTH
    parts = {"alpha": 0.3, "code_alpha": 0.1}
    model = KernelAutoencoder(RBF(0.1), 1, loss=loss, tol=1e-12, n_starts=2, random_state=0, **parts).fit(X, Y)
    K = model.kernel_(X)
    A = np.linalg.lstsq(K, model.codes_, rcond=1e-12)[0]

    def objective(A):
        outer = IOKR(RBF(1.0), loss=loss, alpha=0.3, intercept=False).fit(K @ A, Y)
        C, H = outer.solution_.C, outer.decision_function(K @ A)
        return float(np.sum(outer.loss_.value(H, Y)) + 0.15 * np.sum(C * H) + 0.05 * np.sum(A * (K @ A)))

    assert model.objectives_.min() == pytest.approx(objective(A), rel=1e-5)
    rng = np.random.default_rng(0)
    for _ in range(10):
        step = rng.normal(size=A.shape)
        assert objective(A + 1e-2 * step / np.linalg.norm(step)) > model.objectives_.min() * (1 - 1e-6)


def test_strings_through_two_numbers():
    words = np.array([a * k + b * (6 - k) for a, b in ("ab", "cd") for k in range(1, 6)], dtype=object)
    kernel = Normalized(Spectrum(2))
    model = KernelAutoencoder(kernel, 2, output_kernel=kernel, alpha=0.01, code_alpha=1e-3, random_state=0).fit(words)
    assert list(model.predict(words)) == list(words)
    assert model.transform(words).shape == (10, 2)
    assert model.score(words) > 0.9


@parametrize_with_checks(
    [KernelAutoencoder(n_starts=2), KernelAutoencoder(Linear(), 1, code_kernel=Linear(), n_starts=1)]
)
def test_scikit_learn_accepts(estimator, check):
    check(estimator)


def test_is_searched_and_stands_in_pipelines():
    search = GridSearchCV(
        KernelAutoencoder(n_components=1, random_state=0),
        {"alpha": [1.0, 1000.0]},
        cv=KFold(4, shuffle=True, random_state=0),
    )
    assert search.fit(CIRCLE).best_params_ == {"alpha": 1.0}
    pipeline = make_pipeline(StandardScaler(), KernelAutoencoder(n_components=1, random_state=0))
    assert pipeline.fit_transform(CIRCLE).shape == (40, 1)
    assert list(pipeline.get_feature_names_out()) == ["kernelautoencoder0"]


def test_frames_come_back():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame(CIRCLE, columns=["a", "b"], index=np.arange(40) + 100)
    model = KernelAutoencoder(n_components=1, random_state=0).set_output(transform="pandas").fit(frame)
    assert list(model.transform(frame).columns) == ["kernelautoencoder0"]
    assert list(model.predict(frame).columns) == ["a", "b"]
    assert list(model.predict(frame).index) == list(frame.index)


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_other_libraries(library):
    xp = pytest.importorskip(library)
    parts = {"tol": 1e-12, "n_starts": 3, "random_state": 0}
    expected = KernelAutoencoder(RBF(0.3), 1, **parts).fit(X)
    model = KernelAutoencoder(RBF(0.3), 1, **parts).fit(xp.asarray(X))
    assert type(model.transform(xp.asarray(NEW))) is type(xp.asarray(X))
    assert_close(model.objectives_, expected.objectives_, 1e-6)
    assert_close(np.asarray(model.predict(xp.asarray(NEW))), expected.predict(NEW), 1e-3)
    assert_close(np.abs(np.asarray(model.transform(xp.asarray(NEW)))), np.abs(expected.transform(NEW)), 1e-3)


def test_single_precision_stays():
    model = KernelAutoencoder(n_components=1, random_state=0).fit(CIRCLE.astype(np.float32))
    assert model.transform(CIRCLE.astype(np.float32)).dtype == np.float32
    assert model.predict(CIRCLE.astype(np.float32)).dtype == np.float32


def test_more_components_than_outputs_have():
    model = KernelAutoencoder(RBF(0.3), 4).fit(X, X[:, 0])
    assert model.codes_.shape == (30, 4)
    assert model.predict(NEW).shape == (7,)


def test_says_when_it_stops_early():
    with pytest.warns(ConvergenceWarning, match="after `max_iter=2` steps"):
        KernelAutoencoder(n_components=1, random_state=0, max_iter=2).fit(CIRCLE)


@pytest.mark.parametrize(
    ("parts", "words"),
    [
        ({"n_components": 0}, "`n_components` must be an integer of at least 1"),
        ({"alpha": 0.0}, "`alpha` must be"),
        ({"code_alpha": -1.0}, "`code_alpha` must be"),
        ({"tol": "small"}, "`tol` must be"),
        ({"tol": 1.5}, "`tol` must be a number above 0"),
        ({"n_components": 41}, "at most n_samples = 40"),
        ({"n_starts": 0}, "`n_starts` must be"),
        ({"random_state": -1}, "`random_state` must be"),
        ({"alpha": 1e-300}, "`alpha` = 1e-300 is too small"),
        ({"code_kernel": Laplacian(1.0)}, "`code_kernel` must be `RBF"),
        ({"code_kernel": RBF()}, "with a number"),
        ({"loss": MaxMargin()}, "`loss` must fix the length"),
        ({"kernel": Precomputed()}, "give the outputs as y"),
        ({"decoder": MinimumRisk("hamming")}, "needs weights of the training outputs"),
    ],
)
def test_refusals(parts, words):
    with pytest.raises((ValueError, TypeError), match=words):
        KernelAutoencoder(**parts).fit((CIRCLE > 0).astype(float) if "decoder" in parts else CIRCLE)


def test_refused_codes_and_outputs():
    model = KernelAutoencoder(n_components=1, random_state=0).fit(CIRCLE)
    with pytest.raises(ValueError, match="`Z` must have 1 columns"):
        model.inverse_transform([[1.0, 2.0]])
    with pytest.raises(ValueError, match="contains NaN"):
        KernelAutoencoder().fit(X, np.where(X > 1, np.nan, X))
    with pytest.raises(ValueError, match="zero for all inputs"):
        KernelAutoencoder(Linear()).fit(np.zeros((5, 2)), X[:5])
    assert clone(model).get_params()["n_components"] == 1
    assert KernelAutoencoder(Delta(), output_kernel=Delta(), alpha=0.1).fit(list("aabbc")).predict(["a"])[0] == "a"
