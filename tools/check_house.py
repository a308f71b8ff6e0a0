"""What a reader of `src` and `lab/src` meets, counted on the syntax trees: `make house`.

Three rules have to hold; each finding is printed as `file:line: what`, and the exit code is 1 when there is one.

    cycles      modules that import each other in a circle, in functions too but not under `if TYPE_CHECKING`
    imported    private names (`_x`) that are imported from another module
    private     private methods and attributes (`x._name`) of objects of another room

A room is a folder of the first level, as `iokr.solvers`. That imports follow the layers is checked by `make layers`.

The rest is printed to be looked at: totals by room, then the files and functions that are the hardest to read. A branch
is an `if`, `elif`, `for`, `while`, `except`, `case`, a conditional expression, or the `if` of a comprehension. An
assignment is packed where a tuple of targets meets a tuple of values. `--top N` prints N of each.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import networkx as nx

SOURCES = ("src", "lab/src")
MACHINERY = {"_replace", "_asdict", "_fields", "_make", "_getframe", "_exit"}  # public in spite of their names
MACHINERY |= {"_init_callback_context"}  # of scikit-learn's mixin, for those who write estimators
LOOKUPS = {"getattr", "hasattr", "setattr", "delattr"}
FUNCTIONS = ast.FunctionDef | ast.AsyncFunctionDef
BRANCHES = (ast.If, ast.For, ast.While, ast.ExceptHandler, ast.match_case, ast.IfExp)
SHORT = 2  # statements of a short function
LONG_ENOUGH = 50  # lines of a file whose rate per 1000 lines says something


class Import(NamedTuple):
    """`from source import name`, or `import source` (name None), and whether it is for typing only."""

    source: str
    name: str | None
    line: int
    typing: bool


class Cost(NamedTuple):
    """What a reader of a file or of a function meets."""

    lines: int = 0
    statements: int = 0
    branches: int = 0
    conditional: int = 0
    packed: int = 0

    def plus(self, other: Cost) -> Cost:
        return Cost(*(a + b for a, b in zip(self, other, strict=True)))


def cost(tree: ast.AST, lines: int) -> Cost:
    """The cost of a syntax tree; a docstring is not a statement."""
    nodes = list(ast.walk(tree))
    return Cost(
        lines=lines,
        statements=sum(isinstance(node, ast.stmt) and not is_docstring(node) for node in nodes),
        branches=sum(branches(node) for node in nodes),
        conditional=sum(isinstance(node, ast.IfExp) for node in nodes),
        packed=sum(is_packed(node) for node in nodes),
    )


def is_docstring(node: ast.AST) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


def branches(node: ast.AST) -> int:
    """How many branches this node itself adds."""
    if isinstance(node, ast.comprehension):
        return len(node.ifs)
    return int(isinstance(node, BRANCHES))


def is_packed(node: ast.AST) -> bool:
    """a, b = x, y."""
    return isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Tuple) and isinstance(node.value, ast.Tuple)


def length(node: ast.stmt) -> int:
    return (node.end_lineno or node.lineno) - node.lineno + 1


def is_private(name: str) -> bool:
    """_x, but not __x__ and not _."""
    return name.startswith("_") and name.strip("_") != "" and not name.endswith("__")


@dataclass(frozen=True)
class Module:
    """A source file, by its dotted name."""

    name: str
    path: Path
    shown: str

    @cached_property
    def text(self) -> str:
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def tree(self) -> ast.Module:
        return ast.parse(self.text)

    @cached_property
    def cost(self) -> Cost:
        return cost(self.tree, self.text.count("\n"))

    @property
    def package(self) -> str:
        return self.name if self.path.name == "__init__.py" else self.name.rpartition(".")[0]

    @property
    def room(self) -> str:
        return ".".join(self.package.split(".")[:2])

    @cached_property
    def imports(self) -> list[Import]:
        return list(imports(self.tree, self.package, typing=False))

    def functions(self) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
        return (node for node in ast.walk(self.tree) if isinstance(node, FUNCTIONS))

    def at(self, line: int, what: str) -> str:
        return f"{self.shown}:{line}: {what}"


def house(root: Path) -> dict[str, Module]:
    """All modules of the repository `root`, by name."""
    found = {}
    for source in SOURCES:
        for path in sorted((root / source).rglob("*.py")):
            parts = path.relative_to(root / source).with_suffix("").parts
            name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
            found[name] = Module(name, path, str(path.relative_to(root)))
    return found


def imports(node: ast.AST, package: str, *, typing: bool) -> Iterator[Import]:
    """Every import below `node`, wherever it is."""
    if isinstance(node, ast.Import):
        yield from (Import(alias.name, None, node.lineno, typing) for alias in node.names)
    elif isinstance(node, ast.ImportFrom):
        source = absolute(node, package)
        yield from (Import(source, alias.name, node.lineno, typing) for alias in node.names)
    elif isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING"):
        for child in node.body:
            yield from imports(child, package, typing=True)
        for child in node.orelse:
            yield from imports(child, package, typing=typing)
    else:
        for child in ast.iter_child_nodes(node):
            yield from imports(child, package, typing=typing)


def absolute(node: ast.ImportFrom, package: str) -> str:
    """a.b.c of `from ..c import d`."""
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    above = parts[: len(parts) - node.level + 1]
    return ".".join([*above, *filter(None, [node.module])])


# The rules


def cycles(modules: dict[str, Module]) -> list[str]:
    """A circle of each group of modules that reach each other."""
    graph = nx.DiGraph()
    for module in modules.values():
        for found in module.imports:
            inner = f"{found.source}.{found.name}"
            imported_module = (
                inner if inner in modules else found.source
            )  # `from a import b` is a.b where that is a file
            if imported_module in modules and imported_module != module.name and not found.typing:
                graph.add_edge(module.name, imported_module, line=found.line)
    lines = []
    for group in nx.strongly_connected_components(graph):
        if len(group) > 1:
            first = min(group)
            circle = nx.find_cycle(graph.subgraph(group), first)
            way = " → ".join([circle[0][0], *(end for _, end in circle)])
            line = graph.edges[circle[0]]["line"]
            lines.append(modules[circle[0][0]].at(line, f"{way} ({len(group)} modules reach each other)"))
    return sorted(lines)


def imported(modules: dict[str, Module]) -> list[str]:
    """`from a import _b` for a name of this house that is not itself a module."""
    packages = {name.split(".")[0] for name in modules}
    return [
        module.at(found.line, f"from {found.source} import {found.name}")
        for module in modules.values()
        for found in module.imports
        if found.name is not None
        and is_private(found.name)
        and found.source.split(".")[0] in packages
        and f"{found.source}.{found.name}" not in modules
    ]


def private(modules: dict[str, Module]) -> list[str]:
    """x._name where x is not self, cls or super() and nothing in the same room defines _name."""
    own: dict[str, set[str]] = {}
    for module in modules.values():
        own.setdefault(module.room, set()).update(defined(module.tree))
    return [
        module.at(line, f"{ast.unparse(owner)}.{name}")
        for module in modules.values()
        for name, owner, line in private_uses(module.tree)
        if name not in own[module.room] | MACHINERY and not is_self(owner)
    ]


def private_uses(tree: ast.AST) -> Iterator[tuple[str, ast.expr, int]]:
    """_name and x of `x._name` and `getattr(x, "_name")`."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and is_private(node.attr):
            yield node.attr, node.value, node.lineno
        elif isinstance(node, ast.Call) and ast.unparse(node.func) in LOOKUPS and len(node.args) > 1:
            name = node.args[1]
            if isinstance(name, ast.Constant) and isinstance(name.value, str) and is_private(name.value):
                yield name.value, node.args[0], node.lineno


