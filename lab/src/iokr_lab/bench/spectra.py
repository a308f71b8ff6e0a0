"""Gram matrices of mass spectra: the exponentials of the pairs of peaks they touch, loops over pairs, matchms.

The spectra are MassBank's where they are under `IOKR_DATA`, else made ones of the same size. The floor is one compiled
loop over as many exponentials as there are pairs of near peaks, one after the other, as the library of C takes them;
NumPy's, which takes several at a time, is shown, too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._system.compile import compiled, compiling
from iokr.chem import Bits, MassSpectra, cosine, modified_cosine
from iokr.datasets import DataNotFound
from iokr.kernels import ProbabilityProduct, Tanimoto
from iokr_lab.bench.base import Benchmark, Contender, Question, Target, Verdict
from iokr_lab.bench.memory import Footprint
from iokr_lab.bench.spectra_commands import COMMANDS
from iokr_lab.data import load_massbank_msms

__all__ = ["BENCHMARK", "fingerprints", "gram", "library", "made_spectra"]

_OURS = "ProbabilityProduct"
_FLOOR = "bare exponentials"
_VECTORISED = "the same without Numba"
_WIDTH = 0.005
_SIGMA = 0.2
_CUTOFF = 12.0
_FEW = 60  # spectra that loops over pairs in Python compare


def made_spectra(n: int, seed: int = 0) -> MassSpectra:
    """n spectra of up to 100 peaks at places that many share, as fragments do."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(5, 90, size=n)
    places = np.sort(50 + 400 * rng.beta(1.2, 2.0, size=3000))
    mz = [np.sort(rng.choice(places, k, replace=False) + rng.normal(scale=0.001, size=k)) for k in sizes]
    heights = [h / h.max() for h in (rng.exponential(size=k) + 1e-3 for k in sizes)]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    return MassSpectra(np.concatenate(mz), np.concatenate(heights), ends, np.array([m[-1] + 18.0 for m in mz]))


def _spectra(n: int, seed: int) -> MassSpectra:
    try:
        found: MassSpectra = load_massbank_msms().spectra[:n]
    except DataNotFound:
        return made_spectra(n, seed)
    return found


def touched(spectra: MassSpectra) -> int:
    """Pairs of peaks within the cut-off, those of a symmetric matrix once."""
    mz = np.sort(spectra.mz)
    ends = np.searchsorted(mz, mz + _CUTOFF * _WIDTH, side="right")
    return int(np.sum(ends - np.arange(len(mz))))


def exponentials(count: Any, arguments: Any) -> float:
    """Σ exp(−x), `count` of them; Numba compiles it."""
    total = 0.0
    size = len(arguments)
    done = 0
    while done < count:
        for i in range(min(size, count - done)):
            total += np.exp(-arguments[i])
        done += size
    return total


def gram(*, seed: int = 0, n: int = 1000, letter: str = "a") -> Question:
    """The symmetric Gram matrix, compiled and vectorised, compared with its exponentials and a loop over pairs."""
    spectra = _spectra(n, seed)
    kernel = ProbabilityProduct(_WIDTH, _SIGMA, cutoff=_CUTOFF).fit(spectra)
    R = kernel.represent(spectra)
    pairs = touched(spectra)
    arguments = np.random.default_rng(seed).uniform(0.0, _CUTOFF**2 / 4, size=4096)
    few = spectra[:_FEW]

    def vectorised() -> Any:
        with compiling(False):
            return kernel.gram(R).dense()

    def by_pairs() -> NDArray[np.float64]:
        K = np.empty((len(few), len(few)))
        rows = list(few)
        for i, x in enumerate(rows):
            for j, z in enumerate(rows):
                apart = (x.mz[:, None] - z.mz) ** 2 / _WIDTH**2 + (x.intensity[:, None] - z.intensity) ** 2 / _SIGMA**2
                K[i, j] = np.exp(-apart / 4).mean() / (4 * np.pi * _WIDTH * _SIGMA)
        return K

    def in_numpy() -> float:
        return sum(float(np.exp(-arguments).sum()) for _ in range(0, pairs, len(arguments)))

    loop = compiled(exponentials)
    contenders = [
        Contender(_OURS, lambda: kernel.gram(R).dense(), lambda K: {"K": K, "corner": K[:_FEW, :_FEW]}, "ours"),
        Contender(_VECTORISED, vectorised, lambda K: {"K": K}),
        Contender(
            "a loop over pairs of spectra",
            by_pairs,
            lambda K: {"corner": K},
            whole=lambda: ((len(spectra) / len(few)) ** 2, f" (from {len(few)} spectra)"),
        ),
    ]
    targets: list[Target] = []
    if loop is not None:
        contenders.insert(1, Contender(_FLOOR, lambda: loop(pairs, arguments), role="floor"))
        contenders.insert(2, Contender("exponentials by NumPy", in_numpy))
        targets = [Target(_FLOOR, at_most=2.5)]
    title = f"({letter}) ProbabilityProduct, {len(spectra)} spectra, {pairs / 1e6:.1f} million pairs of peaks"
    return Question(title, tuple(contenders), tuple(targets), rtol=1e-10, rounds=3)


