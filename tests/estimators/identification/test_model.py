"""Molecules of spectra: forward, reverse and fusion are the formulas; own spectra, calibration, files.

Tests of `iokr.estimators.identification.model`.
"""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from iokr import IOKR, CandidateSets, Identification, load, save
from iokr.estimators.identification.model import OWN
from iokr.kernels import RBF, Precomputed, Tanimoto
from iokr.manifolds import Laplacian
from iokr.model_selection import scores_without_own

RNG = np.random.default_rng(0)
MOLECULES = (RNG.uniform(size=(14, 30)) < 0.4).astype(np.uint8)
WHICH = np.array([0, 1, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9])
X = RNG.normal(size=(12, 3)) + 2 * MOLECULES[WHICH, :3]
NEW = RNG.normal(size=(3, 3))
NAMES = [f"m{i}" for i in range(14)]
SETS = [[0, 10, 11], [1, 12, 13, 2], [5, 13]]
GROUPS = [NAMES[i] for i in WHICH]
GIVEN = [[NAMES[i] for i in some] for some in SETS]


def candidates():
    return CandidateSets([MOLECULES[some] for some in SETS])


def fitted(**arguments):
    model = Identification(**{"kernel": RBF(0.3), "alphas": (0.2,), "reverse_alphas": (1.0,), **arguments})
    return model.fit(X, MOLECULES[WHICH], groups=GROUPS)


def without(name):
    kept = np.array([g != name for g in GROUPS])
    return X[kept], MOLECULES[WHICH][kept].astype(float)


def forward(x, y, name):
    A, B = without(name)
    K = RBF(0.3)(A)
    return float(RBF(0.3)(x[None], A)[0] @ np.linalg.solve(K + 0.2 * np.eye(len(A)), Tanimoto()(B, y[None])[:, 0]))


def reverse(x, y, name):
    A, B = without(name)
    gamma = np.linalg.solve(Tanimoto()(B) + np.eye(len(B)), Tanimoto()(B, y[None])[:, 0])
    return float(RBF(0.3)(x[None], A)[0] @ gamma / np.sqrt(gamma @ RBF(0.3)(A) @ gamma))


@pytest.mark.parametrize(("method", "formula"), [("forward", forward), ("reverse", reverse)])
def test_scores_are_refits_without_the_candidates_own_spectra(method, formula):
    found = fitted(method=method).scores(NEW, candidates(), GIVEN)
    for i, some in enumerate(SETS):
        expected = [formula(NEW[i], MOLECULES[j].astype(float), NAMES[j]) for j in some]
        np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-10)


def test_own_spectra_may_count_or_be_excluded():
    counted = fitted(own="count").scores(NEW, candidates(), GIVEN)
    expected = [[reverse(NEW[i], MOLECULES[j].astype(float), None) for j in some] for i, some in enumerate(SETS)]
    for f, e in zip(counted, expected, strict=True):
        np.testing.assert_allclose(f, e, rtol=0, atol=1e-10)
    excluded = fitted(own="exclude").scores(NEW, candidates(), GIVEN)
    for f, e, names in zip(excluded, expected, GIVEN, strict=True):
        known = np.array([name in GROUPS for name in names])
        assert np.all(np.isneginf(f[known]))
        np.testing.assert_allclose(f[~known], np.array(e)[~known], rtol=0, atol=1e-10)


def test_own_of_the_model_or_of_the_call():
    for own in OWN:
        called = fitted().scores(NEW, candidates(), GIVEN, own=own)
        for f, g in zip(called, fitted(own=own).scores(NEW, candidates(), GIVEN), strict=True):
            np.testing.assert_array_equal(f, g)
    with pytest.raises(ValueError, match="`own` must be one of"):
        fitted().scores(NEW, candidates(), GIVEN, own="never")


def test_fusion_adds_standard_scores():
    model = fitted(method="fusion")
    parts = [model.scores(NEW, candidates(), GIVEN, method=m) for m in ("forward", "reverse")]
    for i, f in enumerate(model.scores(NEW, candidates(), GIVEN)):
        z = sum((part[i] - part[i].mean()) / part[i].std() for part in parts)
        np.testing.assert_allclose(f, z, rtol=0, atol=1e-12)


