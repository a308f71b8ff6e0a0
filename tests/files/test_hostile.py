"""Files that are damaged, cut, made up or newer: read correctly or refused in words, in little memory, as data.

Tests of `iokr.files.container`, `iokr.files.arrays`, `iokr.files.objects` and `iokr.files.registry`.
"""

import json
import os
import sys
import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import iokr
from fitted_models import fitted, flat
from iokr._state import Stateful
from iokr.files import BadFile, verify
from iokr.files.kinds import KINDS, PACKAGES
from iokr.files.registry import class_of, name_of
from iokr.kernels import RBF, Precomputed
from rewritten import joined, split

MUTATIONS = 2000
NAMES = ("IOKR strings", "IOKR networkx", "LinkPredictor", "OutputKernelForest sets", "IOKR sparse", "PairModel local")
CANARY = "iokr_canary"


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("originals")
    found = {}
    for name in NAMES:
        iokr.save(fitted(name).model, folder / "m")
        found[name] = (folder / "m").read_bytes()
    return found


def mutated(raw, rng):
    """Bytes changed, cut out, doubled, put in or cut off."""
    raw = bytearray(raw)
    header = 8 + int.from_bytes(raw[:8], "little")
    place = int(rng.integers(0, header if rng.uniform() < 0.6 else len(raw)))
    match int(rng.integers(0, 6)):
        case 0:
            raw[place] ^= int(rng.integers(1, 256))
        case 1:
            raw[place : place + 8] = rng.bytes(8)
        case 2:
            del raw[place : place + int(rng.integers(1, 64))]
        case 3:
            raw[place:place] = raw[place : place + int(rng.integers(1, 64))] or b"x"
        case 4:
            del raw[place:]
        case 5:
            raw[place : place + 1] = rng.choice([b"9", b"{", b'"', b"]", b"-", b"\x00"])
    return bytes(raw)


class Watch:
    """What Python executes or imports while it is on. A hook cannot be taken back, so there is one."""

    def __init__(self):
        self.on, self.seen = False, []
        sys.addaudithook(self._hear)

    def _hear(self, event, arguments):
        if self.on and event in ("exec", "compile", "import", "pickle.find_class", "os.system", "subprocess.Popen"):
            self.seen.append((event, str(arguments)[:80]))


@pytest.fixture(scope="module")
def watch():
    return Watch()


def read_or_refused(path, name, watch):
    """Whether it was read; then it is what was saved."""
    try:
        watch.on = True
        model = iokr.load(path)
    except BadFile as error:
        watch.on = False
        assert str(path) in str(error) and len(str(error)) < 1000
        return False
    finally:
        watch.on = False
    case = fitted(name)
    found, expected = flat(case.answer(model)), flat(case.answer(case.model))
    assert all(
        np.array_equal(a, b) if isinstance(a, np.ndarray) else a == b for a, b in zip(found, expected, strict=True)
    )
    return True


def test_mutated_files_are_read_correctly_or_refused(originals, tmp_path, watch):
    rng, path = np.random.default_rng(20), tmp_path / "m"
    for raw in originals.values():  # what is imported when it is first used is imported
        path.write_bytes(raw)
        iokr.load(path)
    read, peak = 0, 0.0
    for i in range(MUTATIONS):
        name = NAMES[i % len(NAMES)]
        raw = mutated(originals[name], rng)
        path.write_bytes(raw)
        if i % 20 == 0:
            tracemalloc.start()
        read += read_or_refused(path, name, watch)
        if i % 20 == 0:
            peak = max(peak, tracemalloc.get_traced_memory()[1] / max(len(raw), 1000))
            tracemalloc.stop()
    assert watch.seen == []
    assert read < MUTATIONS / 20  # a change that is read hits nothing that counts
    assert peak < 400  # bytes for each byte of the file


def test_the_watch_sees_what_is_executed(watch):
    watch.on = True
    exec("1 + 1")
    watch.on = False
    assert {event for event, _ in watch.seen} >= {"exec", "compile"}
    watch.seen.clear()


def nodes_of(value):
    """Every dictionary and list inside, with its parent and key."""
    waiting = [value]
    while waiting:
        item = waiting.pop()
        for key in item if isinstance(item, dict) else range(len(item)):
            yield item, key
            if isinstance(item[key], (dict, list)):
                waiting.append(item[key])


HOSTILE = [
    0,
    -1,
    10**9,
    10**18,
    1e308,
    "x",
    "",
    None,
    [],
    {},
    [0] * 3,
    {"object": 0},
    {"array": 0},
    {"list": [[]]},
    True,
]


