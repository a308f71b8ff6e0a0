"""Imports go down the layers only, inside folders too, and heavy libraries wait until they are used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import iokr

SOURCES = Path(iokr.__file__).parents[1]
ROOT = SOURCES / "iokr"
LABORATORY = "iokr_lab"
LAYERS = [
    *("cli", "report", "files", "rivals", "extend"),
    *("estimators", "model_selection", "metrics", "datasets", "chem"),
    *("decoders", "solvers", "operator_kernels", "manifolds", "embeddings", "kernels"),
    *("_chunks", "problem", "losses", "gram"),
    *("_curves", "_edits", "_tree_edits", "_bits", "_spectra", "_adducts", "_formulas"),
    *("_matrices", "_validation", "_objects", "_tables", "_errors"),
    *("_memory", "_progress", "_compile", "_component", "_array"),
    *("_lines", "_folders", "_files", "_text"),
]
# The order inside folders, from the top; a folder that is not here has none. Of two entries the longer one counts.
INSIDE = {
    LABORATORY: [
        *("selection", "pairs", "synthetic_networks", "links", "surrogates"),
        *("images", "words", "label_sets", "rankings", "tasks", "graphs", "losses", "curves", "quantiles", "ranks"),
        *("coverage", "spectra", "bench"),
        *("experiment", "study", "scheduler", "cells", "tables", "published", "data"),
    ],
    "iokr.estimators": [
        *("identification", "plain"),
        *("conformal", "functional", "quantiles", "trees", "neighbors", "surrogate", "autoencoder"),
        *("multitask", "bipartite", "links", "pairs", "sets", "regression"),
        *("base", "inputs", "outputs", "labels", "areas", "search", "summary"),
    ],
    "iokr.solvers": [
        "reduced_rank",
        "auto",
        *("iterative", "pairs"),
        "iterative.box_qp",  # a method that knows no pairs, for solvers that do
        "closed_form",
        "iterative.krylov",  # products alone: for all of them
        "base",
        *("_routes", "_units"),
    ],
}
MAY_IMPORT_THE_LABORATORY = {"iokr.cli.reproduce", "iokr.cli.bench"}
FILES = sorted(path for folder in ("iokr", LABORATORY) for path in (SOURCES / folder).rglob("*.py"))


def module_of(path):
    """iokr/gram/base.py is iokr.gram.base, and whether it is a package."""
    parts = path.relative_to(SOURCES).with_suffix("").parts
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
            found += [f"{base}.{alias.name}" for alias in node.names] if base in ("iokr", LABORATORY) else [base]
    return found


def layer(module):
    """The index of a module in the list; names of `iokr` itself are estimators, the laboratory is above."""
    parts = module.split(".")
    if parts[0] == LABORATORY:
        return -1
    if len(parts) > 1 and parts[1] in LAYERS:
        return LAYERS.index(parts[1])
    return LAYERS.index("estimators") if len(parts) == 2 and parts[1] in iokr.__all__ else None


def level(module, folder):
    """The index of a module in the order inside `folder`; None where it has none there, as the folder itself."""
    within = module.removeprefix(f"{folder}.").split(".")
    starts = [".".join(within[:k]) for k in range(len(within), 0, -1)]
    return next((INSIDE[folder].index(start) for start in starts if start in INSIDE[folder]), None)


def violations(source, module, is_package=False):
    """The imports that go upwards, or nowhere."""
    found = []
    for name in imports(source, module, is_package):
        if name.split(".")[0] not in ("iokr", LABORATORY):
            continue
        if name.split(".")[0] == LABORATORY and module in MAY_IMPORT_THE_LABORATORY:
            continue
        folder = next((f for f in INSIDE if module.startswith(f"{f}.") and name.startswith(f"{f}.")), None)
        if folder is not None:
            own, other = level(module, folder), level(name, folder)
            up = own is not None and other is not None and other < own
        else:
            own, other = layer(module), layer(name)
            up = other is None or other < own
        found += [name] if up else []
    return found


def shown(path):
    return str(path.relative_to(SOURCES))


@pytest.mark.parametrize("path", FILES, ids=shown)
def test_imports_go_down(path):
    module, is_package = module_of(path)
    if module in ("iokr", "iokr.__main__"):  # above the layers; names are resolved lazily: see `import iokr` below
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
        ("import iokr_lab.study", "iokr.cli.links.model", ["iokr_lab.study"]),
        ("import iokr_lab.study", "iokr.cli.bench", []),
        ("from iokr.cli.shared import perform", "iokr_lab.study", []),
        ("from iokr_lab.links.yeast_ppi import run", "iokr_lab.study", ["iokr_lab.links.yeast_ppi"]),
        ("from iokr_lab.study import Study", "iokr_lab.links.yeast_ppi", []),
        ("from iokr.solvers.auto import Auto", "iokr.solvers.closed_form.eigen", ["iokr.solvers.auto"]),
        ("from iokr.solvers.base import Path", "iokr.solvers.closed_form.eigen", []),
        ("from iokr.solvers.pairs.ridge import PairRidge", "iokr.solvers.iterative.conjugate_gradient", []),
        ("from iokr.solvers.iterative.krylov import restarted", "iokr.solvers.pairs.ridge", []),
        ("from iokr.solvers.iterative.admm import ADMM", "iokr.solvers.pairs.ridge", ["iokr.solvers.iterative.admm"]),
        ("from iokr.estimators.links.cv import f", "iokr.estimators.regression.cv", ["iokr.estimators.links.cv"]),
        ("from iokr.estimators.outputs import r2", "iokr.estimators.regression.cv", []),
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
    return [path for path in ROOT.rglob("*.py") if path.relative_to(ROOT).with_suffix("").parts[0] in lower]


@pytest.mark.parametrize("path", below("estimators"), ids=shown)
def test_only_one_package_knows_the_array_libraries(path):
    top = path.relative_to(ROOT).parts[0]
    allowed = {"_array": {"torch", "cupy", "cupyx"}, "_memory.py": {"torch", "cupy"}}.get(top, set())
    if path.name == "distributed.py":
        allowed = {"dask"}
    if path.name == "neural.py":  # a network, which is torch's own
        allowed = {"torch"}
    assert top_level_imports(path) & {"torch", "cupy", "cupyx", "dask", "jax", "array_api_strict"} <= allowed


@pytest.mark.parametrize("folder", INSIDE)
def test_every_file_of_a_folder_with_an_order_has_its_place(folder):
    modules = [module_of(path)[0] for path in FILES]
    inside = [module for module in modules if module.startswith(f"{folder}.")]
    assert [module for module in inside if level(module, folder) is None] == []
    stale = [entry for entry in INSIDE[folder] if not any(f"{m}.".startswith(f"{folder}.{entry}.") for m in inside)]
    assert stale == []


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
