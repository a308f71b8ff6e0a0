"""Library search and ridge on each bit, by their formulas and by refits without own spectra."""

import numpy as np
import pytest

from iokr import CandidateSets
from iokr.apps.msms.baselines import BitwiseRidge, LibrarySearch
from iokr.kernels import RBF, Tanimoto

RNG = np.random.default_rng(0)
MOLECULES = (RNG.uniform(size=(16, 12)) < 0.4).astype(float)
X = RNG.normal(size=(12, 3)) + MOLECULES[:12, :3]
NEW = RNG.normal(size=(2, 3))
SETS = CandidateSets([MOLECULES[[0, 13, 14]], MOLECULES[[15, 3]]])
NAMES = [[0, 13, 14], [15, 3]]


def similar(A, B):
    return np.asarray(RBF(0.3)(A, B))


@pytest.mark.parametrize("neighbors", [1, 3])
@pytest.mark.parametrize("own", ["leave-out", "count"])
def test_library_search_is_its_formula(neighbors, own):
    rival = LibrarySearch(similar, n_neighbors=neighbors).fit(X, MOLECULES[:12], groups=range(12))
    found = rival.scores(NEW, SETS, NAMES, own=own)
    for i, names in enumerate(NAMES):
        for j, name in enumerate(names):
            kept = [r for r in range(12) if r != name or own == "count"]
            c = similar(NEW[i : i + 1], X[kept])[0]
            near = np.argsort(-c)[:neighbors]
            t = Tanimoto()(MOLECULES[name][None], MOLECULES[kept])[0]
            assert found[i][j] == pytest.approx(c[near] @ t[near] / c[near].sum(), rel=1e-12)


def test_bitwise_ridge_without_own_spectra_is_a_refit_of_the_ridge():
    """The sigmoids stay those of all rows; the values of the bits are those of the model without the molecule."""
    rival = BitwiseRidge(RBF(0.3), alphas=(0.1,)).fit(X, MOLECULES[:12], groups=range(12))
    found = rival.scores(NEW, SETS, NAMES)
    for i, names in enumerate(NAMES):
        for j, name in enumerate(names):
            kept = np.array([r for r in range(12) if r != name])
            beta = np.linalg.solve(
                similar(X[kept], X[kept]) + 0.1 * np.eye(len(kept)), similar(X[kept], NEW[i : i + 1])
            )
            z = rival.slope_ * (beta[:, 0] @ MOLECULES[kept]) + rival.offset_
            y = MOLECULES[name]
            expected = float((y * z).sum() - np.logaddexp(0, z).sum())
            assert found[i][j] == pytest.approx(expected, rel=1e-9)


def test_sigmoids_are_stationary():
    rival = BitwiseRidge(RBF(0.3), alphas=(0.1,)).fit(X, MOLECULES[:12], groups=range(12))
    assert np.all(np.isfinite(rival.slope_))
    p = 1 / (1 + np.exp(-rival.offset_ - rival.slope_ * 0.5))
    assert np.all((p > 0) & (p < 1))


def test_bad_arguments_are_refused():
    rival = LibrarySearch(similar).fit(X, MOLECULES[:12])
    with pytest.raises(TypeError, match="`candidates` must be `CandidateSets`"):
        rival.scores(NEW, MOLECULES)
    with pytest.raises(ValueError, match="`own` must be one of"):
        rival.scores(NEW, SETS, own="exclude")
    with pytest.raises(ValueError, match="`candidate_groups` has 2 names"):
        rival.scores(NEW, SETS, [[1], [2]])
    with pytest.raises(TypeError, match="`similarity` must be a function"):
        LibrarySearch("cosine").fit(X, MOLECULES[:12])
