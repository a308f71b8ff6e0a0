"""Several tables about the same nodes: views, joined by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pandas as pd

from iokr.apps.readers.file_table import Cells
from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.node_files import FILLED, Nodes, Rejection, read_nodes
from iokr.apps.readers.tables import split_name

__all__ = ["read_views"]


def read_views(
    paths: Sequence[Path | str | Cells],
    *,
    ids: Path | str | Cells | None = None,
    missing: str = "reject",
    means: Sequence[Mapping[str, float]] | None = None,
    layout: Layout | None = None,
) -> Nodes:
    """Features of nodes from one or several tables, concatenated; see `read_nodes`.

    The features of a node that is not in every table are missing there: with ``missing="reject"`` it is rejected, else
    they are imputed.

    Parameters
    ----------
    paths : sequence of paths
    ids : path, optional
        The ids of the .npy and .npz files without them.
    missing, layout :
        As in `read_nodes`.
    means : sequence of mappings, optional
        Means to impute, for each table.

    Returns
    -------
    Nodes
        `views` has a name and a number of columns for each table.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> from iokr.apps.readers import read_views
    >>> with TemporaryDirectory() as folder:
    ...     one, two = Path(folder, "shape.csv"), Path(folder, "colour.csv")
    ...     _ = one.write_text("id,u,v\\na,1,2\\nb,3,4\\n")
    ...     _ = two.write_text("id,w\\nb,5\\na,6\\nc,7\\n")
    ...     nodes = read_views([one, two])
    >>> nodes.X.tolist(), nodes.columns, nodes.views
    ([[1.0, 2.0, 6.0], [3.0, 4.0, 5.0]], ('shape: u', 'shape: v', 'colour: w'), (('shape', 2), ('colour', 1)))
    >>> [(r.source, r.reason, r.detail[-9:]) for r in nodes.rejections]
    [('c', 'not in every view', 'shape.csv')]
    """
    if not paths:
        raise ValueError("`paths` must name at least one file.")
    views = []
    for k, path in enumerate(paths):
        is_array = path.numbered if isinstance(path, Cells) else split_name(path)[0].suffix.lower() in (".npy", ".npz")
        own_means = None if means is None else means[k]
        own_ids = ids if is_array or len(paths) == 1 else None
        views.append(read_nodes(path, ids=own_ids, missing=missing, means=own_means, layout=layout))
    parts = [split_name(path) for path in paths]
    names = [part or path.name.partition(".")[0] for path, part in parts]
    if len(set(names)) < len(names):
        names = [str(path) for path in paths]
    if len(views) == 1:
        return replace(views[0], views=((names[0], len(views[0].columns)),))
    return _joined(views, names, paths, missing, means)


def _joined(
    views: Sequence[Nodes],
    names: Sequence[str],
    paths: Sequence[Path | str | Cells],
    missing: str,
    means: Sequence[Mapping[str, float]] | None,
) -> Nodes:
    """The nodes of all views, those that every view has or, with imputation, all of them."""
    ids = list(dict.fromkeys(name for nodes in views for name in nodes.ids.tolist()))
    rows = np.array([pd.Index(nodes.ids).get_indexer(ids) for nodes in views])  # (K, N), −1 where a view lacks a node
    shared = np.arange(len(ids))
    if missing == "reject":
        shared = np.flatnonzero((rows >= 0).all(axis=0))
    if not len(shared):
        raise ValueError(
            f"No node is in all of {', '.join(map(str, paths))}: the first two name nodes like "
            f'{str(views[0].ids[0])!r} and {str(views[1].ids[0])!r}; `missing="mean"` imputes the features of nodes '
            "that a view lacks."
        )
    blocks = []
    for k, nodes in enumerate(views):
        X = np.asarray(nodes.X)
        absent = np.zeros(X.shape[1])  # the features to impute
        if missing != "zero":
            absent = X.mean(axis=0) if means is None else np.array([means[k][name] for name in nodes.columns])
        block = X[rows[k, shared]]
        block[rows[k, shared] < 0] = absent
        blocks.append(block)
    rejections = [r for nodes in views for r in nodes.rejections]
    listed = {r.source for r in rejections if r.action == "left out"} if missing == "reject" else set()
    for i in np.flatnonzero((rows < 0).any(axis=0)):
        if ids[i] not in listed:
            having = str(paths[int(np.argmax(rows[:, i] >= 0))])
            detail = f"not in {', '.join(str(path) for path, row in zip(paths, rows[:, i], strict=True) if row < 0)}"
            action = FILLED.get(missing, "left out")
            rejections.append(Rejection(having, None, "node", ids[i], "", "not in every view", action, detail))
    return Nodes(
        np.array(ids)[shared],
        np.hstack(blocks),
        tuple(f"{name}: {column}" for name, nodes in zip(names, views, strict=True) for column in nodes.columns),
        rejections=tuple(rejections),
        origin=views[0].origin,
        numbered=all(nodes.numbered for nodes in views),
        comments=sum(nodes.comments for nodes in views),
        notes=tuple(note for nodes in views for note in nodes.notes),
        views=tuple((name, len(nodes.columns)) for name, nodes in zip(names, views, strict=True)),
    )
