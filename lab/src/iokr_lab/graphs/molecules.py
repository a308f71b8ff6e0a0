"""QM9: graphs of molecules from fingerprints or SMILES, with and without candidates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr.chem import BadMolecule, Fingerprints, graph_smiles, molecule_graph
from iokr.data.objects import as_objects
from iokr.decoders.barycenter import GraphBarycenter
from iokr.decoders.base import Decoder
from iokr.decoders.candidates import Candidates
from iokr.decoders.edits import GraphEdits
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.algebra import Normalized
from iokr.kernels.base import Kernel
from iokr.kernels.structured.graphs import WeisfeilerLehman
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.structured.strings import Spectrum
from iokr.metrics import fgw, graph_edit_distance, isomorphic_accuracy
from iokr_lab.data.qm9 import load_qm9
from iokr_lab.study import Case
from iokr_lab.timing import timed

__all__ = ["DECODERS", "FINGERPRINTS", "INPUTS", "POOL", "SOFT", "STRINGS", "Molecules", "Pool", "load_pool", "work_on"]

DEPTH = 3
ALPHAS = tuple(np.logspace(-5, 1, 13))
SECONDS = 2.0  # time limit of an edit distance
FINGERPRINTS = "fingerprints"
STRINGS = "SMILES"
INPUTS = (FINGERPRINTS, STRINGS)
POOL = "pool with the true graph"
PLAIN = "pool, no bond orders"
SEEN = "training graphs"
NEAREST = "nearest training input"
KERNEL = "barycentre, chosen by k_Y"
FGW = "barycentre, chosen by FGW"
SOFT = "barycentre, relaxed"
EDITS = "edits"
WHOLE = "edits, connected"
DECODERS = (NEAREST, SEEN, POOL, PLAIN, KERNEL, FGW, SOFT, EDITS, WHOLE)


@dataclass(frozen=True)
class Pool:
    """Molecules: first the training molecules, then the test molecules, then others."""

    smiles: np.ndarray
    graphs: np.ndarray
    bits: Any
    training: int
    tested: int


@dataclass(frozen=True)
class Molecules(Case):
    """A representation of the input and a decoder."""

    inputs: str
    decoder: str


def load_pool(seed: int, training: int, tested: int, others: int) -> Pool:
    """A random draw of molecules of seven to nine atoms."""
    smiles = load_qm9()
    order = np.random.default_rng(seed).permutation(len(smiles))
    chosen = []
    graphs = []
    for row in order:
        graph = molecule_graph(smiles[row])
        atoms = graph[1]
        if len(atoms) < 7 or "C" not in atoms:
            continue
        chosen.append(smiles[row])
        graphs.append(graph)
        if len(chosen) == training + tested + others:
            break
    bits = Fingerprints("morgan2").fit_transform(chosen)
    return Pool(np.array(chosen, dtype=object), as_objects(graphs), bits, training, tested)


def _without_bonds(graphs: Any) -> np.ndarray:
    return as_objects(graph[:2] for graph in graphs)


def work_on(case: Molecules, pool: Pool) -> dict[str, Any]:
    """Every distance of the predictions to the true graphs."""
    n = pool.training
    m = pool.tested
    train = np.arange(n)
    test = np.arange(n, n + m)
    X: Any = pool.bits if case.inputs == FINGERPRINTS else pool.smiles
    Y = _without_bonds(pool.graphs) if case.decoder == PLAIN else pool.graphs
    truth = pool.graphs[test]
    kernels: list[Kernel] = [Tanimoto()]
    if case.inputs == STRINGS:
        kernels = [Normalized(Spectrum(length)) for length in (2, 3, 4)]
    k_Y = Normalized(WeisfeilerLehman(DEPTH))
    search = IOKRCV(kernels, alphas=ALPHAS, output_kernel=k_Y, decoder=_decoder(case.decoder))
    model, fitting = timed(lambda: search.fit(X[train], Y[train]))
    found, seconds = timed(lambda: _predictions(case.decoder, model, X, Y, train, test))
    cell: dict[str, Any] = {"seconds": seconds / m, "fitting": fitting, "alpha": float(model.alpha_), "tested": m}
    if case.inputs == STRINGS:
        cell["letters"] = int(kernels[int(np.ravel(model.best_index_)[0])].base.n)
    if case.decoder == SOFT:
        decoder = model.decoder_
        return {**cell, "fgw": fgw(truth, found, labels=decoder.labels_, edge_labels=decoder.edge_labels_)}
    return {**cell, **measured(truth, found)}


def _decoder(name: str) -> Decoder:
    if name in (KERNEL, FGW, SOFT):
        return GraphBarycenter(rounded=name != SOFT)
    if name in (EDITS, WHOLE):
        return GraphEdits(connected=name == WHOLE)
    return Candidates()


def _predictions(name: str, model: IOKRCV, X: Any, Y: Any, train: np.ndarray, test: np.ndarray) -> Any:
    """The predicted graph of every test molecule."""
    if name == NEAREST:
        kernel = model.kernel_
        K = np.asarray(kernel.block(kernel.represent(X[test]), kernel.represent(X[train])))
        return Y[train[np.argmax(K, axis=1)]]
    if name in (POOL, PLAIN):
        return model.predict(X[test], Y)
    if name == FGW:
        plain = IOKR(model.kernel_, alpha=model.alpha_, decoder=GraphBarycenter(), intercept=False)  # without k_Y
        return plain.fit(X[train], Y[train]).predict(X[test])
    return model.predict(X[test])


def measured(truth: Any, found: Any) -> dict[str, Any]:
    """Exact match, k_Y, FGW, edits, and the share of valid molecules."""
    bonds = all(len(graph) == 3 for graph in found)
    true = as_objects(truth)
    plain = _without_bonds(truth)
    without = _without_bonds(found)
    k_Y = Normalized(WeisfeilerLehman(DEPTH)).fit(plain)
    edits = graph_edit_distance(plain, without, seconds=SECONDS)
    cell: dict[str, Any] = {
        "exact without bonds": 100 * isomorphic_accuracy(plain, without),
        "similarity without bonds": float(np.mean([k_Y([a], [b])[0, 0] for a, b in zip(plain, without, strict=True)])),
        "edits without bonds": edits.mean,
        "known without bonds": 100 * edits.exact,
        "fgw without bonds": fgw(plain, without),
    }
    if not bonds:
        return cell
    edits = graph_edit_distance(true, found, seconds=SECONDS)
    return {
        **cell,
        "exact": 100 * isomorphic_accuracy(true, found),
        "similarity": float(np.mean([k_Y([a], [b])[0, 0] for a, b in zip(true, found, strict=True)])),
        "edits": edits.mean,
        "known": 100 * edits.exact,
        "fgw": fgw(true, found),
        "valid": 100 * float(np.mean([is_molecule(graph) for graph in found])),
    }


def is_molecule(graph: Any) -> bool:
    """Whether the graph is connected and its valences are possible."""
    try:
        return "." not in graph_smiles(graph)
    except BadMolecule:
        return False