def test_order_of_candidates_and_queries_does_not_matter():
    model = fitted()
    found = model.scores(NEW, candidates(), GIVEN)
    turned = CandidateSets([MOLECULES[some[::-1]] for some in SETS[::-1]])
    again = model.scores(NEW[::-1], turned, [given[::-1] for given in GIVEN[::-1]])
    for f, g in zip(found, again[::-1], strict=True):
        np.testing.assert_allclose(f, g[::-1], rtol=0, atol=1e-12)
    order, values = model.rank(NEW, candidates(), GIVEN, k=2)
    assert all(np.all(np.diff(v) <= 0) and len(o) <= 2 for o, v in zip(order, values, strict=True))
    assert model.predict(NEW, candidates(), GIVEN).tolist() == [int(o[0]) for o in order]


def test_equal_molecules_are_one_without_names():
    named = fitted().scores(NEW, candidates(), GIVEN)
    plain = Identification(RBF(0.3), alphas=(0.2,), reverse_alphas=(1.0,)).fit(X, MOLECULES[WHICH])
    for f, g in zip(named, plain.scores(NEW, candidates()), strict=True):
        np.testing.assert_allclose(f, g, rtol=0, atol=1e-12)


def test_alphas_are_chosen_by_leaving_molecules_out():
    from iokr import IOKRCV

    alphas = (0.01, 0.1, 1.0)
    model = Identification(RBF(0.3), alphas=alphas, reverse_alphas=alphas, selection=None)
    model.fit(X, MOLECULES[WHICH], groups=GROUPS)
    ours = IOKRCV(RBF(0.3), output_kernel=Tanimoto(), alphas=alphas).fit(X, MOLECULES[WHICH], groups=GROUPS)
    theirs = IOKRCV(Tanimoto(), output_kernel=RBF(0.3), alphas=alphas).fit(MOLECULES[WHICH], X, groups=GROUPS)
    assert (model.forward_.alpha, model.reverse_.alpha) == (ours.alpha_, theirs.alpha_)
    few = Identification(RBF(0.3), alphas=alphas, reverse_alphas=alphas, selection=6)
    assert few.fit(X, MOLECULES[WHICH], groups=GROUPS).forward_.alpha in alphas


def test_probabilities_sets_and_novelty():
    model = fitted()
    with pytest.raises(ValueError, match="not calibrated"):
        model.predict_proba(NEW, candidates(), GIVEN)
    scores = [RNG.normal(size=4) for _ in range(60)]
    truth = [int(np.argmax(f)) if RNG.uniform() < 0.7 else 0 for f in scores]
    model.calibrate(scores, truth, [f"q{i}" for i in range(60)])
    for p in model.predict_proba(NEW, candidates(), GIVEN):
        assert p.sum() == pytest.approx(1.0)
    sizes = [[len(s) for s in model.predict_set(NEW, candidates(), GIVEN, coverage=c)] for c in (0.5, 0.9, 0.999)]
    assert np.all(np.array(sizes[0]) >= 1)
    assert np.all(np.diff(sizes, axis=0) >= 0)
    assert sizes[2] == [len(some) for some in SETS]  # beyond the calibration values: the whole set
    novelty = model.novelty([np.array([-9.0]), np.array([9.0])])
    assert novelty.tolist() == [0.0, 1.0]


