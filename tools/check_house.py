"""What the house forbids, counted on the syntax trees of `src`: run as `python tools/check_house.py`, or `make house`.

    cycles      modules that import each other in a circle, in functions too but not under `if TYPE_CHECKING`
    imported    private names (`_x`) imported from another module
    private     private methods and attributes (`x._name`) of objects of another module
    grams       `isinstance` on a Gram outside a method called `refuses`
    lines       files of more than 400 lines
    laboratory  modules of `iokr` that import `iokr_lab`
    loaded      modules of `iokr_lab` that `import iokr` and `iokr links` load
    walk        functions and files that one fit passes through, above the limits of `tools/walk.py`

Each finding is a line `file:line: what`, each rule a line with its count; the exit code is 1 when anything is found.
Names of rules select (`python tools/check_house.py cycles grams`), `--root` points to another tree.
"""

from __future__ import annotations

import argparse
import ast
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

LIMIT = 400
LIBRARY, LABORATORY = "iokr", "iokr_lab"
MAY_IMPORT_THE_LABORATORY = {"iokr_lab.cli.reproduce", "iokr_lab.cli.bench"}
TEMPLATES = (
    "iokr.solvers",
    {"Solver", "Path"},
)  # whose private methods are for all inside this package
MACHINERY = {"_replace", "_asdict", "_fields", "_make", "_getframe", "_exit"}  # public in spite of their names
MACHINERY |= {"_init_callback_context"}  # of scikit-learn's mixin, for those who write estimators
KINDS = {"isinstance", "issubclass"}
LOOKUPS = {"getattr", "hasattr", "setattr", "delattr"}


@dataclass(frozen=True)
class Import:
    """One imported thing: `from source import name`, or `import source` (name None), and whether for typing only."""

    source: str
    name: str | None
    line: int
    typing: bool


@dataclass(frozen=True)
class Module:
    """A file of `src`, by its dotted name."""

    name: str
    path: Path
    shown: str

    @cached_property
    def text(self) -> str:
        return self.path.read_text()

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @property
    def package(self) -> str:
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    @cached_property
    def imports(self) -> list[Import]:
        return list(_imports(self.tree, self.package, typing=False))

    def at(self, line: int, what: str) -> str:
        return f"{self.shown}:{line}: {what}"


@dataclass(frozen=True)
class House:
    """All modules below `root/src`."""

    root: Path

    @cached_property
    def modules(self) -> dict[str, Module]:
        found = {}
        for source in (self.root / "src", self.root / "lab" / "src"):
            for path in sorted(source.rglob("*.py")):
                parts = path.relative_to(source).with_suffix("").parts
                name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
                found[name] = Module(name, path, str(path.relative_to(self.root)))
        return found

    @cached_property
    def packages(self) -> set[str]:
        return {name.split(".")[0] for name in self.modules}

    def target(self, found: Import) -> str | None:
        """The module of this house that is imported: `from a import b` is a.b where that is a file, else a."""
        inner = f"{found.source}.{found.name}"
        return next((name for name in (inner, found.source) if name in self.modules), None)


def is_private(name: str) -> bool:
    """_x, but not __x__ and not _."""
    return name.startswith("_") and name.strip("_") != "" and not (name.startswith("__") and name.endswith("__"))


# Imports


