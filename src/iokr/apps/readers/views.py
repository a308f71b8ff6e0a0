"""Several tables about the same nodes: views, joined by id."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from iokr.apps.readers.layouts import Layout
from iokr.apps.readers.node_files import Nodes, Rejection, read_nodes
from iokr.apps.readers.tables import split_name

__all__ = ["read_views"]


def read_views(
    paths: Sequence[Path | str],
    *,
    ids: Path | str | None = None,
    missing: str = "reject",
    means: Sequence[Mapping[str, float]] | None = None,
    layout: Layout | None = None,
) -> Nodes:
    """Features of nodes from one table or several, whose columns stand beside each other; see `read_nodes`.

    A node that is not in every table has no features there: with `missing="reject"` it is left out and listed, else its
    features are filled in like other missing ones. `ids` are those of the tables that have none.

    Parameters
    ----------
    paths : sequence of paths
    ids, missing, layout :
        As in `read_nodes`.
    means : sequence of mappings, optional
        Means to fill in, for each table.

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
    read = [_one(paths, k, ids, missing, means, layout) for k in range(len(paths))]
    names = _names(paths)
    if len(read) == 1:
        return replace(read[0], views=((names[0], len(read[0].columns)),))
    everyone = list(dict.fromkeys(name for nodes in read for name in nodes.ids.tolist()))
    places = [{name: i for i, name in enumerate(nodes.ids.tolist())} for nodes in read]
    fill = {"mean": "filled with the mean of the column", "zero": "filled with 0"}.get(missing)
    gone = {r.source for nodes in read for r in nodes.rejections if r.action == "left out"}
    kept, listed, blocks = [], [], []
    for name in everyone:
        lacking = [k for k, at in enumerate(places) if name not in at]
        if lacking:
            detail = "not in " + ", ".join(str(paths[k]) for k in lacking)
            if fill or name not in gone:
                where = str(paths[next(k for k, at in enumerate(places) if name in at)])
                listed.append(Rejection(where, None, "node", name, "", "not in every view", fill or "left out", detail))
        if fill or not lacking:
            kept.append(name)
    if not kept:
        raise ValueError(
            f"No node is in every one of {', '.join(map(str, paths))}: the first ones name nodes like "
            f"{str(read[0].ids[0])!r} and {str(read[1].ids[0])!r}; --missing mean fills in what a view lacks."
        )
    for k, nodes in enumerate(read):
        X = np.asarray(nodes.X)
        given = None if means is None else [means[k][name] for name in nodes.columns]
        absent = np.zeros(X.shape[1]) if missing == "zero" else X.mean(axis=0) if given is None else np.array(given)
        blocks.append(np.array([X[places[k][name]] if name in places[k] else absent for name in kept]))
    return Nodes(
        np.array(kept),
        np.hstack(blocks),
        tuple(f"{names[k]}: {column}" for k, nodes in enumerate(read) for column in nodes.columns),
        None,
        (*(r for nodes in read for r in nodes.rejections), *listed),
        read[0].origin,
        all(nodes.numbered for nodes in read),
        sum(nodes.comments for nodes in read),
        tuple(note for nodes in read for note in nodes.notes),
        tuple((names[k], len(nodes.columns)) for k, nodes in enumerate(read)),
    )


def _one(
    paths: Sequence[Path | str],
    k: int,
    ids: Path | str | None,
    missing: str,
    means: Sequence[Mapping[str, float]] | None,
    layout: Layout | None,
) -> Nodes:
    own = len(paths) > 1 and split_name(paths[k])[0].suffix.lower() not in (".npy", ".npz")
    given = None if means is None else means[k]
    return read_nodes(paths[k], ids=None if own else ids, missing=missing, means=given, layout=layout)


def _names(paths: Sequence[Path | str]) -> list[str]:
    """A short name for each table, its own."""
    parts = [split_name(path) for path in paths]
    short = [part or path.name.partition(".")[0] for path, part in parts]
    return short if len(set(short)) == len(short) else [str(path) for path in paths]
