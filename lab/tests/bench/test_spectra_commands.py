"""The commands on spectra are measured, on made files."""

import sys

import pytest

pytest.importorskip("rdkit")

from iokr_lab.bench.base import Run
from iokr_lab.bench.spectra_commands import COMMANDS, measured


@pytest.mark.skipif(not hasattr(__import__("os"), "wait4"), reason="the system does not measure this")
def test_the_commands_are_measured():
    said = []
    (table,), verdicts = COMMANDS.work(Run(0, True, 1, said.append))
    assert len(table.rows) == len(said) == 3
    assert all(row["seconds"] > 0 and row["MB"] > 10 for row in table.rows)
    assert len(verdicts) == 5


@pytest.mark.skipif(sys.platform == "win32", reason="the system does not measure this")
def test_a_command_that_fails_is_named(tmp_path):
    with pytest.raises(RuntimeError, match="does not exist"):
        measured(["train", "-i", str(tmp_path / "nothing.mgf"), "-o", str(tmp_path / "m")], tmp_path)
