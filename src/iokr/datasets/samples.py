"""Small samples of every domain, for examples and contract tests of kernels."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from iokr._validation.arguments import check_integer
from iokr.chem.spectra import MassSpectrum
from iokr.data.objects import as_objects

__all__ = ["DOMAINS", "sample"]


def sample(domain: str, n: int = 20, seed: int = 0) -> Any:
    """`n` objects of a domain.

    Parameters
    ----------
    domain : str
        One of `DOMAINS`, the values of `Kernel.domain`.
    n : int, default=20
    seed : int, default=0
        Random seed.

    Returns
    -------
    ndarray
        Of shape (n, ·) for vectors, curves and fingerprints, else 1-D: of integers, or of objects.

    Examples
    --------
    >>> from iokr.datasets import sample
    >>> sample("vectors", n=3).shape
    (3, 4)
    >>> sample("strings", n=2, seed=1).tolist() == sample("strings", n=2, seed=1).tolist()
    True
    """
    if not isinstance(domain, str) or domain not in DOMAINS:
        raise ValueError(f"`domain` must be one of {', '.join(sorted(DOMAINS))}, got {domain!r}.")
    n = check_integer(n, "n", minimum=1)
    rng = np.random.default_rng(check_integer(seed, "seed", minimum=0))
    return DOMAINS[domain](n, rng)


def _sets(n: int, rng: Generator) -> NDArray[np.object_]:
    """Subsets of ten letters, some of them empty."""
    letters = np.array(list("abcdefghij"))
    return as_objects(frozenset(letters[rng.random(10) < 0.3].tolist()) for _ in range(n))


def _tree(size: int, rng: Generator) -> tuple[tuple[tuple[int, ...], ...], str]:
    A = np.zeros((size, size), dtype=int)
    for node in range(1, size):
        parent = int(rng.integers(0, node))
        A[node, parent] = A[parent, node] = 1
    return tuple(map(tuple, A.tolist())), "".join(rng.choice(list("CNO"), size=size))


def _expression(depth: int, rng: Generator) -> Any:
    if depth == 0 or rng.random() < 0.2:
        return str(rng.choice(list("abc")))
    return str(rng.choice(["+", "*"])), _expression(depth - 1, rng), _expression(depth - 1, rng)


def _any(n: int, rng: Generator) -> NDArray[np.object_]:
    """Objects of several types: words, tuples, sets."""
    kinds = ("strings", "sequences", "sets")
    return as_objects(DOMAINS[kinds[i % len(kinds)]](1, rng)[0] for i in range(n))


def _bags(n: int, rng: Generator) -> NDArray[np.object_]:
    """Tuples of one to four points with three Gaussian coordinates."""
    sizes = rng.integers(1, 5, size=n)
    return as_objects(tuple(map(tuple, rng.standard_normal((size, 3)).tolist())) for size in sizes)


def _spectra(n: int, rng: Generator) -> NDArray[np.object_]:
    """Mass spectra of 4 to 8 of twenty peaks, with measurement error; some lack a precursor."""
    places = np.concatenate([np.linspace(60.0, 300.0, 14), 43.01784 + 14.01565 * np.arange(6)])  # CnH(2n−1)O
    return as_objects(_spectrum(places[rng.permutation(20)[: rng.integers(4, 9)]], rng) for _ in range(n))


def _spectrum(mz: NDArray[np.float64], rng: Generator) -> MassSpectrum:
    carbons = int(rng.integers(6, 12))
    energy = float(rng.choice([10.0, 20.0, 40.0]))
    known = {"formula": f"C{carbons}H{2 * carbons}O{rng.integers(1, 4)}", "collision_energy": energy}
    ion = None if rng.random() < 0.1 else float(mz.max() + rng.choice([1.0, 18.01, 43.99]))
    heights = rng.random(len(mz)) + 0.05
    measured = mz * (1 + 2e-6 * rng.standard_normal(len(mz)))
    adduct = {"adduct": "[M+H]+" if rng.random() < 0.7 else "[M+Na]+"}
    return MassSpectrum(measured, heights / heights.max(), ion, known | adduct)


DOMAINS: dict[str, Callable[[int, Generator], Any]] = {
    "any": _any,
    "bags": _bags,
    # Random walks at seven grid points, as rows
    "curves": lambda n, rng: rng.standard_normal((n, 7)).cumsum(axis=1),
    # Rows of 32 bits, a third of which are set
    "fingerprints": lambda n, rng: (rng.random((n, 32)) < 1 / 3).astype(np.float64),
    # Trees of 3 to 7 nodes with three labels: adjacency as a tuple of rows, and a string of labels
    "graphs": lambda n, rng: as_objects(_tree(int(size), rng) for size in rng.integers(3, 8, size=n)),
    # The integers 0 … n−1 in random order: rows of a given matrix, nodes of a graph
    "indices": lambda n, rng: rng.permutation(n),
    # One of four names each
    "labels": lambda n, rng: as_objects(rng.choice(["ash", "birch", "cedar", "elm"], size=n).tolist()),
    # Rows of two numbers below 20: pairs of nodes, some of them equal
    "pairs": lambda n, rng: rng.integers(0, 20, size=(n, 2)),
    # Rankings of five items, as tuples of positions
    "rankings": lambda n, rng: as_objects(tuple(rng.permutation(5).tolist()) for _ in range(n)),
    # Tuples of 3 to 6 small integers
    "sequences": lambda n, rng: as_objects(
        tuple(rng.integers(0, 4, size=length).tolist()) for length in rng.integers(3, 7, size=n)
    ),
    # Random walks of 4 to 9 steps, as tuples of numbers
    "series": lambda n, rng: as_objects(
        tuple(rng.standard_normal(length).cumsum().tolist()) for length in rng.integers(4, 10, size=n)
    ),
    "sets": _sets,
    "spectra": _spectra,
    # Words of 3 to 8 letters over a small alphabet, so that they share substrings
    "strings": lambda n, rng: as_objects(
        "".join(rng.choice(list("abcd"), size=length)) for length in rng.integers(3, 9, size=n)
    ),
    # Sums and products of letters, as tuples of an operation and its operands
    "trees": lambda n, rng: as_objects(_expression(int(depth), rng) for depth in rng.integers(1, 4, size=n)),
    # Gaussian rows of four numbers
    "vectors": lambda n, rng: rng.standard_normal((n, 4)),
}
