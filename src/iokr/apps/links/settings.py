"""Settings of a model of links, and which arguments go together."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any, TypedDict

import numpy as np

from iokr._component import Limits
from iokr._validation.arguments import POSITIVE, one_of
from iokr.estimators.areas import SCORINGS

__all__ = ["ALPHAS", "NEIGHBORS", "STRENGTHS", "WIDTHS", "FitOptions", "Settings", "check_arguments", "each"]

METHODS = ("auto", "iokr", "pairs", "stack")
WIDTHS = (0.1, 0.3, 1.0, 3.0)  # of the Gaussian kernel: gamma in units of the median's
ALPHAS = tuple(float(f"{a:.6g}") for a in np.logspace(-4, 2, 13))
STRENGTHS = (1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
NEIGHBORS = 10


class FitOptions(TypedDict, total=False):
    """Options of the models: arguments of `iokr.apps.links.fit`, and of `predict` and `cross_validate`.

    Attributes
    ----------
    method : {"auto", "iokr", "pairs", "stack"}, default="auto"
        `LinkPredictor`, `PairLinkPredictor`, a weighted sum of both (`LinkStack`), or the best by cross-validation over
        nodes.
    scale : bool, default=True
        Scale every feature to mean 0 and variance 1.
    input_kernel : {"gaussian", "linear", "cosine", "tanimoto"}, default="gaussian"
        The kernel on the features of the nodes. The bandwidth of the Gaussian kernel is selected automatically.
    combine : {"mean", "alignf", "align"}, default="mean"
        Weights of the kernels of several views: equal, or by alignment with the known links.
    beta : float, default=1.0
        Diffusion time on the known links; a larger value gives a longer range.
    unlabeled : bool, default=False
        Semi-supervised: the features of unlabelled nodes enter the manifold penalty.
    scoring : {"roc_auc", "average_precision", "both"}, default="roc_auc"
        Metric by which parameters and models are selected.
    alphas : sequence of float, optional
        Regularisation parameters to select from.
    search_all : bool, default=False
        Select parameters on all labelled nodes, not on a sample of 2000.

    Examples
    --------
    >>> from iokr.apps import links
    >>> options: links.FitOptions = {"method": "iokr", "input_kernel": "cosine"}
    """

    method: str
    scale: bool
    input_kernel: str
    combine: str
    beta: float
    unlabeled: bool
    scoring: str
    alphas: tuple[float, ...] | None
    search_all: bool


_LIMITS: Limits = {
    "method": one_of(*METHODS),
    "input_kernel": one_of("gaussian", "linear", "cosine", "tanimoto"),
    "combine": one_of("mean", "alignf", "align"),
    "scoring": one_of(*SCORINGS),
    "beta": POSITIVE,
}


@dataclass(frozen=True)
class Settings:
    """`FitOptions` with their defaults, checked."""

    method: str = "auto"
    scale: bool = True
    input_kernel: str = "gaussian"
    combine: str = "mean"
    beta: float = 1.0
    unlabeled: bool = False
    scoring: str = "roc_auc"
    alphas: tuple[float, ...] | None = None
    search_all: bool = False

    def __post_init__(self) -> None:
        for name, check in _LIMITS.items():
            check(getattr(self, name), name)
        for alpha in self.alphas or ():
            POSITIVE(alpha, "alphas")
        if self.method == "pairs" and self.unlabeled:
            raise ValueError("`unlabeled` has no effect on PairLinkPredictor; choose another `method`.")

    @property
    def methods(self) -> list[str]:
        """The methods to compare."""
        return list(METHODS[1:]) if self.method == "auto" else [self.method]

    @property
    def scaled(self) -> bool:
        """Whether features are scaled; the Tanimoto kernel takes them as they are."""
        return self.scale and self.input_kernel != "tanimoto"


_SETTINGS = tuple(field.name for field in fields(Settings))

_DEFAULTS: dict[str, Any] = {
    **{field.name: field.default for field in fields(Settings)},
    **{"labeled": "edges", "missing": "reject", "bipartite": False, "transpose": False},
    "decimal": "auto",
}  # None where there is no other

# Arguments of `read` and `fit` that have an effect on some data only: with which others they have none, and why.
_OF_ONE_KIND = ("kernels", "labeled", "beta", "unlabeled", "method", "search_all")
_NO_EFFECT = (
    ("partners", ("bipartite",), "with `partners`: two tables say which nodes are of which kind"),
    ("partners", (*_OF_ONE_KIND, "ids"), "with `partners`: there are two kinds of nodes"),
    ("bipartite", _OF_ONE_KIND, "with `bipartite`: there are two kinds of nodes"),
    (
        "kernels",
        ("missing", "scale", "input_kernel", "columns", "id_column", "one_hot", "transpose"),
        "on kernel matrices; it needs `nodes`",
    ),
)
_NO_EFFECT_ON_MODEL = (
    *("edges", "kernels", "labeled", "missing", "bipartite", "columns", "id_column", "one_hot", "transpose", "decimal"),
    *("source", "target", "weight", *_SETTINGS),
)


def check_arguments(values: Mapping[str, Any], given: Collection[str] | None = None) -> None:
    """Raise for arguments of `read`, `fit` and `predict` that exclude each other, or have no effect.

    `given` are the names of the arguments that the user gave; by default those that differ from their defaults.
    """
    names = {name for name, value in values.items() if not _is_default(name, value)} if given is None else set(given)
    if values.get("partners_of") and values.get("between"):
        raise ValueError("Give `partners_of` or `between`, not both.")
    files = [*each(values.get("nodes")), *each(values.get("partners")), values.get("edges")]
    if [name for name in files if isinstance(name, str)].count("-") > 1:
        raise ValueError("Standard input, -, can be read only once.")
    if "model" in names:
        _refuse(names, "model", _NO_EFFECT_ON_MODEL, "on a fitted model")
        return
    for name in ("partners", "bipartite"):
        if name in names and "nodes" not in names:
            raise ValueError(f"`{name}` needs `nodes`, tables of features.")
    for name, others, why in _NO_EFFECT:
        _refuse(names, name, others, why)
    if ("nodes" in names) == ("kernels" in names):
        raise ValueError("Give either `nodes`, tables of features, or `kernels`, kernel matrices.")
    several = "kernels" in names or any(len(each(values.get(name))) > 1 for name in ("nodes", "partners"))
    if "combine" in names and not several:
        raise ValueError("`combine` has no effect on one table; it needs several `nodes` or `kernels`.")
    if (values.get("source") is None) != (values.get("target") is None):
        raise ValueError("Give both `source` and `target`, or neither.")
    Settings(**{name: value for name, value in values.items() if name in _SETTINGS})


def _refuse(given: Collection[str], name: str, others: Iterable[str], why: str) -> None:
    for other in others:
        if name in given and other in given:
            raise ValueError(f"`{other}` has no effect {why}.")


def _is_default(name: str, value: Any) -> bool:
    default = _DEFAULTS.get(name)
    return value is default or (isinstance(value, (str, bool, float, int, tuple)) and value == default)


def each(given: Any) -> list[Any]:
    """The tables of a list or of a mapping of names, or the only one."""
    if isinstance(given, Mapping):
        return list(given.values())
    return list(given) if isinstance(given, (list, tuple)) else [given]
