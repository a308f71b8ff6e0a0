"""File formats: which exist, and how files of other formats are converted.

The suffix of a file's name states its format. Text, MGF, MSP, SDF and mzML files may be compressed, with ``.gz`` after
the suffix.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

__all__ = [
    "CANDIDATES",
    "GRAPHS",
    "MOLECULES",
    "SPECTRA",
    "TABLES",
    "as_path",
    "check_file",
    "format_of",
    "unknown_format",
]

TABLES = (".tsv", ".csv", ".txt", ".xlsx", ".parquet", ".feather", ".h5ad", ".npy", ".npz")
GRAPHS = (".sif", ".graphml", ".gml", ".cyjs", ".json", ".adjlist")
SPECTRA = (".mgf", ".msp", ".mzml", ".tsv", ".csv", ".parquet")
MOLECULES = (".sdf", ".smi", ".tsv", ".csv", ".txt", ".parquet")
CANDIDATES = (".json", ".tsv", ".csv", ".txt", ".parquet")

_CONVERSIONS = {
    ".xls": "in Excel, save it as .xlsx or 'CSV UTF-8'",
    ".ods": "in LibreOffice, save it as .xlsx or .csv",
    ".rds": "in R, write.csv(x, 'file.csv')",
    ".rdata": "in R, write.csv(x, 'file.csv')",
    ".zip": "unpack it",
    ".bz2": "unpack it (bunzip2)",
    ".xz": "unpack it (unxz)",
    ".zst": "unpack it (unzstd)",
    ".pkl": "in pandas, frame.to_parquet('file.parquet'); loading a pickle may execute any code",
    ".mat": "in Python, numpy.savez of scipy.io.loadmat",
    ".gexf": "in Gephi, export GraphML or a .csv table of edges",
    ".net": "in NetworkX, write_edgelist(read_pajek(...))",
    ".cys": "in Cytoscape, export the network as .sif, .cyjs or GraphML",
    ".loom": "in Python, anndata.read_loom(...).write_h5ad",
    ".raw": "convert it to mzML with msConvert (ProteoWizard)",
    ".mzxml": "convert it to mzML with msConvert (ProteoWizard)",
}


def format_of(path: Path) -> str:
    """The suffix that states the format, in lower case and without .gz."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def unknown_format(path: Path, formats: Iterable[str]) -> ValueError:
    """The error for a file of another format, with a conversion where one is known."""
    suffix = format_of(path)
    if suffix in _CONVERSIONS:
        return ValueError(f"{path}: {suffix} files are not supported; {_CONVERSIONS[suffix]}.")
    return ValueError(f"{path}: unknown format; the file name must end in one of {', '.join(formats)}.")


def as_path(path: Any, name: str = "path") -> Path:
    """A string or path as a path."""
    if not isinstance(path, (str, Path)):
        raise TypeError(f"`{name}` must be the path of a file, got {path!r:.60}.")
    return Path(path)


def check_file(path: Path) -> None:
    """Raise FileNotFoundError unless there is a file at `path`."""
    try:
        if path.is_file():
            return
        reason = "is a folder, not a file" if path.is_dir() else "does not exist"
    except (OSError, ValueError) as error:  # the name is too long, or contains a NUL character
        reason = f"is not a valid path: {error!s:.80}"
    raise FileNotFoundError(f"{path!s:.200} {reason}.")
