"""The classes that model files may name: public classes by their public names, other values by their kinds.

A name in a file is looked up here and nowhere else.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

__all__ = ["BASELINES", "FOLDERS", "MissingBaseline", "class_of", "name_of"]


class MissingBaseline(ImportError):
    """A file holds a baseline of iokr-lab, which is not installed."""


BASELINES = "baselines"  # published methods: of the application on links, and of iokr-lab
FOLDERS = (
    *("kernels", "operator_kernels", "embeddings", "losses", "manifolds", "solvers", "decoders"),
    *(BASELINES, "model_selection", "chem"),
)


@cache
def _kinds() -> tuple[dict[str, type], dict[type, str]]:
    """Kinds to classes, and back; many modules, so that they are imported when a file is written or read."""
    from iokr.files.kinds import KINDS

    return KINDS, {cls: kind for kind, cls in KINDS.items()}


def name_of(cls: type) -> str | None:
    """The name of a class in files; None for one that they may not name."""
    parts = cls.__module__.split(".")
    if parts[0] not in ("iokr", "iokr_lab"):
        return None
    kind = _kinds()[1].get(cls)
    if kind is not None:
        return kind
    if BASELINES in parts:
        folder = BASELINES
    elif _public("", cls.__name__) is cls:
        return cls.__name__
    else:
        folder = parts[1]
    known = folder in FOLDERS and _public(folder, cls.__name__) is cls
    return f"{folder}.{cls.__name__}" if known else None


def class_of(name: Any) -> type | None:
    """The class of that name, or None. Raises `MissingBaseline` where iokr-lab is needed."""
    if not isinstance(name, str):
        return None
    kinds = _kinds()[0]
    if name in kinds:
        return kinds[name]
    folder, _, short = name.rpartition(".")
    return _public(folder, short) if folder in ("", *FOLDERS) else None


def _public(folder: str, name: str) -> type | None:
    if folder == BASELINES:
        return _baseline(name)
    return _exported(import_module(f"iokr.{folder}".rstrip(".")), name)


def _baseline(name: str) -> type | None:
    """A baseline of the library, or one of iokr-lab; an error that says how to install iokr-lab where it is needed."""
    ours = _exported(import_module("iokr.apps.links.baselines"), name)
    if ours is not None:
        return ours
    added = _added_baselines()
    if added is None:
        raise MissingBaseline(
            f"the baseline {name} is in iokr-lab, which is not installed: pip install iokr-lab (in a clone: ./lab)"
        )
    return _exported(added, name)


@cache
def _added_baselines() -> ModuleType | None:
    """The module that iokr-lab announces as the entry point `baselines` of the group `iokr.parts`."""
    for entry in entry_points(group="iokr.parts", name="baselines"):
        try:
            return entry.load()  # type: ignore[no-any-return]
        except ModuleNotFoundError:  # announced, but its files are gone
            return None
    return None


def _exported(module: ModuleType, name: str) -> type | None:
    """The public class of that name in a module, or None."""
    cls = getattr(module, name, None) if name in module.__all__ else None
    return cls if isinstance(cls, type) else None
