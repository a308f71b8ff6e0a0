"""Documentation of public names: every one has a page, and docstrings are read as they are written.

Formulas in docstrings are plain Unicode, in which | is a letter of the formula, not markup. A public name without
a page is a warning, hence an error where warnings are errors.
"""

import inspect
import pkgutil
import re
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util import logging

import iokr

__all__ = ["documented_elsewhere", "public_modules", "setup"]

logger = logging.getLogger(__name__)

COMMANDS = "iokr.cli"  # described in the guide: its interface is the command line
GATHERED = "iokr.extend"  # names of other modules, for authors of components
LITERAL = re.compile(r"(``.+?``|`[^`]+`)")


def public_modules() -> list[ModuleType]:
    """`iokr` and the modules and folders right below it that do not begin with an underscore."""
    names = [f"iokr.{module.name}" for module in pkgutil.iter_modules(iokr.__path__) if module.name[0] != "_"]
    return [iokr, *(import_module(name) for name in names if name != COMMANDS)]


def documented_elsewhere() -> dict[str, str]:
    """Names that `iokr.extend` gathers from other public modules, and where they have their pages."""
    homes: dict[int, str] = {}
    for module in public_modules():
        if module.__name__ != GATHERED:
            for name in module.__all__:
                homes.setdefault(id(getattr(module, name)), f"{module.__name__}.{name}")
    gathered = import_module(GATHERED)
    return {
        name: homes[id(getattr(gathered, name))] for name in gathered.__all__ if id(getattr(gathered, name)) in homes
    }


def read_bars_as_letters(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """|x| in prose stands for itself; code stays as it is."""
    code = False
    for i, line in enumerate(lines):
        code = line.lstrip().startswith((">>>", "...")) or (code and bool(line.strip()))
        if not code:
            parts = LITERAL.split(line)
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[i] = "".join(parts)


def say_nothing_of_types(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """A constant has no docstring of its own: do not show that of its type."""
    if what == "data" and "\n".join(lines).strip() == (inspect.getdoc(type(obj)) or "").strip():
        lines.clear()


def leave_out_inherited(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """scikit-learn's own methods (`get_params`, `set_score_request`, …) are documented there."""
    if what in ("module", "data"):
        return None
    home = getattr(obj, "__module__", None) or getattr(getattr(obj, "fget", None), "__module__", None) or ""
    return None if home.startswith("iokr") else True


def forget_old_pages(app: Sphinx) -> None:
    """Pages that an earlier build wrote for names that are gone."""
    names = {f"{module.__name__}.{name}" for module in public_modules() for name in module.__all__}
    names |= {module.__name__ for module in public_modules()}
    names -= {f"{GATHERED}.{name}" for name in [*documented_elsewhere(), "Array"]}
    for page in Path(app.srcdir, "api", "generated").glob("*.rst"):
        if page.stem not in names:
            page.unlink()


def check_that_all_are_there(app: Sphinx, env: BuildEnvironment) -> None:
    """Every name of every `__all__` has a page, under one of the modules that offer it."""
    documented = set(env.get_domain("py").objects)
    pages: dict[int, set[str]] = {}
    for module in public_modules():
        for name in module.__all__:
            pages.setdefault(id(getattr(module, name)), set()).add(f"{module.__name__}.{name}")
    for names in pages.values():
        if not names & documented:
            logger.warning("public name without a page: %s", ", ".join(sorted(names)))


def setup(app: Sphinx) -> dict[str, bool]:
    """Connect to the build."""
    app.connect("autodoc-process-docstring", say_nothing_of_types, priority=100)  # before numpydoc
    app.connect("autodoc-process-docstring", read_bars_as_letters, priority=900)  # after numpydoc
    app.connect("builder-inited", forget_old_pages, priority=100)  # before autosummary
    app.connect("autodoc-skip-member", leave_out_inherited)
    app.connect("env-check-consistency", check_that_all_are_there)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
