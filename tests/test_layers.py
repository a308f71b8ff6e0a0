"""Imports go down the layers only, and heavy libraries wait until they are used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import iokr

ROOT = Path(iokr.__file__).parent
LAYERS = [
    *("cli", "report", "rivals"),
    *("estimators", "model_selection", "metrics", "datasets"),
    *("decoders", "solvers", "operator_kernels", "manifolds", "embeddings", "kernels"),
    *("problem", "losses", "gram"),
    *("_validation", "_objects", "_memory", "_progress", "_component", "_array"),
]
FILES = sorted(path for path in ROOT.rglob("*.py"))


def module_of(path):
    """iokr/gram/base.py is iokr.gram.base, and whether it is a package."""
    parts = ("iokr", *path.relative_to(ROOT).with_suffix("").parts)
    return (".".join(parts[:-1]), True) if parts[-1] == "__init__" else (".".join(parts), False)


def imports(source, module, is_package=False):
    """Absolute names of all modules that `source` imports, wherever the import stands."""
    package = module if is_package else module.rpartition(".")[0]
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".")[: len(package.split(".")) - node.level + 1] if node.level else []
            base = ".".join([*above, *([node.module] if node.module else [])])
            # `from iokr import gram` names a layer; `from iokr.gram import base` is of the layer gram anyway.
            found += [f"{base}.{alias.name}" for alias in node.names] if base == "iokr" else [base]
    return found


def layer(module):
    """The position of a module in the list, from the top; the names of `iokr` itself are estimators."""
    parts = module.split(".")
    if len(parts) > 1 and parts[1] in LAYERS:
        return LAYERS.index(parts[1])
    return LAYERS.index("estimators") if len(parts) == 2 and parts[1] in iokr.__all__ else None


def violations(source, module, is_package=False):
    """The imports that go upwards, or nowhere."""
    own = layer(module)
    names = [name for name in imports(source, module, is_package) if name.split(".")[0] == "iokr"]
    return [name for name in names if layer(name) is None or layer(name) < own]


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(ROOT)))
def test_imports_go_down(path):
    module, is_package = module_of(path)
    if module == "iokr":  # it stands above the layers and resolves names lazily: see the test of `import iokr`
        return
    if module == "iokr.__main__":
        return
    assert layer(module) is not None, f"{module} has no place in the list of layers"
    assert violations(path.read_text(), module, is_package) == []


@pytest.mark.parametrize(
    ("source", "module", "bad"),
    [
        ("from iokr.solvers.auto import Auto", "iokr.gram.scalar", ["iokr.solvers.auto"]),
        ("def f():\n    import iokr.estimators.base", "iokr.kernels.base", ["iokr.estimators.base"]),
        ("from ..solvers import auto", "iokr.gram.scalar", ["iokr.solvers"]),
        ("from iokr import IOKR", "iokr.decoders.base", ["iokr.IOKR"]),
        ("from iokr import IOKR", "iokr.rivals.kde", []),
        ("from iokr import estimators", "iokr.decoders.base", ["iokr.estimators"]),
        ("import iokr", "iokr.decoders.base", ["iokr"]),
        ("if True:\n    from iokr.problem import Problem", "iokr.losses.base", ["iokr.problem"]),
        ("from .base import Gram\nfrom iokr._array import Array", "iokr.gram.scalar", []),
        ("from iokr.gram.base import Gram\nimport numpy", "iokr.solvers.closed_form.eigen", []),
    ],
)
def test_the_check_itself(source, module, bad):
    assert violations(source, module) == bad


def top_level_imports(path):
    module, is_package = module_of(path)
    return {name.split(".")[0] for name in imports(path.read_text(), module, is_package)}


def below(name):
    """Files of the layer `name` and below."""
    lower = {LAYERS[i] for i in range(LAYERS.index(name), len(LAYERS))}
    return [path for path in FILES if path.relative_to(ROOT).with_suffix("").parts[0] in lower]


@pytest.mark.parametrize("path", below("estimators"), ids=lambda path: str(path.relative_to(ROOT)))
def test_only_one_file_knows_the_array_libraries(path):
    allowed = {"_array.py": {"torch", "cupy", "cupyx"}, "_memory.py": {"torch", "cupy"}}.get(path.name, set())
    allowed |= {"dask"} if path.name == "distributed.py" and path.parent.name == "gram" else set()
    assert top_level_imports(path) & {"torch", "cupy", "cupyx", "dask", "jax", "array_api_strict"} <= allowed


def test_importing_iokr_loads_nothing_heavy():
    heavy = {"torch", "cupy", "dask", "rdkit", "matplotlib", "pandas", "networkx"}
    heavy |= {"sklearn", "scipy", "typer", "rich"}
    run = subprocess.run(
        [sys.executable, "-c", "import sys, iokr; print(*sys.modules)"],
        capture_output=True,
        text=True,
        check=True,
    )
    modules = run.stdout.split()
    assert [name for name in modules if name.partition(".")[0] == "iokr"] == ["iokr"]  # none of its own either
    assert {name.partition(".")[0] for name in modules} & heavy == set()


def test_the_estimators_load_none_of_the_optional_libraries():
    heavy = {"torch", "cupy", "dask", "rdkit", "matplotlib", "networkx", "numba", "typer", "jinja2"}
    program = (
        "import sys, numpy; from iokr import IOKR, IOKRCV; I = numpy.eye(3);"
        "IOKR().fit(I, I).predict(I); IOKRCV().fit(I, I);"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(run.stdout.split())
    assert "sklearn" in loaded
    assert loaded & heavy == set()