def is_self(owner: ast.expr) -> bool:
    return ast.unparse(owner) in {"self", "cls", "super()"}


def defined(tree: ast.AST) -> set[str]:
    """Names that the classes and functions of a module define, and attributes that its methods set on self."""
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, FUNCTIONS | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store) and is_self(node.value):
            names.add(node.attr)
    return names


RULES: dict[str, tuple[Callable[[dict[str, Module]], list[str]], str]] = {
    "cycles": (cycles, "import cycles"),
    "imported": (imported, "private names imported from another module"),
    "private": (private, "private attributes used on objects of another room"),
}


# To look at


def rooms(modules: Iterable[Module]) -> Iterator[str]:
    """The cost of each room, in lines of a table."""
    totals: dict[str, Cost] = {}
    for module in modules:
        package = module.name.split(".")[0]
        for key in {package, module.room}:
            totals[key] = totals.get(key, Cost()).plus(module.cost)
    yield f"{'room':28}" + "".join(f"{name:>13}" for name in Cost._fields)
    for room, total in sorted(totals.items()):
        yield f"{room:28}" + "".join(f"{number:13}" for number in total)


def files_by(modules: Iterable[Module], measure: Callable[[Module], float]) -> list[tuple[float, str]]:
    return [(measure(module), module.shown) for module in modules]


