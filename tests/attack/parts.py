"""Targets of components through models: outputs for decoders, embeddings and losses, weights for solvers, and so on."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

import members
from attack.components import OUTPUT_KERNELS, STRUCTURED, objects
from attack.judge import LOOSE, Case, plain
from attack.problems import NEW, UNLABELED, WEIGHT, N, X, Y
from attack.targets import Target, grid
from iokr import IOKR
from iokr.embeddings import Curves
from iokr.kernels import RBF, Linear, Nystroem
from iokr.losses import EpsilonInsensitive, Huber, MaxMargin
from iokr.manifolds import Laplacian

__all__ = ["part_cases"]

LOSSES = {"IRLS": Huber(), "ADMM": EpsilonInsensitive(), "LBFGS": Huber(), "CoordinateDescent": MaxMargin()}
NAMES = ("kernel", "output_kernel", "embedding", "decoder", "loss", "graph", "index", "curve", "candidates")


def part_cases() -> Iterator[Case]:
    """All of them."""
    yield from _decoders()
    yield from _embeddings()
    yield from _losses()
    yield from _solvers()
    yield from _manifolds()
    yield from _operators()


def _decoders() -> Iterator[Case]:
    """Outputs of the decoder's own domain, in other containers and spoiled; several settings of each."""
    for name, rows in members.DECODERS.items():
        domain = {"Positions": "strings"}.get(name, STRUCTURED.get(name, "vectors"))
        y, kernel = objects(domain), OUTPUT_KERNELS.get(name)
        for i, decoder in enumerate(rows[:2]):

            def call(y: Any, d: Any = decoder, k: Any = kernel) -> Any:
                model = IOKR(RBF(0.5), output_kernel=k, decoder=d, alpha=0.5).fit(X, y)
                found = plain(model.predict(NEW[:2]))
                return found if isinstance(found, np.ndarray) and found.dtype.kind != "O" else None

            lenient = domain not in ("vectors", "fingerprints")
            yield from Target(
                f"decoders.{name}/{i} outputs", call, {"y": y}, lenient=lenient, names=NAMES, skip=("torch", "strict")
            ).cases()


def _embeddings() -> Iterator[Case]:
    for name, rows in members.EMBEDDINGS.items():
        embedding = rows[0]
        kernel = {"Identity": None, "Curves": None, "Explicit": Linear()}.get(name, RBF(0.2))
        bits = members.objects("fingerprints", N)[:, :6] + 0.0
        y = grid(np.c_[Y, Y[:, :1]]) if isinstance(embedding, Curves) else bits if name == "Explicit" else Y

        def call(y: Any, e: Any = embedding, k: Any = kernel) -> Any:
            model = IOKR(RBF(0.5), output_kernel=k, embedding=e, alpha=0.5).fit(X, y)
            return model.distances(NEW, y)

        skip = ("a NaN", "float32 NaN", "pandas with NA", "a hidden entry", "a sparse NaN", "torch", "strict")
        yield from Target(f"embeddings.{name}/outputs", call, {"y": y}, names=NAMES, skip=skip, tol=LOOSE).cases()


def _losses() -> Iterator[Case]:
    for name, rows in members.LOSSES.items():

        def call(y: Any, a: Any = rows[0]) -> Any:
            return IOKR(RBF(0.5), loss=a, alpha=0.5).fit(X, y).decision_function(NEW)

        skip = ("a NaN", "float32 NaN", "pandas with NA", "a hidden entry", "a sparse NaN")
        yield from Target(f"losses.{name}/outputs", call, {"y": Y + 0.0625}, names=NAMES, skip=skip, tol=1e-4).cases()


def _solvers() -> Iterator[Case]:
    for name, rows in members.SOLVERS.items():

        def call(sample_weight: Any, s: Any = rows[0], n: str = name) -> Any:
            kernel = Nystroem(RBF(0.5), 4, random_state=0) if n == "LowRank" else RBF(0.5)
            more: dict[str, Any] = {"manifold": Laplacian(0.5)} if n == "ManifoldEigen" else {}
            points = {"X_unlabeled": UNLABELED} if n == "ManifoldEigen" else {}
            model = IOKR(kernel, loss=LOSSES.get(n), alpha=0.5, solver=s, **more)
            return model.fit(X, Y, sample_weight=sample_weight, **points).decision_function(NEW)

        yield from Target(f"solvers.{name}/weights", call, {"sample_weight": WEIGHT}, names=NAMES, tol=1e-4).cases()


def _manifolds() -> Iterator[Case]:
    for name, rows in members.MANIFOLDS.items():
        if name == "Given":
            continue

        def call(X_unlabeled: Any, m: Any = rows[0]) -> Any:
            return IOKR(RBF(0.5), alpha=0.5, manifold=m).fit(X[:8], Y[:8], X_unlabeled=X_unlabeled).predict(NEW)

        yield from Target(f"manifolds.{name}/points", call, {"X_unlabeled": UNLABELED}, names=NAMES).cases()


def _operators() -> Iterator[Case]:
    for name, rows in members.OPERATOR_KERNELS.items():
        if not rows:
            continue

        outputs = _outputs_of(rows[0])
        if outputs is None:
            continue

        def call(kernel: Any = rows[0], outputs: Any = outputs, **given: Any) -> Any:
            return IOKR(kernel, alpha=0.5).fit(**{"X": X, "y": outputs, **given}).predict(NEW)

        skip = ("a NaN", "float32 NaN", "pandas with NA", "a hidden entry", "a sparse NaN", "torch", "strict")
        arguments = {"y": outputs} if name == "BlockKernel" else {"X": X, "y": outputs}  # f of the user's takes X
        for argument, value in arguments.items():
            yield from Target(
                f"operator_kernels.{name}/{argument}", call, {argument: value}, names=NAMES, skip=skip
            ).cases()


def _outputs_of(kernel: Any) -> Any:
    """Outputs of as many coordinates as an operator kernel acts on; None where no number of them fits."""
    for d in (2, 3, 1, 4):
        y = grid(np.random.default_rng(0).normal(size=(N, d)))
        try:
            IOKR(kernel, alpha=0.5).fit(X, y).predict(NEW)
        except (ValueError, TypeError):
            continue
        return y
    return None
