"""Networks on a page and in files: drawings, GraphML, Cytoscape JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report.figures import INK, MUTED, OURS, THEIRS, Canvas, Figure, plot
from iokr.apps.report.tables import number_of, plain

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLASSES", "Network", "draw_network", "layout", "to_cytoscape", "to_graphml"]

Matrix = NDArray[np.float64]

# Colours of classes: distinguishable on light and on dark paper, also by people who see red and green alike.
CLASSES = ("#3b82c4", "#d9822b", "#2fa17a", "#b863a7", "#c9a21b", "#7a6fd0", "#cf5757", "#6b8e9e")

_GRAPHML = "http://graphml.graphdrawing.org/xmlns"
_TYPES = {bool: "boolean", int: "long", float: "double", str: "string"}


@dataclass(frozen=True)
class Network:
    """An undirected network whose nodes and links carry values.

    Parameters
    ----------
    nodes : mapping of id to mapping of name to value
    links : sequence of (id, id, mapping of name to value)

    Examples
    --------
    >>> from iokr.apps.report import Network
    >>> Network({"a": {}, "b": {"known": True}}, [("a", "b", {"score": 0.5})]).links[0][2]
    {'score': 0.5}
    """

    nodes: Mapping[str, Mapping[str, Any]]
    links: Sequence[tuple[str, str, Mapping[str, Any]]] = field(default_factory=tuple)


def to_graphml(network: Network) -> str:
    """The network as GraphML, which NetworkX, Cytoscape, Gephi and yEd read.

    Examples
    --------
    >>> from iokr.apps.report import Network, to_graphml
    >>> "<edge" in to_graphml(Network({"a": {}, "b": {}}, [("a", "b", {"score": 0.5})]))
    True
    """
    ElementTree.register_namespace("", _GRAPHML)
    root = ElementTree.Element(f"{{{_GRAPHML}}}graphml")
    keys: dict[tuple[str, str], tuple[str, type]] = {}
    for domain, items in (("node", network.nodes.values()), ("edge", (values for *_, values in network.links))):
        for name, kind in _kinds(items).items():
            keys[domain, name] = f"d{len(keys)}", kind
            about = {"id": keys[domain, name][0], "for": domain, "attr.name": _valid(name), "attr.type": _TYPES[kind]}
            ElementTree.SubElement(root, f"{{{_GRAPHML}}}key", about)
    graph = ElementTree.SubElement(root, f"{{{_GRAPHML}}}graph", {"edgedefault": "undirected"})

    def put(element: ElementTree.Element, domain: str, values: Mapping[str, Any]) -> None:
        for name, value in values.items():
            key, kind = keys[domain, name]
            text = str(bool(value)).lower() if kind is bool else repr(kind(value)) if kind is not str else str(value)
            ElementTree.SubElement(element, f"{{{_GRAPHML}}}data", {"key": key}).text = _valid(text)

    for name, values in network.nodes.items():
        put(ElementTree.SubElement(graph, f"{{{_GRAPHML}}}node", {"id": _valid(name)}), "node", values)
    for source, target, values in network.links:
        ends = {"source": _valid(source), "target": _valid(target)}
        put(ElementTree.SubElement(graph, f"{{{_GRAPHML}}}edge", ends), "edge", values)
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="utf-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def to_cytoscape(network: Network) -> str:
    """The network as Cytoscape JSON (.cyjs), which Cytoscape, cytoscape.js and NetworkX read.

    Examples
    --------
    >>> import json
    >>> from iokr.apps.report import Network, to_cytoscape
    >>> page = json.loads(to_cytoscape(Network({"a": {}, "b": {}}, [("a", "b", {"score": 0.5})])))
    >>> page["elements"]["edges"][0]["data"]
    {'id': 'e0', 'source': 'a', 'target': 'b', 'score': 0.5}
    """
    nodes = [
        {"data": {"id": name, "value": name, "name": name, **_json_values(values)}}
        for name, values in network.nodes.items()
    ]
    edges = [
        {"data": {"id": f"e{i}", "source": source, "target": target, **_json_values(values)}}
        for i, (source, target, values) in enumerate(network.links)
    ]
    page = {"data": [], "directed": False, "multigraph": False, "elements": {"nodes": nodes, "edges": edges}}
    return json.dumps(page, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _kinds(items: Any) -> dict[str, type]:
    """The type of each named value: the widest of those that occur."""
    kinds: dict[str, type] = {}
    for values in items:
        for name, value in values.items():
            kind = type(number_of(value))
            if kind not in _TYPES:
                raise TypeError(f"The value {value!r:.60} of `{name}` must be text, a number or a truth value.")
            before = kinds.get(name, kind)
            kinds[name] = before if before is kind else float if {before, kind} == {int, float} else str
    return kinds


def _json_values(values: Mapping[str, Any]) -> dict[str, Any]:
    """NaN and infinities are null: JSON has none."""
    return {name: plain(value) for name, value in values.items()}


def _valid(text: str) -> str:
    """Text that XML can hold."""
    if re.search(r"[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]", text):
        raise ValueError(f"The text {text!a:.60} in `network` has a character that GraphML cannot hold; remove it.")
    return text


# ----------------------------------------------------------------------------------------------------------- drawings


def layout(n: int, pairs: Any, *, seed: int = 0, n_iter: int = 120) -> Matrix:
    """Places of nodes in the plane: linked nodes attract, all repel (Fruchterman and Reingold).

    A link attracts the less the more links both of its ends have: groups in which everybody is linked with everybody
    stay wide enough to be seen. Up to 1000 nodes all pairs repel, O(n²) a step; of more, those far away count as the
    middles of their cells.

    Parameters
    ----------
    n : int
        How many nodes.
    pairs : array of shape (m, 2)
        Links as node numbers.
    seed : int, default=0
        Of the places to begin from.
    n_iter : int, default=120
        Steps.

    Returns
    -------
    ndarray of shape (n, 2)
        Within [0, 1]².

    Examples
    --------
    >>> from iokr.apps.report import layout
    >>> layout(3, [[0, 1]]).shape
    (3, 2)
    """
    pairs = np.asarray(pairs, dtype=np.int64).reshape(-1, 2)
    P = np.random.default_rng(seed).uniform(-0.5, 0.5, size=(n, 2))
    k = np.sqrt(1.0 / max(n, 1))
    strength = 1.0 / np.bincount(pairs.ravel(), minlength=n)[pairs].min(axis=1, initial=n * n)
    for step in np.geomspace(0.1, 0.002, n_iter):
        move = _repelled(P, P, np.ones(n), k, 1e-4 * k**2) if n <= _EXACT else _repelled_by_cells(P, k)
        apart = P[pairs[:, 0]] - P[pairs[:, 1]]
        pull = apart * (strength * np.linalg.norm(apart, axis=1))[:, None] / k
        np.subtract.at(move, pairs[:, 0], pull)
        np.add.at(move, pairs[:, 1], pull)
        move -= 0.5 * P  # keeps separate parts on the page
        P += move / np.maximum(np.linalg.norm(move, axis=1), 1e-12)[:, None] * step
    if n == 0:
        return P
    extent = float(np.ptp(P, axis=0).max())
    return np.asarray((P - P.min(axis=0)) / (extent or 1.0))


_EXACT = 1000  # nodes of which all pairs repel
_CELLS = 16  # along either side of the page


def _repelled(P: Matrix, Q: Matrix, mass: Matrix, k: float, least: float) -> Matrix:
    """Σ_j m_j k² (p − q_j)/‖p − q_j‖² for every p, squares being at least `least`."""
    squares = (P**2).sum(axis=1)[:, None] + (Q**2).sum(axis=1) - 2 * P @ Q.T
    away = mass * k**2 / np.maximum(squares, least)
    return np.asarray(away.sum(axis=1)[:, None] * P - away @ Q)


def _repelled_by_cells(P: Matrix, k: float) -> Matrix:
    """The same with cells of the page in place of nodes, and the eight nearest nodes themselves."""
    from scipy.spatial import cKDTree

    low, size = P.min(axis=0), np.maximum(np.ptp(P, axis=0), 1e-9) / _CELLS
    at = np.minimum((P - low) // size, _CELLS - 1).astype(int)
    _, cell, mass = np.unique(at[:, 0] * _CELLS + at[:, 1], return_inverse=True, return_counts=True)
    middles = np.column_stack([np.bincount(cell, P[:, j]) for j in (0, 1)]) / mass[:, None]
    move = _repelled(P, middles, mass.astype(float), k, float((size**2).sum()) / 4)
    distance, near = (np.asarray(found) for found in cKDTree(P).query(P, k=9))
    apart = P[:, None, :] - P[near[:, 1:]]
    pull = k**2 / np.maximum(distance[:, 1:] ** 2, 1e-4 * k**2)
    return np.asarray(move + (pull[:, :, None] * apart).sum(axis=1))


def draw_network(
    places: Any,
    links: Mapping[str, Any],
    *,
    caption: str,
    names: Mapping[str, str] | None = None,
    classes: Any = None,
    stressed: Any = None,
    size: tuple[float, float] = (4.8, 5.0),
) -> Figure:
    """Nodes at their places with one or more kinds of links.

    Parameters
    ----------
    places : array of shape (n, 2)
    links : mapping of kind to array of shape (m, 2)
        Kinds are "known", "predicted", "right" and "wrong", or any other for plain links.
    caption : str
    names : mapping of kind to str, optional
        What to call the kinds in a legend; "stressed" names the nodes with a ring.
    classes : array of shape (n,), optional
        Numbers from 0; nodes are coloured by them.
    stressed : array of bool of shape (n,), optional
        Nodes to draw with a ring, such as those whose links are known.
    size : tuple of float, default=(4.8, 5.0)
        Width and height in inches.

    Examples
    --------
    >>> from iokr.apps.report import draw_network
    >>> draw_network([[0, 0], [1, 1]], {"known": [[0, 1]]}, caption="Two nodes.").caption
    'Two nodes.'
    """
    P = np.asarray(places, dtype=float)
    kinds = np.zeros(len(P), dtype=int) if classes is None else np.asarray(classes)
    ring = np.zeros(len(P), dtype=bool) if stressed is None else np.asarray(stressed, dtype=bool)

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.set_axis_off()
        axes.set_aspect("equal")
        few = max(1.0, (2000 / (1 + sum(map(len, links.values())))) ** 0.5)  # few links are drawn stronger
        for kind, pairs in links.items():
            _lines(axes, P, np.asarray(pairs, dtype=np.int64).reshape(-1, 2), kind, min(few, 2.0))
        dots = 1.5 + 2.5 * min(1.0, (300 / max(len(P), 1)) ** 0.5)
        for value in np.unique(kinds):
            of = kinds == value
            colour = MUTED if classes is None else CLASSES[int(value) % len(CLASSES)]
            axes.plot(*P[of & ~ring].T, "o", color=colour, markersize=dots, markeredgewidth=0)
            rim: dict[str, Any] = {"markersize": 1.5 * dots, "markeredgewidth": 0.8, "markeredgecolor": INK}
            axes.plot(*P[of & ring].T, "o", color=colour, **rim)
        for kind, name in (names or {}).items():
            if kind == "stressed":
                axes.plot([], [], "o", color="none", markersize=5, markeredgewidth=0.8, markeredgecolor=INK, label=name)
            else:
                axes.plot([], [], color=_LINES.get(kind, _PLAIN)[0], linewidth=1.6, label=name)
        if names:
            canvas.legend(loc="outside upper center", ncols=2)

    return plot(draw, caption=caption, size=size)


_LINES = {  # colour, width, opacity
    "known": (INK, 0.8, 0.9),
    "predicted": (THEIRS, 0.5, 0.7),
    "right": (OURS, 0.5, 0.7),
    "wrong": (THEIRS, 0.3, 0.3),
}
_PLAIN = (MUTED, 0.3, 0.4)


def _lines(axes: Axes, P: Matrix, pairs: NDArray[np.int64], kind: str, stronger: float) -> None:
    """All links of a kind as one path: small on the page."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not len(pairs):
        return
    colour, width, alpha = _LINES.get(kind, _PLAIN)
    width, alpha = width * stronger, min(1.0, alpha * stronger)
    vertices = P[pairs].reshape(-1, 2)
    codes = np.tile([Path.MOVETO, Path.LINETO], len(pairs))
    axes.add_patch(PathPatch(Path(vertices, codes), facecolor="none", edgecolor=colour, linewidth=width, alpha=alpha))
