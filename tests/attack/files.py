"""Broken files for the readers (`iokr.apps.readers`, `iokr.files`) and for the command line."""

from __future__ import annotations

import gzip
import inspect
import io
from collections.abc import Callable, Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

import iokr.files
from attack.judge import Case, Wrong, check_finite
from attack.problems import ADJACENCY, N, X
from iokr import IOKR
from iokr.apps import readers
from iokr.kernels import RBF

__all__ = ["BROKEN", "READERS", "file_cases", "write_valid"]

NO_PATHS = (None, 5, "", "no such file.tsv", ".", "\0", "a" * 5000, b"x", object(), [], np.eye(2))
NAMES = [f"n{i}" for i in range(N)]


def nodes_text(separator: str = "\t", end: str = "\n") -> str:
    """Ids and features."""
    lines = [separator.join(["id", "a", "b", "c"])]
    lines += [separator.join([name, *map(repr, row.tolist())]) for name, row in zip(NAMES, X, strict=True)]
    return end.join(lines) + end


def edges_text(separator: str = "\t") -> str:
    """Source and target."""
    pairs = [(NAMES[i], NAMES[j]) for i, j in zip(*np.nonzero(np.triu(ADJACENCY)), strict=True)]
    return separator.join(["source", "target"]) + "\n" + "".join(f"{a}{separator}{b}\n" for a, b in pairs)


def kernel_text(separator: str = "\t") -> str:
    """A kernel matrix with ids."""
    K = X @ X.T + np.eye(N)
    lines = [separator.join(["id", *NAMES])]
    return (
        "\n".join(
            lines + [separator.join([name, *map(repr, row.tolist())]) for name, row in zip(NAMES, K, strict=True)]
        )
        + "\n"
    )


VALID = {"nodes": nodes_text, "edges": edges_text, "kernel": kernel_text}


def write_valid(folder: Path) -> dict[str, Path]:
    """The three files, whole."""
    paths = {kind: folder / f"{kind}.tsv" for kind in VALID}
    for kind, path in paths.items():
        path.write_text(VALID[kind](), encoding="utf-8")
    return paths


def _replace(old: str, new: str) -> Callable[[str], bytes]:
    return lambda text: text.replace(old, new).encode("utf-8", "surrogatepass")


def _cell(value: str) -> Callable[[str], bytes]:
    """The last cell of the fourth line."""

    def make(text: str) -> bytes:
        lines = text.split("\n")
        lines[3] = "\t".join([*lines[3].split("\t")[:-1], value])
        return "\n".join(lines).encode("utf-8", "surrogatepass")

    return make


