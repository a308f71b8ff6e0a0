"""Cosines of matched peaks against a slow greedy matching."""

import numpy as np
import pytest

from iokr import IOKR
from iokr._system.compile import compiling
from iokr.chem import MassSpectrum, PeakCosine, cosine, modified_cosine
from iokr.datasets import sample
from iokr.kernels import EmpiricalMap, Linear, Normalized
from reference import assert_close


def slow(x, z, tolerance, power, shifted):
    """(score, matches), all pairs of peaks sorted by their product."""
    w, v = x.intensity**power, z.intensity**power
    shifts = [0.0]
    if shifted and x.precursor_mz is not None and z.precursor_mz is not None:
        shifts.append(x.precursor_mz - z.precursor_mz)
    near = [
        (w[p] * v[q], p, q)
        for p in range(len(x))
        for q in range(len(z))
        if any(abs(x.mz[p] - s - z.mz[q]) <= tolerance for s in shifts)
    ]
    total, left, right = 0.0, set(), set()
    for product, p, q in sorted(near, key=lambda match: -match[0]):
        if p not in left and q not in right:
            total += product
            left.add(p)
            right.add(q)
    return total / np.linalg.norm(w) / np.linalg.norm(v), len(left)


def crowded(n, seed):
    rng = np.random.default_rng(seed)
    sizes = rng.integers(3, 15, size=n)
    return [
        MassSpectrum(
            rng.choice([100.0, 118.0, 250.0], k) + rng.normal(scale=0.01, size=k),
            rng.uniform(0.1, 1.0, size=k),
            None if i == 2 else float(300 + rng.choice([0.0, 18.0, 0.012])),
        )
        for i, k in enumerate(sizes)
    ]


@pytest.mark.parametrize("similarity", [cosine, modified_cosine, PeakCosine(0.05, 1.0, True), PeakCosine(0.0, 0.0)])
@pytest.mark.parametrize("fast", [True, False])
def test_equals_the_slow_matching(similarity, fast):
    X, Z = crowded(9, 0), crowded(6, 1)
    expected = [[slow(x, z, similarity.tolerance, similarity.power, similarity.shifted) for z in Z] for x in X]
    with compiling(fast):
        scores, counts = similarity.matches(X, Z)
    assert_close(scores, np.array(expected)[:, :, 0], 1e-12)
    np.testing.assert_array_equal(counts, np.array(expected)[:, :, 1])


def test_symmetric_with_ones_on_the_diagonal():
    X = sample("spectra", 12)
    for similarity in (cosine, modified_cosine):
        S = similarity(X)
        assert_close(S, S.T, 1e-12)
        assert_close(np.diag(S), np.ones(12), 1e-12)
        assert np.all(modified_cosine(X) >= cosine(X) - 0.5)


def test_not_a_kernel_but_an_empirical_map():
    X = sample("spectra", 8)
    with pytest.raises(TypeError, match=r"negative eigenvalues.*EmpiricalMap"):
        IOKR(modified_cosine).fit(X, np.eye(8))
    with pytest.raises(TypeError, match=r"negative eigenvalues.*EmpiricalMap"):
        IOKR(Linear(), output_kernel=cosine).fit(np.eye(8), X)
    with pytest.raises(TypeError, match=r"negative eigenvalues.*EmpiricalMap"):
        Normalized(cosine)(X)
    S = modified_cosine(X)
    assert_close(EmpiricalMap(modified_cosine)(X), S @ S.T, 1e-12)
    model = IOKR(Normalized(EmpiricalMap(modified_cosine)), alpha=0.1).fit(X, np.eye(8))
    assert model.predict(X).shape == (8, 8)


def test_no_peaks_and_bad_parameters():
    assert cosine([([], [])], [([50.0], [1.0])])[0, 0] == 0
    with pytest.raises(ValueError, match="tolerance"):
        PeakCosine(-1.0)(sample("spectra", 2))
    with pytest.raises(ValueError, match="shifted"):
        PeakCosine(shifted="yes")(sample("spectra", 2))
