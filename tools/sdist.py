"""The source distribution is whole: build it, unpack it, run from it the tests that read other files: `make sdist`."""

from __future__ import annotations

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[1]
TESTS = ("tests/docs", "tests/tools", "tests/test_layers.py", "tests/test_layout.py", "tests/test_readme.py")
NEEDED = ("CONTRIBUTING.md", "CHANGELOG.md", "LICENSE", "Makefile", "README.md", "pyproject.toml")
NEEDED += (".ci/run", "docs/conf.py", "examples", "src/iokr_lab", "tests/conftest.py", "tools/check_house.py")


def build(folder: Path) -> Path:
    """Write the archive to `folder`, unpack it there, and return the unpacked tree."""
    subprocess.run([sys.executable, "-m", "hatchling", "build", "-t", "sdist", "-d", str(folder)], cwd=ROOT, check=True)
    [archive] = folder.glob("*.tar.gz")
    with tarfile.open(archive) as tar:
        tar.extractall(folder, filter="data")
    print(f"{archive.name}: {archive.stat().st_size / 1e6:.1f} MB")
    return folder / archive.name.removesuffix(".tar.gz")


def main() -> int:
    """1 when a file is missing or a test fails."""
    with tempfile.TemporaryDirectory() as folder:
        tree = build(Path(folder))
        missing = [name for name in NEEDED if not (tree / name).exists()]
        if missing:
            print(f"not in the source distribution: {', '.join(missing)}")
            return 1
        tests = [name for name in TESTS if (tree / name).exists()]
        environment = os.environ | {"PYTHONPATH": str(tree / "src"), "MPLBACKEND": "Agg"}
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
        return subprocess.run(command, cwd=tree, env=environment, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
