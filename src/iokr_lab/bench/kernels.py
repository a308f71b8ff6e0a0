"""Kernels on structured objects: the Gram matrix of n objects, from the objects themselves.

Each beside the loop over pairs that one would write from its definition in plain Python, which is timed on a few
objects and multiplied by the number of pairs, and beside GraKeL and tslearn where they have the kernel and are
installed. Rivals begin with objects in their own format. Kernels with compiled loops are asked again without Numba.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from importlib import import_module, util
from itertools import combinations, product
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr._compile import compiling
from iokr.kernels import (
    Delta,
    GlobalAlignment,
    Hamming,
    Jaccard,
    Kendall,
    Mallows,
    Mismatch,
    Positional,
    ShortestPath,
    Spearman,
    Spectrum,
    Subsequence,
    WeisfeilerLehman,
)
from iokr.kernels.base import Kernel
from iokr.report import Report, Table
from iokr_lab.bench.base import Contender, Question, Target, Verdict, survey

__all__ = ["QUESTIONS", "run"]

_THREADS = 1
_LOOP = "loop over pairs"
_PLAIN = 20.0  # times faster than the loop over pairs, in NumPy alone
_FAST = 100.0  # with compiled loops

Matrix = NDArray[np.float64]
Pair = Callable[[Any, Any], float]


def run(*, repeat: int, seed: int, progress: Callable[[int, int, str], None], quick: bool) -> Report:
    """Ask every question."""
    asked: list[Question] = []

    def build(make: Callable[..., Question], compiled: bool) -> Question:
        asked.append(make(seed=seed, n=60 if quick else 1000, compiled=compiled))
        return asked[-1]

    routes = [True, False] if util.find_spec("numba") else [False]
    makers = [
        partial(build, make, compiled)
        for make, has_loops in QUESTIONS.items()
        for compiled in (routes if has_loops else routes[:1])
    ]
    report = survey(
        "Gram matrices of structured objects",
        makers,
        (),
        lambda sizes: [],
        repeat=repeat,
        seed=seed,
        progress=progress,
        n_threads=_THREADS,
        judge=not quick,
    )
    return replace(report, items=tuple(_whole_loops(item, asked) for item in report.items))


@dataclass(frozen=True)
class WholeLoop(Target):
    """A target against a loop of which only a few pairs are timed."""

    pairs: float = 1.0  # of the whole Gram matrix, for each pair that is timed

    def judge(self, question: Question, seconds: Mapping[str, float]) -> Verdict:
        """The ratio with the time of all pairs."""
        return super().judge(question, {**seconds, self.other: self.pairs * seconds[self.other]})


def _whole_loops(item: Any, asked: Sequence[Question]) -> Any:
    """A table in which the time of a few pairs has become that of all."""
    question = next((q for q in asked if isinstance(item, Table) and q.title == item.title), None)
    if question is None:
        return item
    factor = {target.other: target.pairs for target in question.targets if isinstance(target, WholeLoop)}
    rows = [
        {key: value if key == "contender" else factor.get(row["contender"], 1.0) * value for key, value in row.items()}
        for row in item.rows
    ]
    return replace(item, rows=rows)


def _ask(
    title: str,
    kernel: Kernel,
    X: Any,
    pair: Pair,
    few: int,
    *,
    compiled: bool | None = None,
    rivals: Sequence[Contender] = (),
) -> Question:
    """The Gram matrix of X by the kernel, by the loop on a few objects, and by rivals.

    `compiled` is None for kernels that have no compiled loops.
    """
    some = list(X[:few])
    n, few = len(X), len(some)
    if compiled is not None:
        title = f"{title}, {'compiled' if compiled else 'NumPy alone'}"
    whole = n * (n + 1) / (few * (few + 1))

    def ours() -> Matrix:
        with compiling(compiled is not False):
            K: Matrix = kernel(X)
        return K

    contenders = (
        Contender(type(kernel).__name__, ours, lambda K: {"K": K, "corner": K[:few, :few]}, "ours"),
        Contender(_LOOP, partial(pair_loop, some, pair), lambda K: {"corner": K}),
        *rivals,
    )
    targets = (
        WholeLoop(_LOOP, at_least=_PLAIN if compiled is False else _FAST, pairs=whole),
        *(Target(rival.name, at_most=1.0) for rival in rivals),
    )
    note = f"The loop is timed on {few} objects; its time is that of all {n * (n + 1) // 2} pairs at the same pace."
    return Question(title, contenders, targets, note=note)


def pair_loop(X: Sequence[Any], pair: Pair) -> Matrix:
    """k(x, z) of each pair, one after the other."""
    K = np.empty((len(X), len(X)))
    for i, x in enumerate(X):
        for j in range(i + 1):
            K[i, j] = K[j, i] = pair(x, X[j])
    return K


# ---------------------------------------------------------------------------------------------------------
# Strings


def spectrum(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Three letters side by side, in strings of up to 100 letters out of 20."""
    X = _words(np.random.default_rng(seed), n, 100, _ACIDS)
    return _ask(
        f"(a) Spectrum(3), {n} strings of 50 to 100 letters out of 20",
        Spectrum(3),
        X,
        spectrum_pair,
        30,
        compiled=compiled,
    )


