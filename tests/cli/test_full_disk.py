"""A disk that is full at any write: a line that names the file, exit code 1, and the old result as it was.

Tests of `iokr.apps.msms.checkpoint`, `iokr.cli.msms`, `iokr.apps.links.model_file` and `iokr.cli.shared`.
"""

import os
import subprocess
import sys

import pytest

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a file-size limit")

# The system refuses to write more than so many bytes to a file.
CODE = """
import resource, sys
from typer.testing import CliRunner
from iokr.cli import app
arguments = sys.argv[2:]
for limit in map(int, sys.argv[1].split(",")):
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, resource.RLIM_INFINITY))
    result = CliRunner().invoke(app, arguments)
    resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    inside = result.exception is not None and not isinstance(result.exception, SystemExit)
    said = repr(result.exception) if inside or "Traceback" in result.output else result.stderr.strip().splitlines()[-1]
    print(result.exit_code, said, flush=True)
"""


def contents(folder):
    """Every file and what is in it, but for the cache of fingerprints and the finished parts of a run."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    inside = {path.relative_to(folder).as_posix(): path.read_bytes() for path in files}
    return {name: value for name, value in inside.items() if not name.startswith(("cache", "out.partial"))}


def refused(folder, limits, *arguments):
    """What is said at each limit; the files stay as they were."""
    before = contents(folder)
    command = [sys.executable, "-c", CODE, ",".join(map(str, limits)), *map(str, arguments)]
    environment = {**os.environ, "XDG_CACHE_HOME": str(folder / "cache")}
    run = subprocess.run(command, capture_output=True, text=True, check=False, cwd=folder, env=environment)
    assert run.stderr == "" and run.returncode == 0, run.stderr
    lines = run.stdout.splitlines()
    assert len(lines) == len(limits)
    for limit, line in zip(limits, lines, strict=True):
        assert line.startswith("1 "), (limit, line)
        assert "File too large" in line or "No space left" in line, (limit, line)
        assert ".iokr-" not in line, (limit, line)
        assert "out" in line, (limit, line)
    after = contents(folder)
    assert {name.replace(".partial", "") for name in after} <= {*before, "out.safetensors/folds.jsonl"}
    assert all(after[name] == value for name, value in before.items())
    return lines


def test_links_train(tmp_path):
    rows = [f"n{i}\t{i // 6}\t{i % 6}\t{(i * 7) % 5}" for i in range(24)]
    (tmp_path / "nodes.tsv").write_text("\n".join(rows) + "\n")
    links = (f"n{i}\tn{j}\n" for i in range(24) for j in range(i) if i // 6 == j // 6)
    (tmp_path / "edges.tsv").write_text("".join(links))
    (tmp_path / "out.safetensors").write_bytes(b"an old model")
    files = ("-i", "nodes.tsv", "-e", "edges.tsv")
    refused(tmp_path, (0, 1, 100, 4096), "links", "train", *files, "-o", "out.safetensors", "--force", "-q")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Spectra, candidates, a model, and a folder of results."""
    pytest.importorskip("rdkit")
    from typer.testing import CliRunner

    from iokr.apps.msms.demo import write_demo
    from iokr.cli import app

    folder = tmp_path_factory.mktemp("spectra")
    write_demo(folder, n=30, unknowns=4)
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(folder)
        patch.setenv("XDG_CACHE_HOME", str(folder / "cache"))
        for arguments in (
            [*TRAIN, "-o", "model.safetensors"],
            ["msms", "identify", "-i", "unknowns.mgf", "-m", "model.safetensors", "--candidates", "candidates.tsv"],
        ):
            options = ["-q"] if "-o" in arguments else ["-o", "out", "-q"]
            result = CliRunner().invoke(app, [*arguments, *options])
            assert result.exit_code == 0, result.output
    return folder


SPECTRA = ["-i", "library.mgf", "--candidates", "library_candidates.tsv", "--fingerprints", "maccs", "--folds", "2"]
TRAIN = ["msms", "train", *SPECTRA]


def test_msms_train(made):
    (made / "out.safetensors").write_bytes(b"an old model")
    refused(made, (0, 500, 20_000), *TRAIN, "-o", "out.safetensors", "--force", "-q")


def test_msms_identify(made):
    files = ("-i", "unknowns.mgf", "-m", "model.safetensors", "--candidates", "candidates.tsv")
    refused(made, (0, 2000, 20_000), "msms", "identify", *files, "-o", "out", "--force", "-q")


def test_msms_evaluate(made):
    refused(made, (0, 2000), "msms", "evaluate", *SPECTRA, "--no-baselines", "-o", "out", "--force", "-q")
