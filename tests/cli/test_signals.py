"""Signals at any moment of a command; `make kills` has two hundred of them."""

import os
import subprocess
import sys
from importlib import util
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="signals")

spec = util.spec_from_file_location("kills", Path(__file__).parents[2] / "tools" / "kills.py")
kills = util.module_from_spec(spec)
sys.modules["kills"] = kills
spec.loader.exec_module(kills)


@pytest.mark.sweep
@pytest.mark.parametrize("name", ["predict", "study", "msms"])
def test_kills_leave_whole_results_and_the_right_exit_codes(name, tmp_path):
    if name == "msms":
        pytest.importorskip("rdkit")
    found = kills.trial(kills.SCENARIOS[name], 3, 0, tmp_path)
    assert found.faults == []


@pytest.mark.slow
@pytest.mark.parametrize("name", kills.SCENARIOS)
def test_many_kills(name, tmp_path):
    found = kills.trial(kills.SCENARIOS[name], 67, 1, tmp_path)
    assert found.faults == []


LATE = """
import os, signal, sys, weakref
from iokr.cli.signals import closing_words, end_at_signals
end_at_signals()
class Thing: pass
def late(*_):
    os.kill(os.getpid(), signal.{name})
    for _ in range(1000): pass
{when}
print("not reached", flush=True)
"""
WHEN = {
    "in a destructor": "Thing.__del__ = late\nThing()",
    "in a callback": "thing = Thing()\nref = weakref.ref(thing, late)\ndel thing",
    "in an import": "import importlib.abc\nclass Finder(importlib.abc.MetaPathFinder):\n"
    "    def find_spec(self, *_):\n        late()\nsys.meta_path.insert(0, Finder())\nimport colorsys",
    "where everything is caught": "try:\n    late()\nexcept BaseException:\n    pass",
    "at exit": "import atexit\natexit.register(late)\nsys.exit(0)",
}


@pytest.mark.parametrize("when", WHEN.values(), ids=WHEN)
@pytest.mark.parametrize(("name", "code"), [("SIGINT", 130), ("SIGTERM", 143)])
def test_a_signal_ends_the_process_where_an_exception_would_be_lost(when, name, code):
    run = subprocess.run(
        [sys.executable, "-c", LATE.format(name=name, when=when)], capture_output=True, text=True, check=False
    )
    assert (run.returncode, run.stdout) == (code, "")
    assert run.stderr == {130: "iokr: interrupted.\n", 143: "iokr: terminated.\n"}[code]


def test_signals_that_are_ignored_stay_ignored():
    program = "import os, signal; from iokr.cli.signals import end_at_signals; end_at_signals()\n"
    program += "os.kill(os.getpid(), signal.SIGINT); print('alive')"
    shell = subprocess.run(
        ["sh", "-c", 'trap "" INT; exec "$0" -c "$1"', sys.executable, program],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shell.stdout == "alive\n"


def test_importing_the_command_leaves_signals_alone():
    program = "import signal; before = signal.getsignal(signal.SIGINT); from iokr.cli import app\n"
    program += "assert signal.getsignal(signal.SIGINT) is before"
    subprocess.run([sys.executable, "-c", program], check=True)
