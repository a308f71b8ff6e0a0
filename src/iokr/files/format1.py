"""Objects of format 1 that have another name or other fields now."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from iokr.estimators.search.result import Axis

__all__ = ["RENAMED", "renewed"]


def _search_result(fields: dict[str, Any]) -> dict[str, Any]:
    """The table of a search: its scores, larger ones better, on named axes."""
    axes = tuple(Axis(name, values) for name, values in zip(fields["names"], fields["settings"], strict=True))
    scores = fields["scores"]
    kept = {"axes": axes, "values": scores, "larger": True, "measures": {"score": scores}}
    return kept | {"folds": fields["splits"], "weights": fields["weights"]}


RENAMED: dict[str, tuple[str, Callable[[dict[str, Any]], dict[str, Any]]]] = {
    "Search": ("SearchResult", _search_result),
}


def renewed(name: Any) -> Any:
    """The present name of a class."""
    if isinstance(name, str) and name in RENAMED:
        return RENAMED[name][0]
    return name
