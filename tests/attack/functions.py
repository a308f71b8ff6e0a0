"""Targets of functions: metrics, model selection, samples, readers of files."""

from __future__ import annotations

import inspect
import os
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import iokr.kernels
import iokr.metrics
import iokr.model_selection
import iokr.operator_kernels
import members
from attack.files import READERS, file_cases
from attack.judge import Case
from attack.problems import ADJACENCY, LABELS, NEW, WEIGHT, M, N, X, Y
from attack.targets import Target, folders, parameters, public
from iokr import IOKR, IOKRCV, CandidateSets, Conformal, LinkPredictor, SharedCandidates, Unlabeled, load
from iokr.apps import readers
from iokr.kernels import ARD, RBF, Delta, Nystroem

__all__ = ["function_cases", "unknown"]

_bits = members.objects("fingerprints", 6)[:, :5]
_mz, _heights = np.array([5.0, 7.5, 6.0, 9.0, 12.0]), np.array([0.5, 1.0, 0.25, 0.125, 1.0])
_words, _others = members.objects("strings", 6), members.objects("strings", 6, 1)
_rankings = np.argsort(np.random.default_rng(0).random((6, 5)), axis=1) + 0.0
_rows = {"y_true": _bits, "y_pred": 1 - _bits[::-1]}
_scores = np.random.default_rng(1).random((N, N)).round(2)
_pairs = {"truth": ADJACENCY, "scores": _scores + _scores.T, "where": np.triu(np.ones((N, N), dtype=bool), 1)}

