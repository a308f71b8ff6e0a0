"""Drawings of networks: places of nodes in the plane, and figures of nodes and links.

NetworkX has layouts, too; `layout` takes a fifth of the time of `networkx.spring_layout` for 2000 nodes and a tenth for
5000, and keeps groups of linked nodes apart in which every pair is linked.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report.figures import INK, MUTED, OURS, THEIRS, Canvas, Figure, plot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["CLASSES", "draw_network", "layout"]

Matrix = NDArray[np.float64]

# Colours of classes: distinct on light and dark paper, and with red-green colour blindness.
CLASSES = ("#3b82c4", "#d9822b", "#2fa17a", "#b863a7", "#c9a21b", "#7a6fd0", "#cf5757", "#6b8e9e")

_EXACT = 1000  # nodes up to which all pairs repel each other
_CELLS = 16  # along either side of the page
_NEIGHBOURS = 8  # nearest nodes that repel individually
_MIN_SQUARE = 1e-4  # of the distance between nodes, in units of the ideal distance
_FIRST_STEP = 0.1  # of the side of the page
_LAST_STEP = 0.002
_GRAVITY = 0.5  # towards the middle, which keeps components on the page

_LINES = {  # kind of link: colour, width, opacity
    "known": (INK, 0.8, 0.9),
    "predicted": (THEIRS, 0.5, 0.7),
    "right": (OURS, 0.5, 0.7),
    "wrong": (THEIRS, 0.3, 0.3),
}
_PLAIN_LINE = (MUTED, 0.3, 0.4)
_RING: dict[str, Any] = {"markeredgewidth": 0.8, "markeredgecolor": INK}


def layout(n: int, pairs: Any, *, seed: int = 0, n_iter: int = 120) -> Matrix:
    """Places of nodes in the plane: linked nodes attract, all nodes repel (Fruchterman and Reingold).

    The attraction of a link is divided by the smaller degree of its two ends, so that cliques stay wide enough to be
    seen. Up to 1000 nodes all pairs repel, O(n²) a step; of more nodes, distant ones count as the means of their cells.

    Parameters
    ----------
    n : int
        Number of nodes.
    pairs : array of shape (m, 2)
        Links as node numbers.
    seed : int, default=0
        Of the initial places.
    n_iter : int, default=120
        Number of steps.

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
    if n == 0:
        return P
    k = np.sqrt(1.0 / n)  # ideal distance
    degrees = np.bincount(pairs.ravel(), minlength=n)
    attraction = 1.0 / degrees[pairs].min(axis=1, initial=n * n)
    for step in np.geomspace(_FIRST_STEP, _LAST_STEP, n_iter):
        move = _repulsion(P, P, np.ones(n), k, _MIN_SQUARE * k**2) if n <= _EXACT else _repulsion_by_cells(P, k)
        apart = P[pairs[:, 0]] - P[pairs[:, 1]]
        pull = apart * (attraction * np.linalg.norm(apart, axis=1))[:, None] / k
        np.subtract.at(move, pairs[:, 0], pull)
        np.add.at(move, pairs[:, 1], pull)
        move -= _GRAVITY * P
        P += move / np.maximum(np.linalg.norm(move, axis=1), 1e-12)[:, None] * step
    extent = float(np.ptp(P, axis=0).max())
    return np.asarray((P - P.min(axis=0)) / (extent or 1.0))


def _repulsion(P: Matrix, Q: Matrix, mass: Matrix, k: float, min_square: float) -> Matrix:
    """Σ_j m_j k² (p − q_j)/‖p − q_j‖² for every p, with squared distances of at least `min_square`."""
    squares = (P**2).sum(axis=1)[:, None] + (Q**2).sum(axis=1) - 2 * P @ Q.T
    weights = mass * k**2 / np.maximum(squares, min_square)
    return np.asarray(weights.sum(axis=1)[:, None] * P - weights @ Q)


