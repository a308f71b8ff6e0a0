"""Every estimator × kind of output is saved and loaded: the same answers, to the last bit in the same process.

Tests of `iokr.files.model`, `iokr.files.structure`, `iokr.files.reading` and `iokr.files.trees`.
"""

import json
import pickle
import subprocess
import sys
import warnings
from pathlib import Path
from types import FunctionType

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.preprocessing import StandardScaler

import iokr
import iokr_lab.baselines
import members
import reference
from fitted_models import CASES, N, fitted, flat, vectors
from iokr.files import FORMAT, BadFile, fingerprint, verify
from iokr.kernels import RBF, Diffusion, Features, FromFunction, Linear, Mean, Precomputed
from iokr.operator_kernels import BlockKernel

HERE = Path(__file__).parent


def quietly(model, path, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        iokr.save(model, path, **options)


def same(a, b):
    for left, right in zip(flat(a), flat(b), strict=True):
        if isinstance(left, np.ndarray):
            assert left.dtype == right.dtype
            assert_array_equal(left, right)
        else:
            assert left == right


@pytest.mark.parametrize("name", CASES)
def test_round_trip_to_the_last_bit(name, tmp_path):
    case, path = fitted(name), tmp_path / "model.safetensors"
    quietly(case.model, path)
    expected = case.answer(case.model)
    again = iokr.load(path, parts=case.parts)
    assert type(again) is type(case.model)
    same(case.answer(again), expected)
    first = path.read_bytes()
    quietly(again, path)
    assert len(path.read_bytes()) == len(first)  # nothing is lost or grows when it is saved again


@pytest.mark.parametrize("name", CASES)
def test_mapped_models_answer_alike(name, tmp_path):
    case, path = fitted(name), tmp_path / "model.safetensors"
    quietly(case.model, path)
    answers = case.answer(iokr.load(path, parts=case.parts, mmap=True))
    for left, right in zip(flat(answers), flat(case.answer(case.model)), strict=True):
        if isinstance(left, np.ndarray) and left.dtype.kind == "f":
            assert_allclose(left, right, rtol=1e-10, atol=1e-10)
        else:
            assert np.all(left == right)


def test_another_process_answers_within_1e_10(tmp_path):
    """One process reads all of them, so that the test takes seconds."""
    for name in CASES:
        case = fitted(name)
        quietly(case.model, tmp_path / f"{name}.safetensors")
        (tmp_path / f"{name}.answer").write_bytes(pickle.dumps((flat(case.answer(case.model)), case.parts)))
    program = """
import pickle, sys, warnings
from pathlib import Path
import numpy as np, iokr
warnings.simplefilter("ignore")
from fitted_models import CASES, fitted, flat

def check(a, b, name):
    if isinstance(a, (list, tuple)):
        assert len(a) == len(b), name
        for part, other in zip(a, b):
            check(part, other, name)
    elif isinstance(a, float) or (isinstance(a, np.ndarray) and a.dtype.kind == "f"):
        np.testing.assert_allclose(a, b, rtol=1e-10, atol=1e-10, err_msg=name)
    else:
        assert np.all(a == b), name

for path in sorted(Path(sys.argv[1]).glob("*.safetensors")):
    expected, parts = pickle.loads(path.with_suffix(".answer").read_bytes())
    found = flat(fitted(path.stem).answer(iokr.load(path, parts=parts)))
    for a, b in zip(found, expected, strict=True):
        check(a, b, path.stem)
print(path.stem, "was the last")
"""
    environment = {"PYTHONPATH": ":".join([str(HERE), str(HERE.parent), *sys.path]), "PYTHONHASHSEED": "7"}
    run = subprocess.run(
        [sys.executable, "-c", program, str(tmp_path)], capture_output=True, text=True, env=environment, check=False
    )
    assert run.returncode == 0, run.stderr
    assert "was the last" in run.stdout


def test_every_public_estimator_is_among_the_cases():
    public = {name for name in iokr.__all__ if hasattr(getattr(iokr, name), "fit")}
    public |= {name for name in iokr_lab.baselines.__all__ if name != "LinkBaseline"}
    tried = {name.split()[0].removeprefix("rivals.") for name in CASES}
    assert public - tried == set(), "give each a line in tests/fitted_models.py"


@pytest.mark.parametrize("component", members.EVERYTHING, ids=members.label)
def test_every_component_is_saved_or_refused_by_name(component, tmp_path):
    path = tmp_path / "component.safetensors"
    if type(component).__name__ == "GraKeL":
        with pytest.raises(TypeError, match="GraKeL"):
            iokr.save(component, path)
        return
    quietly(component, path)
    foreign = {k: v for k, v in component.get_params().items() if isinstance(v, (FunctionType, StandardScaler))}
    again = iokr.load(path, parts=foreign)
    assert type(again) is type(component)
    assert repr(again) == repr(component)
    assert repr(clone(again)) == repr(clone(component))


def test_every_public_name_of_iokr_is_saved(tmp_path):
    path = tmp_path / "sets.safetensors"
    iokr.save(iokr.CandidateSets([["a", "b"], ["c"]]), path)
    assert [list(some) for some in iokr.load(path)] == [["a", "b"], ["c"]]
    iokr.save(iokr.Unlabeled(vectors()), path)
    assert_array_equal(iokr.load(path).X, vectors())
    iokr.save(iokr.SharedCandidates(["a", "b"]), path)
    assert type(iokr.load(path)) is iokr.SharedCandidates


def test_the_same_model_gives_the_same_bytes(tmp_path):
    for name in ("a", "b"):
        iokr.save(fitted("IOKR sets").model, tmp_path / name)
    assert (tmp_path / "a").read_bytes() == (tmp_path / "b").read_bytes()


def test_what_is_shared_is_stored_once(tmp_path):
    K = np.eye(200)
    iokr.save(Mean([Precomputed(K), Precomputed(K.T), Precomputed(K[:150, :150])]), tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < K.nbytes + 20_000
    again = iokr.load(tmp_path / "m")
    assert again.kernels[1].matrix.base is not None
    assert_array_equal(again.kernels[2].matrix, K[:150, :150])
    iokr.save(Precomputed(np.zeros((4000, 4000))[:10, :10]), tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < 10_000


def test_a_file_is_not_much_larger_than_its_arrays(tmp_path):
    X, Y = vectors(300, p=20), vectors(300, 1, p=10)
    iokr.save(iokr.IOKR().fit(X, Y), tmp_path / "m")
    assert (tmp_path / "m").stat().st_size < X.nbytes + 2 * Y.nbytes + 10_000


class TestFunctions:
    def test_a_hole_is_named_and_filled(self, tmp_path):
        model = iokr.IOKR(RBF(0.5) + FromFunction(reference.linear)).fit(vectors(), vectors(seed=3))
        with pytest.warns(UserWarning, match=r"`kernel__right__f`, the function reference\.linear"):
            iokr.save(model, tmp_path / "m")
        with pytest.raises(ValueError, match=r"kernel__right__f.*reference\.linear.*parts="):
            iokr.load(tmp_path / "m")
        with pytest.raises(TypeError, match="must be a function"):
            iokr.load(tmp_path / "m", parts={"kernel__right__f": 3})
        with pytest.raises(ValueError, match=r"'kernel__left'.*`kernel__right__f`"):
            iokr.load(tmp_path / "m", parts={"kernel__right__f": reference.linear, "kernel__left": 1})
        again = iokr.load(tmp_path / "m", parts={"kernel__right__f": reference.linear})
        assert_array_equal(again.predict(vectors(3, 1)), model.predict(vectors(3, 1)))

    def test_parts_that_are_not_asked_for_are_refused(self, tmp_path):
        iokr.save(RBF(), tmp_path / "m")
        with pytest.raises(ValueError, match="are: none"):
            iokr.load(tmp_path / "m", parts={"kernel__f": abs})

    @pytest.mark.parametrize(
        "kernel", [FromFunction(lambda x, z: 1.0), BlockKernel(lambda X, Z: None)], ids=["one pair", "blocks"]
    )
    def test_a_function_without_a_name_is_refused(self, kernel, tmp_path):
        with pytest.raises(TypeError, match=r"`f` is <function .*lambda.*top level of a module"):
            iokr.save(kernel, tmp_path / "m")
        assert list(tmp_path.iterdir()) == []

    def test_a_list_of_kernels_with_transformers(self, tmp_path):
        model = iokr.IOKRCV([Features(StandardScaler()), Linear()]).fit(vectors(), vectors(seed=3))
        with pytest.warns(UserWarning, match="kernel__0__transformer.*the fitted object"):
            iokr.save(model, tmp_path / "m")
        scaler = StandardScaler().fit(vectors())
        again = iokr.load(tmp_path / "m", parts={"kernel__0__transformer": scaler})
        assert_allclose(again.predict(vectors(3, 1)), model.predict(vectors(3, 1)), rtol=1e-12)


def structure(path):
    raw = path.read_bytes()
    return json.loads(json.loads(raw[8 : 8 + int.from_bytes(raw[:8], "little")])["__metadata__"]["iokr"])


def test_the_header_says_what_is_needed(tmp_path):
    X, y = vectors(), vectors(seed=3)
    iokr.save(iokr.IOKR().fit(X, y), tmp_path / "m", data={"X": X, "y": y}, provenance={"command": "a test"})
    header = structure(tmp_path / "m")
    assert header["format"] == FORMAT == 2
    assert {"iokr", "numpy", "python"} <= set(header["versions"])
    assert header["provenance"] == {"command": "a test"}
    assert header["data"] == {"X": fingerprint(np.asfortranarray(X)), "y": fingerprint(y)}
    assert fingerprint(X) != fingerprint(y)
    assert fingerprint(["a", "b"]) != fingerprint(["ab"])
    verify(tmp_path / "m")


def test_texts_ids_and_graphs_are_never_in_the_header(tmp_path):
    sizes = []
    for n in (200, 2000):
        y = members.objects("strings", n)
        model = iokr.OutputKernelTree(output_kernel=iokr.kernels.Delta(), max_depth=1).fit(vectors(n), y)
        iokr.save(model, tmp_path / "m")
        sizes.append(int.from_bytes((tmp_path / "m").read_bytes()[:8], "little"))
    assert sizes[1] - sizes[0] < 200


@pytest.mark.parametrize(
    ("provenance", "words"), [({"x": object()}, "texts and numbers"), ({"x": "a" * (1 << 20)}, "must be short")]
)
def test_provenance_is_a_few_words(provenance, words, tmp_path):
    with pytest.raises((TypeError, ValueError), match=words):
        iokr.save(RBF(), tmp_path / "m", provenance=provenance)


def test_others_models_are_refused(tmp_path):
    with pytest.raises(TypeError, match=r"StandardScaler.*best_estimator_"):
        iokr.save(StandardScaler(), tmp_path / "m")


def test_objects_that_are_no_data_are_refused_by_name(tmp_path):
    y = np.array([object() for _ in range(N)], dtype=object)
    model = iokr.IOKR(output_kernel=FromFunction(reference.delta)).fit(vectors(), y)
    with pytest.raises(TypeError, match=r"builtins\.object, which a file cannot hold"):
        quietly(model, tmp_path / "m")


def test_a_failed_save_leaves_the_old_file(tmp_path, monkeypatch):
    iokr.save(RBF(0.5), tmp_path / "m")
    before = (tmp_path / "m").read_bytes()

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("iokr.files.container._hashed", full)
    with pytest.raises(OSError, match="No space"):
        iokr.save(Precomputed(np.eye(3)), tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == before and len(list(tmp_path.iterdir())) == 1


@pytest.mark.parametrize("library", ["torch", "array_api_strict"])
def test_arrays_of_other_libraries(library, tmp_path):
    xp = pytest.importorskip(library)
    X, Y, new = (xp.asarray(a) for a in (vectors(), vectors(seed=3), vectors(3, 1)))
    model = iokr.IOKR(output_kernel=RBF()).fit(X, Y)
    iokr.save(model, tmp_path / "m")
    again = iokr.load(tmp_path / "m")
    answer = again.decision_function(new)
    assert type(answer) is type(model.decision_function(new))
    assert_array_equal(np.asarray(answer), np.asarray(model.decision_function(new)))
    with pytest.raises(TypeError, match="another library"):
        again.decision_function(vectors(3, 1))


def test_a_library_that_is_missing_is_named(tmp_path, monkeypatch):
    torch = pytest.importorskip("torch")
    iokr.save(iokr.IOKR().fit(torch.asarray(vectors()), torch.asarray(vectors(seed=3))), tmp_path / "m")
    iokr.save(fitted("IOKR networkx").model, tmp_path / "g")
    for name, words, path in (("torch", r"iokr\[torch\]", "m"), ("networkx", r"iokr\[report\]", "g")):
        monkeypatch.setitem(sys.modules, name, None)
        with pytest.raises(ImportError, match=words):
            iokr.load(tmp_path / path)


def test_random_states_and_odd_values(tmp_path):
    seeds = np.random.RandomState(3), np.random.default_rng(3)
    for seed in seeds:
        iokr.save(iokr.OutputKernelTree(random_state=seed), tmp_path / "m")
        again = iokr.load(tmp_path / "m").random_state
        assert again.normal() == seed.normal()
    odd = {"a": (float("inf"), -0.0, 1 << 200, 3j, b"\x00", np.float32(0.1)), ("b", 1): slice(1, None), None: range(3)}
    iokr.save(iokr.Unlabeled([odd, {1, 2}, frozenset(), "é" * 500, "\ud800"]), tmp_path / "m")
    again = iokr.load(tmp_path / "m").X
    assert again == [odd, {1, 2}, frozenset(), "é" * 500, "\ud800"]


def test_feature_names_and_numbers_are_checked_after_loading(tmp_path):
    import pandas as pd

    X = pd.DataFrame(vectors(), columns=list("abcd"))
    iokr.save(iokr.IOKR().fit(X, vectors(seed=3)), tmp_path / "m")
    again = iokr.load(tmp_path / "m")
    with pytest.raises(ValueError, match=r"(?s)unseen at fit time.*- z.*missing.*- a"):
        again.predict(X.rename(columns={"a": "z"}))
    with (
        pytest.raises(ValueError, match="3 features, but IOKR is expecting 4"),
        pytest.warns(UserWarning, match="feature names"),
    ):
        again.predict(vectors(p=3))


def test_a_graph_kernel_with_its_graph(tmp_path):
    import networkx as nx

    graph = nx.path_graph(4)
    graph.graph["name"] = "a path"
    iokr.save(iokr.Unlabeled(graph), tmp_path / "m")
    again = iokr.load(tmp_path / "m").X
    assert nx.utils.graphs_equal(again, graph) and again.graph == graph.graph
    iokr.save(Diffusion(0.5, np.eye(3)), tmp_path / "m")
    assert_array_equal(iokr.load(tmp_path / "m").graph, np.eye(3))


def test_files_of_others_are_refused(tmp_path):
    safetensors = pytest.importorskip("safetensors.numpy")
    safetensors.save_file({"x": np.eye(2)}, tmp_path / "theirs")
    with pytest.raises(BadFile, match="iokr has not written it"):
        iokr.load(tmp_path / "theirs")
    (tmp_path / "text").write_text("id\ta\n1\t2\n3\t4\n")
    with pytest.raises(BadFile, match="another format"):
        iokr.load(tmp_path / "text")
    (tmp_path / "none").write_bytes(b"")
    with pytest.raises(BadFile, match="0 bytes"):
        iokr.load(tmp_path / "none")
    with pytest.raises(FileNotFoundError):
        iokr.load(tmp_path / "absent")


@pytest.mark.parametrize("name", ["IOKR strings", "X strided", "X Fortran", "IOKR networkx", "OutputKernelForest sets"])
def test_any_reader_of_safetensors_sees_the_arrays(name, tmp_path):
    safetensors = pytest.importorskip("safetensors")
    quietly(fitted(name).model, tmp_path / "m")
    with safetensors.safe_open(tmp_path / "m", framework="np") as file:
        arrays = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
        assert json.loads(file.metadata()["iokr"])["format"] == FORMAT
    assert arrays
    if name == "X Fortran":
        assert any(a.shape == (4, N) and np.array_equal(a.T, vectors()) for a in arrays.values())
