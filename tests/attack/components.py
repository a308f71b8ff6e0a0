"""Targets of components: every kernel, embedding, loss, solver, manifold, decoder and operator kernel of members.py."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

import members
from attack.judge import Case
from attack.strangers import STRANGERS
from attack.targets import Target, grid
from attack.values import SCALARS
from iokr import IOKR
from iokr.kernels import RBF, Delta, Linear, Positional, Spearman, Spectrum, Subtree, WeisfeilerLehman
from iokr.losses import Huber
from samples import regression

__all__ = ["OUTPUT_KERNELS", "STRUCTURED", "component_targets", "kernel_instances", "objects"]

N = 12
STRUCTURED = {
    "Assignment": "rankings",
    "Positions": "strings",
    "NGramPath": "strings",
    "GraphEdits": "graphs",
    "GraphBarycenter": "graphs",
    "TreeEdits": "trees",
    "FixedPoint": "vectors",
    "Threshold": "fingerprints",
    "MinimumRisk": "fingerprints",
    "Identity": "vectors",
}
OUTPUT_KERNELS: dict[str, Any] = {  # which a decoder belongs to
    "Assignment": Spearman(),
    "Positions": Positional(Delta()),
    "NGramPath": Spectrum(2),
    "GraphEdits": WeisfeilerLehman(1),
    "GraphBarycenter": WeisfeilerLehman(1),
    "TreeEdits": Subtree(0.5),
    "FixedPoint": RBF(0.5),
    "Candidates": RBF(0.5),
}


def objects(domain: str, n: int = N, seed: int = 0) -> Any:
    """Valid objects; vectors on a grid that every float type holds."""
    found = members.objects(domain, n, seed)
    return grid(found) if domain == "vectors" else found


def kernel_instances() -> Iterator[tuple[str, Any, str]]:
    """A name, a kernel and its domain for every kernel of members.py."""
    for name, rows in members.KERNELS.items():
        for i, (kernel, domain) in enumerate(rows):
            yield f"kernels.{name}", kernel, domain
            if i >= 1:
                break


def _parameter_target(name: str, instance: Any, parameter: str, use: Callable[[Any], Any]) -> Target:
    def call(**given: Any) -> Any:
        odd = type(instance)(**{**instance.get_params(deep=False), **given})
        return use(odd)

    return Target(name, call, {parameter: instance.get_params(deep=False)[parameter]}, names=("kernel", "X", "y"))


def _by_parameters(name: str, instance: Any, use: Callable[[Any], Any]) -> Iterator[Case]:
    """Every constructor argument replaced by what is no argument, and by components of other kinds."""
    for parameter in instance.get_params(deep=False):
        target = _parameter_target(name, instance, parameter, use)
        yield from _scalar_cases(target, parameter)


def _scalar_cases(target: Target, parameter: str) -> Iterator[Case]:
    from attack.containers import Variant

    others = [
        Variant("a loss", lambda _: Huber(), "any"),
        Variant("a kernel", lambda _: Linear(), "any"),
        Variant("the class RBF", lambda _: RBF, "any"),
        Variant("a fitted kernel", lambda _: RBF().fit(np.eye(3)), "any"),
    ]
    for variant in [*SCALARS, *others]:
        yield Case(
            f"{target.name}/{parameter}={variant.name}"[:160],
            lambda v=variant: target.run(parameter, v),
            (parameter, *target.names),
        )


def kernel_cases() -> Iterator[Case]:
    """k(X), k(X, Z), constructor arguments, and the kernel on the inputs and on the outputs of a model."""
    seen: dict[str, int] = {}
    Y = grid(regression(0, n=N).Y)
    V, W = objects("vectors"), objects("vectors", 5, 1)
    for name, kernel, domain in kernel_instances():
        i = seen[name] = seen.get(name, -1) + 1
        X, Z = objects(domain), objects(domain, 5, 1)
        lenient = name == "kernels.FromFunction" or domain not in ("vectors", "fingerprints", "sparse vectors")
        names = (
            "kernel",
            "output_kernel",
            "graph",
            "nodes",
            "matrix",
            "index",
            "indices",
            "base",
            "pairs",
            "Object",
            "features",
        )

        def one(X: Any, k: Any = kernel) -> Any:
            return clone(k)(X)

        def two(Z: Any, k: Any = kernel, X: Any = X) -> Any:
            return clone(k).fit(X)(X, Z)

        def on_inputs(X: Any, k: Any = kernel, Z: Any = Z) -> Any:
            return IOKR(k, alpha=0.5).fit(X, Y).predict(Z)

        def on_outputs(y: Any, k: Any = kernel) -> Any:
            return IOKR(RBF(0.5), output_kernel=k, alpha=0.5).fit(V, y).rank(W, y)

        yield from Target(f"{name}/{i} k(X)", one, {"X": X}, lenient=lenient, names=(*names, "Z")).cases()
        yield from Target(f"{name}/{i} k(X, Z)", two, {"Z": Z}, lenient=lenient, names=(*names, "X")).cases()
        if i == 0:
            yield from Target(f"{name}/{i} as kernel", on_inputs, {"X": X}, lenient=lenient, names=names).cases()
            yield from Target(
                f"{name}/{i} as output kernel",
                on_outputs,
                {"y": X},
                lenient=lenient,
                names=names,
                skip=("a NaN", "torch", "strict"),
            ).cases()
            yield from _by_parameters(f"{name}/parameter", kernel, lambda k, X=X: k(X))
            for word, stranger in STRANGERS.items():
                yield Case(
                    f"{name}/predict {word}", lambda k=kernel, X=X, s=stranger: _predict(k, X, Y, s), ("X", *names)
                )


def _predict(kernel: Any, X: Any, Y: Any, stranger: Any) -> None:
    from attack.judge import check_finite

    check_finite(IOKR(kernel, alpha=0.5).fit(X, Y).predict([stranger]))


def component_cases() -> Iterator[Case]:
    """Constructor arguments of the other components, used in a model."""
    s = regression(0, n=N, u=4)
    X, Y, new, U = grid(s.X), grid(s.Y), grid(s.X_new), grid(s.U)

    def model(**parts: Any) -> Any:
        fitted = IOKR(**{"kernel": RBF(0.5), "alpha": 0.5, **parts}).fit(X, Y)
        return fitted.predict(new)

    def semi(manifold: Any) -> Any:
        return IOKR(RBF(0.5), alpha=0.5, manifold=manifold).fit(X[:8], Y[:8], X_unlabeled=U).predict(new)

    uses: dict[str, Callable[[str, Any], Any]] = {
        "embeddings": lambda name, e: model(embedding=e, output_kernel=None if name == "Identity" else RBF(0.5)),
        "losses": lambda name, loss: model(loss=loss),
        "solvers": lambda name, solver: _solve(name, solver, X, Y, new),
        "manifolds": lambda name, manifold: semi(manifold),
        "operator_kernels": lambda name, kernel: model(kernel=kernel),
        "decoders": lambda name, decoder: _decode(name, decoder, X, new),
    }
    for folder, table in members.TABLES.items():
        kind = folder.__name__.rpartition(".")[2]
        if kind not in uses:
            continue
        for name, rows in table.items():
            use = uses[kind]
            if rows:
                yield from _by_parameters(f"{kind}.{name}/parameter", rows[0], lambda c, n=name, u=use: u(n, c))


def _solve(name: str, solver: Any, X: Any, Y: Any, new: Any) -> Any:
    from iokr.kernels import Nystroem
    from iokr.manifolds import Laplacian

    if name == "ManifoldEigen":
        return IOKR(RBF(0.5), manifold=Laplacian(0.5), solver=solver).fit(X[:8], Y[:8], X_unlabeled=X[8:]).predict(new)
    kernel = Nystroem(RBF(0.5), 4) if name == "LowRank" else RBF(0.5)
    loss = Huber() if name in ("ADMM", "IRLS", "LBFGS") else None
    if name == "CoordinateDescent":
        from iokr.losses import MaxMargin

        loss = MaxMargin()
    return IOKR(kernel, loss=loss, alpha=0.5, solver=solver).fit(X, Y).decision_function(new)


def _decode(name: str, decoder: Any, X: Any, new: Any) -> Any:
    y = objects(STRUCTURED.get(name, "vectors"))
    return IOKR(RBF(0.5), output_kernel=OUTPUT_KERNELS.get(name), decoder=decoder, alpha=0.5).fit(X, y).predict(new[:2])


def component_targets() -> Iterator[Case]:
    """All of them."""
    yield from kernel_cases()
    yield from component_cases()
