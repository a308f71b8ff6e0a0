"""Imports go down the layers only, inside folders too, and heavy libraries wait until they are used."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import iokr
import iokr_lab

SOURCES = Path(iokr.__file__).parents[1]
ROOT = SOURCES / "iokr"
LABORATORY = "iokr_lab"
LAB_SOURCES = Path(iokr_lab.__file__).parents[1]
# From the top down; a module belongs to the longest entry that its name begins with, and imports its own and lower
# ones.
LAYERS = [
    "iokr_lab.cli",
    *(f"iokr_lab.{name}" for name in ("selection", "pairs", "synthetic_networks", "links", "surrogates")),
    *(f"iokr_lab.{name}" for name in ("images", "words", "label_sets", "rankings", "tasks", "graphs", "losses")),
    *(f"iokr_lab.{name}" for name in ("curves", "quantiles", "ranks", "coverage", "spectra", "bench", "baselines")),
    "iokr_lab",
    *(f"iokr_lab.{name}" for name in ("experiment", "study", "scheduler", "cells", "tables", "published", "data")),
    "iokr.cli",
    "iokr.apps",
    *(f"iokr.apps.{name}" for name in ("demo", "links", "msms", "report", "readers")),
    *("iokr.files", "iokr.extend", "iokr"),
    "iokr.estimators",
    *(f"iokr.estimators.{name}" for name in ("identification", "plain", "quantiles", "conformal", "functional")),
    *(f"iokr.estimators.{name}" for name in ("trees", "neighbors", "surrogate", "autoencoder", "multitask")),
    *(f"iokr.estimators.{name}" for name in ("bipartite", "pairs", "links", "sets", "regression")),
    *(f"iokr.estimators.{name}" for name in ("base", "inputs", "outputs", "available", "areas", "search", "summary")),
    *("iokr.estimators.progress", "iokr.model_selection", "iokr.metrics", "iokr.datasets", "iokr.decoders"),
    "iokr.solvers",
    *("iokr.solvers.reduced_rank", "iokr.solvers.auto", "iokr.solvers.iterative", "iokr.solvers.pairs"),
    "iokr.solvers.iterative.box_qp",  # a method that knows no pairs, for solvers that do
    "iokr.solvers.closed_form",
    "iokr.solvers.iterative.krylov",  # products alone: for all of them
    *("iokr.solvers.base", "iokr.solvers._routes", "iokr.solvers._units", "iokr.solvers.constants"),
    *("iokr.operator_kernels", "iokr.manifolds", "iokr.embeddings", "iokr.kernels", "iokr.chem"),
    *("iokr.data", "iokr.data.chunks", "iokr.problem", "iokr.losses", "iokr.gram"),
    *(f"iokr.data.{name}" for name in ("candidates", "curves", "bits", "edits", "tree_edits")),
    *(f"iokr.data.{name}" for name in ("graphs", "trees", "ragged")),
    *("iokr._validation", "iokr._validation.matrices", "iokr._validation.arguments"),
    *("iokr.data.objects", "iokr.data.frames", "iokr._validation.errors"),
    *("iokr._system.memory", "iokr._component", "iokr._array", "iokr._state", "iokr._system", "iokr._lazy"),
]
FILES = sorted(path for root in (ROOT, LAB_SOURCES / LABORATORY) for path in root.rglob("*.py"))


def module_of(path):
    """iokr/gram/base.py is iokr.gram.base, and whether it is a package."""
    root = LAB_SOURCES if path.is_relative_to(LAB_SOURCES) else SOURCES
    parts = path.relative_to(root).with_suffix("").parts
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
            # `from iokr.gram import base` names a module, `from iokr import IOKR` a name of the package
            found += [f"{base}.{alias.name}" for alias in node.names]
    return found


def layer(name):
    """The index of the longest entry that a dotted name begins with; None where there is none."""
    parts = name.split(".")
    starts = (".".join(parts[:k]) for k in range(len(parts), 0, -1))
    return next((LAYERS.index(start) for start in starts if start in LAYERS), None)


def violations(source, module, is_package=False):
    """The imports that go upwards, or nowhere."""
    own, found = layer(module), []
    for name in imports(source, module, is_package):
        if name.split(".")[0] in ("iokr", LABORATORY):
            other = layer(name)
            found += [name] if other is None or other < own else []
    return found


def test_imports_go_down():
    found = []
    for path in FILES:
        module, is_package = module_of(path)
        if module in ("iokr", "iokr.__main__"):  # above the layers; names are resolved lazily: see `import iokr` below
            continue
        if layer(module) in (None, LAYERS.index("iokr")):
            found.append(f"{module} has no place in the list of layers")
        found += [f"{module} imports {name}" for name in violations(path.read_text(), module, is_package)]
    assert found == []


@pytest.mark.parametrize(
    ("source", "module", "bad"),
    [
        ("from iokr.solvers.auto import Auto", "iokr.gram.scalar", ["iokr.solvers.auto.Auto"]),
        ("def f():\n    import iokr.estimators.base", "iokr.kernels.base", ["iokr.estimators.base"]),
        ("from ..solvers import auto", "iokr.gram.scalar", ["iokr.solvers.auto"]),
        ("from iokr import IOKR", "iokr.decoders.base", ["iokr.IOKR"]),
        ("from iokr import IOKR", "iokr_lab.baselines.kde", []),
        ("from iokr import estimators", "iokr.decoders.base", ["iokr.estimators"]),
        ("import iokr", "iokr.decoders.base", ["iokr"]),
        ("if True:\n    from iokr.problem import Problem", "iokr.losses.base", ["iokr.problem.Problem"]),
        ("from .base import Gram\nfrom iokr._array import Array", "iokr.gram.scalar", []),
        ("from iokr.gram.base import Gram\nimport numpy", "iokr.solvers.closed_form.eigen", []),
        ("import iokr_lab.study", "iokr.apps.links.model", ["iokr_lab.study"]),
        ("import iokr_lab.study", "iokr_lab.cli.bench", []),
        ("from iokr.cli.shared import perform", "iokr_lab.study", []),
        ("from iokr_lab.links.yeast_ppi import run", "iokr_lab.study", ["iokr_lab.links.yeast_ppi.run"]),
        ("from iokr_lab.study import Study", "iokr_lab.links.yeast_ppi", []),
        ("from iokr.solvers.auto import Auto", "iokr.solvers.closed_form.eigen", ["iokr.solvers.auto.Auto"]),
        ("from iokr.solvers.base import Path", "iokr.solvers.closed_form.eigen", []),
        ("from iokr.solvers.pairs.ridge import PairRidge", "iokr.solvers.iterative.conjugate_gradient", []),
        ("from iokr.solvers.iterative.krylov import restarted", "iokr.solvers.pairs.ridge", []),
        (
            "from iokr.solvers.iterative.admm import ADMM",
            "iokr.solvers.pairs.ridge",
            ["iokr.solvers.iterative.admm.ADMM"],
        ),
        ("from iokr.estimators.links.cv import f", "iokr.estimators.regression.cv", ["iokr.estimators.links.cv.f"]),
        ("from iokr.estimators.outputs import r2", "iokr.estimators.regression.cv", []),
    ],
)
def test_the_check_itself(source, module, bad):
    assert violations(source, module) == bad


def top_level_imports(path):
    module, is_package = module_of(path)
    return {name.split(".")[0] for name in imports(path.read_text(), module, is_package)}


def below(name):
    """Files of the library from the layer `name` down."""
    return [path for path in ROOT.rglob("*.py") if (layer(module_of(path)[0]) or 0) > LAYERS.index(name)]


def test_only_one_package_knows_the_array_libraries():
    libraries = {"torch", "cupy", "cupyx", "dask", "jax", "array_api_strict"}
    by_folder = {"_array": {"torch", "cupy", "cupyx"}, "_system": {"torch", "cupy"}}
    by_file = {"distributed.py": {"dask"}, "neural.py": {"torch"}}
    for path in below("iokr"):
        allowed = by_file.get(path.name, by_folder.get(path.relative_to(ROOT).parts[0], set()))
        assert top_level_imports(path) & libraries <= allowed, path


def test_every_entry_is_of_a_module():
    modules = [module_of(path)[0] for path in FILES]
    stale = [entry for entry in LAYERS if not any(f"{module}.".startswith(f"{entry}.") for module in modules)]
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
    assert [name for name in modules if name.partition(".")[0] == "iokr"] == [
        "iokr._lazy",
        "iokr",
    ]  # none of its own either
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
