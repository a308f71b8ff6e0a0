"""A candidate's own rows left out equal a refit without them.

Tests of `iokr.model_selection.own`.
"""

import numpy as np
import pytest

from iokr import IOKR, IOKRCV, CandidateSets, SharedCandidates
from iokr.embeddings import Eigen, Nystroem
from iokr.kernels import RBF, Linear, Tanimoto
from iokr.manifolds import Laplacian
from iokr.model_selection import scores_without_own
from iokr.operator_kernels import Covariance, Decomposable
from libraries import library_of

RNG = np.random.default_rng(0)
MOLECULES = (RNG.uniform(size=(9, 20)) < 0.4).astype(float)
NAMES = [f"m{i}" for i in range(9)]
WHICH = np.array([0, 1, 1, 2, 3, 3, 3, 4, 5, 6, 0, 2])  # several spectra of one molecule
X = RNG.normal(size=(12, 3)) + MOLECULES[WHICH, :3]
NEW = RNG.normal(size=(4, 3))
GROUPS = [NAMES[i] for i in WHICH]
BITS = MOLECULES[WHICH]


def forward(**arguments):
    return IOKR(RBF(0.3), **{"output_kernel": Tanimoto(), "alpha": 0.2, **arguments})


def refit(group, **arguments):
    kept = np.array([g != group for g in GROUPS])
    return forward(**arguments).fit(X[kept], BITS[kept])


def norms(model, inputs):
    return np.sqrt(model.embedding_.sq_norms_of(model.decision_function(inputs)))


PARTS = [{}, {"embedding": Eigen()}, {"output_kernel": None}, {"output_kernel": Linear()}]


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_shared_candidates_equal_refits(parts, cosine):
    model = forward(**parts).fit(X, BITS)
    found = scores_without_own(model, NEW, SharedCandidates(MOLECULES), GROUPS, NAMES, cosine=cosine)
    for j, name in enumerate(NAMES):  # m7 and m8 are not training molecules
        part = refit(name, **parts)
        expected = part.scores(NEW, MOLECULES[j : j + 1])[:, 0]
        expected = expected / norms(part, NEW) if cosine else expected
        np.testing.assert_allclose(found[:, j], expected, rtol=0, atol=1e-10)


@pytest.mark.parametrize("cosine", [False, True])
@pytest.mark.parametrize("parts", PARTS, ids=str)
def test_sets_equal_shared_candidates(parts, cosine):
    model = forward(**parts).fit(X, BITS)
    everything = scores_without_own(model, NEW, MOLECULES, GROUPS, NAMES, cosine=cosine)
    chosen = [np.array([0, 1, 7]), np.array([3]), np.array([2, 2, 8, 3]), np.array([5, 6])]
    sets = CandidateSets([MOLECULES[c] for c in chosen])
    given = [[NAMES[j] if j < 7 else None for j in c] for c in chosen]
    found = scores_without_own(model, NEW, sets, GROUPS, given, cosine=cosine)
    for i, c in enumerate(chosen):
        np.testing.assert_allclose(found[i], everything[i, c], rtol=0, atol=1e-12)


@pytest.mark.parametrize("cosine", [False, True])
def test_the_reverse_model_leaves_its_inputs_out(cosine):
    """Molecules are inputs and spectra candidates: row i is scored by the model without the spectra of molecule i."""
    model = IOKR(Tanimoto(), output_kernel=RBF(0.3), alpha=0.5).fit(BITS, X)
    found = scores_without_own(model, MOLECULES, NEW, GROUPS, NAMES, by="inputs", cosine=cosine)
    for i, name in enumerate(NAMES):
        kept = np.array([g != name for g in GROUPS])
        part = IOKR(Tanimoto(), output_kernel=RBF(0.3), alpha=0.5).fit(BITS[kept], X[kept])
        expected = part.scores(MOLECULES[i : i + 1], NEW)[0]
        expected = expected / norms(part, MOLECULES[i : i + 1]) if cosine else expected
        np.testing.assert_allclose(found[i], expected, rtol=0, atol=1e-10)
    sets = CandidateSets([NEW[[i % 4]] for i in range(9)])
    each = scores_without_own(model, MOLECULES, sets, GROUPS, NAMES, by="inputs", cosine=cosine)
    np.testing.assert_allclose([s[0] for s in each], found[np.arange(9), np.arange(9) % 4], rtol=0, atol=1e-12)


