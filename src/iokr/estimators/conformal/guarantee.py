"""The guarantee of a prediction set as a sentence; what was estimated from the same rows, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone

from iokr._component import Component
from iokr.estimators.inputs import check_kernel
from iokr.estimators.regression.base import KernelRegression
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.base import Kernel
from iokr.kernels.standardized import Standardized
from iokr.operator_kernels.base import OperatorKernel

__all__ = [
    "OF_PAIRS",
    "SELECTED",
    "estimated",
    "estimated_parts",
    "fixed_model",
    "guarantee",
    "node_guarantee",
    "selects",
    "split_guarantee",
]

_HARMLESS = {"center_", "offset_"}  # for precision: they change no value of a kernel
_SEARCHES = ("param_grid", "param_distributions")  # of scikit-learn's searches
_LISTS = ("alphas", "manifold_weights", "kernel")  # of searches of this library

OF_PAIRS = "no guarantee: pairs that share a node are not exchangeable; calibrate by node"
SELECTED = "no guarantee: parameters were selected on these data"


def selects(model: Any) -> bool:
    """Whether `fit` chooses between parameters."""
    parameters = model.get_params(deep=False) if hasattr(model, "get_params") else {}
    if any(name in parameters for name in _SEARCHES):
        return True
    if "alphas" not in parameters:
        return False
    if parameters.get("kernel", ...) is None and parameters.get("alpha") is None and "standardize" in parameters:
        return True
    lists = [parameters[name] for name in _LISTS if name in parameters]
    return any(isinstance(values, (list, tuple, np.ndarray)) and len(values) > 1 for values in lists)


def estimated_parts(component: Any, fitted: Any) -> Iterator[str]:
    """What a fitted kernel estimated from data: `RBF.gamma_` if it was not given; nothing for fixed formulas."""
    if component is None or not isinstance(fitted, Component):
        return
    name = type(fitted).__name__
    if isinstance(component, (Kernel, OperatorKernel)) and (component.supervised or component.spans):
        yield name
        return
    given = component.get_params(deep=False)
    for attribute, value in vars(fitted).items():
        if not attribute.endswith("_") or attribute.startswith(("_", "n_")) or attribute in _HARMLESS:
            continue
        own = given.get(attribute.removesuffix("_"))
        if isinstance(value, Component):
            yield from estimated_parts(own, value)
        elif isinstance(value, (list, tuple)) and all(isinstance(v, Component) for v in value):
            parts = own if isinstance(own, (list, tuple)) else [own] * len(value)
            for part, fitted_part in zip(parts, value, strict=True):
                yield from estimated_parts(part, fitted_part)
        elif own is None or isinstance(own, BaseEstimator):
            yield f"{name}.{attribute}"


def estimated(model: KernelRegression) -> list[str]:
    """What a fitted regression estimated from its rows, apart from the coefficients."""
    embedding: Any = model.embedding_
    kernel = _unfitted(model)
    fitted: Any = model.kernel_.scalar if embedding.functional else model.kernel_  # A of curves is that of their nodes
    found = [*estimated_parts(kernel, fitted), *estimated_parts(model.output_kernel, model.output_kernel_)]
    if embedding.functional and np.any(embedding.mean_):
        found.append("Curves.mean_")
    if embedding.functional and embedding.basis is not None and embedding.basis.learned:
        found.append("Curves.functions_")
    return found


def _fixed(component: Any, fitted: Any) -> Any:
    """A clone with the parameters that `fit` found, as far as these can be given."""
    if component is None:
        return None
    copy = clone(component)
    for name, value in component.get_params(deep=False).items():
        found = getattr(fitted, f"{name}_", None)
        if isinstance(value, Component) and isinstance(found, Component):
            copy.set_params(**{name: _fixed(value, found)})
        elif value is None and isinstance(found, (int, float, np.number)):
            copy.set_params(**{name: float(found)})
        elif value is None and isinstance(found, np.ndarray):
            copy.set_params(**{name: found})
        elif isinstance(value, (list, tuple)) and isinstance(found, (list, tuple)) and len(value) == len(found):
            parts = [_fixed(a, b) if isinstance(b, Component) else a for a, b in zip(value, found, strict=True)]
            copy.set_params(**{name: type(value)(parts)})
    return copy


def fixed_model(model: KernelRegression) -> IOKR:
    """A regression with the kernel, the bandwidth and the alpha of a fitted one."""
    return IOKR(
        _fixed(_unfitted(model), model.kernel_),
        output_kernel=_fixed(model.output_kernel, model.output_kernel_),
        embedding=model.embedding,
        loss=model.loss,
        alpha=model._at[0],
        decoder=model.decoder,
        solver=model.solver,
        intercept=model.inputs_.constants is not None,
    )


def _unfitted(model: KernelRegression) -> Any:
    """The kernel as it was before it was fitted: the one that was given, or that of a list which was chosen."""
    kernel = model.kernel
    if isinstance(kernel, (list, tuple)):
        kernel = kernel[model.best_index_[0]] if len(kernel) > 1 else kernel[0]
    scalar = model.kernel_.scalar
    chosen = kernel is None and isinstance(model, IOKRCV)
    if chosen or (isinstance(scalar, Standardized) and not isinstance(kernel, (Standardized, OperatorKernel))):
        kernel = scalar
    return check_kernel(kernel)


def guarantee(method: str, n: int, learned: list[str], *, separable: bool) -> str:
    """What is proved of sets from n rows left out; `separable`: whether what was `learned` can be selected apart."""
    if method == "jackknife":
        return "no guarantee: the jackknife is close to the requested coverage in practice, without a proof"
    if learned:
        advice = 'set `selected="separately"`' if separable else 'use `method="split"`'
        return f"no guarantee: {', '.join(learned)} was estimated from these rows; give it beforehand, or {advice}"
    if method == "jackknife+":
        return "coverage of at least 1 − 2a where 1 − a is requested, if the rows and the new one are exchangeable"
    return (
        f"coverage of at least the requested level, at most 1/{n + 1} above it without ties, if the {n} rows and the "
        "new one are exchangeable"
    )


def split_guarantee(n: int) -> str:
    """What is proved of sets from n calibration rows."""
    return (
        f"coverage of at least the requested level, at most 1/{n + 1} above it without ties, on average over the draw "
        f"of the {n} calibration rows and of the new one, for any model, if all are exchangeable"
    )


def node_guarantee(n_fitted: int, n: int) -> str:
    """What is proved of a new node and its row of links to the fitted ones, from n calibration nodes."""
    return (
        f"all partners of a new node among the {n_fitted} fitted ones are in its set with at least the requested "
        f"probability, on average over the draw of the {n} calibration nodes and of the new one, for any model, if "
        "nodes are exchangeable; nothing is guaranteed for single pairs, or between two new nodes"
    )