def _repulsion_by_cells(P: Matrix, k: float) -> Matrix:
    """The same with cells of the page in place of nodes, and the nearest nodes individually."""
    from scipy.spatial import cKDTree

    low = P.min(axis=0)
    size = np.maximum(np.ptp(P, axis=0), 1e-9) / _CELLS
    places = np.minimum((P - low) // size, _CELLS - 1).astype(int)
    _, cell, mass = np.unique(places[:, 0] * _CELLS + places[:, 1], return_inverse=True, return_counts=True)
    means = np.column_stack([np.bincount(cell, P[:, j]) for j in (0, 1)]) / mass[:, None]
    move = _repulsion(P, means, mass.astype(float), k, float((size**2).sum()) / 4)
    distance, near = (np.asarray(found) for found in cKDTree(P).query(P, k=_NEIGHBOURS + 1))  # the first is p itself
    apart = P[:, None, :] - P[near[:, 1:]]
    weights = k**2 / np.maximum(distance[:, 1:] ** 2, _MIN_SQUARE * k**2)
    return np.asarray(move + (weights[:, :, None] * apart).sum(axis=1))


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
        Names of the kinds in a legend; "stressed" names the nodes with a ring.
    classes : array of shape (n,), optional
        Numbers from 0, which colour the nodes.
    stressed : array of bool of shape (n,), optional
        Nodes with a ring, such as those whose links are known.
    size : tuple of float, default=(4.8, 5.0)
        Width and height in inches.

    Examples
    --------
    >>> from iokr.apps.report import draw_network
    >>> draw_network([[0, 0], [1, 1]], {"known": [[0, 1]]}, caption="Two nodes.").caption
    'Two nodes.'
    """
    P = np.asarray(places, dtype=float)
    n = len(P)
    kinds = np.zeros(n, dtype=int) if classes is None else np.asarray(classes)
    ring = np.zeros(n, dtype=bool) if stressed is None else np.asarray(stressed, dtype=bool)
    pairs = {kind: np.asarray(ends, dtype=np.int64).reshape(-1, 2) for kind, ends in links.items()}
    n_links = sum(map(len, pairs.values()))
    emphasis = float(np.clip((2000 / (1 + n_links)) ** 0.5, 1.0, 2.0))  # few links are drawn thicker
    dot = 1.5 + 2.5 * min(1.0, (300 / max(n, 1)) ** 0.5)

    def draw(canvas: Canvas) -> None:
        axes = canvas.subplots()
        axes.set_axis_off()
        axes.set_aspect("equal")
        for kind, ends in pairs.items():
            _draw_links(axes, P, ends, kind, emphasis)
        for value in np.unique(kinds):
            members = kinds == value
            colour = MUTED if classes is None else CLASSES[int(value) % len(CLASSES)]
            axes.plot(*P[members & ~ring].T, "o", color=colour, markersize=dot, markeredgewidth=0)
            axes.plot(*P[members & ring].T, "o", color=colour, markersize=1.5 * dot, **_RING)
        for kind, name in (names or {}).items():
            if kind == "stressed":
                axes.plot([], [], "o", color="none", markersize=5, label=name, **_RING)
            else:
                axes.plot([], [], color=_LINES.get(kind, _PLAIN_LINE)[0], linewidth=1.6, label=name)
        if names:
            canvas.legend(loc="outside upper center", ncols=2)

    return plot(draw, caption=caption, size=size)


def _draw_links(axes: Axes, P: Matrix, pairs: NDArray[np.int64], kind: str, emphasis: float) -> None:
    """All links of a kind as one path, which keeps the page small."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    if not len(pairs):
        return
    colour, width, alpha = _LINES.get(kind, _PLAIN_LINE)
    path = Path(P[pairs].reshape(-1, 2), np.tile([Path.MOVETO, Path.LINETO], len(pairs)))
    style = {"linewidth": width * emphasis, "alpha": min(1.0, alpha * emphasis)}
    axes.add_patch(PathPatch(path, facecolor="none", edgecolor=colour, **style))