def conditional_per_1000_lines(module: Module) -> float:
    lines = module.cost.lines
    return 1000 * module.cost.conditional / lines if lines >= LONG_ENOUGH else 0.0


def functions_by_branches(modules: Iterable[Module]) -> list[tuple[float, str]]:
    return [
        (cost(function, length(function)).branches, module.at(function.lineno, function.name))
        for module in modules
        for function in module.functions()
    ]


def used_once(modules: Iterable[Module]) -> list[tuple[float, str]]:
    """Short private functions with a single use: lines of each."""
    found = []
    for module in modules:
        uses = Counter(node.id for node in ast.walk(module.tree) if isinstance(node, ast.Name))
        uses.update(node.attr for node in ast.walk(module.tree) if isinstance(node, ast.Attribute))
        for function in module.functions():
            size = length(function)
            short = cost(function, size).statements - 1 <= SHORT  # the definition itself is a statement
            if short and is_private(function.name) and uses[function.name] == 1 and not function.decorator_list:
                found.append((size, module.at(function.lineno, function.name)))
    return found


def ranking(title: str, found: list[tuple[float, str]], top: int) -> Iterator[str]:
    present = sorted((pair for pair in found if pair[0] > 0), key=lambda pair: (-pair[0], pair[1]))
    yield f"\n{title} ({len(present)})"
    for number, where in present[:top]:
        yield f"{number:8.0f}  {where}"


def report(modules: list[Module], top: int) -> Iterator[str]:
    """Everything that is there to be looked at."""
    yield from rooms(modules)
    yield from ranking("lines of a file", files_by(modules, lambda module: module.cost.lines), top)
    yield from ranking("branches of a function", functions_by_branches(modules), top)
    yield from ranking("conditional expressions per 1000 lines", files_by(modules, conditional_per_1000_lines), top)
    yield from ranking("packed assignments of a file", files_by(modules, lambda module: module.cost.packed), top)
    yield from ranking(f"private functions of at most {SHORT} statements, used once", used_once(modules), top)


def main() -> int:
    """Print what is there to look at, then the rules with their findings; 1 when there is one."""
    parser = argparse.ArgumentParser(description="What a reader of the sources meets, and three rules that must hold.")
    parser.add_argument("--root", type=Path, default=Path(__file__).parents[1], help="the repository")
    parser.add_argument("--top", type=int, default=10, help="how many files and functions of each list")
    options = parser.parse_args()
    modules = house(options.root.resolve())
    print(*report(list(modules.values()), options.top), "", sep="\n")
    failed = False
    for name, (rule, title) in RULES.items():
        found = rule(modules)
        failed = failed or bool(found)
        print(*found, f"{name:10}{len(found):4}  {title}", sep="\n")
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
