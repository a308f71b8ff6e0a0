"""Public names: where they are found, what they load, and that each explains itself."""

import ast
import importlib
import inspect
import subprocess
import sys

import pytest

import iokr

PUBLIC = {
    "iokr": "IOKR IOKRCV CandidateSets LinkPredictor LinkPredictorCV SharedCandidates Unlabeled",
    "iokr.kernels": """Linear Polynomial RBF Laplacian Cosine Tanimoto Delta FromFunction Features Precomputed
                       Sum Product Scaled Normalized Centered Mean Aligned Diffusion RegularizedLaplacian""",
    "iokr.operator_kernels": "Decomposable",
    "iokr.embeddings": "Identity Implicit Eigen",
    "iokr.losses": "Square",
    "iokr.manifolds": "Laplacian IteratedLaplacian Heat Given",
    "iokr.solvers": "Auto Eigen Cholesky ManifoldEigen",
    "iokr.decoders": "Identity Candidates Threshold",
    "iokr.model_selection": "NodeKFold cross_val_rank cross_validate_links",
    "iokr.metrics": "roc_auc_pairs average_precision_pairs precision_at_k top_k_accuracy mean_rank hamming f1_samples",
}
NAMES = [(module, name) for module, names in PUBLIC.items() for name in names.split()]
METHODS = ["fit", "decision_function", "loo_decision_function", "weights", "scores", "distances", "rank"]
METHODS += ["predict", "score"]


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_public_names_can_be_imported_and_are_listed(module, name):
    package = importlib.import_module(module)
    assert hasattr(package, name)
    assert name in package.__all__
    assert name in dir(package)


@pytest.mark.parametrize(("module", "name"), NAMES)
def test_public_names_have_a_docstring_with_an_example(module, name):
    documented = getattr(importlib.import_module(module), name)
    first, _, rest = (documented.__doc__ or "").partition("\n")
    assert first.strip(), "the first line says what it is, or is the equation itself"
    assert not first.startswith(f"{name}("), "a signature made by `dataclass` is not a docstring"
    assert ">>>" in rest, "a runnable example"


@pytest.mark.parametrize("module", PUBLIC)
def test_all_lists_exist_and_are_documented(module):
    package = importlib.import_module(module)
    for name in package.__all__:
        assert inspect.getdoc(getattr(package, name)), name


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("name", ["IOKR", "IOKRCV"])
def test_methods_are_documented(name, method):
    first = (inspect.getdoc(getattr(getattr(iokr, name), method)) or "").partition("\n")[0]
    assert first.strip()


def test_signatures_of_the_contract():
    def parameters(method):
        return list(inspect.signature(getattr(iokr.IOKR, method)).parameters)[1:]

    assert parameters("fit") == ["X", "y", "sample_weight", "X_unlabeled"]
    assert parameters("decision_function") == ["X"]
    assert parameters("loo_decision_function") == ["groups"]
    assert parameters("weights") == ["X"]
    assert parameters("scores") == ["X", "candidates"]
    assert parameters("distances") == ["X", "candidates"]
    assert parameters("rank") == ["X", "candidates", "k"]
    assert parameters("predict") == ["X", "candidates"]
    assert parameters("score") == ["X", "y", "sample_weight", "candidates"]


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="iokr"):
        iokr.NoSuchName  # noqa: B018
    with pytest.raises(ImportError):
        from iokr import NoSuchName  # noqa: F401


def loaded_by(statement):
    program = f"import sys\n{statement}\nprint(*sys.modules)"
    run = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    return set(run.stdout.split())


# What `from iokr import IOKR` may load beyond `import sklearn.base` (which brings SciPy). The callbacks of
# scikit-learn bring rich.
ALLOWED = {"iokr", "array_api_compat", "rich"}
ALLOWED_SKLEARN = {"sklearn.callback", "sklearn.utils", "sklearn.exceptions", "sklearn.base"}


def test_importing_an_estimator_loads_little_more_than_scikit_learns_base():
    extra = loaded_by("from iokr import IOKR") - loaded_by("import sklearn.base")
    packages = {name.partition(".")[0] for name in extra} - set(sys.stdlib_module_names) - {"__mp_main__"}
    assert "iokr" in packages
    assert packages - {"sklearn"} <= ALLOWED
    sklearn = {".".join(name.split(".")[:2]) for name in extra if name.startswith("sklearn")}
    assert sklearn <= ALLOWED_SKLEARN


def test_importing_an_estimator_is_lazy_about_the_rest_of_the_package():
    loaded = {name.split(".")[1] for name in loaded_by("from iokr import IOKR") if name.startswith("iokr.")}
    assert loaded.isdisjoint({"cli", "apps", "files", "chem", "datasets"})


@pytest.mark.parametrize(
    "statement",
    [
        "import iokr",
        "from iokr import IOKR, IOKRCV, LinkPredictorCV",
        "from iokr.cli import app; app(['links', '--help'], standalone_mode=False)",
        "import iokr.apps.report, iokr.datasets, iokr.model_selection, iokr.metrics",
    ],
)
def test_the_library_never_loads_the_experiments(statement):
    """tests/test_publishing.py runs `iokr demo` where they are not installed."""
    assert not {name for name in loaded_by(statement) if name.partition(".")[0] == "iokr_lab"}


def defaults(function):
    """The defaults that a signature is written with."""
    return [part for part in (*function.args.defaults, *function.args.kw_defaults) if part is not None]


@pytest.mark.parametrize(
    "module", [*PUBLIC, "iokr.metrics.displays", "iokr_lab.baselines", "iokr.datasets", "iokr.chem"]
)
def test_no_public_signature_names_what_is_private(module):
    """What a reader sees as `alphas=_ALPHAS` says nothing."""
    found = importlib.import_module(module)
    for name in found.__all__:
        member = getattr(found, name)
        if not (inspect.isclass(member) or inspect.isfunction(member)) or not member.__module__.startswith("iokr"):
            continue
        [tree] = ast.parse(inspect.cleandoc("\n" + inspect.getsource(member))).body
        functions = (
            [tree] if isinstance(tree, ast.FunctionDef) else [f for f in tree.body if isinstance(f, ast.FunctionDef)]
        )
        shown = [f for f in functions if not f.name.startswith("_") or f.name == "__init__"]
        values = [value for f in shown for value in defaults(f)]
        if isinstance(tree, ast.ClassDef):
            values += [part.value for part in tree.body if isinstance(part, ast.AnnAssign)]
        private = [value.id for value in values if isinstance(value, ast.Name) and value.id.startswith("_")]
        assert private == [], name