def without_numba(*, seed: int = 0, n: int = 1000, letter: str = "d") -> Question:
    """The vectorised route compared with the compiled one."""
    spectra = _spectra(n, seed)
    kernel = ProbabilityProduct(_WIDTH, _SIGMA, cutoff=_CUTOFF).fit(spectra)
    R = kernel.represent(spectra)

    def vectorised() -> Any:
        with compiling(False):
            return kernel.gram(R).dense()

    contenders = (
        Contender(_VECTORISED, vectorised, lambda K: {"K": K}, "ours"),
        Contender("compiled", lambda: kernel.gram(R).dense(), lambda K: {"K": K}, needs="numba"),
    )
    title = f"({letter}) ProbabilityProduct without Numba, {len(spectra)} spectra"
    return Question(title, contenders, (Target("compiled", at_most=6.0),), rtol=1e-10, rounds=3)


def fingerprints(*, seed: int = 0, n: int = 2000, p: int = 4263) -> Question:
    """Tanimoto of packed bits compared with the product of float rows."""
    dense = (np.random.default_rng(seed).uniform(size=(n, p)) < 0.1).astype(np.uint8)
    bits = Bits.of(dense)
    rows = dense.astype(np.float32)

    def product() -> NDArray[np.float64]:
        both = (rows @ rows.T).astype(np.float64)
        sizes = rows.sum(axis=1, dtype=np.float64)
        return np.asarray(both / (sizes[:, None] + sizes[None, :] - both))

    contenders = (
        Contender("Tanimoto of Bits", lambda: Tanimoto()(bits), lambda K: {"K": K}, "ours"),
        Contender("float32 product", product, lambda K: {"K": K}),
    )
    target = Target("float32 product", at_most=1.0)
    return Question(f"(e) Tanimoto of {n} fingerprints of {p} bits", contenders, (target,))


def library(*, seed: int = 0, n: int = 200) -> Question:
    """Cosines of matched peaks for library search, compared with matchms where it is installed."""
    spectra = _spectra(n, seed)

    def theirs() -> NDArray[np.float64]:
        from matchms import Spectrum
        from matchms.similarity import CosineGreedy

        objects = [
            Spectrum(mz=s.mz, intensities=s.intensity, metadata={"precursor_mz": s.precursor_mz}) for s in spectra
        ]
        scores = CosineGreedy(tolerance=0.01, intensity_power=0.5).matrix(objects, objects, is_symmetric=True)
        return np.asarray(scores["score"], dtype=np.float64)

    contenders = (
        Contender("cosine", lambda: cosine(spectra), role="ours"),
        Contender("modified_cosine", lambda: modified_cosine(spectra)),
        Contender("matchms CosineGreedy", theirs, needs="matchms"),
    )
    return Question(f"(f) Cosines of matched peaks, {len(spectra)} spectra", contenders, rounds=3)


def _questions(seed: int, quick: bool) -> list[Callable[[], Question]]:
    sizes = (30, 40, 50) if quick else (1000, 2000, 3991)
    grams = [partial(gram, seed=seed, n=n, letter=letter) for n, letter in zip(sizes, "abc", strict=True)]
    return [
        *grams,
        partial(without_numba, seed=seed, n=sizes[1]),
        partial(fingerprints, seed=seed, **({"n": 30, "p": 200} if quick else {})),
        partial(library, seed=seed, n=10 if quick else 200),
    ]


def _footprints(seed: int, quick: bool) -> list[Footprint]:
    n = 50 if quick else 3991
    return [Footprint(f"the Gram of {n} spectra", __name__, "gram", _OURS, {"seed": seed, "n": n}, {"n": 30}, n)]


def _memory_verdicts(sizes: Sequence[int]) -> list[Verdict]:
    """At most 1.2 times the result and 100 MB."""
    limit = 1.2 * 8 * 3991**2 + 100e6
    return [Verdict("memory of the Gram of 3991 spectra / (1.2 times the result and 100 MB)", sizes[0] / limit, 1.0)]


BENCHMARK = Benchmark(
    "Gram matrices of mass spectra", _questions, _footprints, _memory_verdicts, n_threads=1, sections=(COMMANDS,)
)
