"""Options of `iokr msms`, and the arguments of `iokr.apps.msms` that they are."""

import enum
from pathlib import Path
from typing import Annotated, Literal

import typer

from iokr.cli.shared import Seed

__all__ = ["Delta", "FormatOption", "Group", "Inputs", "Own", "learning", "matching", "reading"]


def _bytes(size: str | None) -> float | None:
    """4GB, 500MB, 1.5e9."""
    if size is None:
        return None
    text = size.strip().upper().removesuffix("B")
    unit = {"K": 1e3, "M": 1e6, "G": 1e9, "T": 1e12}.get(text[-1:], 1.0)
    try:
        value = float(text.rstrip("KMGT")) * unit
    except ValueError:
        value = 0.0
    if not 0 < value < float("inf"):
        raise typer.BadParameter(f"{size!r} is not a size; give one such as 4GB or 500MB.")
    return value


Group = enum.StrEnum("Group", ["inchikey14", "scaffold", "similarity"])  # of a repeatable option

Inputs = Annotated[
    list[Path], typer.Option("-i", "--input", metavar="FILE", help="Spectra: MGF, MSP, mzML or a table; repeatable.")
]
Own = Annotated[
    Literal["leave-out", "count", "exclude"],
    typer.Option(
        "--own-spectra",
        help="Candidates in the training set: leave their spectra out of the score, count them in it, or exclude the "
        "candidate.",
    ),
]
Delta = Annotated[
    float, typer.Option("--delta", min=0.001, max=0.999, help="Nominal coverage of prediction sets: 1 − delta.")
]
FormatOption = Annotated[
    Literal["tsv", "csv", "json", "parquet"] | None,
    typer.Option("--format", help="Format of the tables; default: aligned text, and TSV files."),
]


def reading(
    annotations: Annotated[
        Path | None,
        typer.Option("--annotations", metavar="FILE", help="Table with further metadata of the spectra, joined by id."),
    ] = None,
    ion_mode: Annotated[
        Literal["positive", "negative"] | None,
        typer.Option("--ion-mode", help="Use only the spectra of this ion mode."),
    ] = None,
    min_peaks: Annotated[int, typer.Option("--min-peaks", min=1, help="Minimum number of peaks of a spectrum.")] = 3,
    min_intensity: Annotated[
        float,
        typer.Option("--min-intensity", min=0.0, help="Minimum intensity of a peak, relative to the largest."),
    ] = 0.001,
) -> None:
    """Options that are arguments of `iokr.apps.msms.read_spectra`."""


def matching(
    candidates: Annotated[
        Path | None,
        typer.Option(
            "--candidates", metavar="FILE", help="Candidates of each spectrum: columns spectrum_id, smiles; or JSON."
        ),
    ] = None,
    database: Annotated[
        Path | None,
        typer.Option(
            "--database", metavar="FILE", help="Molecules from which candidates are selected: table, SDF, SMI."
        ),
    ] = None,
    match: Annotated[
        Literal["formula", "mass"],
        typer.Option("--match", help="Match the molecules of the database by formula or by mass."),
    ] = "formula",
    ppm: Annotated[float, typer.Option("--ppm", min=0.0, help="Mass window of --match mass, in ppm.")] = 10.0,
    adduct: Annotated[
        str | None, typer.Option("--adduct", help="Adduct for spectra without one, such as '[M+H]+'; for --match mass.")
    ] = None,
) -> None:
    """Options that determine the candidates of each spectrum."""


def learning(
    fingerprints: Annotated[
        str, typer.Option("--fingerprints", help="Comma-separated: maccs, morgan2, morgan3, rdkit6, atompair.")
    ] = "maccs,morgan2,rdkit6",
    kernels: Annotated[
        Literal["peaks,losses", "peaks", "losses", "six"],
        typer.Option(
            "--kernels",
            help="Kernels on peaks and neutral losses; six adds sub-formulas and needs the formula of every spectrum.",
        ),
    ] = "peaks,losses",
    combine: Annotated[
        Literal["mean", "alignf", "align"],
        typer.Option("--combine", help="Weights of the kernels: equal (mean), or by alignment with the molecules."),
    ] = "mean",
    method: Annotated[
        Literal["reverse", "forward", "fusion"],
        typer.Option(
            "--model",
            help="Model from molecules to spectra (reverse), from spectra to molecules (forward), or both (fusion).",
        ),
    ] = "reverse",
    kernel_ppm: Annotated[
        float, typer.Option("--kernel-ppm", min=0.0, help="Standard deviation of m/z in the kernels, in ppm.")
    ] = 5.0,
    folds_from: Annotated[
        str | None,
        typer.Option("--folds-from", metavar="COLUMN", help="Metadata field that gives the fold of each spectrum."),
    ] = None,
    similarity: Annotated[
        float, typer.Option("--similarity", min=0.0, max=1.0, help="Tanimoto threshold of --group similarity.")
    ] = 0.7,
    unlabeled: Annotated[
        list[Path] | None,
        typer.Option("--unlabeled", metavar="FILE", help="Spectra without structures, for --model forward or fusion."),
    ] = None,
    memory: Annotated[
        str | None,
        typer.Option(
            "--memory", metavar="SIZE", help="Memory limit, such as 4GB; default: the free memory.", callback=_bytes
        ),
    ] = None,
    seed: Seed = 0,
) -> None:
    """Options that are arguments of `iokr.apps.msms.train` and of `evaluate`."""
