"""An instance or more of every public component, with objects that it takes."""

import inspect
import re
from importlib.util import find_spec
from types import ModuleType
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator
from sklearn.preprocessing import StandardScaler

import iokr.decoders
import iokr.embeddings
import iokr.kernels
import iokr.losses
import iokr.manifolds
import iokr.operator_kernels
import iokr.solvers
import reference
from iokr.data.objects import as_objects
from iokr.datasets import sample
from iokr.decoders import (
    Assignment,
    Candidates,
    FixedPoint,
    GraphBarycenter,
    GraphEdits,
    MinimumRisk,
    NGramPath,
    Positions,
    Threshold,
    TreeEdits,
)
from iokr.decoders import Identity as IdentityDecoder
from iokr.embeddings import Curves, Explicit, Identity, Implicit, KernelPCA
from iokr.embeddings import Eigen as EigenEmbedding
from iokr.embeddings import Nystroem as NystroemEmbedding
from iokr.embeddings import Sketch as SketchEmbedding
from iokr.kernels import (
    ARD,
    L2,
    RBF,
    Aligned,
    CartesianPair,
    Categories,
    Centered,
    CollisionEnergy,
    Columns,
    Cosine,
    CosineBinned,
    Delta,
    Diffusion,
    EmpiricalMap,
    Features,
    Formula,
    Fourier,
    FromFunction,
    GaussianOf,
    GlobalAlignment,
    GraKeL,
    Hamming,
    Jaccard,
    Kendall,
    Laplacian,
    Linear,
    Mallows,
    Mass,
    Mean,
    MetricPair,
    Mismatch,
    MixedPair,
    Normalized,
    Nystroem,
    Paths,
    Periodic,
    Pointwise,
    Polynomial,
    Positional,
    Precomputed,
    ProbabilityProduct,
    RegularizedLaplacian,
    Scaled,
    SetKernel,
    ShortestPath,
    Sketch,
    Spearman,
    Spectrum,
    Standardized,
    Subformulas,
    Subsequence,
    Subtree,
    Tanimoto,
    TanimotoOf,
    TensorPair,
    Warped,
    WeisfeilerLehman,
)
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Expectile, Huber, Insensitive, MaxMargin, Pinball, Square
from iokr.manifolds import Given, Heat, IteratedLaplacian
from iokr.manifolds import Laplacian as GraphLaplacian
from iokr.operator_kernels import (
    BlockKernel,
    ConditionalCovariance,
    Covariance,
    Decomposable,
    OperatorProduct,
    Transformable,
)
from iokr.solvers import (
    ADMM,
    IRLS,
    LBFGS,
    Auto,
    Cholesky,
    ConjugateGradient,
    CoordinateDescent,
    Eigen,
    LowRank,
    ManifoldEigen,
    MixedPrecision,
    ReducedRank,
)

FOLDERS = [
    iokr.kernels,
    iokr.embeddings,
    iokr.losses,
    iokr.solvers,
    iokr.decoders,
    iokr.manifolds,
    iokr.operator_kernels,
]


def final_classes(folder: ModuleType) -> list[type]:
    """The components of a folder that can be instantiated."""
    members = [getattr(folder, name) for name in folder.__all__]
    return [
        cls
        for cls in members
        if inspect.isclass(cls) and issubclass(cls, BaseEstimator) and not inspect.isabstract(cls)
    ]


def objects(domain: str, n: int, seed: int = 0) -> Any:
    """n objects of the kind that a kernel's `domain` names."""
    rng = np.random.default_rng(seed)
    match domain:
        case "vectors":
            return rng.normal(size=(n, 4))
        case "sparse vectors":
            return sparse.csr_matrix(rng.normal(size=(n, 6)) * (rng.uniform(size=(n, 6)) < 0.4))
        case "fingerprints":
            return (rng.uniform(size=(n, 20)) < 0.3).astype(float)
        case "labels":
            return rng.choice(np.array(["a", "b", "c"], dtype=object), size=n)
        case "strings":
            return np.array(["".join(rng.choice(list("abcd"), size=4)) for _ in range(n)], dtype=object)
        case "indices":
            return rng.permutation(60)[:n]
        case "curves":
            return np.cumsum(rng.normal(size=(n, 7)), axis=1)
        case "matrices":
            return as_objects(rng.normal(size=(size, 2)) for size in rng.integers(1, 5, size=n))
        case "partial rankings":
            return np.where(rng.uniform(size=(n, 5)) < 0.2, np.nan, rng.integers(0, 4, size=(n, 5)) + 0.0)
        case "sequences" | "sets" | "rankings" | "graphs" | "trees" | "series" | "pairs" | "bags" | "spectra":
            return sample(domain, n, seed)
    raise ValueError(domain)