def _imports(node: ast.AST, package: str, *, typing: bool) -> Iterator[Import]:
    """Every import below `node`, wherever it stands."""
    if isinstance(node, ast.Import):
        yield from (Import(alias.name, None, node.lineno, typing) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        source = _absolute(node, package)
        yield from (Import(source, alias.name, node.lineno, typing) for alias in node.names)
    elif isinstance(node, ast.If) and _asks_for_typing(node.test):
        for child in node.body:
            yield from _imports(child, package, typing=True)
        for child in node.orelse:
            yield from _imports(child, package, typing=typing)
    else:
        for child in ast.iter_child_nodes(node):
            yield from _imports(child, package, typing=typing)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    """a.b.c of `from ..c import d`."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    above = parts[: len(parts) - node.level + 1]
    return ".".join([*above, *([node.module] if node.module else [])])


def _asks_for_typing(test: ast.expr) -> bool:
    return (isinstance(test, ast.Name) and test.id == "TYPE_CHECKING") or (
        isinstance(test, ast.Attribute) and test.attr == "TYPE_CHECKING"
    )


def cycles(house: House) -> list[str]:
    """A shortest circle of each group of modules that reach each other."""
    edges: dict[str, dict[str, int]] = {name: {} for name in house.modules}
    for module in house.modules.values():
        for found in module.imports:
            to = house.target(found)
            if to is not None and to != module.name and not found.typing:
                edges[module.name].setdefault(to, found.line)
    found_cycles = []
    for group in _components(edges):
        circle = min((_circle(edges, group, start) for start in sorted(group)), key=len)
        way = " → ".join([*circle, circle[0]])
        line = edges[circle[0]][circle[1]]
        found_cycles.append(house.modules[circle[0]].at(line, f"{way} ({len(group)} modules reach each other)"))
    return found_cycles


def _components(edges: dict[str, dict[str, int]]) -> list[set[str]]:
    """Groups of two or more modules that reach each other, by who reaches whom."""
    reached = {name: _reached(edges, name) for name in edges}
    groups: list[set[str]] = []
    for name in edges:
        if name in reached[name] and not any(name in group for group in groups):
            groups.append({other for other in reached[name] if name in reached[other]})
    return groups


def _reached(edges: dict[str, dict[str, int]], start: str) -> set[str]:
    seen: set[str] = set()
    stack = list(edges[start])
    while stack:
        name = stack.pop()
        if name not in seen:
            seen.add(name)
            stack += edges[name]
    return seen


def _circle(edges: dict[str, dict[str, int]], group: set[str], start: str) -> list[str]:
    """The shortest way from `start` back to it inside the group."""
    ways = [[start]]
    seen: set[str] = set()
    for way in ways:
        for name in edges[way[-1]]:
            if name == start:
                return way
            if name in group and name not in seen:
                seen.add(name)
                ways.append([*way, name])
    raise AssertionError("every module of a group lies on a circle")


def imported(house: House) -> list[str]:
    """`from a import _b` for a name of this house that is not itself a module."""
    return [
        module.at(found.line, f"from {found.source} import {found.name}")
        for module in house.modules.values()
        for found in module.imports
        if found.name is not None
        and is_private(found.name)
        and found.source.split(".")[0] in house.packages
        and f"{found.source}.{found.name}" not in house.modules
    ]


def laboratory(house: House) -> list[str]:
    """Imports of the laboratory in the library, by statement or by name."""
    found = []
    for module in house.modules.values():
        if module.name.split(".")[0] != LIBRARY:
            continue
        lines = {i.line for i in module.imports if i.source.split(".")[0] == LABORATORY}
        lines |= {node.lineno for node in ast.walk(module.tree) if _imports_by_name(node)}
        found += [module.at(line, f"imports {LABORATORY}") for line in sorted(lines)]
    return found


def _imports_by_name(node: ast.AST) -> bool:
    """import_module("iokr_lab…")."""
    return (
        isinstance(node, ast.Call)
        and ast.unparse(node.func).endswith(("import_module", "__import__"))
        and any(isinstance(text, ast.Constant) and str(text.value).startswith(LABORATORY) for text in ast.walk(node))
    )


# Private attributes


def private(house: House) -> list[str]:
    """x._name where x is not self, cls or super() and no class or function of the same module defines _name."""
    templates = _templates(house)
    found = []
    for module in house.modules.values():
        own = _defined(module.tree) | MACHINERY
        if module.name.startswith(TEMPLATES[0] + "."):
            own = own | templates
        for node in ast.walk(module.tree):
            name, owner = _private_use(node)
            if name is not None and owner is not None and name not in own and not _is_self(owner):
                found.append(module.at(node.lineno, f"{ast.unparse(owner)}.{name}"))
    return found


def _private_use(node: ast.AST) -> tuple[str | None, ast.expr | None]:
    """_name and x of `x._name` or `getattr(x, "_name")`."""
    if isinstance(node, ast.Attribute) and is_private(node.attr):
        return node.attr, node.value
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id in LOOKUPS
        and len(node.args) > 1
    ):
        text = node.args[1]
        if isinstance(text, ast.Constant) and isinstance(text.value, str) and is_private(text.value):
            return text.value, node.args[0]
    return None, None


def _is_self(owner: ast.expr) -> bool:
    if isinstance(owner, ast.Call):
        return isinstance(owner.func, ast.Name) and owner.func.id == "super"
    return isinstance(owner, ast.Name) and owner.id in {"self", "cls"}


def _defined(tree: ast.AST) -> set[str]:
    """Names that the classes and functions of a module define, and attributes that its methods set on self."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and _is_self(node.value):
            names.add(node.attr)
    return names


def _templates(house: House) -> set[str]:
    """The private methods of the classes that others complete."""
    package, classes = TEMPLATES
    return {
        method.name
        for module in house.modules.values()
        if module.name.startswith(package + ".")
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef) and node.name in classes
        for method in node.body
        if isinstance(method, ast.FunctionDef) and is_private(method.name)
    }


# Kinds of Gram


def grams(house: House) -> list[str]:
    """isinstance(G, SomeGram), type(G) is SomeGram and `case SomeGram()` outside `refuses`."""
    kinds = _gram_classes(house)
    return [
        module.at(node.lineno, ast.unparse(node).splitlines()[0])
        for module in house.modules.values()
        for node in _outside_refuses(module.tree)
        if _asked_kinds(node) & kinds
    ]


def _gram_classes(house: House) -> set[str]:
    """`Gram` and everything derived from it, by name."""
    bases = {
        node.name: {ast.unparse(base).partition("[")[0].rpartition(".")[2] for base in node.bases}
        for module in house.modules.values()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ClassDef)
    }
    kinds: set[str] = {"Gram"}
    while more := {name for name, above in bases.items() if above & kinds} - kinds:
        kinds |= more
    return kinds