VALID: dict[str, dict[str, Any]] = {
    "edit_distance": {"y_true": _words, "y_pred": _others},
    "character_accuracy": {"y_true": _words, "y_pred": _others},
    "fgw": {"y_true": members.objects("graphs", 3), "y_pred": members.objects("graphs", 3, 1)},
    "isomorphic_accuracy": {"y_true": members.objects("graphs", 3), "y_pred": members.objects("graphs", 3, 1)},
    "graph_edit_distance": {
        "y_true": members.objects("graphs", 3),
        "y_pred": members.objects("graphs", 3, 1),
        "seconds": 0.5,
    },
    "tree_edit_distance": {"y_true": members.objects("trees", 6), "y_pred": members.objects("trees", 6, 1)},
    "make_blocks": {"n": 3, "n_nodes": 6, "directed": False, "seed": 0},
    "molecule_graph": {"smiles": "CC=O"},
    "graph_smiles": {"graph": (np.array([[0, 1], [1, 0]]), ["C", "O"])},
    "kendall_tau": {"y_true": _rankings, "y_pred": _rankings[::-1].copy()},
    "rbf_loss": {"y_true": Y[:6], "y_pred": Y[6:], "gamma": 0.5},
    "pinball": {"y_true": Y[:6, 0], "y_pred": Y[6:12, :2], "levels": (0.2, 0.8), "sample_weight": WEIGHT[:6]},
    "coverage": {"y_true": Y[:6, 0], "y_pred": np.sort(Y[6:12, :2], axis=1), "sample_weight": WEIGHT[:6]},
    "subset_accuracy": _rows,
    "hamming": _rows,
    "f1_samples": _rows,
    "top_k_accuracy": {"ranks": np.array([1.0, 3.0, 2.0, 1.0, 5.0, 4.0]), "k": 2},
    "mean_rank": {"ranks": np.array([1.0, 3.0, 2.0, 1.0, 5.0, 4.0])},
    "precision_at_k": {**_pairs, "k": 4},
    "prevalence_pairs": {name: _pairs[name] for name in ("truth", "where")},
    "cross_val_rank": {
        "model": IOKR(RBF(0.5), output_kernel=Delta(), alpha=0.5),
        "X": X,
        "y": LABELS,
        "candidates": np.array(sorted(set(LABELS)), dtype=object),
        "cv": 3,
    },
    "cross_validate_links": {"model": LinkPredictor(RBF(0.5)), "X": X, "adjacency": ADJACENCY, "cv": 2},
    "sample": {"domain": "vectors", "n": 5, "seed": 0},
    "make_communities": {
        "n_nodes": 30,
        "n_communities": 3,
        "n_relevant": 4,
        "n_irrelevant": 2,
        "noise": 0.2,
        "seed": 0,
    },
    "order_ranks": {"orders": np.array([[2, 0, 1], [0, 1, 2]]), "items": None},
    "diagonal_regularization": {"mix": 0.5},
    "tensor_product": {"kernel": RBF(0.5), "A": np.eye(2)},
    "decoded_scorer": {"metric": "hamming", "candidates": None, "greater_is_better": None},
    "data_files": {"name": "nothing"},
    "find_data": {"path": "nothing.tsv"},
    "save": {
        "model": IOKR(RBF(0.5)).fit(X, Y),
        "path": "model.safetensors",
        "data": None,
        "provenance": None,
        "beside": None,
    },
    "fingerprint": {"value": "any data"},
    "Network": {"adjacency": ADJACENCY},
    "tune": {
        "model": IOKR(RBF(0.5)),
        "X": X,
        "y": Y,
        "parameters": ["kernel__gamma", "alpha"],
        "by": "evidence",
        "limit": 0.2,
        "prior": "auto",
    },
    "certify": {"model": IOKR(Nystroem(RBF(0.5), 4)).fit(X, Y), "rows": 5},
    "select_rank": {
        "model": IOKRCV(Nystroem(RBF(0.5), 4)),
        "X": X,
        "y": Y,
        "ranks": (2, 4),
        "fall": 0.01,
        "sample_weight": WEIGHT,
    },
    "CoverageDisplay": {"estimator": Conformal(IOKR(RBF(0.5))).fit(X, Y), "X": NEW, "y": Y[:M], "levels": (0.5, 0.8)},
    "PathDisplay": {"estimator": IOKRCV(RBF(0.5), alphas=(0.1, 1.0)).fit(X, Y), "labels": None},
    "PredictionDisplay": {"estimator": IOKR(RBF(0.5)).fit(X, Y), "X": NEW, "y": Y[:M]},
    "RankDisplay": {"ranks": np.array([1.0, 3.0, 2.0, 1.0, 5.0, 4.0]), "name": "a model"},
    "WeightsDisplay": {"estimator": IOKR(ARD([0.5, 1.0, 0.0])).fit(X, Y), "labels": None},
    "scores_without_own": {
        "model": IOKR(RBF(0.5), output_kernel=Delta(), alpha=0.5).fit(X, LABELS),
        "X": NEW,
        "candidates": np.array(sorted(set(LABELS)), dtype=object),
        "groups": LABELS,
        "candidate_groups": np.array(sorted(set(LABELS)), dtype=object),
        "by": "candidates",
        "cosine": False,
    },
    "NodeKFold": {"n_splits": 3, "shuffle": True, "random_state": 0},
    "Bits": {"matrix": _bits},
    "MassSpectrum": {"mz": _mz, "intensity": _heights, "precursor_mz": 20.0, "metadata": None},
    "MassSpectra": {
        "mz": _mz,
        "intensity": _heights,
        "indptr": np.array([0, 2, 3, 4, 5]),
        "precursor_mz": np.array([20.0, 21.0, 22.0, 23.0]),
        "metadata": None,
    },
    "Cleaning": {"min_intensity": 0.01, "merge": 0.005, "above_precursor": 0.5, "max_peaks": 4, "min_peaks": 2},
    "cosine": {"X": members.objects("spectra", 4), "Z": members.objects("spectra", 3, 1)},
    "modified_cosine": {"X": members.objects("spectra", 4), "Z": members.objects("spectra", 3, 1)},
}
ELSEWHERE = {name for name in readers.__all__ if name.startswith("read_")} | {
    "Molecule",
    *READERS,
}  # attack.files
DRAWN = {  # what a display shows
    "CoverageDisplay": lambda shown: shown.coverage,
    "PathDisplay": lambda shown: shown.values,
    "PredictionDisplay": lambda shown: (np.nan_to_num(shown.y_true), shown.y_pred),  # NaN is missing, and not drawn
    "RankDisplay": lambda shown: np.minimum(shown.ranks, 1e9),  # infinite where the truth was no candidate
    "WeightsDisplay": lambda shown: shown.values,
}
PLAIN = {
    "Basis",
    "Candidate",
    "CandidateFiles",
    "CommunityNetwork",
    "GraphEditDistance",
    "MoleculeTable",
    "Rejected",
    "SpectraFiles",
    "NetworkFiles",
    "Nodes",
    "Reduction",
    "Rejection",
    "DecodedScorer",
    "Choice",
    "Use",
    "data_home",
}  # values without checks