@pytest.mark.parametrize("name", NAMES)
def test_made_up_structures_with_right_hashes_are_refused_or_read(name, originals, tmp_path):
    """Whoever writes a file can write its hashes: every value is checked for what it is, too."""
    rng, path = np.random.default_rng(21), tmp_path / "m"
    for _ in range(120):
        header, structure, data = split(originals[name])
        places = list(nodes_of({k: structure[k] for k in ("model", "objects", "arrays", "holes")}))
        item, key = places[int(rng.integers(len(places)))]
        item[key] = HOSTILE[int(rng.integers(len(HOSTILE)))]
        path.write_bytes(joined(header, structure, data))
        tracemalloc.start()
        try:
            iokr.load(path, mmap=bool(rng.integers(2)))
        except (BadFile, ImportError):
            pass
        except ValueError as error:
            assert "does not hold" in str(error)  # a hole was made up
        assert tracemalloc.get_traced_memory()[1] < 400 * path.stat().st_size
        tracemalloc.stop()


@pytest.mark.parametrize("change", ["class", "module", "pickle", "type"])
def test_nothing_but_registered_classes_is_made(change, tmp_path, monkeypatch):
    (tmp_path / f"{CANARY}.py").write_text("import os\nos.environ['IOKR_CANARY'] = 'sang'\nclass Bird: pass\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("IOKR_CANARY", raising=False)
    iokr.save(RBF(0.5), tmp_path / "m")
    header, structure, data = split((tmp_path / "m").read_bytes())
    entry = structure["objects"][0]
    if change == "class":
        entry["class"] = f"{CANARY}.Bird"
    elif change == "module":
        entry["class"] = "kernels.import_module"
    elif change == "pickle":
        entry["fields"]["gamma"] = {"pickle": "gASV"}
    else:
        entry["fields"]["gamma"] = {"type": "object"}
    (tmp_path / "m").write_bytes(joined(header, structure, data))
    with pytest.raises(BadFile):
        iokr.load(tmp_path / "m")
    assert "IOKR_CANARY" not in os.environ and CANARY not in sys.modules


def test_a_hole_is_not_imported(tmp_path, monkeypatch):
    (tmp_path / f"{CANARY}.py").write_text("import os\nos.environ['IOKR_CANARY'] = 'sang'\ndef f(x, z): return 1.0\n")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delenv("IOKR_CANARY", raising=False)
    iokr.save(RBF(0.5), tmp_path / "m")
    header, structure, data = split((tmp_path / "m").read_bytes())
    structure["holes"] = [{"path": "gamma", "kind": "function", "module": CANARY, "name": "f"}]
    structure["objects"][0]["fields"]["gamma"] = {"hole": 0}
    (tmp_path / "m").write_bytes(joined(header, structure, data))
    with pytest.raises(ValueError, match=f"`gamma`, the function {CANARY}.f"):
        iokr.load(tmp_path / "m")
    assert "IOKR_CANARY" not in os.environ and CANARY not in sys.modules


def test_a_newer_format_says_so(tmp_path):
    iokr.save(RBF(), tmp_path / "m")
    header, structure, data = split((tmp_path / "m").read_bytes())
    structure["format"], structure["versions"]["iokr"] = 3, "9.9"
    (tmp_path / "m").write_bytes(joined(header, structure, data))
    with pytest.raises(BadFile, match=r"format 3 \(iokr '9\.9'\).*formats up to 2; a newer iokr"):
        iokr.load(tmp_path / "m")


def test_a_class_of_a_later_version_is_named(tmp_path):
    iokr.save(RBF(), tmp_path / "m")
    header, structure, data = split((tmp_path / "m").read_bytes())
    structure["objects"][0]["class"] = "kernels.Matern"
    (tmp_path / "m").write_bytes(joined(header, structure, data))
    with pytest.raises(BadFile, match=r"the class 'kernels\.Matern', which iokr"):
        iokr.load(tmp_path / "m")


@pytest.mark.parametrize("length", [10**18, 100_000_001, 4000])
def test_a_header_longer_than_the_file_is_not_read(length, tmp_path):
    (tmp_path / "m").write_bytes(length.to_bytes(8, "little") + b"{" * 100)
    with pytest.raises(BadFile, match=f"header of {length} bytes"):
        iokr.load(tmp_path / "m")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        ({"dtype": "F64", "shape": [10**12], "data_offsets": [0, 8]}, "needs 8000000000000 bytes"),
        ({"dtype": "F64", "shape": [1], "data_offsets": [8, 16]}, "where 0 was expected"),
        ({"dtype": "F64", "shape": [-1], "data_offsets": [0, 8]}, "has the shape"),
        ({"dtype": "F64", "shape": [1.0], "data_offsets": [0, 8]}, "has the shape"),
        ({"dtype": "O", "shape": [1], "data_offsets": [0, 8]}, "has the type 'O'"),
        ({"dtype": "F64", "shape": [2], "data_offsets": [0, 16]}, "truncated or damaged"),
        ({"dtype": "F64"}, "malformed"),
    ],
)
def test_tables_of_arrays_are_checked(entry, words, tmp_path):
    raw = json.dumps({"x": entry}).encode()
    (tmp_path / "m").write_bytes(len(raw).to_bytes(8, "little") + raw + bytes(8))
    with pytest.raises(BadFile, match=words):
        iokr.load(tmp_path / "m")


