"""Pages for public names, and docstrings shown as they are written.

Formulas in docstrings are plain Unicode, in which | is part of the formula and not markup. A public name without a
page is reported as a warning, which the build turns into an error.
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
APPLICATIONS = "iokr.apps"  # a folder of applications, without names of its own
GATHERED = "iokr.extend"  # names of other modules, for authors of components
LITERAL = re.compile(r"(``.+?``|`[^`]+`)")


def public_modules() -> list[ModuleType]:
    """`iokr`, the modules and folders right below it that do not begin with an underscore, and those of `iokr.apps`."""
    modules = [iokr]
    for folder in (iokr, import_module(APPLICATIONS)):
        for found in pkgutil.iter_modules(folder.__path__, f"{folder.__name__}."):
            if found.name.rpartition(".")[2][0] == "_" or found.name in (COMMANDS, APPLICATIONS):
                continue
            if folder is not iokr and not found.ispkg:
                continue
            module = import_module(found.name)
            if hasattr(module, "__all__"):
                modules.append(module)
    return modules


def documented_elsewhere() -> dict[str, dict[str, str]]:
    """For each module, its names whose page belongs to another module, and where that page is."""
    modules = sorted(public_modules(), key=lambda module: module.__name__ == GATHERED)  # stable: GATHERED last
    homes: dict[int, str] = {}
    elsewhere: dict[str, dict[str, str]] = {}
    for module in modules:
        for name in module.__all__:
            here = f"{module.__name__}.{name}"
            home = homes.setdefault(id(getattr(module, name)), here)
            if home != here:
                elsewhere.setdefault(module.__name__, {})[name] = home
    return elsewhere


def escape_bars(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Escape | in prose, where it is part of a formula; leave code unchanged."""
    code = False
    for i, line in enumerate(lines):
        code = line.lstrip().startswith((">>>", "...")) or (code and bool(line.strip()))
        if not code:
            parts = LITERAL.split(line)
            parts[::2] = [part.replace("|", r"\|") for part in parts[::2]]
            lines[i] = "".join(parts)


def drop_docstrings_of_types(app: Sphinx, what: str, name: str, obj: Any, options: Any, lines: list[str]) -> None:
    """Do not show the docstring of a constant's type as if it were its own."""
    if what == "data" and "\n".join(lines).strip() == (inspect.getdoc(type(obj)) or "").strip():
        lines.clear()


def skip_inherited(app: Sphinx, what: str, name: str, obj: Any, skip: bool, options: Any) -> bool | None:
    """Leave out methods inherited from scikit-learn (`get_params`, …), which are documented there."""
    if what in ("module", "data"):
        return None
    home = getattr(obj, "__module__", None) or getattr(getattr(obj, "fget", None), "__module__", None) or ""
    return None if home.startswith("iokr") else True


def remove_stale_pages(app: Sphinx) -> None:
    """Remove pages that an earlier build wrote for names that no longer exist."""
    names = {f"{module.__name__}.{name}" for module in public_modules() for name in module.__all__}
    names |= {module.__name__ for module in public_modules()}
    names -= {f"{module}.{name}" for module, others in documented_elsewhere().items() for name in others}
    names -= {f"{GATHERED}.Array"}
    for page in Path(app.srcdir, "api", "generated").glob("*.rst"):
        if page.stem not in names:
            page.unlink()


def check_that_all_have_pages(app: Sphinx, env: BuildEnvironment) -> None:
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
    app.connect("autodoc-process-docstring", drop_docstrings_of_types, priority=100)  # before numpydoc
    app.connect("autodoc-process-docstring", escape_bars, priority=900)  # after numpydoc
    app.connect("builder-inited", remove_stale_pages, priority=100)  # before autosummary
    app.connect("autodoc-skip-member", skip_inherited)
    app.connect("env-check-consistency", check_that_all_have_pages)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
