"""Models of links in files: what `iokr links train` writes, and `predict` reads."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from iokr import files
from iokr._array import to_numpy
from iokr.apps.links.features import FeatureFormat
from iokr.apps.links.methods import METHODS, HeldOut, comparison_table, parts_of
from iokr.apps.links.model import TOO_FEW, LinkModel
from iokr.apps.links.nodes import ModelNodes, Side
from iokr.apps.report import Table

__all__ = ["KIND", "load", "save"]

KIND = "iokr links train"  # what such a file calls itself
_COLUMNS = {"what": "parameter", "": "note", "new": "pairs"}  # of tables in files of early versions
_UNEVALUATED = (
    "The model is of an early version, without an evaluation at training: probabilities are not available, and the "
    "threshold maximises F1 on leave-one-out scores, which is optimistic."
)


def save(model: LinkModel, path: Path | str, *, provenance: Mapping[str, Any] | None = None) -> None:
    """Write a model with the ids, links and scaling of its nodes, to be read by `load`.

    Parameters
    ----------
    model : LinkModel
    path : path
        By custom with the suffix `.safetensors`.
    provenance : mapping of names to texts and numbers, optional
        Where the model comes from; `iokr show` prints it.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import numpy as np
    >>> from iokr.apps import links
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> network = links.read(nodes=X, edges=np.argwhere(np.triu(abs(X - X.T) < 0.5, 1)))
    >>> model = links.fit(network, method="iokr", alphas=(0.01, 0.1))
    >>> with TemporaryDirectory() as folder:
    ...     links.save(model, Path(folder, "model.safetensors"))
    ...     again = links.load(Path(folder, "model.safetensors"))
    >>> again.threshold == model.threshold
    True
    """
    if not model.formats:
        raise ValueError("A model of kernel matrices cannot be saved: new nodes would have no features.")
    sides = [{"ids": side.ids, **form.state()} for side, form in zip(model.nodes.sides, model.formats, strict=True)]
    if model.nodes.across:
        state = {
            "kinds": list(model.nodes.kinds),
            "sides": [state | {"X": side.X} for state, side in zip(sides, model.nodes.sides, strict=True)],
            "logistic": list(model.logistic or ()),
            "evaluated": _table_state(model.comparison_table),
        }
    else:
        state = {
            "method": model.method,
            **sides[0],
            "labeled": model.nodes.labeled,
            "links": model.nodes.links,
            # the pairs that calibrate probabilities: those of the best method alone
            "evaluated": [one.state(pairs=one is model.held_out[0]) for one in model.held_out],
            "n_evaluated": model.n_compared,
            "scoring": model.scoring,
        }
    files.save(
        model.estimator,
        path,
        data=_training_data(model),
        provenance={
            "method": _name(model),
            "model": model.description,
            **(provenance or {}),
            "date": model.info.get("date", ""),
            "files": model.info.get("data", {}),
        },
        beside={
            "kind": KIND,
            **state,
            "threshold": model.threshold,
            "chosen": _table_state(model.chosen_table),
            "words": model.description,
        },
    )


def _name(model: LinkModel) -> str:
    """Which model it is, and among how many."""
    if model.nodes.across:
        return "BipartitePredictor between {} and {}".format(*model.nodes.kinds)
    name = METHODS[model.method]
    count = len(model.held_out)
    return f"{name}, the best of {count} by folds of nodes" if count > 1 else name


def _training_data(model: LinkModel) -> dict[str, Any] | None:
    """The data whose hashes are stored; None for a model from a file."""
    network = model.network
    if network is None:
        return None
    links = network.links.toarray() if network.across else network.links
    partners = {"partners": network.columns.X} if network.across else {}
    return {"nodes": network.rows.X, **partners, "links": links}


def _table_state(table: Table | None) -> dict[str, Any]:
    if table is None:
        return {}
    return {"title": table.title, "rows": [dict(row) for row in table.rows], "note": table.note, "ours": table.ours}


def _table(state: Mapping[str, Any] | None) -> Table | None:
    if not state:
        return None
    rows = [{_COLUMNS.get(name, name): cell for name, cell in row.items()} for row in state["rows"]]
    return Table(state["title"], rows, note=state["note"], ours=tuple(state["ours"]))


def load(path: Path | str) -> LinkModel:
    """Read a model that `save` or `iokr links train` has written. Nothing in the file is executed.

    Raises
    ------
    iokr.files.BadFile
        When the file is damaged, or holds something else.

    Examples
    --------
    See `save`.
    """
    state = files.load_beside(path)
    if state.get("kind") != KIND:
        raise files.BadFile(f"{path} is not a model of `iokr links train`; load it with `iokr.load`.")
    estimator = files.load(path)
    found = _from_state_across(estimator, state) if "sides" in state else _from_state(estimator, state)
    return replace(found, files=(Path(path),))


def _from_state(estimator: Any, state: Mapping[str, Any]) -> LinkModel:
    """A model of one kind of nodes; those of early versions lack what was added since."""
    method = state.get("method", "iokr")
    labeled = np.asarray(state["labeled"])
    _, model, _ = parts_of(method, estimator)[0]
    X = to_numpy(model.nodes_)
    links = state.get("links")
    if links is None:  # a file of the first version: the graph of the labelled nodes alone
        ends = model.network_.graph.tocoo()
        links = csr_array((ends.data, (labeled[ends.row], labeled[ends.col])), shape=(len(X), len(X)))
    held_out = tuple(HeldOut.from_state(one) for one in state.get("evaluated", ()))
    threshold = state.get("threshold")
    n_compared = state.get("n_evaluated", 0)
    scoring = state.get("scoring", "roc_auc")
    caveat = "" if held_out else TOO_FEW
    return LinkModel(
        method,
        estimator,
        ModelNodes((Side("node", np.asarray(state["ids"]), X),), csr_array(links), labeled),
        (FeatureFormat.from_state(dict(state)),),
        threshold=float(estimator.best_threshold() if threshold is None else threshold),
        scoring=scoring,
        comparison_table=comparison_table(held_out, n_compared, len(labeled), scoring) if held_out else None,
        chosen_table=_table(state.get("chosen")),
        description=state.get("words", ""),
        held_out=held_out,
        n_compared=n_compared,
        caveat=caveat if "evaluated" in state else _UNEVALUATED,
    )


def _from_state_across(estimator: Any, state: Mapping[str, Any]) -> LinkModel:
    """A model of two kinds of nodes."""
    sides = [
        Side(str(kind), np.asarray(side["ids"]), np.asarray(side["X"]))
        for kind, side in zip(state["kinds"], state["sides"], strict=True)
    ]
    a, b = state["logistic"]
    return LinkModel(
        "across",
        estimator,
        ModelNodes(tuple(sides), csr_array(estimator.links_), np.arange(len(sides[0].ids))),
        tuple(FeatureFormat.from_state(side) for side in state["sides"]),
        threshold=float(state["threshold"]),
        scoring=state.get("scoring", "roc_auc"),
        comparison_table=_table(state["evaluated"]),
        chosen_table=_table(state["chosen"]),
        description=state["words"],
        logistic=(float(a), float(b)),
    )