def test_a_nested_bomb_is_refused(tmp_path):
    raw = b'{"a":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
    (tmp_path / "m").write_bytes(len(raw).to_bytes(8, "little") + raw)
    with pytest.raises(BadFile):
        iokr.load(tmp_path / "m")


def test_hashes_are_checked_unless_mapped(tmp_path):
    path = tmp_path / "m"
    iokr.save(Precomputed(np.eye(20)), path)
    raw = bytearray(path.read_bytes())
    raw[-3] ^= 1
    path.write_bytes(raw)
    with pytest.raises(BadFile, match="'matrix' is not what was saved"):
        iokr.load(path)
    with pytest.raises(BadFile, match="'matrix' is not what was saved"):
        verify(path)
    mapped = iokr.load(path, mmap=True).matrix
    assert not mapped.flags.writeable and mapped[0, 0] == 1


LAYOUTS = {
    "C": np.arange(24.0).reshape(4, 6),
    "Fortran": np.asfortranarray(np.arange(24.0).reshape(4, 6)),
    "strided": np.arange(48.0).reshape(4, 12)[:, ::2],
    "both strided": np.arange(96.0).reshape(8, 12)[::2, ::2],
    "backwards": np.arange(24.0).reshape(4, 6)[::-1, ::-1],
    "three axes": np.arange(24).reshape(2, 3, 4).transpose(2, 0, 1),
    "broadcast": np.broadcast_to(np.arange(3.0), (4, 3)),
    "empty": np.empty((0, 3)),
    "a number": np.array(3.5),
    "complex": (np.arange(6) - 1j * np.arange(6)).reshape(2, 3).T,
    "complex64": np.array([1 + 2j], dtype=np.complex64),
    "big-endian": np.arange(4, dtype=">i4"),
    "half": np.arange(4, dtype=np.float16),
    "bool": np.array([True, False]),
    "texts": np.array(["é", "abc", ""]),
    "bytes": np.array([b"a", b"bcd"]),
    "dates": np.array(["2020-01-01", "NaT"], dtype="datetime64[D]"),
    "objects": np.array([["a", None], [1, (2, "x")]], dtype=object),
    "not a number": np.array([np.nan, -0.0, np.inf, -np.nan]),
}


@pytest.mark.parametrize("mmap", [False, True])
@pytest.mark.parametrize("name", LAYOUTS)
def test_arrays_of_any_layout_come_back(name, mmap, tmp_path):
    array = LAYOUTS[name]
    iokr.save(iokr.Unlabeled(array), tmp_path / "m")
    again = iokr.load(tmp_path / "m", mmap=mmap).X
    assert again.shape == array.shape and again.dtype == array.dtype.newbyteorder("=")
    assert_array_equal(again, array)
    if array.dtype.kind == "f" and array.flags.forc:
        assert again.tobytes() == array.tobytes() and again.flags.f_contiguous == array.flags.f_contiguous


def test_types_that_a_file_cannot_hold_are_refused(tmp_path):
    for array in (np.zeros(2, dtype=[("a", float)]), np.zeros(2, dtype=np.longdouble)):
        with pytest.raises(TypeError, match="which a file cannot hold"):
            iokr.save(iokr.Unlabeled(array), tmp_path / "m")


def test_names_are_unique_and_lead_back():
    assert all(class_of(kind) is cls and name_of(cls) == kind for kind, cls in KINDS.items())
    baselines = [__import__(f"{home}.baselines", fromlist=["*"]) for home in ("iokr_lab", "iokr.apps.links")]
    for module in [*PACKAGES.values(), *baselines]:
        classes = [getattr(module, name) for name in module.__all__ if isinstance(getattr(module, name), type)]
        named = [cls for cls in classes if name_of(cls) is not None]
        assert all(class_of(name_of(cls)) is cls for cls in named)
        assert not [cls for cls in classes if issubclass(cls, Stateful) and cls not in named]
    for name in ("os.system", "kernels.order_ranks", "kernels.base", "save", "builtins.eval", "", None, 3, "kernels."):
        assert class_of(name) is None
