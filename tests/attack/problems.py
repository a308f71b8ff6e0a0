"""Small valid problems, and the valid value of every argument by its name."""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
from sklearn.base import ClassifierMixin
from sklearn.linear_model import Ridge

import iokr
import iokr_lab.baselines
import members
from attack.targets import HOOKS, grid, parameters, public
from iokr.data.objects import as_objects
from iokr.estimators.quantiles.base import QuantileRegression
from iokr.kernels import RBF, Delta, Jaccard, Kendall, Spectrum, Subtree, WeisfeilerLehman
from samples import regression

__all__ = ["GIVEN", "PROBLEMS", "estimators", "fitting", "methods", "unknown"]

N, M = 12, 5
_s = regression(0, n=N, u=4, m=M, p=3, d=2)
X, Y, NEW, UNLABELED = grid(_s.X), grid(_s.Y), grid(_s.X_new), grid(_s.U)
WEIGHT = np.array([1.0, 2.0, 0.5, 1.0, 1.5, 1.0, 3.0, 1.0, 0.25, 1.0, 1.0, 2.0])
LABELS = np.array(["ash", "birch", "cedar"], dtype=object)[np.argmax(np.c_[X[:, :2], -X[:, 0]], axis=1)]
_links = np.triu(((X[:, None] - X[None, :]) ** 2).sum(axis=2) < 5.0, 1)
ADJACENCY = (_links | _links.T).astype(float)
PAIRS = np.array([(i, j) for i in range(N) for j in range(i + 1, N) if (i + j) % 3 == 0])
BAGS = [grid(np.roll(X, i, axis=0)[: 1 + i % 3]) for i in range(N)]
MOLECULES = members.objects("fingerprints", N, 3)
GROUPS = np.array([f"molecule {i // 2}" for i in range(N)], dtype=object)
SETS = [[0, 5], [1, 2, 7], [3, 4, 8, 11], [6, 9], [10, 2, 0]]
LABELED = np.array([0, 2, 3, 5, 6, 7, 9, 11])

COMMON: dict[str, Any] = {
    "X": NEW,
    "X1": NEW,
    "X2": NEW[:3],
    "k": 2,
    "threshold": 0.3,
    "top": 4,
    "known": True,
    "by": "node",
    "cv": 3,
    "random_state": 0,
    "alphas": (0.1, 1.0),
    "pairs": PAIRS[:5],
    "coverage": 0.8,
    "levels": (0.2, 0.5),
    "derivative": 0,
    "full": True,
    "groups": np.array([f"group {i % 4}" for i in range(N)], dtype=object),
    "sort": True,
    "deep": True,
}

GIVEN: dict[str, Any] = {  # arguments that some constructors ask for
    "regressor": Ridge(),
    "model": iokr.IOKR(RBF(0.5), alpha=0.5),
    "models": [iokr.LinkPredictor(RBF(0.5)), iokr_lab.baselines.TPPK(RBF(0.5))],
}

