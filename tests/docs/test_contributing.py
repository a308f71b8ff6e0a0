"""The worked examples of CONTRIBUTING.md and docs/guide/extending.rst run and satisfy the contracts of their kind.

Tests of `iokr.extend`, from which they import.
"""

import ast
import doctest
import importlib
import inspect
import itertools
import operator
import pickle
import re
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest
from sklearn.base import clone

from iokr import IOKR, load, save
from iokr.decoders import Candidates
from iokr.estimators.regression.base import fitted_problem
from iokr.kernels import RBF
from iokr.manifolds import Laplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import ADMM

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "CONTRIBUTING.md").read_text(encoding="utf-8")
GUIDE = (ROOT / "docs" / "guide" / "extending.rst").read_text(encoding="utf-8")


def blocks():
    """The files of both pages, by path: the first line of a block is a comment with its path."""
    found = re.findall(r"```python\n(.*?)```", TEXT, flags=re.DOTALL)
    found += re.findall(r"\.\. code-block:: python\n\n(.*?)(?=^\S|\Z)", GUIDE, flags=re.DOTALL | re.MULTILINE)
    files = {}
    for block in map(textwrap.dedent, found):
        first, _, rest = block.partition("\n")
        assert first.startswith("# "), f"a block without its path: {first}"
        files[first.removeprefix("# ")] = rest
    return files


BLOCKS = blocks()
FILES = [path for path in BLOCKS if path.startswith("my_models/")]
TESTS = [path for path in BLOCKS if path.startswith("tests/")]
NOUNS = ["decoders", "embeddings", "kernels", "losses", "solvers"]


@pytest.fixture(scope="module")
def examples(tmp_path_factory):
    """The files of the pages, written outside the package and imported, by path."""
    folder = tmp_path_factory.mktemp("contributing")
    for path in [*FILES, *TESTS]:
        file = folder / path.replace("tests/", "my_tests/")
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(BLOCKS[path], encoding="utf-8")
    sys.path.insert(0, str(folder))
    names = {path: path.replace("tests/", "my_tests/").removesuffix(".py").replace("/", ".") for path in BLOCKS}
    yield {path: importlib.import_module(name) for path, name in names.items()}
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] in ("my_models", "my_tests")]:
        del sys.modules[name]


def example(examples, noun):
    """An instance of the class that the page adds to a folder."""
    module = [module for path, module in examples.items() if path.startswith(f"my_models/{noun}/")][-1]  # `Quantile`
    [name] = module.__all__
    return getattr(module, name)()


def tree():
    """The paths that the page's tree names."""
    block = re.search(r"```\n(src/iokr/ .*?)```", TEXT, flags=re.DOTALL)[1]
    paths, above = [], []
    for line in block.splitlines():
        depth, name = (len(line) - len(line.lstrip())) // 2, line.split()[0]
        above = [*above[:depth], name.rstrip("/")]
        paths.append("/".join(above))
    return paths


def test_the_tree_names_existing_paths_and_every_public_folder():
    assert [path for path in tree() if not (ROOT / path).exists()] == []
    folders = {f"src/iokr/{file.parent.name}" for file in (ROOT / "src" / "iokr").glob("[!_]*/__init__.py")}
    assert folders - set(tree()) == set()


def test_the_equations_are_where_the_page_says():
    rows = re.findall(r"^\| .* \| `src/(\S+)\.py` \| (.*) \|$", TEXT, flags=re.MULTILINE)
    assert len(rows) == 3
    for path, names in rows:
        module = importlib.import_module(path.replace("/", "."))
        for name in re.findall(r"`([\w.]+)`", names):
            assert operator.attrgetter(name)(module) is not None


def test_a_file_and_a_test_for_each_noun():
    assert sorted({Path(path).parts[1] for path in FILES}) == NOUNS
    assert sorted(Path(path).parts[1] for path in FILES) == sorted(Path(path).parts[1] for path in TESTS)


@pytest.mark.parametrize("path", FILES)
def test_imports_what_is_public_alone(path):
    for node in ast.walk(ast.parse(BLOCKS[path])):
        if isinstance(node, ast.ImportFrom) and node.module.partition(".")[0] == "iokr":
            module = importlib.import_module(node.module)
            assert not {alias.name for alias in node.names} - set(module.__all__), node.module


@pytest.mark.parametrize("path", TESTS)
def test_its_tests_pass(examples, path):
    tests = [f for name, f in vars(examples[path]).items() if name.startswith("test_")]
    assert tests
    for test in tests:
        test()


@pytest.mark.parametrize("path", FILES)
def test_its_docstrings_run(examples, path):
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    failed, attempted = doctest.testmod(examples[path], optionflags=flags)
    assert attempted > 0
    assert failed == 0


@pytest.mark.parametrize("noun", NOUNS)
def test_clones_pickles_and_stores_only(examples, noun):
    instance = example(examples, noun)
    for copy in (clone(instance), pickle.loads(pickle.dumps(instance))):
        assert type(copy) is type(instance)
        assert copy.get_params() == instance.get_params()
    assert not [name for name in vars(instance) if name.endswith("_")]


