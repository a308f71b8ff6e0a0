"""`tools/check_house.py` finds what it forbids and counts the rest, in small trees."""

import ast

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
        return check.RULES[rule][0](check.house(tmp_path))

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


def test_a_package_and_its_modules_are_a_cycle_when_both_import(found):
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
        ("from numpy import _x", 0),  # of another package
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
    ],
)
def test_private_attributes(found, text, count):
    assert len(found("private", {A: text, B: ""})) == count


def test_private_attributes_may_be_used_inside_their_room(found):
    files = {
        "iokr/solvers/base.py": "class Solver:\n    def _solve(self): ...",
        "iokr/solvers/pairs/margin.py": "def f(x):\n    x._solve()",
        A: "def f(x):\n    x._solve()",
    }
    assert found("private", files) == ["src/iokr/a.py:2: x._solve"]


@pytest.mark.parametrize(
    ("text", "cost"),
    [
        ('"""A text."""\nx = 1\n', (2, 1, 0, 0, 0)),
        ("x = 1 if y else 2\n", (1, 1, 1, 1, 0)),
        ("a, b = x, y\n", (1, 1, 0, 0, 1)),
        ("a, b = f()\n", (1, 1, 0, 0, 0)),
        ("if x:\n    y()\nelif z:\n    y()\n", (4, 4, 2, 0, 0)),
        ("for i in x:\n    while i:\n        pass\n", (3, 3, 2, 0, 0)),
        ("z = [i for i in x if i if not i]\n", (1, 1, 2, 0, 0)),
        ("try:\n    x()\nexcept E:\n    pass\n", (4, 3, 1, 0, 0)),
    ],
)
def test_the_cost_of_a_text(check, text, cost):
    assert check.cost(ast.parse(text), text.count("\n")) == cost


def test_short_functions_that_are_used_once(check, tmp_path):
    file = tmp_path / "src" / A
    file.parent.mkdir(parents=True)
    file.write_text(
        "def _once():\n    return 1\n"
        "def _twice():\n    return 1\n"
        "def _long(x):\n    x()\n    x()\n    x()\n"
        "_once(), _twice(), _twice(), _long(0)\n"
    )
    assert check.used_once(check.house(tmp_path).values()) == [(2, "src/iokr/a.py:1: _once")]


def test_the_command_fails_for_findings_and_prints_the_rest(check, found, tmp_path, monkeypatch, capsys):
    found("imported", {A: "from iokr.b import _x\n", B: "x = 1 if y else 2\n" * 60})
    monkeypatch.setattr("sys.argv", ["check_house.py", "--root", str(tmp_path)])
    assert check.main() == 1
    lines = capsys.readouterr().out.splitlines()
    assert "src/iokr/a.py:1: from iokr.b import _x" in lines
    assert "    1000  src/iokr/b.py" in lines
    (tmp_path / "src" / A).write_text("")
    assert check.main() == 0