# name: (arguments of the constructor, arguments of fit, further valid arguments of methods)
PROBLEMS: dict[str, tuple[dict[str, Any], dict[str, Any], dict[str, Any]]] = {
    "vectors": (
        {},
        {"X": X, "y": Y, "sample_weight": WEIGHT},
        {"candidates": Y, "y": grid(regression(1, n=M, d=2).Y), "sample_weight": WEIGHT[:M]},
    ),
    "numbers": ({}, {"X": X, "y": Y[:, 0], "sample_weight": WEIGHT}, {"y": Y[:M, 1], "sample_weight": WEIGHT[:M]}),
    "labels": (
        {"output_kernel": Delta()},
        {"X": X, "y": LABELS},
        {"candidates": LABELS, "y": LABELS[:M], "sample_weight": WEIGHT[:M]},
    ),
    "classes": (
        {},
        {"X": X, "y": LABELS, "sample_weight": WEIGHT},
        {"y": LABELS[:M], "sample_weight": WEIGHT[:M]},
    ),
    "links": ({}, {"X": X, "adjacency": ADJACENCY, "labeled": LABELED}, {}),
    "bipartite": (
        {},
        {"X": X, "Z": NEW, "links": (X @ NEW.T > 0).astype(float)},
        {"Z": X[:4], "links": (NEW @ X[:4].T > 0).astype(float), "leave": "row"},
    ),
    "bags": (
        {},
        {"sets": BAGS, "y": np.where(X[:, 0] > 0, 1.0, -1.0), "sample_weight": WEIGHT},
        {"sets": BAGS[:M], "y": np.where(X[:M, 0] > 0, 1.0, -1.0), "sample_weight": WEIGHT[:M]},
    ),
    "pairs": (
        {},
        {
            "X": X,
            "pairs": PAIRS,
            "y": np.where(PAIRS.sum(axis=1) % 2, 1.0, -1.0),
            "sample_weight": np.linspace(0.5, 2, len(PAIRS)),
        },
        {"pairs": np.array([[0, N], [1, 2], [N + 1, 3]])},
    ),
    "spectra": (
        {"kernel": None, "reverse_alphas": (0.5, 2.0)},
        {"X": members.objects("spectra", N), "y": MOLECULES, "groups": GROUPS},
        {
            "X": members.objects("spectra", M, 1),
            "candidates": iokr.CandidateSets([MOLECULES[some] for some in SETS]),
            "candidate_groups": as_objects([[f"molecule {i}" for i in some] for some in SETS]),
            "method": "forward",
            "scores": as_objects([np.linspace(-0.5, 0.25 + 0.125 * len(some), len(some)) for some in SETS]),
            "truth": np.array([1, 0, 2, 0, 1]),
            "groups": GROUPS[:M],
        },
    ),
    **{
        domain: (
            {"output_kernel": kernel},
            {"X": X, "y": members.objects(domain, N)},
            {"candidates": members.objects(domain, N), "y": members.objects(domain, M)},
        )
        for domain, kernel in {
            "strings": Spectrum(2),
            "sets": Jaccard(),
            "rankings": Kendall(),
            "graphs": WeisfeilerLehman(1),
            "trees": Subtree(0.5),
            "fingerprints": RBF(0.2),
        }.items()
    },
}


def estimators() -> dict[str, type]:
    """Every public class with `fit` that is no component, by name."""
    found = {}
    for folder in (iokr, iokr_lab.baselines):
        for name, cls in public(folder).items():
            if inspect.isclass(cls) and hasattr(cls, "fit") and name not in found:
                found[name] = cls
    return found


def fitting(cls: type) -> list[str]:
    """The problems that a class can be fitted to, by the names of the arguments of `fit`."""
    names, options = set(parameters(cls.fit)), set(parameters(cls))
    required = {name for name, p in parameters(cls.fit).items() if p.default is p.empty}
    if any(p.default is p.empty and name not in GIVEN for name, p in parameters(cls).items()):
        return []
    if "adjacency" in names:
        return ["links"]
    if "pairs" in names:
        return ["pairs"]
    if "links" in names:
        return ["bipartite"]
    if "sets" in names:
        return ["bags"]
    if required not in ({"X", "y"}, {"X"}) or "y" not in names:  # a stream brings its y
        return []
    if issubclass(cls, QuantileRegression):
        return ["numbers"]
    if issubclass(cls, ClassifierMixin):
        return ["classes"]
    if "candidate_groups" in parameters(getattr(cls, "scores", cls.fit)):
        return ["spectra"]
    found = ["vectors"]
    if "output_kernel" in options:
        found.append("labels")
    if cls is iokr.IOKR:
        found += ["strings", "sets", "rankings", "graphs", "trees", "fingerprints"]
    return found


def methods(cls: type) -> dict[str, Any]:
    """The public methods that answer about new inputs."""
    return {
        name: member
        for name, member in inspect.getmembers(cls, inspect.isfunction)
        if name[0] != "_"
        and name not in HOOKS
        and name not in ("fit", "fit_transform", "partial_fit", "path")
        and not name.endswith("_request")
    }


def unknown() -> list[str]:
    """Public estimators that no problem here fits: to be taught."""
    return [name for name, cls in estimators().items() if not fitting(cls)]