def _gram60() -> np.ndarray:
    B = np.random.default_rng(9).normal(size=(60, 60))
    return B @ B.T


def _grakel() -> list[tuple[GraKeL, str]]:
    """A kernel of GraKeL where that is installed."""
    if not find_spec("grakel"):
        return []
    from grakel import VertexHistogram

    return [(GraKeL(VertexHistogram()), "graphs")]


def _graph60() -> np.ndarray:
    links = np.triu(np.random.default_rng(9).uniform(size=(60, 60)) < 0.1, k=1)
    return (links | links.T).astype(float)


KERNELS = {  # name of the class: instances, each with the kind of its objects
    "ARD": [(ARD(), "vectors"), (ARD([0.3, 0.0, 2.0, 0.1]), "vectors"), (ARD(0.3), "sparse vectors")],
    "RBF": [(RBF(), "vectors"), (RBF(0.3), "sparse vectors")],
    "Laplacian": [(Laplacian(), "vectors"), (Laplacian(0.3), "vectors")],
    "Linear": [(Linear(), "vectors"), (Linear(), "sparse vectors")],
    "Polynomial": [(Polynomial(), "vectors"), (Polynomial(2, 0.5, 0.0), "sparse vectors")],
    "Cosine": [(Cosine(), "vectors"), (Cosine(), "sparse vectors")],
    "Columns": [(Columns(RBF(0.5), [0, 2]), "vectors")],
    "Tanimoto": [(Tanimoto(), "fingerprints")],
    "Delta": [(Delta(), "labels")],
    "FromFunction": [(FromFunction(reference.linear), "vectors")],
    "Features": [(Features(StandardScaler()), "vectors")],
    "Precomputed": [(Precomputed(_gram60()), "indices")],
    "Sum": [(RBF(0.4) + Linear(), "vectors"), (Delta() + FromFunction(reference.delta), "strings")],
    "Product": [(RBF() * Polynomial(2), "vectors")],
    "Scaled": [(0.5 * RBF(0.4), "vectors"), (Scaled(Tanimoto(), 3.0), "fingerprints")],
    "Mean": [(Mean([RBF(0.4), Linear(), RBF(2.0)]), "vectors")],
    "Aligned": [(Aligned([RBF(0.4), Linear()]), "vectors"), (Aligned([RBF(0.4)], "align"), "vectors")],
    "Diffusion": [(Diffusion(0.5, _graph60()), "indices")],
    "RegularizedLaplacian": [(RegularizedLaplacian(2.0, _graph60()), "indices")],
    "Normalized": [(Normalized(Polynomial(2)), "vectors")],
    "Standardized": [(Standardized(RBF()), "vectors"), (Standardized(0.5 * Linear()), "vectors")],
    "Nystroem": [(Nystroem(RBF(0.4), 4), "vectors"), (Nystroem(Delta()), "labels")],
    "Sketch": [(Sketch(RBF(0.4), 4), "vectors"), (Sketch(Delta(), 3, 1.0, "normal"), "labels")],
    "Fourier": [(Fourier(RBF(0.4), 6), "vectors"), (Fourier(Laplacian(0.4), 8), "vectors")],
    "Centered": [(Centered(RBF(0.4)), "vectors"), (Centered(Tanimoto()), "fingerprints")],
    "EmpiricalMap": [(EmpiricalMap(RBF(0.4)), "vectors"), (EmpiricalMap(Spectrum(2)), "strings")],
    "Spectrum": [(Spectrum(2), "strings"), (Spectrum(1), "strings")],
    "Mismatch": [(Mismatch(3, 1, "abcd"), "strings"), (Mismatch(2, 1, "abcde"), "strings")],
    "Subsequence": [(Subsequence(2, 0.5), "strings"), (Subsequence(3, 0.9), "strings")],
    "Positional": [
        (Positional(Delta()), "sequences"),
        (Positional(Delta(), transitions=0.5), "sequences"),
        (Positional(RBF(0.4), transitions=2.0), "matrices"),
        (Positional(RBF(0.4), combine="product"), "matrices"),
        (Positional(EmpiricalMap(Polynomial(3)), pooled=False), "matrices"),
    ],
    "Kendall": [(Kendall(), "rankings"), (Kendall(), "partial rankings")],
    "Spearman": [(Spearman(), "rankings"), (Spearman(), "partial rankings")],
    "Mallows": [(Mallows(0.3), "rankings"), (Mallows(), "partial rankings")],
    "Jaccard": [(Jaccard(), "sets")],
    "Hamming": [(Hamming(list("abcdefghij")), "sets"), (Hamming(), "fingerprints")],
    "WeisfeilerLehman": [(WeisfeilerLehman(2), "graphs"), (WeisfeilerLehman(0), "graphs")],
    "ShortestPath": [(ShortestPath(), "graphs")],
    "Paths": [(Paths(3), "graphs"), (Paths(2, binary=False), "graphs")],
    "Subtree": [(Subtree(), "trees"), (Subtree(0.5, ordered=False), "trees"), (Subtree(depth=1), "trees")],
    "TanimotoOf": [(TanimotoOf(Paths(2)), "graphs"), (TanimotoOf(Polynomial(2)), "vectors")],
    "GraKeL": _grakel(),
    "TensorPair": [(TensorPair(Precomputed(_gram60())), "pairs"), (TensorPair(RBF(), objects("vectors", 20)), "pairs")],
    "MixedPair": [(MixedPair(Precomputed(_gram60()), 0.3), "pairs")],
    "CartesianPair": [(CartesianPair(Precomputed(_gram60())), "pairs")],
    "MetricPair": [(MetricPair(RBF(0.4), objects("vectors", 20)), "pairs")],
    "SetKernel": [(SetKernel(RBF(0.4)), "bags"), (SetKernel(Linear()), "bags")],
    "GlobalAlignment": [(GlobalAlignment(), "series"), (GlobalAlignment(2.0), "matrices")],
    "L2": [(L2(), "curves"), (L2(Linear(), quadrature="uniform"), "curves")],
    "Pointwise": [(Pointwise(), "curves"), (Pointwise(Laplacian(0.4)), "curves")],
    "Warped": [(Warped(), "curves")],
    "Periodic": [(Periodic(0.5, 3.0), "vectors")],
    "GaussianOf": [(GaussianOf(Tanimoto(), 0.5), "fingerprints"), (GaussianOf(Spectrum(2)), "strings")],
    "ProbabilityProduct": [
        (ProbabilityProduct(), "spectra"),
        (ProbabilityProduct(0.01, None, weights=0.5), "spectra"),
        (ProbabilityProduct(places="losses", ppm=20.0), "spectra"),
        (ProbabilityProduct(places="differences"), "spectra"),
    ],
    "CosineBinned": [(CosineBinned(0.1), "spectra"), (CosineBinned(1.0, 1.0), "spectra")],
    "Subformulas": [(Subformulas(), "spectra"), (Subformulas("losses", 0.5), "spectra")],
    "Mass": [(Mass(30.0), "spectra")],
    "Formula": [(Formula(), "spectra")],
    "Categories": [(Categories("adduct"), "spectra")],
    "CollisionEnergy": [(CollisionEnergy(), "spectra")],
}

