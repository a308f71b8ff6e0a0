"""Embeddings ψ(y) of outputs: vectors, the kernel trick, and coordinates of an output kernel."""

from typing import TYPE_CHECKING

from iokr._lazy import lazy_names

if TYPE_CHECKING:
    from iokr.embeddings.base import Embedding, EuclideanEmbedding
    from iokr.embeddings.basis import Basis
    from iokr.embeddings.curves import Curves
    from iokr.embeddings.eigen import Eigen, KernelPCA
    from iokr.embeddings.explicit import Explicit
    from iokr.embeddings.identity import Identity
    from iokr.embeddings.implicit import Implicit
    from iokr.embeddings.nystroem import Nystroem, Sketch

__all__ = [
    "Basis",
    "Curves",
    "Eigen",
    "Embedding",
    "EuclideanEmbedding",
    "Explicit",
    "Identity",
    "Implicit",
    "KernelPCA",
    "Nystroem",
    "Sketch",
]

__getattr__, __dir__ = lazy_names(__name__)
