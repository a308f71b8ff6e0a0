"""Targets of the applications: `iokr.apps.links` and `iokr.apps.msms` on data in memory."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from typing import Any

import numpy as np

from attack.judge import Case
from attack.targets import Target, grid
from iokr.apps import links
from iokr.datasets import make_communities

__all__ = ["app_cases"]

LINK_NAMES = ("nodes", "edges", "node", "features", "column", "labeled", "methods")
SPECTRA_NAMES = ("file name", "spectra", "spectrum", "candidates", "library", "structures", "smiles", "precursor")
FAST = {"fingerprints": "maccs", "folds": 0}


def app_cases() -> Iterator[Case]:
    """Reading, fitting, predicting and evaluating, each argument and each option."""
    yield from _links()
    if find_spec("rdkit") is not None:
        yield from _spectra()


def _links() -> Iterator[Case]:
    made = make_communities(n_nodes=30, n_communities=3, n_relevant=4, n_irrelevant=2, noise=0.2, seed=0)
    nodes = grid(made.X)
    edges = np.argwhere(np.triu(made.adjacency.toarray()))
    options = {"method": "iokr", "top": 20, "seed": 0}

    def predicted(nodes: Any = nodes, edges: Any = edges, **given: Any) -> Any:
        return links.predict(links.read(nodes, edges), **{**options, **given}).table["score"].to_numpy()

    def evaluated(**given: Any) -> Any:
        return (
            links.cross_validate(links.read(nodes, edges), **{"method": "iokr", **given}).table["AUC-ROC %"].to_numpy()
        )

    yield from Target("links.predict/data", predicted, {"nodes": nodes, "edges": edges}, names=LINK_NAMES).cases()
    valid = {"top": 20, "method": "iokr", "unlabeled": False, "search_all": False}
    yield from Target("links.predict/option", predicted, valid, names=LINK_NAMES).cases()
    yield from Target("links.cross_validate/option", evaluated, {"folds": 3}, names=LINK_NAMES).cases()


def _spectra() -> Iterator[Case]:
    from iokr.apps import msms

    made = msms.make_spectra(24, unknowns=3)
    model = cache(lambda: msms.train(made.library, made.library_candidates, **FAST))

    def identified(spectra: Any, candidates: Any) -> Any:
        return msms.identify(model(), spectra, candidates).table["score"].to_numpy()

    def trained(**given: Any) -> Any:
        model = msms.train(made.library, made.library_candidates, **{**FAST, **given})
        return msms.identify(model, made.unknowns, made.candidates).table["score"].to_numpy()

    data = {"spectra": made.unknowns, "candidates": made.candidates}
    yield from Target("msms.identify/data", identified, data, names=SPECTRA_NAMES).cases()
    yield from Target("msms.train/option", trained, dict(FAST), names=SPECTRA_NAMES).cases()
