"""The classes that model files may name: public classes by their public names, other values by their kinds.

A name in a file is looked up here and nowhere else.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module
from importlib.metadata import entry_points
from types import ModuleType
from typing import Any

__all__ = ["MissingBaseline", "class_of", "name_of"]


class MissingBaseline(ImportError):
    """A file holds a baseline of iokr-lab, which is not installed."""


BASELINES = "baselines"  # published methods: of the application on links, and of iokr-lab


@cache
def _known() -> tuple[dict[str, ModuleType], dict[str, type], dict[type, str]]:
    """Packages, kinds, and kinds by their classes; many modules, so that they are imported for the first file."""
    from iokr.files.kinds import KINDS, PACKAGES

    return PACKAGES, KINDS, {cls: kind for kind, cls in KINDS.items()}


def name_of(cls: type) -> str | None:
    """The name of a class in files; None for one that they may not name."""
    parts = cls.__module__.split(".")
    if parts[0] not in ("iokr", "iokr_lab"):
        return None
    packages, _, kinds = _known()
    if cls in kinds:
        return kinds[cls]
    if BASELINES in parts:
        name = f"{BASELINES}.{cls.__name__}"
    elif _exported(packages[""], cls.__name__) is cls:
        name = cls.__name__
    else:
        name = f"{parts[1]}.{cls.__name__}"
    return name if class_of(name) is cls else None


def class_of(name: Any) -> type | None:
    """The class of that name, or None. Raises `MissingBaseline` where iokr-lab is needed."""
    if not isinstance(name, str):
        return None
    packages, kinds, _ = _known()
    if name in kinds:
        return kinds[name]
    package, _, short = name.rpartition(".")
    if package == BASELINES:
        return _baseline(short)
    return _exported(packages[package], short) if package in packages else None


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