def spectrum_pair(x: str, z: str) -> float:
    """Σ_u c_u(x) c_u(z)."""
    a, b = (Counter(s[i : i + 3] for i in range(len(s) - 2)) for s in (x, z))
    return float(sum(count * b[u] for u, count in a.items()))


def mismatch(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Four letters side by side but for one, in strings of up to 100 letters out of 4."""
    X = _words(np.random.default_rng(seed), n, 100, "ACGT")
    kernel = Mismatch(4, 1, "ACGT")
    return _ask(
        f"(b) Mismatch(4, 1), {n} strings of 50 to 100 letters out of 4", kernel, X, mismatch_pair, 4, compiled=compiled
    )


def mismatch_pair(x: str, z: str) -> float:
    """Σ_u c_u(x) c_u(z), u one of the words at most one letter away from each 4-gram."""
    a, b = (Counter(u for i in range(len(s) - 3) for u in _near(s[i : i + 4])) for s in (x, z))
    return float(sum(count * b[u] for u, count in a.items()))


def _near(word: str) -> Iterator[str]:
    yield word
    for i, letter in product(range(len(word)), "ACGT"):
        if letter != word[i]:
            yield word[:i] + letter + word[i + 1 :]


def subsequence(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Three letters with gaps, in words of up to 16 letters."""
    X = _words(np.random.default_rng(seed), n, 16, "abcdefghijklmnopqrstuvwxyz")
    title = f"(c) Subsequence(3, 0.5), {n} words of 8 to 16 letters"
    return _ask(title, Subsequence(3, 0.5), X, subsequence_pair, 12, compiled=compiled)


def long_subsequence(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """The same in strings of up to 100 letters out of 20, too long to list the places of words."""
    X = _words(np.random.default_rng(seed), n, 100, _ACIDS)
    title = f"(l) Subsequence(3, 0.5), {n} strings of 50 to 100 letters out of 20"
    return _ask(title, Subsequence(3, 0.5), X, subsequence_pair, 4, compiled=compiled)


def subsequence_pair(x: str, z: str, n: int = 3, decay: float = 0.5) -> float:
    """The recursion of Lodhi et al.: K′_i and K″_i over prefixes of x and z."""
    kept = [[1.0] * (len(z) + 1) for _ in range(len(x) + 1)]
    for i in range(1, n):
        new = [[0.0] * (len(z) + 1) for _ in range(len(x) + 1)]
        for p in range(i, len(x) + 1):
            along = 0.0
            for q in range(i, len(z) + 1):
                along *= decay
                if x[p - 1] == z[q - 1]:
                    along += decay * decay * kept[p - 1][q - 1]
                new[p][q] = decay * new[p - 1][q] + along
        kept = new
    total = 0.0
    for p in range(n, len(x) + 1):
        for q in range(n, len(z) + 1):
            if x[p - 1] == z[q - 1]:
                total += decay * decay * kept[p - 1][q - 1]
    return total


def positional(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Letters that agree, position by position."""
    X = _words(np.random.default_rng(seed), n, 14, "abcdefghijklmnopqrstuvwxyz")
    title = f"(d) Positional(Delta()), {n} words of 7 to 14 letters"
    return _ask(title, Positional(Delta()), X, positional_pair, 60, compiled=compiled)


def positional_pair(x: str, z: str) -> float:
    """Σ_t 1{x_t = z_t}."""
    return float(sum(a == b for a, b in zip(x, z, strict=False)))


# ---------------------------------------------------------------------------------------------------------
# Rankings and sets


def kendall(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Concordant less discordant pairs of 12 items."""
    return _ask(f"(e) Kendall(), {n} rankings of 12 items", Kendall(), _rankings(seed, n), kendall_pair, 30)


def kendall_pair(x: Sequence[float], z: Sequence[float]) -> float:
    """Σ_{a<b} sgn(x_a − x_b) sgn(z_a − z_b) / (d choose 2)."""
    pairs = list(combinations(range(len(x)), 2))
    signs = [(x[a] > x[b]) - (x[a] < x[b]) for a, b in pairs]
    return float(sum(s * ((z[a] > z[b]) - (z[a] < z[b])) for s, (a, b) in zip(signs, pairs, strict=True)) / len(pairs))


def spearman(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Spearman's ρ of 12 items."""
    X = _rankings(seed, n)
    return _ask(f"(f) Spearman(), {n} rankings of 12 items", Spearman(), X, spearman_pair, 100)


def spearman_pair(x: Sequence[float], z: Sequence[float]) -> float:
    """1 − 6 Σ_j (x_j − z_j)² / (d³ − d)."""
    d = len(x)
    return 1.0 - 6.0 * float(sum((a - b) ** 2 for a, b in zip(x, z, strict=True))) / (d**3 - d)


def mallows(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """exp of minus the discordant pairs of 12 items."""
    return _ask(
        f"(g) Mallows(0.1), {n} rankings of 12 items",
        Mallows(0.1),
        _rankings(seed, n),
        mallows_pair,
        30,
        compiled=compiled,
    )


def mallows_pair(x: Sequence[float], z: Sequence[float]) -> float:
    """exp(−0.1 · discordant pairs)."""
    apart = sum((x[a] - x[b]) * (z[a] - z[b]) < 0 for a, b in combinations(range(len(x)), 2))
    return float(np.exp(-0.1 * apart))


def jaccard(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Sets of about 30 elements out of 500."""
    rng = np.random.default_rng(seed)
    X = [frozenset(rng.permutation(500)[: rng.integers(20, 41)].tolist()) for _ in range(n)]
    title = f"(h) Jaccard(), {n} sets of 20 to 40 elements"
    return _ask(title, Jaccard(), X, jaccard_pair, 200, compiled=compiled)


def jaccard_pair(x: frozenset[int], z: frozenset[int]) -> float:
    """|x ∩ z| / |x ∪ z|."""
    return len(x & z) / len(x | z)


def hamming(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Sets of about 30 labels out of 100."""
    rng = np.random.default_rng(seed)
    X = [frozenset(rng.permutation(100)[: rng.integers(20, 41)].tolist()) for _ in range(n)]
    kernel = Hamming(list(range(100)))
    return _ask(f"(m) Hamming(), {n} sets of 20 to 40 labels out of 100", kernel, X, hamming_pair, 200)


def hamming_pair(x: frozenset[int], z: frozenset[int]) -> float:
    """1 − |x Δ z| / 100."""
    return 1.0 - len(x ^ z) / 100


# ---------------------------------------------------------------------------------------------------------
# Graphs


def weisfeiler_lehman(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Names of nodes after up to five refinements."""
    X = _graphs(np.random.default_rng(seed), n)

    def rival() -> Any:
        grakel = import_module("grakel")
        return grakel.WeisfeilerLehman(n_iter=5, base_graph_kernel=grakel.VertexHistogram).fit_transform(theirs())

    theirs = _grakel_graphs(X)
    rivals = [Contender("GraKeL", rival, lambda K: {"K": K}, needs="grakel")]
    title = f"(i) WeisfeilerLehman(5), {n} graphs of 15 to 30 nodes"
    return _ask(title, WeisfeilerLehman(5), X, weisfeiler_lehman_pair, 10, rivals=rivals, compiled=compiled)


def weisfeiler_lehman_pair(x: Any, z: Any, depth: int = 5) -> float:
    """Σ_h Σ_c n_c^h(x) n_c^h(z), names made for these two graphs."""
    names = [list(labels) for _, labels in (x, z)]
    near = [[np.flatnonzero(row).tolist() for row in A] for A, _ in (x, z)]
    total = 0
    for _ in range(depth + 1):
        a, b = map(Counter, names)
        total += sum(count * b[c] for c, count in a.items())
        short: dict[Any, int] = {}
        names = [
            [
                short.setdefault((own, tuple(sorted(side[j] for j in row))), len(short))
                for own, row in zip(side, rows, strict=True)
            ]
            for side, rows in zip(names, near, strict=True)
        ]
    return float(total)


def shortest_path(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """Pairs of nodes with equal labels and distance."""
    X = _graphs(np.random.default_rng(seed), n)

    def rival() -> Any:
        return import_module("grakel").ShortestPath().fit_transform(theirs())

    theirs = _grakel_graphs(X)
    rivals = [Contender("GraKeL", rival, lambda K: {"K": K}, needs="grakel")]
    title = f"(j) ShortestPath(), {n} graphs of 15 to 30 nodes"
    return _ask(title, ShortestPath(), X, shortest_path_pair, 6, rivals=rivals, compiled=compiled)


def shortest_path_pair(x: Any, z: Any) -> float:
    """Σ n_abd(x) n_abd(z), distances by breadth-first search."""
    a, b = (Counter(_labelled_distances(*graph)) for graph in (x, z))
    return float(sum(count * b[key] for key, count in a.items()))


def _labelled_distances(A: Any, labels: Sequence[str]) -> Iterator[tuple[str, str, int]]:
    near = [np.flatnonzero(row).tolist() for row in A]
    for start in range(len(labels)):
        distance, queue = {start: 0}, [start]
        for i in queue:
            for j in near[i]:
                if j not in distance:
                    distance[j] = distance[i] + 1
                    queue.append(j)
        yield from ((labels[start], labels[j], d) for j, d in distance.items() if j != start)


# ---------------------------------------------------------------------------------------------------------
# Time series


def global_alignment(*, seed: int = 0, n: int = 1000, compiled: bool = True) -> Question:
    """All alignments of series of 30 points."""
    X = np.random.default_rng(seed).standard_normal((n, 30, 1)).cumsum(axis=1)

    def rival() -> Any:
        return import_module("tslearn.metrics").cdist_gak(X, sigma=4.0)

    rivals = [Contender("tslearn", rival, lambda K: {"K": K}, needs="tslearn")] if compiled else []
    title = f"(k) GlobalAlignment(4), {n} series of 30 points"
    kernel = GlobalAlignment(4.0)
    return _ask(title, kernel, X, alignment_pair, 8, compiled=compiled, rivals=rivals)


def alignment_pair(x: Matrix, z: Matrix) -> float:
    """K(x, z) / √(K(x, x) K(z, z))."""
    return float(_alignments(x, z) / np.sqrt(_alignments(x, x) * _alignments(z, z)))


def _alignments(x: Matrix, z: Matrix, sigma: float = 4.0) -> float:
    g = np.exp(-((x - z[:, 0]) ** 2) / (2 * sigma**2))
    kappa = (g / (2 - g)).tolist()
    above = [1.0] + [0.0] * len(z)
    for row in kappa:
        here = [0.0]
        for q, local in enumerate(row):
            here.append(local * (above[q] + above[q + 1] + here[q]))
        above = here
    return above[-1]


# ---------------------------------------------------------------------------------------------------------
# Data

_ACIDS = "ACDEFGHIKLMNPQRSTVWY"

QUESTIONS: dict[Callable[..., Question], bool] = {  # and whether loops are compiled
    spectrum: True,
    mismatch: True,
    subsequence: True,
    positional: True,
    kendall: False,
    spearman: False,
    mallows: False,
    jaccard: True,
    weisfeiler_lehman: True,
    shortest_path: True,
    global_alignment: True,
    long_subsequence: True,
    hamming: False,
}


def _words(rng: np.random.Generator, n: int, longest: int, letters: str) -> list[str]:
    """Random letters, half as many to as many as the longest."""
    sizes = rng.integers(longest // 2, longest + 1, size=n)
    return ["".join(rng.choice(list(letters), size=size)) for size in sizes]


def _rankings(seed: int, n: int) -> list[list[int]]:
    """Orders of 12 items."""
    rng = np.random.default_rng(seed)
    return [rng.permutation(12).tolist() for _ in range(n)]


def _graphs(rng: np.random.Generator, n: int) -> list[tuple[NDArray[np.int64], list[str]]]:
    """Random graphs with three edges for every two nodes, and three labels."""
    found = []
    for size in rng.integers(15, 31, size=n):
        A = np.triu(rng.random((size, size)) < 3.0 / size, 1).astype(np.int64)
        found.append((A + A.T, rng.choice(list("CNO"), size=size).tolist()))
    return found


def _grakel_graphs(X: Sequence[Any]) -> Callable[[], list[Any]]:
    """The same graphs as GraKeL holds them, made when first asked for."""
    made: list[Any] = []

    def graphs() -> list[Any]:
        if not made:
            grakel = import_module("grakel")
            for A, labels in X:
                edges = {i: dict.fromkeys(np.flatnonzero(row).tolist(), 1.0) for i, row in enumerate(A)}
                made.append(grakel.Graph(edges, node_labels=dict(enumerate(labels))))
        return made

    return graphs
