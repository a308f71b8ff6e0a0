"""What every experiment costs: processor seconds of its short plan, and how many cells it and the default have.

    python tools/times.py [NAME ...] [--limit SECONDS]

Each runs in a process of its own, on one thread; `lab/src/iokr_lab/times.tsv`, which `iokr reproduce` shows, keeps the
others. Processor seconds, so that a busy machine changes little. One that passes the limit is stopped, and its time
extrapolated from the cells that it has finished: "about". With the published data all of them take an hour or two.
"""

import argparse
import csv
import json
import os
import subprocess
import sys
import threading
import time
import warnings
from importlib import import_module
from pathlib import Path

TABLE = Path(__file__).parents[1] / "lab" / "src" / "iokr_lab" / "times.tsv"
COLUMNS = ("name", "seconds", "cells", "default_cells", "how")


def measure(name: str, limit: float) -> None:
    """Run one, and print what was measured as a line of JSON."""
    from iokr_lab import find
    from iokr_lab.study import run

    warnings.simplefilter("ignore")
    study = import_module(f"iokr_lab.{find(name).module}").STUDY
    default = study.plans["default"]
    found = {"name": name, "default_cells": len(study.cases(default, study.load(default)))}
    begin, state = time.process_time(), [0, 1]

    def tell(how: str, seconds: float, cells: int) -> None:
        print(json.dumps({**found, "seconds": round(seconds, 1), "cells": cells, "how": how}), flush=True)

    def watch() -> None:
        while (spent := time.process_time() - begin) < limit:
            time.sleep(0.2)
        if state[0]:
            tell("about", spent * state[1] / state[0], state[1])
        os._exit(0)

    def progress(done: int, n: int, what: str) -> None:
        state[:] = done, n

    threading.Thread(target=watch, daemon=True).start()
    report = run(study, study.plan("short"), n_jobs=1, progress=progress)
    tell("measured", time.process_time() - begin, int(report.info["cells"]))


def main() -> None:
    """The requested ones, one after the other."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*")
    parser.add_argument("--limit", type=float, default=600.0, help="processor seconds for one")
    parser.add_argument("--one", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return measure(options.names[0], options.limit)
    from iokr_lab import EXPERIMENTS

    rows = {row["name"]: row for row in csv.DictReader(TABLE.open(encoding="utf-8"), delimiter="\t")}
    for name in options.names or [experiment.name for experiment in EXPERIMENTS if not experiment.missing()]:
        command = [sys.executable, __file__, name, "--one", "--limit", str(options.limit)]
        lines = subprocess.run(command, capture_output=True, text=True).stdout.splitlines()
        if lines:
            rows[name] = json.loads(lines[-1])
            print(rows[name], flush=True)
        with TABLE.open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, COLUMNS, delimiter="\t", lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows[one.name] for one in EXPERIMENTS if one.name in rows)
    return None


if __name__ == "__main__":
    main()