def test_a_smooth_loss_outside_is_saved_as_a_part(examples, tmp_path):
    loss = examples["my_models/losses/log_cosh.py"].LogCosh()
    X = np.linspace(0, 6, 20)[:, None]
    model = IOKR(RBF(1.0), loss=loss, alpha=0.1).fit(X, np.sin(X[:, 0]))
    with pytest.warns(UserWarning, match="does not hold `loss`"):
        save(model, tmp_path / "model.safetensors")
    with pytest.raises(ValueError, match="loss"):
        load(tmp_path / "model.safetensors")
    again = load(tmp_path / "model.safetensors", parts={"loss": loss})
    np.testing.assert_array_equal(again.predict(X), model.predict(X))


@pytest.mark.parametrize("noun", NOUNS)
def test_every_public_method_is_documented(examples, noun):
    cls = type(example(examples, noun))
    for name, member in vars(cls).items():
        if inspect.isfunction(member) and not name.startswith("_"):
            assert member.__doc__, name


def test_the_kernel_keeps_the_contracts(examples):
    from contracts.test_kernels import TestKernel

    kernel = example(examples, "kernels")
    for domain in ("vectors", "sparse vectors"):
        for name in [name for name in vars(TestKernel) if name.startswith("test_")]:
            getattr(TestKernel(), name)(kernel, domain)


def test_the_loss_keeps_the_contracts(examples):
    from contracts.test_losses import TestLoss

    for name in [name for name in vars(TestLoss) if name.startswith("test_")]:
        getattr(TestLoss(), name)(example(examples, "losses"))


@pytest.mark.parametrize("level", [0.5, 0.9])
def test_the_loss_has_its_proximal_map_and_its_dual(examples, level):
    from losses import test_duality as duality

    loss = example(examples, "losses").set_params(level=level)
    duality.test_proximal_point_is_the_minimiser(loss)
    duality.test_proximal_map_is_firmly_nonexpansive(loss)
    duality.test_minus_the_gradient_is_feasible_and_tight(loss)
    for weight in (0.2, 1.0, 7.0):
        duality.test_fenchel_and_young(loss, weight)


@pytest.mark.parametrize("semi", [False, True])
@pytest.mark.parametrize("kind", ["identity", "full", "singular"])
def test_the_loss_is_certified_in_every_setting(examples, kind, semi):
    rng = np.random.default_rng(0)
    X, Y, more = rng.normal(size=(25, 2)), rng.normal(size=(25, 3)), rng.normal(size=(10, 2))
    A = {"identity": np.eye(3), "full": np.eye(3) + 0.5, "singular": np.diag([1.0, 0.0, 2.0])}[kind]
    model = IOKR(Decomposable(RBF(0.5), A), alpha=0.1, loss=example(examples, "losses"), solver=ADMM(tol=1e-5))
    model = model.set_params(manifold=Laplacian(0.3) if semi else None)
    model.fit(X, Y, sample_weight=rng.uniform(0.5, 2.0, size=25), X_unlabeled=more if semi else None)
    tighter = clone(model).set_params(solver__tol=1e-8)
    tighter.fit(X, Y, sample_weight=model.targets_.weight, X_unlabeled=more if semi else None)
    problem = fitted_problem(model)
    loose, tight = (problem.objective(m.solution_.C, m.solution_.intercept[None, :]) for m in (model, tighter))
    assert model.solution_.gap <= 1e-5
    at_zero = problem.objective(0 * model.solution_.C)
    assert -1e-8 * at_zero <= loose - tight <= 1e-5 * at_zero


def test_the_solver_keeps_the_contracts(examples):
    from contracts.test_solvers import test_agrees_with_the_dense_system as agrees

    solver = example(examples, "solvers").set_params(tol=1e-22, max_iter=20_000)
    kinds, holes = ("identity", "full", "singular"), ("none", "entries")
    for kind, weighted, hole, semi in itertools.product(kinds, ("none", "zeros"), holes, (False, True)):
        agrees(solver, kind, weighted, hole, semi)


def test_the_embedding_serves_missing_targets(examples):
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(30, 2)), rng.normal(size=(30, 2)) * [1.0, 50.0]
    Y[::3, 1] = np.nan
    model = IOKR(RBF(0.5), embedding=example(examples, "embeddings"), decoder=Candidates(), alpha=0.1).fit(X, Y)
    known = ~np.isnan(Y[:, 1])
    column = Y[known, 1] / Y[known, 1].std()
    alone = IOKR(RBF(0.5), alpha=0.1).fit(X[known], column)
    np.testing.assert_allclose(model.decision_function(X)[:, 1], alone.decision_function(X)[:, 0], rtol=1e-9)


@pytest.mark.parametrize("link", sorted(set(re.findall(r"\]\((?!http)([^)]+)\)|`((?:docs|tests)/\S+?)`", TEXT))))
def test_files_it_names_exist(link):
    assert (ROOT / (link[0] or link[1])).exists()


@pytest.mark.parametrize("target", sorted(set(re.findall(r"^    make (\w+)", TEXT, flags=re.MULTILINE))))
def test_make_targets_it_names_exist(target):
    assert re.search(rf"^{target}:", (ROOT / "Makefile").read_text(), flags=re.MULTILINE)
