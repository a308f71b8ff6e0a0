"""Kernels that do not change when all objects are translated, far from the origin.

|Δk| ≤ 8 eps p max(1, γ d²_max), for shifts up to 1e9 of the data's scale, against the same objects at the origin: a
shifted number as it is stored, less the shift, is exact, so both are the same distances. Every member of the tables is
asked whether it is such a kernel. Tests of `iokr.kernels.base` and of `iokr.kernels.vectors`.
"""

import inspect

import numpy as np
import pytest
from scipy.sparse import csr_array

import members
import reference
from iokr import IOKR, IOKRCV, MultiTask, OutputKernelTree
from iokr._array import to_numpy
from iokr.data.objects import as_objects
from iokr.embeddings import Eigen, Implicit
from iokr.kernels import RBF, Centered, Features, GlobalAlignment, Laplacian, Linear, Normalized
from iokr.manifolds import Heat
from libraries import library_of
from tolerance import EPS

OWN_NUMBERS = (Features,)  # what a user's transformer rounds is its own
SHIFTS = [1e3, -1e6, 7e7, 1e9]
KINDS = ("vectors", "sparse vectors", "matrices", "series", "bags")


def shifted(X, shift):
    """Objects translated, as they are then stored."""
    if hasattr(X, "tocsr"):
        return type(X)(X.toarray() + shift)
    if isinstance(X, np.ndarray) and X.dtype != object:
        return X + shift
    return as_objects(np.asarray(x, dtype=float) + shift for x in X)


def width(X):
    """Numbers that a difference of two objects has."""
    return X.shape[1] if len(X.shape) == 2 else max(np.size(x) for x in X)


def shift_invariant():
    """Members whose values are the same about 0 and about 8, that is up to rounding."""
    found = []
    for rows in members.KERNELS.values():
        for kernel, kind in rows:
            if kind in KINDS and not isinstance(kernel, OWN_NUMBERS):
                X = members.objects(kind, 9)
                with np.errstate(all="ignore"):
                    K = kernel(X)
                    if np.allclose(K, kernel(shifted(X, 8.0)), rtol=1e-9, atol=1e-9):
                        found.append((kernel, kind))
    found += [(Centered(Linear()), "vectors"), (Centered(Linear()), "sparse vectors")]
    return [*found, (Normalized(Centered(Linear())), "vectors"), (Normalized(RBF(2.0)), "vectors")]


with pytest.warns(UserWarning, match="nothing|no outputs"):  # `Aligned` alone
    INVARIANT = shift_invariant()


def test_the_known_ones_are_among_them():
    found = {type(kernel) for kernel, _ in INVARIANT}
    assert {RBF, Laplacian, GlobalAlignment} <= found
    assert len(found) >= 10
    assert all(inspect.isclass(kind) for kind in found)


@pytest.mark.filterwarnings("ignore:Aligned")
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize(
    ("kernel", "kind"), INVARIANT, ids=lambda value: value if isinstance(value, str) else members.label(value)
)
def test_values_far_away_are_those_at_the_origin(kernel, kind, shift):
    far, other = (shifted(members.objects(kind, n, seed), shift) for n, seed in ((14, 1), (9, 2)))
    near, another = shifted(far, -shift), shifted(other, -shift)
    here, there = kernel.fit(near), type(kernel)(**kernel.get_params(deep=False)).fit(far)
    values = [
        (there(far), here(near)),
        (there(far, other), here(near, another)),
        (there(other), here(another)),  # neither was seen at fit
    ]
    if isinstance(kernel, (RBF, Laplacian, GlobalAlignment)):
        values.append((here(far), here(near)))  # nor anything near; others keep objects
    for found, expected in values:
        size = max(1.0, float(np.abs(expected).max()))
        assert np.abs(found - expected).max() <= bound(kernel, far) * size


def bound(kernel, X):
    """8 eps p max(1, γ d²_max)."""
    return 8 * EPS * width(X) * max(1.0, exponent(kernel, X))


def exponent(kernel, X):
    """γ d²_max (for sums of absolute differences, γ d_max); at least 0 for what is made of such kernels."""
    if not isinstance(kernel, (RBF, Laplacian)):
        return 0.0
    X = X.toarray() if hasattr(X, "tocsr") else X
    apart = np.abs(X[:, None, :] - X[None, :, :])
    return kernel.gamma_ * float((apart**2 if isinstance(kernel, RBF) else apart).sum(axis=2).max())


@pytest.mark.parametrize("library", [("torch", "cpu"), ("array_api_strict", "CPU_DEVICE"), ("cupy", None)], ids=str)
@pytest.mark.parametrize("shift", SHIFTS)
@pytest.mark.parametrize("kernel", [RBF(0.3), RBF(), Laplacian(0.3), RBF(0.3) * Laplacian(0.1)], ids=str)
def test_in_every_library(kernel, shift, library):
    to = library_of(*library)
    X, Z = (members.objects("vectors", n, n) + shift for n in (14, 9))
    k = type(kernel)(**kernel.get_params(deep=False)).fit(X - shift)
    assert np.abs(to.numpy(kernel(to(X), to(Z))) - k(X - shift, Z - shift)).max() <= 8 * EPS * 4 * 10


