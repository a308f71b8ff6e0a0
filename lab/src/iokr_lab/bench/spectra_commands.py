"""`iokr msms train` and `identify` as a user runs them: seconds, processor time and memory of their processes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import Any

import numpy as np

from iokr.apps.report import Table
from iokr_lab.bench.base import Run, Section, Verdict

__all__ = ["COMMANDS", "measured", "write_questions"]

_THREADS = "2"
_QUERIES = 100
_CANDIDATES = 50


def measured(command: Sequence[str], cache: Path) -> dict[str, float]:
    """Seconds, those of the processor, and the peak in bytes of `iokr msms …`; fingerprints are kept in `cache`."""
    import matplotlib

    threads = {f"{name}_NUM_THREADS": _THREADS for name in ("OMP", "OPENBLAS", "MKL")}
    # Without the time of listing fonts.
    threads["MPLCONFIGDIR"] = os.environ.get("MPLCONFIGDIR", matplotlib.get_cachedir())
    start = perf_counter()
    with TemporaryDirectory(prefix="iokr-") as folder, Path(folder, "messages").open("w+") as messages:
        child = subprocess.Popen(
            [sys.executable, "-m", "iokr.cli", "msms", *command],
            env={**os.environ, **threads, "XDG_CACHE_HOME": str(cache)},
            stdout=subprocess.DEVNULL,
            stderr=messages,
        )
        _, status, used = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        seconds = perf_counter() - start
        if child.returncode:
            messages.seek(0)
            raise RuntimeError(f"iokr msms {' '.join(command)} failed:\n{messages.read()}")
    unit = 1 if sys.platform == "darwin" else 1024
    return {"seconds": seconds, "processor": used.ru_utime + used.ru_stime, "bytes": used.ru_maxrss * unit}


def write_questions(folder: Path, n: int = _QUERIES, size: int = _CANDIDATES) -> tuple[Path, Path]:
    """n spectra of MassBank, and `size` candidates of each: those of its formula, then those of the nearest mass."""
    from iokr.chem.formulas import formula_mass, parse_formula
    from iokr_lab.data.massbank import load_massbank_msms, write_massbank_files

    bank = load_massbank_msms()
    rows = np.linspace(0, len(bank.spectra) - 1, n).astype(int)
    mgf, table = write_massbank_files(folder, rows)
    each = {formula: formula_mass(parse_formula(str(formula))) for formula in np.unique(bank.formulas)}
    masses = np.array([each[formula] for formula in bank.formulas])
    with table.open("w", encoding="utf-8") as file:
        file.write("spectrum_id\tsmiles\tcandidate_id\n")
        for i in rows:
            order = np.argsort(np.abs(masses - masses[i]) + (bank.formulas != bank.formulas[i]), kind="stable")[:size]
            name = bank.spectra.metadata[i]["id"]
            file.writelines(f"{name}\t{bank.smiles[j]}\tM{j + 1:05d}\n" for j in order)
    return mgf, table


def _work(run: Run) -> tuple[list[Table], list[Verdict]]:
    with TemporaryDirectory(prefix="iokr-") as name:
        folder = Path(name)
        library, queries = _files(folder, run.quick)
        model = folder / "model.safetensors"
        cache = folder / "cache"
        train = ["train", "-i", str(library[0]), "--candidates", str(library[1]), "-o", str(model)]
        train += ["--fingerprints", "maccs", "--folds", "2"] if run.quick else []
        asked = ["identify", "-i", str(queries[0]), "-m", str(model), "--candidates", str(queries[1])]
        rows: list[dict[str, Any]] = []

        def ask(what: str, command: list[str], kept: Path) -> dict[str, float]:
            run.step(what)
            found = measured(command, kept)
            rows.append(
                {"what": what, "seconds": found["seconds"], "processor": found["processor"], "MB": found["bytes"] / 1e6}
            )
            return found

        trained = ask("train, no fingerprint known", train, cache)
        cold = ask("identify, no fingerprint known", [*asked, "-o", str(folder / "cold")], folder / "other")
        warm = ask("identify, fingerprints known", [*asked, "-o", str(folder / "warm")], folder / "other")
    note = (
        f"Whole commands, from files to files, on {_THREADS} threads: 3991 spectra with all molecules of their "
        f"formulas; then {_QUERIES} spectra with {_CANDIDATES} candidates each. The model is computed again from its "
        "data at every `identify`."
    )
    verdicts = [
        Verdict("seconds of `iokr msms train` on 3991 spectra", trained["seconds"], 600.0),
        Verdict("GB of `iokr msms train` on 3991 spectra", trained["bytes"] / 1e9, 3.0),
        Verdict("seconds of `iokr msms identify`, fingerprints known", warm["seconds"], 60.0),
        Verdict("seconds of `iokr msms identify`, no fingerprint known", cold["seconds"], 120.0),
        Verdict("GB of `iokr msms identify`", max(cold["bytes"], warm["bytes"]) / 1e9, 1.0),
    ]
    return [Table("The commands on spectra", rows, note)], verdicts


def _files(folder: Path, quick: bool) -> tuple[tuple[Path, Path], tuple[Path, Path]]:
    if quick:
        from iokr.apps.msms.demo import write_demo

        made = write_demo(folder / "made", n=24, unknowns=4)
        return (made["library.mgf"], made["library_candidates.tsv"]), (made["unknowns.mgf"], made["candidates.tsv"])
    from iokr_lab.data.massbank import write_massbank_files

    return write_massbank_files(folder / "library"), write_questions(folder / "questions")


def _missing() -> str | None:
    from importlib.util import find_spec

    from iokr.datasets import DataNotFound
    from iokr_lab.data.massbank import load_massbank_msms

    if find_spec("rdkit") is None:
        return "RDKit is not installed"
    if not hasattr(os, "wait4"):
        return "this system does not report what a process has used"
    try:
        load_massbank_msms()
    except DataNotFound as error:
        return str(error).rstrip(".")
    return None


COMMANDS = Section("the commands on spectra", _work, _missing)
