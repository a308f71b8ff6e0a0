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
    Path | None,
    typer.Option("--annotations", metavar="FILE", help="Table with more metadata of the spectra, joined by id."),
]
Fingerprints = Annotated[
    str, typer.Option("--fingerprints", help="Of maccs, morgan2, morgan3, rdkit6, atompair; comma-separated.")
]
KernelsOption = Annotated[
    Kernels, typer.Option("--kernels", help="Kernels on spectra; six needs the formula of every spectrum.")
]
CombineOption = Annotated[Combine, typer.Option("--combine", help="Weights of the kernels: equal, or by alignment.")]
MethodOption = Annotated[
    Method, typer.Option("--model", help="Maps molecules to spectra, spectra to molecules, or both.")
]
KernelPpm = Annotated[float, typer.Option("--kernel-ppm", min=0.0, help="Peak width in the kernels, in ppm.")]
Folds = Annotated[int, typer.Option("--folds", min=0, help="Folds over molecules; 0 trains without calibration.")]
FoldsFrom = Annotated[
    str | None, typer.Option("--folds-from", metavar="COLUMN", help="Metadata field with the fold of each spectrum.")
]
GroupOption = Annotated[Group, typer.Option("--group", help="Groups that folds keep together.")]
Similarity = Annotated[
    float, typer.Option("--similarity", min=0.0, max=1.0, help="Tanimoto threshold of --group similarity.")
]
Candidates = Annotated[
    Path | None,
    typer.Option(
        "--candidates", metavar="FILE", help="Candidates of each spectrum: columns spectrum_id, smiles; or JSON."
    ),
]
Database = Annotated[
    Path | None,
    typer.Option("--database", metavar="FILE", help="Molecules from which candidates are taken: table, SDF, SMI."),
]
MatchOption = Annotated[
    Match, typer.Option("--match", help="Match the molecules of the database by formula or by mass.")
]
Ppm = Annotated[float, typer.Option("--ppm", min=0.0, help="Mass window of --match mass, in ppm.")]
Adduct = Annotated[str | None, typer.Option("--adduct", help="Default adduct, such as '[M+H]+'; for --match mass.")]
IonModeOption = Annotated[IonMode | None, typer.Option("--ion-mode", help="Use the spectra of this mode only.")]
MinPeaks = Annotated[int, typer.Option("--min-peaks", min=1, help="Minimum number of peaks of a spectrum.")]
MinIntensity = Annotated[
    float, typer.Option("--min-intensity", min=0.0, help="Minimum intensity of a peak, relative to the largest.")
]
OwnOption = Annotated[
    Own,
    typer.Option(
        "--own-spectra",
        help="Training spectra of a candidate: left out of its score, counted, or the candidate excluded.",
    ),
]
Delta = Annotated[float, typer.Option("--delta", min=0.001, max=0.999, help="Prediction sets have coverage 1 − delta.")]
FormatOption = Annotated[
    Format | None, typer.Option("--format", help="Format of the tables; default: aligned text, and TSV files.")
]
Unlabeled = Annotated[
    list[Path] | None,
    typer.Option("--unlabeled", metavar="FILE", help="Spectra without structures, for --model forward or fusion."),
]
Memory = Annotated[
    str | None,
    typer.Option("--memory", metavar="SIZE", help="Memory limit, such as 4GB; default: the free memory."),
]
Pages = Annotated[int, typer.Option("--pages", min=0, help="Number of spectra drawn on the page.")]
