"""Packages whose names are imported when they are first used, so that `from iokr import IOKR` loads what it needs."""

import ast
import sys
from collections.abc import Callable
from functools import cache
from importlib import import_module
from typing import Any

__all__ = ["lazy_names"]


def lazy_names(package: str) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """`__getattr__` and `__dir__` of a package that imports its names below `if TYPE_CHECKING:`.

    Readers, editors and type checkers see plain imports. At run time they are read from the source of the package when
    one of the names is first used, and only the module of that name is imported.
    """

    @cache
    def homes() -> dict[str, str]:
        return dict(_imports_for_typing(package))

    def find(name: str) -> Any:
        if name.startswith("__") or name not in homes():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(homes()[name]), name)
        setattr(sys.modules[package], name, value)  # found at once the next time
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *homes()})

    return find, names


def _imports_for_typing(package: str) -> list[tuple[str, str]]:
    """(name, module) of each `from module import name` below `if TYPE_CHECKING:`."""
    loader: Any = sys.modules[package].__loader__
    source = loader.get_source(package)
    if source is None:
        raise ImportError(f"the source of {package} is needed to find its names")
    blocks = [node for node in ast.parse(source).body if isinstance(node, ast.If)]
    imports = [node for block in blocks for node in block.body if isinstance(node, ast.ImportFrom)]
    return [(alias.name, str(node.module)) for node in imports for alias in node.names]
