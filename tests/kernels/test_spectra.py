"""Probability products against quadrature, the published formula and slow loops; `iokr.kernels._data.places`."""

import itertools

import numpy as np
import pytest

from iokr._system.compile import compiling
from iokr.chem.spectra import read_spectra
from iokr.datasets import sample
from iokr.kernels import Normalized, ProbabilityProduct
from reference import assert_close

PLACES = ("peaks", "losses", "differences")
SETTINGS = [
    ProbabilityProduct(places=places, sigma_mz=width, sigma_intensity=sigma, weights=weights, ppm=20.0)
    for places, width, sigma, weights in itertools.product(PLACES, (None, 0.01), (0.2, None), ("uniform", 0.5))
]


def crowded(n, seed=0):
    """Spectra with many near peaks of many widths; one has no peaks, one no precursor."""
    rng = np.random.default_rng(seed)
    spectra = []
    for i in range(n):
        size = 0 if i == 3 else int(rng.integers(1, 40))
        mz = rng.choice([100.0, 250.0, 251.0, 700.0], size) + rng.normal(scale=0.02, size=size)
        spectra.append((mz, rng.uniform(0.01, 1.0, size), None if i == 4 else 750.0 + rng.normal(scale=0.01)))
    return spectra


def slow(kernel, x, z):
    """The double sum over all pairs of peaks."""
    left, right = mixture(kernel, x), mixture(kernel, z)
    if not left or not right:
        return 0.0
    u, s, w, i = (np.array(part)[:, None] for part in zip(*left, strict=True))
    v, t, q, j = (np.array(part)[None, :] for part in zip(*right, strict=True))
    variance = s**2 + t**2
    terms = w * q * np.exp(-((u - v) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
    if kernel.sigma_intensity is not None:
        b = kernel.sigma_intensity
        terms *= np.exp(-((i - j) ** 2) / (4 * b**2)) / np.sqrt(4 * np.pi * b**2)
    return np.sum(np.where(np.abs(u - v) > kernel.cutoff * np.sqrt(variance / 2), 0.0, terms))


def mixture(kernel, spectrum):
    """[(u_p, s_p, w_p, I_p)]."""
    (x,) = read_spectra([spectrum])
    own = kernel.ppm * 1e-6 * np.maximum(x.mz, 200.0)
    width = np.maximum(own, kernel.sigma_min) if kernel.sigma_mz is None else np.full(len(x), kernel.sigma_mz)
    if kernel.places == "peaks":
        parts = [(m, s, i) for m, s, i in zip(x.mz, width, x.intensity, strict=True)]
    elif kernel.places == "losses":
        known = x.precursor_mz is not None
        parts = [(x.precursor_mz - m, s, i) for m, s, i in zip(x.mz, width, x.intensity, strict=True) if known]
    else:
        largest = sorted(range(len(x)), key=lambda p: -x.intensity[p])[:20]
        parts = [
            (abs(x.mz[p] - x.mz[q]), np.hypot(width[p], width[q]), np.sqrt(x.intensity[p] * x.intensity[q]))
            for p, q in itertools.combinations(largest, 2)
        ]
    powers = [1.0 if kernel.weights == "uniform" else i**kernel.weights for _, _, i in parts]
    return [(u, s, power / sum(powers), i) for (u, s, i), power in zip(parts, powers, strict=True)]


@pytest.mark.parametrize("kernel", SETTINGS, ids=lambda k: " ".join(repr(k).split()))
@pytest.mark.parametrize("fast", [True, False])
def test_equals_the_double_sum(kernel, fast):
    X, Z = crowded(8), crowded(5, seed=1)
    with compiling(fast):
        expected = [[slow(kernel, x, z) for z in Z] for x in X]
        assert_close(kernel(X, Z), expected, 1e-12)
        assert_close(kernel(X), [[slow(kernel, x, z) for z in X] for x in X], 1e-12)


@pytest.mark.parametrize("kernel", SETTINGS, ids=lambda k: " ".join(repr(k).split()))
def test_compiled_and_vectorised_agree(kernel):
    X = crowded(40)
    K = kernel(X)
    with compiling(False):
        vectorised = kernel(X)
        diagonal = kernel.diag(kernel.represent(X))
    assert_close(K, vectorised, 1e-12)
    assert_close(kernel.diag(kernel.represent(X)), diagonal, 1e-12)


@pytest.mark.parametrize("width", [None, 0.01])
def test_exponentials_are_exact_to_rounding(width):
    """One peak each, so that an entry is one exponential, from 1 down to the smallest normal number and below."""
    kernel = ProbabilityProduct(width, sigma_intensity=0.2, cutoff=100.0)
    heights = 1.0 + np.concatenate([np.linspace(0.0, 10.7, 700), [20.0, 1e3]])  # b ΔI² up to 715, and far beyond
    X, Z = [([150.0], [h]) for h in heights], [([150.0 + d], [1.0]) for d in (0.0, 1e-4, 0.003)]
    with pytest.warns(UserWarning, match="Cleaning"):
        K = kernel(X, Z)
    s = 0.001 if width is None else width
    away = np.array([0.0, 150.0 + 1e-4 - 150.0, 150.0 + 0.003 - 150.0])
    x = -(away**2) / (4 * s**2) - ((heights - 1.0) ** 2)[:, None] / (4 * 0.2**2)
    expected = np.exp(x) / (4 * np.pi * s * 0.2)
    seen = x > -700
    np.testing.assert_allclose(K[seen], expected[seen], rtol=2e-13)  # x itself is rounded
    assert np.all(K[~seen] < 1e-299)


@pytest.mark.parametrize("kernel", [ProbabilityProduct(), ProbabilityProduct(0.005, None)], ids=["own", "shared"])
def test_windows_of_many_pieces(kernel):
    """More near peaks than are taken together."""
    rng = np.random.default_rng(0)
    X = [(np.sort(300.0 + rng.normal(scale=0.004, size=15)), rng.uniform(0.1, 1.0, 15)) for _ in range(60)]
    K = kernel(X)
    assert_close(K[:3, :4], [[slow(kernel, x, z) for z in X[:4]] for x in X[:3]], 1e-12)
    with compiling(False):
        assert_close(K, kernel(X), 1e-12)


@pytest.mark.parametrize("width", [None, 0.3])
def test_integral_of_the_product(width):
    """∫∫ p_x p_z on a fine grid; the trapezoidal rule is exact to rounding for Gaussians."""
    kernel = ProbabilityProduct(width, 0.2, ppm=400.0, weights=0.5)
    x, z = ([300.0, 301.0, 900.0], [1.0, 0.3, 0.5]), ([300.2, 900.3], [0.4, 1.0])
    u = [np.arange(298.0, 304.0, 0.01), np.arange(894.0, 907.0, 0.01)]
    heights = np.arange(-2.0, 3.0, 0.01)

    def density(spectrum, grid):
        return sum(
            w
            * np.exp(-((grid[:, None] - m) ** 2) / (2 * s**2) - (heights[None] - i) ** 2 / 0.08)
            / (2 * np.pi * s * 0.2)
            for m, s, w, i in mixture(kernel, spectrum)
        )

    integral = sum(np.sum(density(x, grid) * density(z, grid)) for grid in u) * 0.01**2
    assert_close(kernel([x], [z]), [[integral]], 1e-10)


def test_shared_width_is_the_published_formula():
    """(1/(n n')) (1/(4πσ_mσ_i)) Σ exp(−¼[(Δm/σ_m)² + (ΔI/σ_i)²])."""
    X = crowded(6)
    x, z = X[0], X[5]
    gaps = np.exp(-0.25 * ((np.subtract.outer(x[0], z[0]) / 0.02) ** 2 + (np.subtract.outer(x[1], z[1]) / 0.3) ** 2))
    expected = gaps.mean() / (4 * np.pi * 0.02 * 0.3)
    assert_close(ProbabilityProduct(0.02, 0.3, cutoff=40.0)([x], [z]), [[expected]], 1e-12)


@pytest.mark.parametrize("cutoff", [2.0, 4.0, 8.0, 12.0])
def test_the_cutoff_errs_by_less_than_its_bound(cutoff):
    X = crowded(20)
    exact = Normalized(ProbabilityProduct(0.01, cutoff=60.0))(X)
    cut = Normalized(ProbabilityProduct(0.01, cutoff=cutoff))(X)
    sizes = np.array([len(mz) for mz, _, _ in X])
    bound = np.sqrt(np.outer(sizes, sizes)) * np.exp(-(cutoff**2) / 4)
    assert np.all(np.abs(exact - cut) <= bound + 1e-14)


def test_order_of_peaks_and_of_spectra_has_no_effect():
    X = crowded(9)
    rng = np.random.default_rng(2)
    K = ProbabilityProduct()(X)
    shuffled = [(mz[o], i[o], ion) for mz, i, ion in X for o in [rng.permutation(len(mz))]]
    assert_close(ProbabilityProduct()(shuffled), K, 1e-12)
    order = rng.permutation(9)
    assert_close(ProbabilityProduct()([X[i] for i in order]), K[np.ix_(order, order)], 1e-12)


@pytest.mark.parametrize("fast", [True, False])
def test_panels_blocks_and_repeated_rows_agree(fast):
    X = crowded(300)
    kernel = ProbabilityProduct(ppm=20.0).fit(X)
    R = kernel.represent(X)
    with compiling(fast):
        K = kernel.gram(R).dense()
        assert_close(K, kernel.block(R, R[:]), 1e-12)
        some = np.array([5, 2, 5, 7])
        assert_close(kernel.block(R[some], R[some]), K[np.ix_(some, some)], 1e-12)
        assert_close(kernel.block(R[10:20], R[some]), K[10:20][:, some], 1e-12)
        both = R[:100].concat(R[200:])
        assert_close(kernel.block(both, R), K[[*range(100), *range(200, 300)]], 1e-12)


def test_spectra_without_places_are_the_zero_vector():
    X = crowded(6)
    K = Normalized(ProbabilityProduct())(X)
    assert np.all(K[3] == 0) and K[4, 4] == 1
    losses = Normalized(ProbabilityProduct(places="losses"))(X)
    assert np.all(losses[4] == 0) and losses[0, 0] == 1
    nothing = [([], []), ([], [])]
    assert np.all(ProbabilityProduct()(nothing) == 0)


@pytest.mark.parametrize("places", PLACES)
def test_positive_semidefinite(places):
    K = Normalized(ProbabilityProduct(places=places, ppm=50.0))(crowded(60))
    assert np.linalg.eigvalsh(K).min() > -1e-12


def test_wide_intensities_are_those_left_out():
    X = crowded(8)
    wide = Normalized(ProbabilityProduct(sigma_intensity=1e6))(X)
    assert_close(wide, Normalized(ProbabilityProduct(sigma_intensity=None))(X), 1e-9)


def test_unscaled_intensities_give_a_warning():
    mz, _, ion = sample("spectra", 1)[0].mz, None, None
    with pytest.warns(UserWarning, match="Cleaning"):
        ProbabilityProduct()([(mz, np.full(len(mz), 999.0), ion)])


@pytest.mark.parametrize(
    "bad",
    [
        {"sigma_mz": 0.0},
        {"sigma_mz": "wide"},
        {"sigma_intensity": -1.0},
        {"ppm": -5.0},
        {"sigma_min": 0.0},
        {"places": "fragments"},
        {"weights": "even"},
        {"weights": -1.0},
        {"cutoff": 0.0},
    ],
)
def test_bad_parameters(bad):
    with pytest.raises((ValueError, TypeError), match=next(iter(bad))):
        ProbabilityProduct(**bad)(sample("spectra", 2))
