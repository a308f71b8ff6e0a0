"""The options that the commands on spectra share."""

import enum
from pathlib import Path
from typing import Annotated

import typer

__all__ = [
    "Adduct",
    "Annotations",
    "Calibration",
    "Candidates",
    "Combine",
    "CombineOption",
    "Database",
    "Delta",
    "Fingerprints",
    "Folds",
    "FoldsFrom",
    "Format",
    "FormatOption",
    "Group",
    "GroupOption",
    "Inputs",
    "IonMode",
    "IonModeOption",
    "KernelPpm",
    "Kernels",
    "KernelsOption",
    "Match",
    "MatchOption",
    "Memory",
    "Method",
    "MethodOption",
    "MinIntensity",
    "MinPeaks",
    "Own",
    "OwnOption",
    "Pages",
    "Ppm",
    "Similarity",
    "Unlabeled",
]

Kernels = enum.StrEnum("Kernels", [("both", "peaks,losses"), ("peaks", "peaks"), ("losses", "losses"), ("six", "six")])
Combine = enum.StrEnum("Combine", ["mean", "alignf", "align"])
Method = enum.StrEnum("Method", ["reverse", "forward", "fusion"])
Group = enum.StrEnum("Group", ["inchikey14", "scaffold", "similarity"])
Calibration = enum.StrEnum("Calibration", ["folds", "split"])
Own = enum.StrEnum("Own", [("leave_out", "leave-out"), ("count", "count"), ("exclude", "exclude")])
Match = enum.StrEnum("Match", ["formula", "mass"])
IonMode = enum.StrEnum("IonMode", ["positive", "negative"])
Format = enum.StrEnum("Format", ["tsv", "csv", "json", "parquet"])

Inputs = Annotated[
    list[Path], typer.Option("-i", "--input", metavar="FILE", help="Spectra: MGF, MSP, mzML or a table; repeatable.")
]
Annotations = Annotated[
    Path | None, typer.Option("--annotations", metavar="FILE", help="A table that says more of the spectra, by id.")
]
Fingerprints = Annotated[
    str, typer.Option("--fingerprints", help="Out of maccs, morgan2, morgan3, rdkit6, atompair; with commas.")
]
KernelsOption = Annotated[
    Kernels, typer.Option("--kernels", help="What of spectra is compared; six needs the formula of every spectrum.")
]
CombineOption = Annotated[Combine, typer.Option("--combine", help="How several kernels become one.")]
MethodOption = Annotated[Method, typer.Option("--model", help="Molecules to spectra, spectra to molecules, or both.")]
KernelPpm = Annotated[float, typer.Option("--kernel-ppm", min=0.0, help="Width of a peak in the kernels.")]
Folds = Annotated[int, typer.Option("--folds", min=0, help="Over molecules; 0 trains without calibration.")]
FoldsFrom = Annotated[
    str | None, typer.Option("--folds-from", metavar="COLUMN", help="A field of the spectra that says the fold.")
]
GroupOption = Annotated[Group, typer.Option("--group", help="What folds keep together.")]
Similarity = Annotated[float, typer.Option("--similarity", min=0.0, max=1.0, help="Tanimoto of --group similarity.")]
Candidates = Annotated[
    Path | None,
    typer.Option("--candidates", metavar="FILE", help="Candidates of each spectrum: spectrum_id, smiles; or JSON."),
]
Database = Annotated[
    Path | None, typer.Option("--database", metavar="FILE", help="Molecules to take candidates from: table, SDF, SMI.")
]
MatchOption = Annotated[Match, typer.Option("--match", help="How molecules of the database become candidates.")]
Ppm = Annotated[float, typer.Option("--ppm", min=0.0, help="The mass window of --match mass.")]
Adduct = Annotated[
    str | None, typer.Option("--adduct", help="Of spectra that do not say, such as '[M+H]+'; for --match mass.")
]
IonModeOption = Annotated[IonMode | None, typer.Option("--ion-mode", help="Take the spectra of one mode only.")]
MinPeaks = Annotated[int, typer.Option("--min-peaks", min=1, help="Spectra with fewer are left out.")]
MinIntensity = Annotated[float, typer.Option("--min-intensity", min=0.0, help="Of the largest peak; smaller ones go.")]
OwnOption = Annotated[
    Own, typer.Option("--own-spectra", help="Of a candidate that is in the library: leave out, count, or exclude it.")
]
Delta = Annotated[float, typer.Option("--delta", min=0.001, max=0.999, help="Sets miss the truth this often.")]
FormatOption = Annotated[
    Format | None, typer.Option("--format", help="Format of the tables; default: to be read by people, files as tsv.")
]
Unlabeled = Annotated[
    list[Path] | None,
    typer.Option("--unlabeled", metavar="FILE", help="Spectra without structures; with --model forward or fusion."),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="Refuse what needs more, such as 4GB; default: what is free."),
]
Pages = Annotated[int, typer.Option("--pages", min=0, help="Queries drawn on the page.")]
