"""Build both source distributions, unpack them, and run tests from the unpacked trees: `make sdist`."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]

# Tests that read files outside the package; the trees need nothing else of the repository.
TESTS = ("tests/docs", "tests/tools", "tests/test_layers.py", "tests/test_layout.py", "tests/test_readme.py")
LAB_TESTS = ("tests/test_experiment.py", "tests/test_published.py", "tests/test_study.py", "tests/test_tables.py")

NEEDED = ("CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "Makefile", "README.md", "pyproject.toml")
NEEDED += (".ci/run", "docs/conf.py", "examples", "lab/pyproject.toml", "lab/src/iokr_lab", "lab/tests")
NEEDED += ("tests/conftest.py", "tools/check_house.py")
LAB_NEEDED = ("LICENSE", "README.md", "pyproject.toml", "src/iokr_lab/times.tsv", "src/iokr_lab/published")


def build(project: Path, folder: Path) -> Path:
    """Write the source distribution of a project to `folder`, unpack it there, and return the unpacked tree."""
    command = [sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)]
    subprocess.run(command, cwd=project, check=True)
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB")
    return folder / archive.name.removesuffix(".tar.gz")


def missing(tree: Path, needed: tuple[str, ...]) -> list[str]:
    """The needed files that an unpacked tree does not have."""
    return [f"{tree.name}/{name}" for name in needed if not (tree / name).exists()]


def run_tests(tree: Path, names: tuple[str, ...], sources: list[Path], configuration: Path) -> int:
    """The exit code of pytest on tests of an unpacked tree, with the packages of `sources`."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, sources)), "MPLBACKEND": "Agg"}
    present = [name for name in names if (tree / name).exists()]
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-c", str(configuration), *present]
    return subprocess.run(command, cwd=tree, env=environment, check=False).returncode


def main() -> int:
    """1 when a file is missing or a test fails."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as lab_folder:
        tree = build(ROOT, Path(folder))
        lab = build(ROOT / "lab", Path(lab_folder))
        absent = missing(tree, NEEDED) + missing(lab, LAB_NEEDED)
        if absent:
            print(f"not in the source distribution: {', '.join(absent)}")
            return 1
        configuration = tree / "pyproject.toml"
        failed = run_tests(tree, TESTS, [tree / "src", tree / "lab" / "src"], configuration)
        lab_failed = run_tests(lab, LAB_TESTS, [tree / "src", lab / "src"], configuration)
        return 1 if failed or lab_failed else 0


if __name__ == "__main__":
    sys.exit(main())