def _outside_refuses(node: ast.AST) -> Iterator[ast.AST]:
    yield node
    for child in ast.iter_child_nodes(node):
        if not (isinstance(child, ast.FunctionDef) and child.name == "refuses"):
            yield from _outside_refuses(child)


def _asked_kinds(node: ast.AST) -> set[str]:
    """The class names that a question about a kind compares with."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in KINDS and len(node.args) == 2:
        return _last_names(node.args[1])
    if isinstance(node, ast.Compare) and ast.unparse(node.left).startswith("type("):
        return set().union(*(_last_names(right) for right in node.comparators))
    return _last_names(node.cls) if isinstance(node, ast.MatchClass) else set()


def _last_names(node: ast.AST) -> set[str]:
    names = {child.id for child in ast.walk(node) if isinstance(child, ast.Name)}
    return names | {child.attr for child in ast.walk(node) if isinstance(child, ast.Attribute)}


# Sizes, and what running shows


def lines(house: House) -> list[str]:
    """Files of more than 400 lines."""
    sizes = [(module, module.text.count("\n")) for module in house.modules.values()]
    return [module.at(LIMIT + 1, f"{size} lines, at most {LIMIT}") for module, size in sizes if size > LIMIT]


NODES = "".join(f"n{i}\t{i % 2}\t{i / 12}\n" for i in range(12))
EDGES = "source\ttarget\n" + "".join(f"n{i}\tn{j}\n" for i in range(8) for j in range(i) if (i - j) % 2 == 0)
COMMANDS = {
    "import iokr": "import iokr",
    "from iokr import IOKR": "from iokr import IOKR, IOKRCV, LinkPredictorCV",
    "iokr links --help": "command('links', '--help')",
    "iokr links cv": "command('links', 'cv', *files, '--folds', '2', '-o', 'cv', '--quiet')",
    "iokr links predict": "command('links', 'predict', *files, '-o', 'predict', '--quiet')",
}
PROGRAM = """
import sys
def command(*arguments):
    from iokr.cli import app
    app(arguments, standalone_mode=False)
files = ('--edges', 'edges.tsv', '--nodes', 'nodes.tsv')
{statement}
print('LOADED', *(name for name in sys.modules if name.split('.')[0] == 'iokr_lab'))
"""


def loaded(house: House) -> list[str]:
    """Modules of the laboratory in the memory of a process that imports the library or runs `iokr links`."""
    found = []
    for title, statement in COMMANDS.items():
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, "nodes.tsv").write_text("node\ta\tb\n" + NODES)
            Path(folder, "edges.tsv").write_text(EDGES)
            run = _python(house, "-c", PROGRAM.format(statement=statement), folder=folder)
        last = run.stdout.strip().rpartition("\n")[2].split()
        if run.returncode or last[:1] != ["LOADED"]:
            found.append(f"src/iokr:1: `{title}` fails: {(run.stderr or run.stdout).strip().rpartition(chr(10))[2]}")
        found += [f"src/iokr:1: `{title}` loads {name}" for name in last[1:]]
    return found


def walk(house: House) -> list[str]:
    """The line of `tools/walk.py` when a fit passes through too many functions or files."""
    run = _python(house, str(Path(__file__).parent / "walk.py"))
    what = (run.stdout if run.stdout else run.stderr).strip().rpartition("\n")[2]
    return [f"tools/walk.py:1: {what}; `--list` names them"] if run.returncode else []


def _python(house: House, *arguments: str, folder: str | None = None) -> subprocess.CompletedProcess[str]:
    environment = os.environ | {
        "PYTHONPATH": os.pathsep.join(str(house.root / part) for part in ("src", "lab/src")),
        "MPLBACKEND": "Agg",
        "NO_COLOR": "1",
    }
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


RULES: dict[str, tuple[Callable[[House], list[str]], str]] = {
    "cycles": (cycles, "import cycles"),
    "imported": (imported, "private names imported from another module"),
    "private": (private, "private attributes used on objects of another module"),
    "grams": (grams, "questions about the class of a Gram outside `refuses`"),
    "lines": (lines, f"files above {LIMIT} lines"),
    "laboratory": (laboratory, "imports of the laboratory in the library"),
    "loaded": (loaded, "modules of the laboratory loaded by the library"),
    "walk": (walk, "walks above their limits"),
}


def main() -> int:
    """Check the rules that are named, by default all; 1 when anything is found."""
    parser = argparse.ArgumentParser(description="What the house forbids, counted.")
    parser.add_argument("rules", nargs="*", metavar="rule", help=", ".join(RULES))
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the repository")
    options = parser.parse_args()
    if unknown := set(options.rules) - set(RULES):
        parser.error(f"there is no rule {', '.join(sorted(unknown))}")
    house = House(options.root.resolve())
    counts = {}
    for rule in options.rules or RULES:
        found = RULES[rule][0](house)
        print(*found, sep="\n", end="\n" if found else "")
        counts[rule] = len(found)
    for rule, count in counts.items():
        print(f"{rule:11}{count:4}  {RULES[rule][1]}")
    return 1 if any(counts.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
