"""Curves in any form: a matrix, pairs of points and values, a long table, a functional data object."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr._array import Array, is_array, is_numpy, to_numpy
from iokr._validation.arguments import check_numbers
from iokr.data.frames import column_names, read, select_columns
from iokr.data.objects import BadObject, error_context, rows_by_name

__all__ = ["CurveTable", "interpolate", "quadrature_weights", "read_curves", "without_gaps"]

_MOST_NODES = 5000  # of a union grid
_NEAR = 1e-3  # points closer than this fraction of the range are one node
_LONG = ("id", "t", "value")
_NO_POINTS = " has no points; pass such inputs as `X_unlabeled`, or drop them."


@dataclass(frozen=True, eq=False)
class CurveTable:
    """n curves on T nodes: values (n, T), NaN where a curve was not observed."""

    points: np.ndarray  # (T,), ascending
    values: Array  # (n, T)
    names: Sequence[Any] | None = None  # of the curves in a long table


def read_curves(y: Any, grid: Any = None, name: str = "y") -> CurveTable:
    """The curves on one set of nodes.

    `y` is (n, T) with NaN, on `grid` (T points on [0, 1] without one); or n pairs (points, values); a table with
    columns id, t, value; or an object with `data_matrix` and `grid_points`, as scikit-fda has. Points of pairs are
    moved to the nearest node of `grid`, or without one to the union of all points, where points closer than 1e-3 of
    the range are merged.
    """
    if hasattr(y, "data_matrix") and hasattr(y, "grid_points"):
        return _from_functional_data(y, grid, name)
    if isinstance(y, np.ndarray) and y.dtype == object and y.ndim == 1:  # pairs after `take`
        y = list(y)
    columns = [str(column).lower() for column in column_names(y) or ()]
    if sorted(columns) == sorted(_LONG):
        return _from_pairs(*_long_table(y, columns, name), grid, name)
    first = y[0] if isinstance(y, (list, tuple)) and len(y) else None
    if isinstance(first, (tuple, list)) and len(first) == 2 and all(map(_is_list, first)):
        return _from_pairs([tuple(pair) for pair in y], None, grid, name)
    with error_context(name):
        y = read(y, matrix=True, missing=True)
    return _on_grid(y, grid, name)


def _from_functional_data(y: Any, grid: Any, name: str) -> CurveTable:
    values = np.asarray(y.data_matrix, dtype=float)
    if len(y.grid_points) != 1 or values.ndim != 3 or values.shape[2] != 1:
        raise ValueError(
            f"`{name}` must hold real curves of one variable, got data of shape {values.shape} over "
            f"{len(y.grid_points)} variables."
        )
    points = np.asarray(y.grid_points[0], dtype=float)
    if grid is None or np.array_equal(points, check_points(grid, "grid")):
        return _on_grid(values[:, :, 0], points, name)
    return _from_pairs([(points, row) for row in values[:, :, 0]], None, grid, name)


def _is_list(part: Any) -> bool:
    try:
        return np.ndim(part) == 1
    except ValueError:  # rows of different lengths
        return False


def _on_grid(Y: Any, grid: Any, name: str) -> CurveTable:
    if not is_array(Y) or (is_numpy(Y) and np.asarray(Y).dtype.kind not in "buif"):
        try:
            Y = check_numbers(Y, name)
        except (TypeError, ValueError) as error:
            raise ValueError(
                f"`{name}` must be a matrix with a curve per row, pairs (points, values), a table with columns "
                f"id, t, value, or an FDataGrid ({error})."
            ) from error
    if Y.ndim != 2 or Y.shape[0] == 0 or Y.shape[1] == 0:
        raise ValueError(
            f"`{name}` must have a curve per row and a point per column, got shape {tuple(Y.shape)}; "
            "curves on different grids are pairs (points, values)."
        )
    if is_numpy(Y):
        Y = np.asarray(Y, dtype=float)
    T = int(Y.shape[1])
    points = np.linspace(0.0, 1.0, T) if grid is None else check_points(grid, "grid")
    if len(points) != T:
        raise ValueError(f"`grid` has {len(points)} points but `{name}` has {T} columns; the numbers must be equal.")
    values = to_numpy(Y)
    if np.isinf(values).any():
        raise ValueError(f"`{name}` contains infinity; replace it by NaN, which is a point that was not observed.")
    empty = np.flatnonzero(np.isnan(values).all(axis=1))
    if len(empty):
        raise BadObject("Curve", int(empty[0]), f" ({len(empty)} in all){_NO_POINTS}", name)
    if np.all(np.diff(points) > 0):
        return CurveTable(points, Y)
    if len(np.unique(points)) < len(points):
        raise ValueError("`grid` has the same point twice; the points of the columns must differ.")
    raise ValueError(
        f"`grid` must ascend from column to column, as predictions have this order; sort it together with the columns "
        f"of `{name}`."
    )


def check_points(points: Any, name: str) -> np.ndarray:
    """A sequence of finite numbers."""
    found = check_numbers(points, name)
    if found.ndim != 1 or found.size == 0 or not np.all(np.isfinite(found)):
        raise ValueError(f"`{name}` must be a sequence of finite numbers, got {points!r:.60}.")
    return found


def _long_table(y: Any, columns: list[str], name: str) -> tuple[list[tuple[np.ndarray, np.ndarray]], list[Any]]:
    """Points and values of each id, ids in the order of their first row."""
    originals = column_names(y) or []
    given = {c: read(select_columns(y, [original])) for c, original in zip(columns, originals, strict=True)}
    rows = rows_by_name(enumerate(given["id"].tolist()))
    if not rows:
        raise ValueError(f"`{name}` is empty; at least one curve is needed.")
    try:
        t = given["t"].astype(float)
        values = given["value"].astype(float)
    except (TypeError, ValueError) as error:
        raise ValueError(f"The columns t and value of `{name}` must be numbers ({error}).") from error
    return [(t[some], values[some]) for some in rows.values()], list(rows)


def _from_pairs(pairs: Sequence[Any], names: list[Any] | None, grid: Any, name: str) -> CurveTable:
    curves = [_one_curve(i, points, values, name) for i, (points, values) in enumerate(pairs)]
    if grid is not None:
        nodes = np.sort(check_points(grid, "grid"))
    else:
        first = curves[0][0]
        same = all(np.array_equal(points, first) for points, _ in curves)
        nodes = first if same else _union([points for points, _ in curves])
    if len(nodes) > _MOST_NODES:
        raise ValueError(
            f"The points of `{name}` give {len(nodes)} nodes, more than {_MOST_NODES}: are their units the same? "
            "Give `grid`; each point is then moved to the nearest of its nodes."
        )
    middles = (nodes[1:] + nodes[:-1]) / 2
    sums, counts = np.zeros((2, len(curves), len(nodes)))
    for i, (points, values) in enumerate(curves):
        _check_inside(i, points, nodes, name)
        at = np.searchsorted(middles, points)
        np.add.at(sums[i], at, values)
        np.add.at(counts[i], at, 1)
    values = np.where(counts > 0, sums / np.where(counts > 0, counts, 1), np.nan)
    return CurveTable(nodes, values, names)


def _check_inside(i: int, points: np.ndarray, nodes: np.ndarray, name: str) -> None:
    """No point more than half a step beyond the first and the last of several nodes."""
    if len(nodes) == 1:
        return
    low = nodes[0] - (nodes[1] - nodes[0]) / 2
    high = nodes[-1] + (nodes[-1] - nodes[-2]) / 2
    beyond = points[(points < low) | (points > high)]
    if len(beyond):
        text = f" has a point at {beyond[0]:g}, outside of the nodes from {nodes[0]:g} to {nodes[-1]:g}; drop it"
        raise BadObject("Curve", i, f"{text}, or widen `grid`.", name)


def _one_curve(i: int, points: Any, values: Any, name: str) -> np.ndarray:
    """(2, T): ascending points, and their values; points where the value is NaN are dropped."""
    try:
        points = np.asarray(points, dtype=float)
        values = np.asarray(values, dtype=float)
    except (TypeError, ValueError) as error:
        raise BadObject("Curve", i, f" must be a pair of points and values, both numbers ({error}).", name) from error
    if points.shape != values.shape or points.ndim != 1:
        raise BadObject("Curve", i, f" has points of shape {points.shape} and values of shape {values.shape}.", name)
    if not np.all(np.isfinite(points)) or np.isinf(values).any():
        raise BadObject("Curve", i, " has points or values that are NaN or infinite; remove them.", name)
    curve = np.stack([points, values])[:, ~np.isnan(values)]
    if curve.size == 0:
        raise BadObject("Curve", i, _NO_POINTS, name)
    curve = curve[:, np.argsort(curve[0], kind="stable")]
    repeated = np.flatnonzero(np.diff(curve[0]) == 0)
    if len(repeated):
        if np.any(curve[1, repeated] != curve[1, repeated + 1]):
            raise BadObject("Curve", i, f" has two values at the point {curve[0, repeated[0]]:g}; keep one.", name)
        warnings.warn(f"Curve {i} of `{name}` repeats points with equal values; each is used once.", stacklevel=5)
        curve = np.delete(curve, repeated + 1, axis=1)
    return curve


def _union(grids: Sequence[np.ndarray]) -> np.ndarray:
    """All points, those closer than 1e-3 of the range merged into their mean."""
    points = np.unique(np.concatenate(grids))
    near = _NEAR * (points[-1] - points[0])
    nodes = []
    start = 0
    for stop in range(1, len(points) + 1):
        if stop == len(points) or points[stop] - points[start] > near:
            nodes.append(points[start:stop].mean())
            start = stop
    return np.array(nodes)


def quadrature_weights(quadrature: Any, points: np.ndarray) -> np.ndarray:
    """w_t > 0: "trapezoid" and "uniform" weights sum to one, given ones need not."""
    T = len(points)
    if isinstance(quadrature, str):
        if quadrature not in ("trapezoid", "uniform"):
            raise ValueError(f"`quadrature` must be 'trapezoid', 'uniform' or an array, got {quadrature!r}.")
        if quadrature == "uniform" or T == 1:
            return np.full(T, 1.0 / T)
        gaps = np.diff(points) / (points[-1] - points[0])
        return np.asarray((np.r_[gaps, 0.0] + np.r_[0.0, gaps]) / 2)
    w = check_points(quadrature, "quadrature")
    if len(w) != T or np.any(w <= 0):
        raise ValueError(f"`quadrature` must have a positive weight for each of the {T} nodes, got {len(w)}.")
    return w


def without_gaps(points: np.ndarray, values: Array) -> np.ndarray:
    """Curves (n, T) with straight lines in their gaps, constant beyond their first and last points."""
    rows = to_numpy(values)
    seen = ~np.isnan(rows)
    return np.array([np.interp(points, points[own], row[own]) for row, own in zip(rows, seen, strict=True)])


def interpolate(points: np.ndarray, values: np.ndarray, at: np.ndarray, derivative: int = 0) -> np.ndarray:
    """The cubic spline through values (T, d) at other points, constant beyond the ends."""
    from scipy.interpolate import make_interp_spline

    if len(points) == 1:
        return np.repeat(values if derivative == 0 else 0 * values, len(at), axis=0)
    spline = make_interp_spline(points, values, k=min(3, len(points) - 1))
    inside = np.clip(at, points[0], points[-1])
    found = np.asarray(spline(inside, nu=derivative))
    return found if derivative == 0 else np.asarray(np.where((inside == at)[:, None], found, 0.0))
