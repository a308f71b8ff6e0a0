"""The command line: every option of every command with odd values, broken files, signals."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import typer

from attack.files import BROKEN, write_broken, write_valid
from attack.judge import Case, Wrong
from iokr.cli import app, shared

__all__ = ["command_cases", "commands"]

ODD = [
    "",
    " ",
    "-1",
    "0",
    "1",
    "2",
    "1.5",
    "nan",
    "inf",
    "-inf",
    "1e400",
    "9" * 400,
    "abc",
    "é",
    "\x1b[31m",
    "../..",
    "/",
    ".",
    "/dev/null",
    "/proc/self/mem",
    "a" * 5000,
    "--",
    "-",
    "nodes.tsv",
    "\ud800",
    "all",
    "edges",
]
SPECTRA = ["-i", "library.mgf", "--candidates", "library_candidates.tsv", "--fingerprints", "maccs"]
VALID = {
    "links cv": ["-i", "nodes.tsv", "-e", "edges.tsv", "--folds", "2"],
    "links predict": ["-i", "nodes.tsv", "-e", "edges.tsv", "--top", "5"],
    "links train": ["-i", "nodes.tsv", "-e", "edges.tsv"],
    "msms train": [*SPECTRA, "--folds", "2", "-o", "result.safetensors"],
    "msms identify": ["-i", "unknowns.mgf", "--candidates", "candidates.tsv", "-m", "model.safetensors"],
    "msms evaluate": [*SPECTRA, "--folds", "2", "--no-baselines"],
    "show": ["model.safetensors"],
    "reproduce": [],
    "bench": [],
    "doctor": [],
}
LONG = {"demo", "msms demo"}  # their valid calls take seconds: usage alone is attacked


def commands(group: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any]]:
    """Every command by its words, those of tomorrow among them."""
    group = typer.main.get_command(app) if group is None else group
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield from commands(command, (*path, name))
        else:
            yield " ".join((*path, name)), command


def invoke(arguments: list[str]) -> Any:
    """Run in this process; an error inside is raised as it was, not as the line that users see."""
    from typer.testing import CliRunner

    inside: list[BaseException] = []
    words = shared._one_line

    def note(error: BaseException) -> str:
        inside.append(error)
        return words(error)

    shared._one_line = note
    result = CliRunner().invoke(app, arguments)
    if inside:
        raise inside[0]
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    if result.exit_code not in (0, 1, 2):
        raise Wrong(f"exit code {result.exit_code}")
    if "Traceback" in result.output:
        raise Wrong(f"a traceback was printed: {result.output[-200:]}")
    if result.exit_code and not result.output.strip():
        raise Wrong("no word about why it stopped")
    return result


@cache
def _spectra() -> dict[str, bytes]:
    """Small files of spectra and candidates, fingerprints among them, and a model of them."""
    from iokr.apps.msms.demo import write_demo

    home = os.environ.get("XDG_CACHE_HOME")
    with TemporaryDirectory() as name, contextlib.chdir(name):
        os.environ["XDG_CACHE_HOME"] = name
        write_demo(Path(name), n=14, unknowns=2)
        invoke(["msms", "train", *VALID["msms train"], "-o", "model.safetensors", "-q"])
        files = {p.relative_to(name).as_posix(): p.read_bytes() for p in Path(name).rglob("*") if p.is_file()}
    os.environ.pop("XDG_CACHE_HOME") if home is None else os.environ.update(XDG_CACHE_HOME=home)
    return files


def _needs_spectra(words: str) -> bool:
    return words == "show" or (words.startswith("msms") and words in VALID and find_spec("rdkit") is not None)


def _write_files(words: str) -> dict[str, Path]:
    """What a command reads, in the working folder."""
    if _needs_spectra(words):
        os.environ["XDG_CACHE_HOME"] = str(Path.cwd())
        for name, content in _spectra().items():
            Path(name).parent.mkdir(exist_ok=True)
            Path(name).write_bytes(content)
    return write_valid(Path.cwd())


def _with_files(words: str, more: list[str]) -> None:
    _write_files(words)
    invoke([*words.split(), *VALID.get(words, []), *more])


def _with_broken(words: str, kind: str, how: str) -> None:
    paths = write_valid(Path.cwd())
    odd = write_broken(Path.cwd(), kind, how)
    features = ["-k", str(odd)] if kind == "kernel" else ["-i", str(odd if kind == "nodes" else paths["nodes"])]
    invoke([*words.split(), *features, "-e", str(odd if kind == "edges" else paths["edges"]), "-o", "out"])


def _with_broken_file(words: str, file: str, how: str) -> None:
    """One of the files of spectra, molecules or models, broken."""
    _write_files(words)
    ending, make = BROKEN[how]
    text = Path(file).read_bytes()
    odd = Path(f"odd{ending.replace('.tsv', Path(file).suffix)}")
    odd.write_bytes(
        make(text.decode()) if file != "model.safetensors" else make("nothing\n" * 9) + text[len(text) // 2 :]
    )
    output = [] if words == "show" else ["-o", "result.safetensors" if words == "msms train" else "out"]
    invoke([*words.split(), *(str(odd) if given == file else given for given in VALID[words]), *output])


def _signal(words: str, number: int, after: float) -> None:
    """Ended at any moment: the code says so, no traceback, and the folder is whole or not there."""
    write_valid(Path.cwd())
    command = [sys.executable, "-m", "iokr.cli", *words.split(), *VALID[words], "-o", "out"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, env={**os.environ}, text=True)
    time.sleep(after)
    process.send_signal(number)
    said, _ = process.communicate(timeout=600)
    expected = {0, 128 + number, -number}
    if process.returncode not in expected:
        raise Wrong(f"exit code {process.returncode} after signal {number}: {said[-200:]}")
    if number == signal.SIGINT and after > 1.0 and "Traceback" in said:
        raise Wrong(f"a traceback: {said[-300:]}")
    left = sorted(path.name for path in Path("out").iterdir()) if Path("out").is_dir() else []
    if left and "run.json" not in left:
        raise Wrong(f"half a result: {left}")


def command_cases() -> Iterator[Case]:
    """All of them."""
    words = ("iokr", "line", "file", "nodes", "edges", "kernel", "FILE", "option", "odd", "out", "folder")
    for name, command in commands():
        callable = f"iokr {name}"
        for parameter in command.params:
            flag = max(getattr(parameter, "opts", [""]), key=len)
            if not flag.startswith("--") or flag == "--help":
                continue
            values = [None] if getattr(parameter, "is_flag", False) else ODD
            if name in LONG or (name in ("bench", "reproduce")):
                values = [v for v in values if v in ("", "nan", "abc", "1e400", "-1", "\x1b[31m")]
            for value in values:
                given = [flag] if value is None else [f"{flag}={value}"]
                if name in LONG and value is None:
                    continue
                label = f"{flag}={'' if value is None else value!r:.20}"
                yield Case(
                    f"{callable}/{label}",
                    lambda n=name, g=given: _with_files(n, g),
                    (*words, parameter.name or ""),
                    seconds=40,
                    prepare=_spectra if _needs_spectra(name) else None,
                )
        for odd in ("no-such-option", "\x1b[31m", "a" * 5000):
            yield Case(f"{callable}/argument {odd!r:.20}", lambda n=name, o=odd: _with_files(n, [f"--{o}"]), words)
        if _needs_spectra(name):
            for file in (
                "library.mgf",
                "library_candidates.tsv",
                "unknowns.mgf",
                "candidates.tsv",
                "model.safetensors",
            ):
                for how in BROKEN if file in [*VALID[name]] else ():
                    if how != "a gzip bomb":
                        yield Case(
                            f"{callable}/{file}: {how}",
                            lambda n=name, f=file, h=how: _with_broken_file(n, f, h),
                            words,
                            seconds=40,
                            prepare=_spectra,
                        )
        if name.startswith("links"):
            for kind in ("nodes", "edges", "kernel"):
                for how in BROKEN:
                    if how != "a gzip bomb":
                        yield Case(
                            f"{callable}/{kind}: {how}",
                            lambda n=name, k=kind, h=how: _with_broken(n, k, h),
                            words,
                            seconds=40,
                        )
            if name in ("links cv", "links predict"):
                for number in (signal.SIGINT, signal.SIGTERM, signal.SIGKILL):
                    for after in (1.2, 1.8, 2.4):
                        yield Case(
                            f"{callable}/{number.name} after {after} s",
                            lambda n=name, s=number, a=after: _signal(n, s, a),
                            words,
                            seconds=90,
                        )
