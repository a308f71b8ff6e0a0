"""`tools/check_house.py` finds what it forbids, in small trees."""

import pytest


@pytest.fixture
def check(tool):
    return tool("check_house")


@pytest.fixture
def found(check, tmp_path):
    """found(rule, path=text, …): what the rule finds in a tree of these files below src/iokr."""

    def run(rule, files):
        for path, text in files.items():
            file = tmp_path / "src" / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        return check.RULES[rule][0](check.House(tmp_path))

    return run


A, B = "iokr/a.py", "iokr/b.py"


@pytest.mark.parametrize(
    ("a", "b", "count"),
    [
        ("import iokr.b", "import iokr.a", 1),
        ("from iokr import b", "from iokr.a import x", 1),
        ("from . import b", "def f():\n    from .a import x", 1),
        ("def f():\n    if True:\n        import iokr.b", "from iokr.a import x", 1),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import iokr.b", "import iokr.a", 0),
        ("import typing\nif typing.TYPE_CHECKING:\n    x = 1\nelse:\n    import iokr.b", "import iokr.a", 1),
        ("import iokr.b", "import numpy", 0),
    ],
)
def test_cycles(found, a, b, count):
    cycles = found("cycles", {"iokr/__init__.py": "", A: a, B: b})
    assert len(cycles) == count
    assert all("iokr.a → iokr.b → iokr.a" in line for line in cycles)


def test_two_cycles_are_two(found):
    files = {f"iokr/{a}.py": f"import iokr.{b}" for a, b in ["ab", "bc", "ca", "de", "ed", "fa"]}
    assert [line.split(":")[0] for line in found("cycles", files)] == ["src/iokr/a.py", "src/iokr/d.py"]


def test_a_package_that_imports_its_modules_is_no_cycle_until_they_import_it(found):
    files = {"iokr/p/__init__.py": "from iokr.p.m import x", "iokr/p/m.py": "from iokr.p.n import y", "iokr/p/n.py": ""}
    assert found("cycles", files) == []
    assert len(found("cycles", {**files, "iokr/p/n.py": "from iokr.p import x"})) == 1


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("from iokr.b import _x", 1),
        ("from iokr.b import x as _x", 0),
        ("def f():\n    from .b import _x, y, _z", 2),
        ("from iokr import _c", 0),  # a module
        ("from iokr._c import x", 0),
        ("from numpy import _x", 0),  # somebody else's house
        ("from iokr.b import __version__", 0),
    ],
)
def test_private_names_imported(found, text, count):
    assert len(found("imported", {A: text, B: "", "iokr/_c.py": ""})) == count


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("def f(x):\n    return x._y", 1),
        ("def f(x):\n    x._y = 1", 1),
        ("def f(x):\n    return getattr(x, '_y', None)", 1),
        ("class K:\n    def f(self):\n        return self._y, super()._y", 0),
        ("class K:\n    def f(self):\n        return self.part._y", 1),
        ("class K:\n    def _y(self): ...\ndef f(x):\n    return x._y()", 0),
        ("class K:\n    def f(self, other):\n        self._y = other._y", 0),
        ("import iokr.b\niokr.b._y()", 1),
        ("def f(x):\n    return x._replace(a=1).__dict__", 0),
        ("def f(x):\n    return x._solve()", 1),
    ],
)
def test_private_attributes(found, text, count):
    assert len(found("private", {A: text, B: ""})) == count


def test_template_methods_may_be_called_inside_their_package(found):
    files = {
        "iokr/solvers/base.py": "class Solver:\n    def _solve(self): ...\nclass Other:\n    def _more(self): ...",
        "iokr/solvers/auto.py": "def f(x):\n    x._solve()\n    x._more()",
        A: "def f(x):\n    x._solve()",
    }
    assert [line.split(":")[0:2] for line in found("private", files)] == [
        ["src/iokr/a.py", "2"],
        ["src/iokr/solvers/auto.py", "3"],
    ]


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("isinstance(x, PairGram)", 1),
        ("isinstance(x, int | gram.PairGram)", 1),
        ("isinstance(x, (int, Gram))", 1),
        ("type(x) is PairGram", 1),
        ("match x:\n    case PairGram():\n        pass", 1),
        ("isinstance(x, Problem)", 0),
        ("class S:\n    def refuses(self, p):\n        return isinstance(p.gram, PairGram)", 0),
        ("class S:\n    def solve(self, p):\n        return isinstance(p.gram, PairGram)", 1),
    ],
)
def test_kinds_of_gram(found, text, count):
    classes = (
        "class Gram: ...\nclass ScalarGram(Gram): ...\nclass PairGram(base.ScalarGram[int]): ...\nclass Problem: ..."
    )
    assert len(found("grams", {A: text, B: classes})) == count


def test_long_files(found):
    assert found("lines", {A: "x = 1\n" * 400}) == []
    assert found("lines", {A: "x = 1\n" * 401}) == ["src/iokr/a.py:401: 401 lines, at most 400"]


def test_the_library_does_not_import_the_laboratory(found):
    lazily = "def f():\n    from iokr_lab import study"
    files = {"iokr/cli/bench.py": lazily, "iokr/cli/links.py": lazily, "iokr_lab/a.py": "import iokr_lab.b"}
    files[B] = "from importlib import import_module\nimport_module('iokr_lab.b')"
    assert found("laboratory", files) == [
        "src/iokr/b.py:2: imports iokr_lab",
        "src/iokr/cli/bench.py:2: imports iokr_lab",
        "src/iokr/cli/links.py:2: imports iokr_lab",
    ]


def test_what_is_loaded(check, found, monkeypatch):
    monkeypatch.setattr(check, "COMMANDS", {"import iokr": "import iokr"})
    assert found("loaded", {"iokr/__init__.py": "import iokr_lab", "iokr_lab/__init__.py": ""}) == [
        "src/iokr:1: `import iokr` loads iokr_lab"
    ]
    assert "fails" in found("loaded", {"iokr/__init__.py": "import iokr.nowhere"})[0]


def test_the_command_counts_and_says_so_by_its_exit_code(check, found, tmp_path, monkeypatch, capsys):
    found("lines", {A: "from iokr.b import _x\n", B: ""})
    monkeypatch.setattr("sys.argv", ["check_house.py", "imported", "lines", "--root", str(tmp_path)])
    assert check.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "src/iokr/a.py:1: from iokr.b import _x"
    assert [line.split()[:2] for line in lines[1:]] == [["imported", "1"], ["lines", "0"]]
    (tmp_path / "src" / A).write_text("")
    assert check.main() == 0