@pytest.mark.parametrize("gamma", [1e-3, 0.3, 30.0])
@pytest.mark.parametrize("shift", [0.0, *SHIFTS])
def test_against_distances_entry_by_entry(gamma, shift):
    X, Z = (members.objects("vectors", n, n) + shift for n in (14, 9))
    X[0] += 50.0  # an outlier
    for kernel, loop in ((RBF(gamma), reference.rbf(gamma)), (Laplacian(gamma), reference.laplacian(gamma))):
        kernel.fit(X)
        limit = 8 * EPS * 4 * max(1.0, exponent(kernel, np.vstack([X, Z])))
        for A, B in ((X, Z), (X, X), (Z, Z)):
            assert np.abs(kernel(A, B) - reference.gram(loop, A, B)).max() <= limit


# Whole models. Their answers move by what the solver makes of |ΔK|: κ(K + αI) ≤ 1 + n/α.


@pytest.mark.parametrize("shift", [1e3, 1e6, 1e9])
@pytest.mark.parametrize(
    "model",
    [
        IOKR(RBF(0.3), alpha=0.1),
        IOKR(RBF(), alpha=0.1),
        IOKRCV(RBF(0.3)),
        IOKR(RBF(0.3), alpha=0.1, manifold=Heat(0.1)),
        MultiTask(RBF(0.3), alpha=0.1),
    ],
    ids=str,
)
def test_models_of_far_inputs(model, shift):
    rng = np.random.default_rng(0)
    far, new = rng.normal(size=(25, 4)) + shift, rng.normal(size=(6, 4)) + shift
    Y = np.sin((far - shift) @ rng.normal(size=(4, 2)))
    expected = model.fit(far - shift, Y).predict(new - shift)
    found = model.fit(far, Y).predict(new)
    np.testing.assert_allclose(found, expected, atol=1e-10)


def test_time_stamps_are_inputs_like_any_others():
    days = 1.7e9 + 86400.0 * np.arange(60)[:, None]
    y = np.sin(days[:, 0] / 86400 / 5)
    for kernel in (RBF(), RBF(1 / 86400**2)):
        for alpha in (1e-3, 1e-6):
            model = IOKR(kernel, alpha=alpha).fit(days, y)
            shifted_model = IOKR(kernel, alpha=alpha).fit(days - 1.7e9, y)
            new = days[:-1] + 43200.0
            np.testing.assert_allclose(model.predict(new), shifted_model.predict(new - 1.7e9), atol=1e-9)


@pytest.mark.parametrize("shift", [1e3, 1e6, 1e9])
@pytest.mark.parametrize(
    "build",
    [
        lambda: IOKR(RBF(0.3), output_kernel=RBF(0.5), embedding=Implicit(), alpha=0.1),
        lambda: IOKR(RBF(0.3), output_kernel=RBF(0.5), embedding=Eigen(), alpha=0.1),
        lambda: IOKR(RBF(0.3), output_kernel=RBF(), alpha=0.1),
        lambda: OutputKernelTree(RBF(0.5), random_state=0),
        lambda: OutputKernelTree(random_state=0),
    ],
    ids=["Implicit", "Eigen", "median", "tree", "tree on vectors"],
)
def test_models_of_far_outputs(build, shift):
    rng = np.random.default_rng(0)
    X, new = rng.normal(size=(25, 4)), rng.normal(size=(6, 4))
    far = np.sin(X @ rng.normal(size=(4, 5))) + shift
    here, there = build().fit(X, far - shift), build().fit(X, far)
    np.testing.assert_array_equal(there.predict(new) - shift, here.predict(new))
    if here.output_kernel is not None:
        np.testing.assert_allclose(there.distances(new, far), here.distances(new, far - shift), atol=1e-10)


@pytest.mark.parametrize("spread", [1.0, 1e5, 1e8, 1e10, 1e16, 1e100])
@pytest.mark.parametrize("p", [2, 5])
@pytest.mark.parametrize("kernel", [RBF(0.2), Laplacian(0.2)], ids=repr)
@pytest.mark.parametrize("library", ["numpy", "torch", "array_api_strict", "sparse"])
def test_points_near_each_other_among_far_ones(library, kernel, p, spread):
    """|Δk| ≤ 1e-9, however far the others are: clusters of width one, `spread` apart, against sums entry by entry."""
    rng = np.random.default_rng(0)
    centers = np.round(rng.normal(size=(4, p)) * spread)
    near = np.round(rng.normal(size=(12, p)) * 8) / 8
    X = np.repeat(centers, 3, axis=0) + near
    Z = np.repeat(centers, 3, axis=0) + np.roll(near, 1, axis=0)
    gaps = np.sum(np.abs(X[:, None] - Z[None]) ** (1 if isinstance(kernel, Laplacian) else 2), axis=2)
    device = "CPU_DEVICE" if library == "array_api_strict" else "cpu"
    move = {"sparse": csr_array, "numpy": np.asarray}.get(library) or library_of(library, device)
    A, B = move(X), move(Z)
    found = kernel.fit(A)(A, B)
    np.testing.assert_allclose(to_numpy(found), np.exp(-0.2 * gaps), rtol=0, atol=1e-9)