def test_the_cosine_is_that_of_the_formula():
    """r = k_xᵀγ / √(γᵀKγ), γ(y) = (K_Y + λ'I)⁻¹ k_Y(y)."""
    model = IOKR(Tanimoto(), output_kernel=RBF(0.3), alpha=0.5).fit(BITS, X)
    K, K_Y = RBF(0.3)(X), Tanimoto()(BITS)
    gamma = np.linalg.solve(K_Y + 0.5 * np.eye(12), Tanimoto()(BITS, MOLECULES[7:]))
    expected = (RBF(0.3)(NEW, X) @ gamma / np.sqrt(np.einsum("ij,ik,kj->j", gamma, K, gamma))).T
    found = scores_without_own(model, MOLECULES[7:], NEW, GROUPS, [None, None], by="inputs", cosine=True)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_weights_unlabelled_points_and_operators():
    w = np.ones(12)
    w[[1, 3]] = 0.0, 2.0
    more = RNG.normal(size=(5, 3))
    for arguments, fit in [
        ({}, {"sample_weight": w}),
        ({"manifold": Laplacian(0.3, 3)}, {"X_unlabeled": more}),
        ({"embedding": Eigen(), "manifold": Laplacian(0.3, 3)}, {"X_unlabeled": more, "sample_weight": w}),
    ]:
        model = forward(**arguments).fit(X, BITS, **fit)
        found = scores_without_own(model, NEW, MOLECULES, GROUPS, NAMES)
        for j, name in enumerate(NAMES):
            gone = np.array([g == name for g in GROUPS])  # without labels, still in the graph
            weight = np.where(gone, 0.0, fit.get("sample_weight", np.ones(12)))
            part = forward(**arguments).fit(X, BITS, **{**fit, "sample_weight": weight})
            np.testing.assert_allclose(found[:, j], part.scores(NEW, MOLECULES[j : j + 1])[:, 0], rtol=0, atol=1e-9)
    twice = IOKR(Decomposable(RBF(0.3), 2.0 * np.eye(20)), alpha=0.4).fit(X, BITS)
    once = IOKR(RBF(0.3), alpha=0.2).fit(X, BITS)
    ours, theirs = (scores_without_own(m, NEW, MOLECULES, GROUPS, NAMES) for m in (twice, once))
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-12)


def test_without_training_groups_scores_are_those_of_the_model():
    model = IOKRCV(RBF(0.3), output_kernel=Tanimoto(), alphas=(0.1, 1.0)).fit(X, BITS, groups=GROUPS)
    plain = model.scores(NEW, MOLECULES)
    np.testing.assert_array_equal(scores_without_own(model, NEW, MOLECULES, GROUPS, [None] * 9), plain)
    np.testing.assert_array_equal(scores_without_own(model, NEW, MOLECULES, GROUPS, list("abcdefghi")), plain)


@pytest.mark.parametrize(("name", "device"), [("torch", "cpu"), ("array_api_strict", "CPU_DEVICE")])
def test_other_array_libraries(name, device):
    library = library_of(name, device)
    ours = scores_without_own(forward().fit(X, BITS), NEW, MOLECULES, GROUPS, NAMES, cosine=True)
    model = forward().fit(library(X), library(BITS))
    theirs = scores_without_own(model, library(NEW), library(MOLECULES), GROUPS, NAMES, cosine=True)
    np.testing.assert_allclose(library.numpy(theirs), ours, rtol=0, atol=1e-12)
    single = forward().fit(X.astype("float32"), BITS.astype("float32"))
    assert scores_without_own(single, NEW.astype("float32"), MOLECULES, GROUPS, NAMES).dtype == np.float32


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"model": IOKR()}, "`model` must be a fitted"),
        ({"model": IOKR}, "`model` must be a fitted"),
        ({"groups": GROUPS[:3]}, "`groups` has 3 entries but the model has 12"),
        ({"candidate_groups": NAMES[:3]}, "`candidate_groups` has 3 entries but `candidates` has 9"),
        ({"candidate_groups": 4}, "`candidate_groups` must be a sequence"),
        ({"by": "both"}, "`by` must be one of"),
        ({"cosine": "yes"}, "`cosine` must be one of"),
        ({"by": "inputs"}, "`candidate_groups` has 9 entries but X has 4"),
        ({"candidates": CandidateSets([MOLECULES] * 4)}, "`candidate_groups` has 9 lists but there are 4 sets"),
        (
            {"candidates": CandidateSets([MOLECULES] * 4), "candidate_groups": [NAMES[:2]] * 4},
            "`candidate_groups` has 2 entries but candidate set 0 has 9",
        ),
    ],
)
def test_bad_arguments(change, message):
    arguments = {"model": forward().fit(X, BITS), "X": NEW, "candidates": MOLECULES, "groups": GROUPS}
    with pytest.raises((ValueError, TypeError), match=message):
        scores_without_own(**{**arguments, "candidate_groups": NAMES, **change})


def test_models_without_weights():
    covariance = IOKR(Covariance(RBF(0.3)), output_kernel=Tanimoto()).fit(X, BITS)
    with pytest.raises(ValueError, match="covariance operator"):
        scores_without_own(covariance, NEW, MOLECULES, GROUPS, NAMES)
    projected = forward(embedding=Nystroem(5)).fit(X, BITS)
    with pytest.raises(ValueError, match="projects the outputs"):
        scores_without_own(projected, NEW, MOLECULES, GROUPS, NAMES)