def test_a_saved_model_gives_the_same_scores(tmp_path):
    model = fitted().calibrate([np.array([0.1, 0.2]), np.array([0.3, 0.1])], [1, 0], ["a", "b"])
    save(model, tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors")
    for f, g in zip(*(m.predict_proba(NEW, candidates(), GIVEN) for m in (model, again)), strict=True):
        np.testing.assert_array_equal(f, g)


@pytest.mark.parametrize("manifold", [None, Laplacian(0.3, 3)])
def test_a_compact_copy_is_restored(tmp_path, manifold):
    more = None if manifold is None else RNG.normal(size=(5, 3))
    model = Identification(RBF(0.3), method="fusion", manifold=manifold)
    model.fit(X, MOLECULES[WHICH], groups=GROUPS, X_unlabeled=more)
    model.calibrate([[0.1, 0.5], [0.3, 0.2]], [1, 0], ["a", "b"])
    small = model.compact(X, MOLECULES[WHICH], more)
    save(small, tmp_path / "small.safetensors")
    save(model, tmp_path / "large.safetensors")
    assert (tmp_path / "small.safetensors").stat().st_size < (tmp_path / "large.safetensors").stat().st_size
    again = load(tmp_path / "small.safetensors")
    with pytest.raises(NotFittedError, match="restore"):
        again.scores(NEW, candidates(), GIVEN)
    assert not hasattr(again, "forward_")
    assert again.restore() is again
    for f, g in zip(again.scores(NEW, candidates(), GIVEN), model.scores(NEW, candidates(), GIVEN), strict=True):
        np.testing.assert_array_equal(f, g)
    assert again.temperature_ == model.temperature_


def test_spectra_without_molecules_change_the_forward_model_only():
    """The scores are those of a forward model with the manifold; the manifold weight is chosen, and 0 is a choice."""
    more = RNG.normal(size=(6, 3)) + 1
    model = Identification(RBF(0.3), manifold=Laplacian(n_neighbors=3))
    model.fit(X, MOLECULES[WHICH], groups=GROUPS, X_unlabeled=more)
    plain = Identification(RBF(0.3), reverse_alphas=(model.reverse_.alpha,))
    plain.fit(X, MOLECULES[WHICH], groups=GROUPS)
    for f, g in zip(model.scores(NEW, candidates(), GIVEN), plain.scores(NEW, candidates(), GIVEN), strict=True):
        np.testing.assert_allclose(f, g, atol=1e-12)
    strong = Identification(RBF(0.3), alphas=(0.2,), manifold=Laplacian(0.5, 3))
    strong.fit(X, MOLECULES[WHICH], groups=GROUPS, X_unlabeled=more)
    assert strong.forward_.manifold.weight == 0.5
    direct = IOKR(RBF(0.3), output_kernel=Tanimoto(), alpha=0.2, manifold=Laplacian(0.5, 3))
    direct.fit(X, MOLECULES[WHICH], X_unlabeled=more)
    expected = scores_without_own(direct, NEW, candidates(), GROUPS, GIVEN)
    for f, g in zip(strong.scores(NEW, candidates(), GIVEN, method="forward"), expected, strict=True):
        np.testing.assert_allclose(f, g, atol=1e-12)


def test_spectra_without_molecules_need_a_manifold():
    with pytest.raises(ValueError, match="must be given together"):
        Identification(RBF(0.3)).fit(X, MOLECULES[WHICH], X_unlabeled=NEW)
    with pytest.raises(ValueError, match="must be given together"):
        Identification(RBF(0.3), manifold=Laplacian()).fit(X, MOLECULES[WHICH])


def test_spectra_are_compared_by_peaks_and_losses_by_default():
    spectra = [([50.0 + i, 77.0, 105.0], [1.0, 0.5, 0.2], 150.0 + i) for i in range(6)]
    model = Identification().fit(spectra, MOLECULES[:6])
    assert "losses" in repr(model.forward_.kernel)
    assert len(model.scores(spectra[:1], CandidateSets([MOLECULES[:3]]))[0]) == 3


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"method": "sideways"}, "`method` must be one of"),
        ({"own": "keep"}, "`own` must be one of"),
        ({"selection": 1}, "`selection` must be"),
        ({"kernel": Precomputed()}, "`kernel` must be a scalar kernel on objects"),
    ],
)
def test_bad_parameters(change, message):
    with pytest.raises(ValueError, match=message):
        Identification(**{"kernel": RBF(0.3), **change}).fit(X, MOLECULES[WHICH])


def test_bad_candidates():
    model = fitted()
    with pytest.raises(TypeError, match="`candidates` must be `CandidateSets`"):
        model.scores(NEW, MOLECULES)
    with pytest.raises(ValueError, match="`candidate_groups` has 2 lists"):
        model.scores(NEW, candidates(), GIVEN[:2])
    with pytest.raises(ValueError, match="`candidate_groups` has 2 entries but candidate set 0 has 3"):
        model.scores(NEW, candidates(), [given[:2] for given in GIVEN])
    with pytest.raises(ValueError, match="`truth` 5 of query 0"):
        model.calibrate([np.zeros(3)], [5], ["a"])
    with pytest.raises(ValueError, match="X has 12 objects but y has 3"):
        Identification(RBF(0.3)).fit(X, MOLECULES[:3])