EMBEDDINGS = {
    "Identity": [Identity()],
    "Curves": [Curves(), Curves(intercept=False, quadrature="uniform")],
    "Explicit": [Explicit()],
    "Implicit": [Implicit()],
    "Eigen": [EigenEmbedding(), EigenEmbedding(n_components=2), EigenEmbedding(tol=1e-6)],
    "KernelPCA": [KernelPCA(), KernelPCA(tol=1e-6)],
    "Nystroem": [NystroemEmbedding(), NystroemEmbedding(n_components=2), NystroemEmbedding(8, 1e-2, "uniform", 1)],
    "Sketch": [SketchEmbedding(), SketchEmbedding(n_components=3, density=0.5, entries="normal")],
}
LOSSES = {
    "Square": [Square()],
    "MaxMargin": [MaxMargin()],
    "Huber": [Huber(), Huber(0.3)],
    "Pinball": [Pinball(), Pinball(0.2), Pinball([0.1, 0.5, 0.8], [1.0, 2.0, 0.5])],
    "Expectile": [Expectile(), Expectile([0.1, 0.5, 0.8])],
    "Insensitive": [Insensitive(Huber(0.3), 0.2), Insensitive(EpsilonSquare(0.1), 0.0)],
    "EpsilonSquare": [EpsilonSquare(), EpsilonSquare(0.0), EpsilonSquare(0.7)],
    "EpsilonInsensitive": [EpsilonInsensitive(), EpsilonInsensitive(0.0), EpsilonInsensitive(0.7)],
}
SOLVERS = {
    "Auto": [Auto(), Auto(tol=1e-8, max_iter=50)],
    "Eigen": [Eigen()],
    "Cholesky": [Cholesky()],
    "ManifoldEigen": [ManifoldEigen()],
    "LowRank": [LowRank()],
    "ReducedRank": [ReducedRank(), ReducedRank(1, 0.1)],
    "ADMM": [ADMM(), ADMM(1e-9, 500)],
    "IRLS": [IRLS(), IRLS(tol=1e-4)],
    "LBFGS": [LBFGS(1e-22), LBFGS(1e-22, history=5)],
    "CoordinateDescent": [CoordinateDescent(), CoordinateDescent(max_iter=7)],
    "ConjugateGradient": [ConjugateGradient(1e-12), ConjugateGradient(1e-13, rank=5)],
    "MixedPrecision": [MixedPrecision(1e-13)],
}
DECODERS = {
    "Identity": [IdentityDecoder()],
    "Candidates": [Candidates(), Candidates(by="score")],
    "Threshold": [Threshold(), Threshold(2, 6), Threshold(5, 5)],
    "Assignment": [Assignment(), Assignment(exact=0)],
    "MinimumRisk": [MinimumRisk("hamming"), MinimumRisk("f1")],
    "Positions": [Positions()],
    "NGramPath": [NGramPath(), NGramPath(3, 6)],
    "FixedPoint": [FixedPoint(), FixedPoint(1, 20, 1e-6)],
    "GraphBarycenter": [GraphBarycenter(), GraphBarycenter(2, 0.9), GraphBarycenter(2, rounded=False, sizes=(3, 7))],
    "GraphEdits": [GraphEdits(), GraphEdits(2, 1, nodes=False), GraphEdits(connected=True)],
    "TreeEdits": [TreeEdits(), TreeEdits(2, 1, grafts=0), TreeEdits(grammar=True)],
}
MANIFOLDS = {
    "Laplacian": [GraphLaplacian(0.5), GraphLaplacian(0.5, 3)],
    "IteratedLaplacian": [IteratedLaplacian(0.5, 2), IteratedLaplacian(0.1, 3, 4)],
    "Heat": [Heat(0.5, 0.2), Heat(0.5, 0.2, literal=True)],
    "Given": [Given(0.5, np.diag(np.arange(12.0)))],
}
OPERATOR_KERNELS = {
    "Decomposable": [Decomposable(RBF(0.4), np.diag([1.0, 0.0, 2.0]))],
    "Covariance": [Covariance(RBF(0.4)), Covariance(Linear(), centered=True)],
    "ConditionalCovariance": [ConditionalCovariance(RBF(0.4)), ConditionalCovariance(Linear(), 0.1, centered=True)],
    "BlockKernel": [BlockKernel(reference.delayed_blocks)],
    "Transformable": [Transformable(RBF(0.4), [np.eye(2), np.diag([1.0, -1.0]), np.ones((2, 2))])],
    "OperatorProduct": [
        OperatorProduct(RBF(0.4), Transformable(RBF(0.4), [np.eye(2), np.diag([1.0, -1.0]), np.ones((2, 2))])),
        2.0 * (Decomposable(RBF(0.4), np.ones((3, 3))) + Linear()) * BlockKernel(reference.delayed_blocks),
    ],
    "OperatorSum": [Decomposable(RBF(0.4), np.ones((3, 3))) + Decomposable(RBF(2.0), np.eye(3)) + Linear()],
}

TABLES: dict[ModuleType, dict[str, list]] = {
    iokr.kernels: {name: [kernel for kernel, _ in rows] for name, rows in KERNELS.items()},
    iokr.embeddings: EMBEDDINGS,
    iokr.losses: LOSSES,
    iokr.solvers: SOLVERS,
    iokr.decoders: DECODERS,
    iokr.manifolds: MANIFOLDS,
    iokr.operator_kernels: OPERATOR_KERNELS,
}

EVERYTHING = [instance for table in TABLES.values() for rows in table.values() for instance in rows]


def label(instance: Any) -> str:
    """A name for the test's report, without addresses in memory, which differ between processes."""
    words = " ".join(re.sub(r" at 0x\w+", "", repr(instance)).split())
    return f"{type(instance).__module__.split('.')[1]}.{words[:60]}"
