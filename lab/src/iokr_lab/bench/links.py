"""Link prediction: one fold with every baseline, and the best links of ten thousand nodes.

(a) A fold of a network of 1242 nodes, the size of the yeast network of the papers: learn from the links between four
fifths of the nodes and score every pair. The baselines are those of `iokr_lab.baselines`, at their defaults; the floor
is our arithmetic written by hand. (b) 10 000 nodes, 2000 of them labelled: the 100 000 best new links, which take
800 MB from the matrix of all scores; then the peak memory of both, and that of a semi-supervised fit.
(c) The command on 5000 nodes, and the parameters that it chooses on a sample and by
the search on all (`link_search.py`).
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh
from scipy.linalg.blas import dgemm, dsyrk
from scipy.linalg.lapack import dpotrf, dpotrs
from scipy.sparse import csr_array

from iokr import LinkPredictor
from iokr.apps.links.baselines import PKMR, Naive
from iokr.kernels.vectors import RBF
from iokr.manifolds import Laplacian
from iokr_lab.baselines import OK3, TPPK, EMCompletion, KernelCCA, KernelMetricLearning, LocalModels
from iokr_lab.bench.base import Benchmark, Contender, Question, Target, Verdict, sized
from iokr_lab.bench.grams import Matrix, gram, lower_gram
from iokr_lab.bench.link_search import SECTION, network
from iokr_lab.bench.memory import Footprint

__all__ = ["BENCHMARK", "fold", "smooth_links", "top_links"]

_PANEL = 400  # rows of scores at a time

_SMALL: dict[str, dict[str, int]] = {
    "fold": {"N": 120, "p": 5},
    "top_links": {"N": 300, "n": 80, "p": 5, "top": 200},
    "smooth_links": {"N": 300, "n": 80, "p": 5, "top": 200},
}


# --------------------------------------------------------------------------------------------------------- (a) One fold


def fold(*, seed: int = 0, N: int = 1242, p: int = 50) -> Question:
    """Scores of all pairs from the links between four fifths of the nodes."""
    rng = np.random.default_rng(seed)
    X, W = network(rng, N, p, degree=20.0)
    labeled = np.sort(rng.permutation(N)[: 4 * N // 5])
    kernel = RBF(1.0 / p)
    alpha = 0.5
    learning: dict[str, Any] = {
        "kernel CCA": KernelCCA(kernel),
        "kernel metric learning": KernelMetricLearning(kernel),
        "local models (SVM)": LocalModels(kernel),
        "EM completion": EMCompletion(kernel),
        "PKMR": PKMR(kernel),
        "TPPK (ridge, all pairs)": TPPK(kernel),
        "OK3, 100 trees": OK3(random_state=seed),
    }

    def scores(model: Any) -> Any:
        return model.fit(X, W, labeled).decision_function()

    def ours(answer: Any) -> dict[str, Any]:
        return {"scores": answer}

    return Question(
        f"(a) one fold of {N} nodes, {len(labeled)} labelled",
        (
            Contender("LinkPredictor", partial(scores, LinkPredictor(kernel, alpha=alpha)), ours, "ours"),
            *(Contender(name, partial(scores, baseline)) for name, baseline in learning.items()),
            Contender("naive (learns nothing)", partial(scores, Naive(kernel))),
            Contender("floor", partial(fold_floor, X, W, labeled, 1.0 / p, alpha), ours, "floor"),
        ),
        (Target("floor", at_most=1.5), *(Target(name, at_least=1.0) for name in learning)),
        note="Floor: eigh of the Laplacian, Gram, Cholesky, solves, h of all nodes, products of all pairs. Published "
        "for the yeast network (2016): IOKR 0.49 s, kernel metric learning 18 s, kernel CCA 145 s, local 142 s.",
    )


def fold_floor(X: Matrix, W: csr_array, labeled: NDArray[np.intp], gamma: float, alpha: float) -> Matrix:
    """⟨h(u), h(v)⟩ of all nodes, h by ridge on the normalised diffusion kernel, β = 1."""
    H = values_floor(X, W, labeled, gamma, alpha)
    half: Matrix = dsyrk(1.0, H, lower=1)
    return half + np.tril(half, -1).T


def values_floor(X: Matrix, W: csr_array, labeled: NDArray[np.intp], gamma: float, alpha: float) -> Matrix:
    """h of all nodes: V from the Laplacian, (K + αI)⁻¹V, and the products with the rows of all nodes."""
    A = W[labeled][:, labeled].toarray(order="F")
    L = -A
    L.flat[:: len(L) + 1] += A.sum(axis=1)
    s, V = eigh(L, driver="evd", overwrite_a=True, check_finite=False)
    V *= np.exp(-0.5 * s)
    V /= np.sqrt(np.einsum("ij,ij->i", V, V))[:, None]
    Z = X[labeled]
    K = lower_gram(Z, gamma)
    K.T.flat[:: len(Z) + 1] += alpha
    C = dpotrs(dpotrf(K, lower=1, clean=0, overwrite_a=1)[0], V, lower=1, overwrite_b=1)[0]
    H: Matrix = dgemm(1.0, gram(X, Z, gamma), C)
    return H


# ------------------------------------------------------------------------------------- (b) The best links of many nodes


def top_links(*, seed: int = 0, N: int = 10_000, n: int = 2000, p: int = 50, top: int = 100_000) -> Question:
    """The best new links among all pairs."""
    X, W, labeled = _partly_labeled(seed, N, n, p)
    gamma = 1.0 / p
    alpha = 0.5

    def ours() -> Any:
        return LinkPredictor(RBF(gamma), alpha=alpha).fit(X, W, labeled).predict_links(top=top)

    return Question(
        f"(b) the best {top} links of {N} nodes, {n} labelled",
        (
            Contender("LinkPredictor", ours, lambda answer: {"scores": answer[1]}, "ours"),
            Contender(
                "floor",
                lambda: top_floor(values_floor(X, W, labeled, gamma, alpha), W, labeled, top),
                lambda answer: {"scores": answer},
                "floor",
            ),
        ),
        (Target("floor", at_most=1.5),),
        note="Floor: as in (a), with the scores of a panel of rows at a time and the best of each by partition.",
    )


def smooth_links(*, seed: int = 0, N: int = 10_000, n: int = 2000, p: int = 50, top: int = 100_000) -> Question:
    """The same from a semi-supervised fit."""
    X, W, labeled = _partly_labeled(seed, N, n, p)

    def ours() -> Any:
        model = LinkPredictor(RBF(1.0 / p), alpha=0.5, manifold=Laplacian(1e-3))
        return model.fit(X, W, labeled).predict_links(top=top)

    contender = Contender(_SMOOTH, ours, lambda answer: {"scores": answer[1]}, "ours")
    return Question(f"{N} nodes, {n} labelled, semi-supervised", (contender,))


_SMOOTH = "LinkPredictor, semi-supervised"


def _partly_labeled(seed: int, N: int, n: int, p: int) -> tuple[Matrix, csr_array, NDArray[np.intp]]:
    """Features, links, and the nodes whose links are known."""
    rng = np.random.default_rng(seed)
    X, W = network(rng, N, p, degree=20.0)
    return X, W, np.sort(rng.permutation(N)[:n])


def top_floor(H: Matrix, W: csr_array, labeled: NDArray[np.intp], top: int) -> Matrix:
    """The best scores of pairs i < j that are not known links, descending."""
    known = np.zeros(len(H), dtype=bool)
    known[labeled] = True
    best = np.empty(0)
    H = np.ascontiguousarray(H)
    for start in range(0, len(H), _PANEL):
        rows = slice(start, start + _PANEL)
        S = dgemm(1.0, H[start:].T, H[rows].T, trans_a=1).T  # (rows, columns from the first of them on)
        S[np.tril_indices(len(S))] = -np.inf
        linked = W[rows][:, start:].tocoo()
        both = known[start + linked.row] & known[start + linked.col]
        S[linked.row[both], linked.col[both]] = -np.inf
        found = S.ravel()
        if len(best) == top:
            found = found[found > best.min()]
        best = np.concatenate([best, found])
        if len(best) > top:
            best = np.partition(best, len(best) - top)[len(best) - top :]
    return np.sort(best[best > -np.inf])[::-1]


# ------------------------------------------------------------------------------------------------------ Memory and data


def _footprints(seed: int, quick: bool) -> list[Footprint]:
    full = {"seed": seed, **(_SMALL["top_links"] if quick else {})}
    small = {"seed": seed, **_SMALL["top_links"]}
    what = "fit and best links" if quick else "10 000 nodes, 2000 labelled: fit and best 100 000 links"
    asked = [("top_links", "LinkPredictor"), ("smooth_links", _SMOOTH), ("top_links", "floor")]
    return [Footprint(what, __name__, question, who, full, small) for question, who in asked]


def _memory_verdicts(sizes: Sequence[int]) -> list[Verdict]:
    """Under 4 GB; the matrix of all scores alone would take 800 MB."""
    named = zip(("LinkPredictor", _SMOOTH), sizes, strict=False)
    return [Verdict(f"memory of {who}, GB", size / 1e9, at_most=4.0) for who, size in named]


BENCHMARK = Benchmark("Links", sized(_SMALL, fold, top_links), _footprints, _memory_verdicts, sections=(SECTION,))