def test_names_of_candidates_belong_to_their_own_set():
    """As many names as candidates in all, but not set by set, is a slip."""
    moved = [GIVEN[0][:2], [GIVEN[0][2], *GIVEN[1]], GIVEN[2]]
    with pytest.raises(ValueError, match="`candidate_groups` has 2 entries but candidate set 0 has 3"):
        fitted().scores(NEW, candidates(), moved)


def test_units_of_the_scores_do_not_matter():
    rng = np.random.default_rng(3)
    scores = [rng.normal(size=4) for _ in range(30)]
    truth = [int(np.argmax(f + 0.5 * rng.normal(size=4))) for f in scores]
    model = fitted().calibrate(scores, truth, list(range(30)))
    T, values = model.temperature_, model.calibration_
    for unit in (2.0**-40, 2.0**40):
        model.calibrate([unit * f for f in scores], truth, list(range(30)))
        assert model.temperature_ == pytest.approx(unit * T, rel=1e-9)
        np.testing.assert_allclose(model.calibration_, values, rtol=1e-9)


def test_a_set_of_excluded_candidates_has_no_prediction():
    known = CandidateSets([MOLECULES[WHICH[:3]]])
    model = fitted(own="exclude").calibrate([np.array([0.1, 0.2])] * 2, [1, 0], ["a", "b"])
    names = [[NAMES[i] for i in WHICH[:3]]]
    assert np.all(model.predict_proba(NEW[:1], known, names)[0] == 0)
    with pytest.raises(ValueError, match="all training molecules"):
        model.predict(NEW[:1], known, names)


@pytest.mark.parametrize(
    ("scores", "truth", "groups", "words"),
    [
        ([[0.1, np.nan]], [0], ["a"], "`scores` of query 0 contain NaN"),
        ([[0.1, np.inf]], [0], ["a"], "infinity"),
        ([[[0.1, 0.2]]], [0], ["a"], "`scores` of query 0 must have one number per candidate"),
        ([[]], [0], ["a"], "`scores` of query 0"),
        ([["x"]], [0], ["a"], "`scores"),
        ([[0.1, 0.2]], [0.5], ["a"], "`truth` 0.5 of query 0"),
        ([[0.1, 0.2]], [2], ["a"], "`truth` 2 of query 0"),
        ([[0.1, -np.inf]], [1], ["a"], "`truth` 1 of query 0"),
        ([[0.1, 0.2]], [[0]], ["a"], "`truth` has shape"),
        ([[0.1, 0.2]], [0], 5, "`groups`"),
        (5, [0], ["a"], "`scores`"),
        ({0: [0.1]}, [0], ["a"], "`scores`"),
    ],
)
def test_bad_calibration(scores, truth, groups, words):
    with pytest.raises((TypeError, ValueError), match=words):
        fitted().calibrate(scores, truth, groups)


@pytest.mark.parametrize("name", ["kernel", "output_kernel", "alphas", "reverse_alphas", "method", "own", "selection"])
@pytest.mark.parametrize("value", [False, 5j, "x", [None], ..., dict, np.array(-0.5), object()])
def test_bad_parameters_are_named(name, value):
    with pytest.raises((TypeError, ValueError), match=f"`{name}`"):
        fitted(**{name: value})


@pytest.mark.parametrize("form", ["dia_matrix", "bsr_array", "coo_array", "csr_matrix", "lil_array"])
def test_one_set_may_be_sparse(form):
    from scipy import sparse

    sets = [MOLECULES[some] for some in SETS]
    mixed = CandidateSets([getattr(sparse, form)(sets[0]), *sets[1:]])
    for f, g in zip(fitted().scores(NEW, mixed, GIVEN), fitted().scores(NEW, candidates(), GIVEN), strict=True):
        np.testing.assert_allclose(f, g, rtol=0, atol=1e-12)