def _call(function: Any, name: str) -> Any:
    if name == "Bits":
        return lambda **given: np.asarray(function.of(**given))
    if name == "Cleaning":
        return lambda **given: function(**given)(members.objects("spectra", 3)).mz
    if name == "MassSpectrum":
        return lambda **given: function(**given).mz
    if name == "MassSpectra":
        return lambda **given: function(**given)[1].mz
    if name == "NodeKFold":
        return lambda **given: [test for _, test in function(**given).split(X)]
    if name in ("diagonal_regularization", "tensor_product"):
        outputs = np.c_[Y, Y[:, 0]] if name == "diagonal_regularization" else Y
        return lambda **given: IOKR(function(**given), alpha=0.5).fit(X, outputs).predict(X[:3])
    if name == "decoded_scorer":
        fitted = IOKR(RBF(0.5)).fit(X, (Y > 0) + 0.0)
        return lambda **given: function(**given)(fitted, X, (Y > 0) + 0.0)
    if name == "make_communities":
        return lambda **given: function(**given).X
    if name == "cross_validate_links":
        return lambda **given: function(**given).select_dtypes("number").fillna(0.5)
    if name in DRAWN:
        draw = function.from_ranks if name == "RankDisplay" else function.from_estimator
        return lambda **given: DRAWN[name](draw(**given))
    if name == "Network":
        return lambda **given: function(**given)[:5].adjacency
    if name == "tune":
        return lambda **given: function(**given).predict(NEW)
    if name == "select_rank":
        return lambda **given: function(**given)[0].predict(NEW)
    if name == "save":
        return lambda **given: _saved(function, **given)
    if name in ("data_files", "find_data"):
        return lambda **given: str(function(**given))
    return function


def _saved(save: Any, **given: Any) -> Any:
    with TemporaryDirectory() as folder:
        if isinstance(given["path"], str) and given["path"]:
            given["path"] = os.path.join(folder, given["path"])
        save(**given)
        return load(given["path"]).predict(NEW)


def _functions() -> Iterator[tuple[str, str, Any]]:
    for folder in folders():
        if folder is iokr:
            continue
        for name, member in public(folder).items():
            if (
                not (inspect.isclass(member) and hasattr(member, "fit"))
                and name not in ELSEWHERE | PLAIN
                and not _component(member)
            ):
                yield folder.__name__.removeprefix("iokr."), name, member


def _component(member: Any) -> bool:
    from sklearn.base import BaseEstimator

    return inspect.isclass(member) and issubclass(member, BaseEstimator)


def unknown() -> list[str]:
    """Public functions of which no valid call is known here: to be taught in `VALID`."""
    return [f"{folder}.{name}" for folder, name, member in _functions() if _valid(name, member) is None]


def _valid(name: str, member: Any) -> dict[str, Any] | None:
    if name in VALID:
        return VALID[name]
    if name.endswith("_pairs") or {"truth", "scores"} <= set(parameters(member)):
        return _pairs
    if {"y_true", "y_pred"} <= set(parameters(member)):
        return _rows
    return None


def function_cases() -> Iterator[Case]:
    """All of them."""
    for folder, name, member in _functions():
        if (valid := _valid(name, member)) is not None and name not in ("data_files", "find_data"):
            call = _call(member, name)
            lenient = name in (
                "subset_accuracy",
                "edit_distance",
                "tree_edit_distance",
                "character_accuracy",
                "cross_val_rank",
                "order_ranks",
                "scores_without_own",
            )
            skip = ("a NaN", "an infinity", "minus infinity") if name in ("kendall_tau",) else ()
            skip = ("a NaN", "all NaN") if name == "MassSpectra" else skip  # a precursor that is not known
            yield from Target(f"{folder}.{name}/call", call, valid, lenient=lenient, skip=skip).cases()
        elif name in ("data_files", "find_data"):
            for odd in ("../..", "", "\0", "a" * 5000, "\ud800", None, 5, b"x", Path("x")):
                yield Case(
                    f"{folder}.{name}/call/{odd!r:.20}",
                    lambda f=member, v=odd: str(f(v)),
                    ("name", "path", "IOKR_DATA"),
                )
    fitted = IOKR(RBF(0.5), output_kernel=Delta(), alpha=0.5)
    for cls in (CandidateSets, SharedCandidates, Unlabeled):
        name = {"CandidateSets": "sets", "SharedCandidates": "candidates", "Unlabeled": "X"}[cls.__name__]
        values = {"sets": [[LABELS[0], LABELS[1]]] * 3, "candidates": LABELS, "X": X}[name]
        valid = {name: np.fromiter(values, dtype=object, count=3) if name == "sets" else values}

        def call(cls: Any = cls, **given: Any) -> Any:
            wrapped = cls(**given)
            repr(wrapped)
            if cls is Unlabeled:
                from iokr.manifolds import Laplacian

                return IOKR(RBF(0.5), manifold=Laplacian(0.1)).fit(X, Y, X_unlabeled=wrapped).predict(X[:3])
            return fitted.fit(X, LABELS).predict(X[:3], candidates=wrapped)

        yield from Target(
            f"{cls.__name__}/use",
            call,
            valid,
            lenient=cls is not Unlabeled,
            names=("candidates", "X_unlabeled", "candidate"),
        ).cases()
    yield from file_cases()
