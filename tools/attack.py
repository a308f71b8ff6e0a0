"""Odd inputs against every public callable: run as `make attack`, or `python tools/attack.py`.

Each case runs in a process of its own, with limits of time and memory (`tests/attack`). Without options a spread of
`CASES` out of the whole product runs; `--part 2/6` runs another part, `--all` everything, `--case NAME` one case with
its traceback. Counts are printed by callable and outcome; failing cases are written to `attack-failures.tsv`.
"""

from __future__ import annotations

import runpy
import sys
from pathlib import Path

CASES = 3_000

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))
    if not {"--part", "--sample", "--case", "--only", "--relations", "--all", "--list"} & set(sys.argv):
        sys.argv += ["--sample", str(CASES), "--strict"]
    runpy.run_module("attack", run_name="__main__")
