"""What holds for a conformal set, in words; what was learned from the same rows, and how it is frozen beforehand."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from iokr._component import Component
from iokr.embeddings.curves import Curves
from iokr.embeddings.identity import Identity
from iokr.estimators.inputs import check_kernel
from iokr.estimators.regression.iokr import IOKR, KernelRegression

__all__ = ["frozen_model", "guarantee", "learned", "learned_parts", "node_guarantee", "selects"]

_NO_MATTER = {"center_"}  # where vectors are measured from, for the sake of digits: no value of a kernel changes
_SEARCHES = ("param_grid", "param_distributions")  # of scikit-learn's searches


def selects(model: Any) -> bool:
    """Whether `fit` chooses between parameters."""
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    if any(name in parameters for name in _SEARCHES):
        return True
    lists = [parameters[name] for name in ("alphas", "manifold_weights", "kernel") if name in parameters]
    return "alphas" in parameters and any(isinstance(v, (list, tuple, np.ndarray)) and len(v) > 1 for v in lists)


def learned_parts(component: Any, fitted: Any) -> Iterator[str]:
    """What a fitted kernel took from data: `RBF.gamma_`, unless it was given; nothing for fixed formulas."""
    if component is None or not isinstance(fitted, Component):
        return
    name, given = type(fitted).__name__, component.get_params(deep=False)
    if getattr(component, "supervised", False) or getattr(component, "spans", False):
        yield name
        return
    for attribute, value in vars(fitted).items():
        if not attribute.endswith("_") or attribute.startswith(("_", "n_")) or attribute in _NO_MATTER:
            continue
        own = given.get(attribute.removesuffix("_"))
        if isinstance(value, Component):
            yield from learned_parts(own, value)
        elif isinstance(value, (list, tuple)) and all(isinstance(v, Component) for v in value):
            parts = own if isinstance(own, (list, tuple)) else [own] * len(value)
            for part, one in zip(parts, value, strict=True):
                yield from learned_parts(part, one)
        elif own is None or isinstance(own, BaseEstimator):
            yield f"{name}.{attribute}"


def learned(model: KernelRegression) -> list[str]:
    """What a fitted regression took from its rows beside the coefficients."""
    kernel = check_kernel(model.kernel[0] if isinstance(model.kernel, (list, tuple)) else model.kernel)
    embedding = model.embedding_
    fitted: Any = model.kernel_
    if isinstance(embedding, Curves):  # the operator is that of nodes and curve kernel
        fitted = getattr(fitted, "kernel_", fitted)
    found = [*learned_parts(kernel, fitted), *learned_parts(model.output_kernel, model.output_kernel_)]
    if isinstance(embedding, (Identity, Curves)) and embedding.centered:
        found.append(f"{type(embedding).__name__}.mean_")
    if isinstance(embedding, Curves) and embedding.basis is not None and embedding.basis.learned:
        found.append("Curves.functions_")
    return found


def frozen(component: Any, fitted: Any) -> Any:
    """A clone whose parameters are the ones that `fit` found, as far as parameters can say it."""
    if component is None:
        return None
    copy = clone(component)
    for name, value in component.get_params(deep=False).items():
        found = getattr(fitted, f"{name}_", None)
        if isinstance(value, Component) and isinstance(found, Component):
            copy.set_params(**{name: frozen(value, found)})
        elif value is None and isinstance(found, (int, float, np.number)):
            copy.set_params(**{name: float(found)})
        elif isinstance(value, (list, tuple)) and isinstance(found, (list, tuple)) and len(value) == len(found):
            parts = [frozen(a, b) if isinstance(b, Component) else a for a, b in zip(value, found, strict=True)]
            copy.set_params(**{name: type(value)(parts)})
    return copy


def frozen_model(model: KernelRegression) -> IOKR:
    """A regression with the kernel, the width and the alpha that a fitted one has."""
    kernel = check_kernel(model.kernel[model.best_index_[0]] if _several(model) else _only(model.kernel))
    return IOKR(
        frozen(kernel, model.kernel_),
        output_kernel=frozen(model.output_kernel, model.output_kernel_),
        embedding=model.embedding,
        loss=model.loss,
        alpha=float(getattr(model, "alpha_", getattr(model, "alpha", 1.0))),
        decoder=model.decoder,
        solver=model.solver,
    )


def _only(kernel: Any) -> Any:
    return kernel[0] if isinstance(kernel, (list, tuple)) else kernel


def _several(model: Any) -> bool:
    return isinstance(model.kernel, (list, tuple)) and len(model.kernel) > 1


def guarantee(method: str, n: int, *, selected: bool, learned: list[str], pairs: bool, apart: bool = True) -> str:
    """What holds of sets from n rows: never more than is proved. `apart`: whether parts can be learned separately."""
    if pairs:
        return "none: pairs that share a node are not exchangeable; calibrate by node"
    if method == "split":
        return (
            f"coverage at least as asked, at most 1/{n + 1} more without ties, on average over the draw of the "
            f"{n} calibration rows and of the new one, for any model, if all are exchangeable"
        )
    if selected:
        return "none: parameters were selected on these data"
    if method == "jackknife":
        return "none: the jackknife is close to the coverage asked for in practice, without a proof"
    if learned:
        way = 'set `selected="separately"`' if apart else 'use `method="split"`'
        return f"none: {', '.join(learned)} was estimated from these rows; give it beforehand, or {way}"
    if method == "jackknife+":
        return "coverage at least 1 − 2a where 1 − a is asked, if the rows and the new one are exchangeable"
    return (
        f"coverage at least as asked, at most 1/{n + 1} more without ties, if the {n} rows and the new one are "
        "exchangeable"
    )


def node_guarantee(n_fitted: int, n: int) -> str:
    """What holds of a new node and its row of links to the fitted ones, from n nodes to calibrate on."""
    return (
        f"all partners of a new node among the {n_fitted} fitted ones are in its set at least as often as asked, on "
        f"average over the draw of the {n} calibration nodes and of the new one, for any model, if nodes are "
        "exchangeable; nothing holds pair by pair, or between two new nodes"
    )
