"""The command as a process: quick, light, and quiet when its reader leaves."""

import json
import os
import subprocess
import sys

import pytest

HEAVY = ("numpy", "scipy", "sklearn", "pandas", "matplotlib", "jinja2", "torch", "cupy", "iokr.apps.report")


def iokr(*arguments, **options):
    return subprocess.run(
        [sys.executable, "-m", "iokr.cli", *arguments], capture_output=True, text=True, timeout=60, **options
    )


def test_help_imports_nothing_heavy():
    code = (
        "import sys, json\nsys.argv = ['iokr', '--help']\nfrom iokr.cli import main\n"
        "try:\n    main()\nexcept SystemExit as stop:\n    code = stop.code\n"
        f"print(json.dumps([code, [name for name in {HEAVY!r} if name in sys.modules]]))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60, check=True)
    assert "demo" in result.stdout
    assert json.loads(result.stdout.splitlines()[-1]) == [0, []]


def test_help_takes_under_half_a_second():
    """The best of five, in seconds of the processor, as the machine may be busy with other tests."""

    def seconds():
        before = os.times()
        assert iokr("--help").returncode == 0
        after = os.times()
        return after.children_user + after.children_system - before.children_user - before.children_system

    assert min(seconds() for _ in range(5)) < 0.5


@pytest.mark.parametrize(("arguments", "code"), [([], 0), (["doctor", "--format", "pdf"], 2), (["reproduce", "x"], 2)])
def test_exit_codes_reach_the_shell(arguments, code):
    result = iokr(*arguments)
    assert result.returncode == code
    assert "Traceback" not in result.stderr


def test_a_reader_that_leaves_does_not_lose_the_run(tmp_path):
    """`iokr links predict … | true`: the folder is written before the tables are printed."""
    rows = [f"n{i}\t{i // 6}\t{i % 6}" for i in range(18)]
    (tmp_path / "n.tsv").write_text("\n".join(rows) + "\n")
    (tmp_path / "e.tsv").write_text("".join(f"n{i}\tn{i + 1}\n" for i in range(17) if i % 6 < 5))
    files = ["-i", tmp_path / "n.tsv", "-e", tmp_path / "e.tsv", "-o", tmp_path / "out"]
    command = [sys.executable, "-m", "iokr.cli", "links", "predict", *map(str, files), "-q"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=120) == 0
    assert (tmp_path / "out" / "report.html").exists()


def test_a_reader_that_leaves_is_no_error():
    """`iokr doctor | true`: the pipe is closed before anything is written."""
    command = [sys.executable, "-m", "iokr.cli", "doctor"]
    buffered = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=buffered) as process:
        process.stdout.close()
        assert process.stderr.read() == ""
        assert process.wait(timeout=60) == 0