# name: (ending, bytes made from the valid text)
BROKEN: dict[str, tuple[str, Callable[[str], bytes]]] = {
    "empty": (".tsv", lambda t: b""),
    "one newline": (".tsv", lambda t: b"\n"),
    "header alone": (".tsv", lambda t: t.split("\n")[0].encode() + b"\n"),
    "without header": (".tsv", lambda t: t.split("\n", 1)[1].encode()),
    "no last newline": (".tsv", lambda t: t.rstrip("\n").encode()),
    "Windows lines": (".tsv", lambda t: t.replace("\n", "\r\n").encode()),
    "old Mac lines": (".tsv", lambda t: t.replace("\n", "\r").encode()),
    "byte order mark": (".tsv", lambda t: t.encode("utf-8-sig")),
    "UTF-16": (".tsv", lambda t: t.encode("utf-16")),
    "Latin-1": (".tsv", lambda t: t.replace("n1", "é").encode("latin-1")),
    "random bytes": (".tsv", lambda t: np.random.default_rng(0).bytes(3000)),
    "NUL bytes": (".tsv", _replace("n1", "n\0")),
    "cut in the middle": (".tsv", lambda t: t[: len(t) // 2].encode()),
    "commas": (".tsv", lambda t: t.replace("\t", ",").encode()),
    "as csv": (".csv", lambda t: t.replace("\t", ",").encode()),
    "semicolons": (".csv", lambda t: t.replace("\t", ";").encode()),
    "an open quote": (".csv", lambda t: t.replace("\t", ",").replace("n2", '"n2').encode()),
    "blank lines": (".tsv", lambda t: t.replace("\n", "\n\n").encode()),
    "comments": (".tsv", lambda t: b"# said\n" + t.encode()),
    "a missing cell": (".tsv", _cell("")),
    "a word": (".tsv", _cell("far")),
    "NaN": (".tsv", _cell("nan")),
    "infinity": (".tsv", _cell("inf")),
    "1e400": (".tsv", _cell("1e400")),
    "1e300": (".tsv", _cell("1e300")),
    "a complex number": (".tsv", _cell("1+2j")),
    "a decimal comma": (".tsv", _cell("1,5")),
    "an integer of 5000 digits": (".tsv", _cell("9" * 5000)),
    "control characters": (".tsv", _replace("n3", "\x9b31mn3")),
    "spreadsheet formulas": (".tsv", _replace("n3", "=cmd()")),
    "right to left": (".tsv", _replace("n3", "\u202en3")),
    "equal ids": (".tsv", _replace("n3", "n2")),
    "an empty id": (".tsv", _replace("n3\t", "\t")),
    "ids with blanks": (".tsv", _replace("n3", " n3 ")),
    "a very long line": (".tsv", lambda t: t.encode() + b"n1\t" + b"x" * 300_000 + b"\n"),
    "ragged rows": (".tsv", lambda t: t.encode() + b"n99\t1\t2\t3\t4\t5\n"),
    "gzip": (".tsv.gz", lambda t: gzip.compress(t.encode())),
    "not gzip": (".tsv.gz", lambda t: t.encode()),
    "cut gzip": (".tsv.gz", lambda t: gzip.compress(t.encode())[:-9]),
    "a gzip bomb": (".tsv.gz", lambda t: gzip.compress(t.encode() + b"\0" * (600 << 20), 1)),
    "not an npy": (".npy", lambda t: t.encode()),
    "an npy of text": (".npy", lambda t: _npy(np.array(["a", "b"]))),
    "an npy of objects": (".npy", lambda t: _npy(np.array([{}, 1], dtype=object))),
    "an npy of numbers": (".npy", lambda t: _npy(X)),
    "an npy of NaN": (".npy", lambda t: _npy(X * np.nan)),
    "an npy of complex": (".npy", lambda t: _npy(X + 1j)),
    "a cut npy": (".npy", lambda t: _npy(X)[:-20]),
    "a boastful npy": (".npy", lambda t: _npy(X).replace(b"(12, 3)", b"(9999999999, 3)")),
    "not an npz": (".npz", lambda t: b"PK\x03\x04" + b"x" * 100),
    "not a parquet": (".parquet", lambda t: t.encode()),
    "no ending": ("", lambda t: t.encode()),
    "a strange ending": (".xlsx", lambda t: t.encode()),
}


def _npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array, allow_pickle=True)
    return file.getvalue()


def write_broken(folder: Path, kind: str, how: str) -> Path:
    """One of the files, broken."""
    ending, make = BROKEN[how]
    path = folder / f"{kind}-odd{ending}"
    path.write_bytes(make(VALID[kind]()))
    return path


def _read(name: str, kind: str, how: str) -> None:
    folder = Path.cwd()
    paths = write_valid(folder)
    reader = getattr(readers, name)
    odd = write_broken(folder, kind, how)
    if name == "read_network":
        found = reader(odd if kind == "edges" else paths["edges"], nodes=odd if kind == "nodes" else paths["nodes"])
        check_finite(found.nodes.X, "features")
    elif name == "read_views":
        check_finite(reader([paths["nodes"], odd]).X, "features")
    elif name == "read_kernels":
        check_finite(list((reader([odd]).kernels or {}).values()), "kernels")
    else:
        check_finite(reader(odd).X, "features")


ARCHIVES: dict[str, Callable[[bytes], bytes]] = {  # files of models
    "empty": lambda b: b"",
    "cut in the middle": lambda b: b[: len(b) // 2],
    "the last byte gone": lambda b: b[:-1],
    "more at the end": lambda b: b + b"\0",
    "another last byte": lambda b: b[:-1] + bytes([b[-1] ^ 1]),
    "another header": lambda b: b.replace(b"IOKR", b"OKRI", 1),
    "a boastful length": lambda b: b"\xff" * 8 + b[8:],
    "random bytes": lambda b: np.random.default_rng(0).bytes(3000),
    "another format": lambda b: _npy(X),
}
READERS = ("describe", "load", "load_beside", "verify")


def _archive(name: str, how: str) -> None:
    path = Path.cwd() / "model.safetensors"
    iokr.files.save(IOKR(RBF(0.5)).fit(X, X), path)
    path.write_bytes(ARCHIVES[how](path.read_bytes()))
    getattr(iokr.files, name)(path)
    if not (name in ("describe", "load_beside") and how == "another last byte"):  # they do not read the arrays
        raise Wrong("the damage was not noticed")


MGF = "".join(
    f"BEGIN IONS\nTITLE=n{i}\nPEPMASS=150.1\nCHARGE=1+\nSMILES=CCO\n77.04\t10\n91.05\t5\n105.03\t{i + 1}\nEND IONS\n"
    for i in range(5)
)
CANDIDATES = "spectrum_id\tsmiles\tname\tmass\n" + "".join(f"n{i}\tCCO\tethanol\t46.04\n" for i in range(5))
SPECTRA = {  # reader: the valid text, its ending
    "read_spectra_files": (MGF, ".mgf"),
    "read_candidates": (CANDIDATES, ".tsv"),
    "read_database": (CANDIDATES, ".tsv"),
}


def _spectra(folder: Path) -> Any:
    path = folder / "spectra.mgf"
    path.write_text(MGF)
    return readers.read_spectra_files(path)


def _read_spectra(name: str, how: str) -> None:
    """A broken file for a reader of spectra or molecules: a ValueError, or records and rejections that add up."""
    text, ending = SPECTRA[name]
    other, make = BROKEN[how]
    with TemporaryDirectory() as folder:
        path = Path(folder, f"odd{other.replace('.tsv', ending)}")
        path.write_bytes(make(text))
        if name == "read_candidates":
            readers.read_candidates(path, _spectra(Path(folder)))
        elif name == "read_database":
            readers.read_database(path)
        else:
            found = readers.read_spectra_files(path)
            left = [r for r in found.rejections if r.action == "left out"]
            if found.n_read != len(found.spectra) + len(left):
                raise Wrong(f"{found.n_read} read, {len(found.spectra)} taken, {len(left)} left out")


def _path(name: str, value: Any) -> None:
    reader = getattr(readers, name)
    if name == "read_candidates":
        with TemporaryDirectory() as folder:
            spectra = _spectra(Path(folder))
        reader(value, spectra)
        return
    reader([value] if name in ("read_kernels", "read_views") else value)


def file_cases() -> Iterator[Case]:
    """Every reader with every broken file, and with what is no path."""
    for name in READERS:
        for how in ARCHIVES:
            yield Case(f"files.{name}/path={how}", lambda n=name, h=how: _archive(n, h), ("path", "model"))
        for odd in NO_PATHS:
            yield Case(f"files.{name}/path={odd!r:.20}", lambda n=name, v=odd: getattr(iokr.files, n)(v), ("path",))
    kinds = {"read_nodes": ["nodes"], "read_kernels": ["kernel"], "read_network": ["edges", "nodes"]}
    kinds["read_views"] = ["nodes"]
    for name in sorted(n for n in readers.__all__ if n.startswith("read_") and inspect.isfunction(getattr(readers, n))):
        for kind in kinds.get(name, []):
            for how in BROKEN:
                words = ("line", "lines", "file", "column", "nodes-odd", "edges-odd", "kernel-odd", "odd")
                yield Case(f"apps.readers.{name}/{kind}={how}", lambda n=name, k=kind, h=how: _read(n, k, h), words)
        for how in BROKEN if name in SPECTRA else ():
            words = ("line", "column", "odd", "file", "spectrum", "molecule")
            yield Case(f"apps.readers.{name}/{how}", lambda n=name, h=how: _read_spectra(n, h), words)
        for odd in NO_PATHS:
            yield Case(
                f"apps.readers.{name}/path={odd!r:.20}",
                lambda n=name, v=odd: _path(n, v),
                ("path", "paths", "edges", "file", "nodes"),
            )
