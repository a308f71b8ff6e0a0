"""An instance or more of every public component, with objects that it takes."""

import inspect
import re
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
from iokr.decoders import Candidates, Threshold
from iokr.decoders import Identity as IdentityDecoder
from iokr.embeddings import Eigen as EigenEmbedding
from iokr.embeddings import Identity, Implicit
from iokr.kernels import (
    RBF,
    Centered,
    Columns,
    Cosine,
    Delta,
    Features,
    FromFunction,
    Laplacian,
    Linear,
    Mean,
    Normalized,
    Polynomial,
    Precomputed,
    Scaled,
    Tanimoto,
)
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber, MaxMargin, Square
from iokr.manifolds import Given, Heat, IteratedLaplacian
from iokr.manifolds import Laplacian as GraphLaplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import ADMM, IRLS, Auto, Cholesky, CoordinateDescent, Eigen, ManifoldEigen

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
    raise ValueError(domain)


def _gram60() -> np.ndarray:
    B = np.random.default_rng(9).normal(size=(60, 60))
    return B @ B.T


KERNELS = {  # name of the class: instances, each with the kind of its objects
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
    "Normalized": [(Normalized(Polynomial(2)), "vectors")],
    "Centered": [(Centered(RBF(0.4)), "vectors"), (Centered(Tanimoto()), "fingerprints")],
}

EMBEDDINGS = {
    "Identity": [Identity(), Identity(centered=True)],
    "Implicit": [Implicit()],
    "Eigen": [EigenEmbedding(), EigenEmbedding(rank=2), EigenEmbedding(tol=1e-6)],
}
LOSSES = {
    "Square": [Square()],
    "MaxMargin": [MaxMargin()],
    "Huber": [Huber(), Huber(0.3)],
    "EpsilonSquare": [EpsilonSquare(), EpsilonSquare(0.0), EpsilonSquare(0.7)],
    "EpsilonInsensitive": [EpsilonInsensitive(), EpsilonInsensitive(0.0), EpsilonInsensitive(0.7)],
}
SOLVERS = {
    "Auto": [Auto(), Auto(tol=1e-8, max_iter=50)],
    "Eigen": [Eigen()],
    "Cholesky": [Cholesky()],
    "ManifoldEigen": [ManifoldEigen()],
    "ADMM": [ADMM(), ADMM(1e-9, 500)],
    "IRLS": [IRLS(), IRLS(tol=1e-4)],
    "CoordinateDescent": [CoordinateDescent(), CoordinateDescent(max_iter=7)],
}
DECODERS = {
    "Identity": [IdentityDecoder()],
    "Candidates": [Candidates(), Candidates(by="score")],
    "Threshold": [Threshold()],
}
MANIFOLDS = {
    "Laplacian": [GraphLaplacian(0.5), GraphLaplacian(0.5, 3)],
    "IteratedLaplacian": [IteratedLaplacian(0.5, 2), IteratedLaplacian(0.1, 3, 4)],
    "Heat": [Heat(0.5, 0.2), Heat(0.5, 0.2, literal=True)],
    "Given": [Given(0.5, np.diag(np.arange(12.0)))],
}
OPERATOR_KERNELS = {"Decomposable": [Decomposable(RBF(0.4), np.diag([1.0, 0.0, 2.0]))]}

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
