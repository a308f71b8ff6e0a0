"""`iokr msms train`, `identify`, `evaluate` and `demo`."""

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iokr._files import write_atomically
from iokr.cli.group import Commands
from iokr.cli.shared import Force, FormatOption, Quiet, Seed, SpreadsheetSafe, Verbose, guarded, new_file, perform, say

if TYPE_CHECKING:
    from iokr.cli.msms.options import Learning, Matching, Reading
    from iokr.report import Progress, Report

__all__ = ["msms"]

msms = typer.Typer(
    cls=Commands,
    name="msms",
    help="Find the molecules of tandem mass spectra among candidates.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

Kernels = enum.StrEnum("Kernels", [("both", "peaks,losses"), ("peaks", "peaks"), ("losses", "losses"), ("six", "six")])
Combine = enum.StrEnum("Combine", ["mean", "alignf", "align"])
Method = enum.StrEnum("Method", ["reverse", "forward", "fusion"])
Group = enum.StrEnum("Group", ["inchikey14", "scaffold", "similarity"])
Calibration = enum.StrEnum("Calibration", ["folds", "split"])
Own = enum.StrEnum("Own", [("leave_out", "leave-out"), ("count", "count"), ("exclude", "exclude")])
Match = enum.StrEnum("Match", ["formula", "mass"])
IonMode = enum.StrEnum("IonMode", ["positive", "negative"])

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
Pages = Annotated[int, typer.Option("--pages", min=0, help="Queries drawn on the page.")]


@msms.command("train")
@guarded
def train(
    context: typer.Context,
    input: Inputs,
    annotations: Annotations = None,
    candidates: Candidates = None,
    database: Database = None,
    match: MatchOption = Match.formula,
    ppm: Ppm = 10.0,
    adduct: Adduct = None,
    fingerprints: Fingerprints = "maccs,morgan2,rdkit6",
    kernels: KernelsOption = Kernels.both,
    combine: CombineOption = Combine.mean,
    model: MethodOption = Method.reverse,
    kernel_ppm: KernelPpm = 5.0,
    folds: Folds = 5,
    folds_from: FoldsFrom = None,
    group: GroupOption = Group.inchikey14,
    similarity: Similarity = 0.7,
    calibration: Annotated[
        Calibration, typer.Option("--calibration", help="Out of fold, or on molecules kept for it alone.")
    ] = Calibration.folds,
    ion_mode: IonModeOption = None,
    min_peaks: MinPeaks = 3,
    min_intensity: MinIntensity = 0.001,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The model.")] = Path(
        "model.safetensors"
    ),
    force: Annotated[bool, typer.Option("--force", help="Write over an earlier model.")] = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Learn from spectra with known structures, and keep the model in a file.

    With candidates the model is calibrated: probabilities, and sets that hold the truth. A run that was killed goes on
    from its finished folds. Rows that did not fit are in rejected.tsv beside the model.
    """
    from iokr.cli.msms.training import train as learn

    beside = output.with_name(f"{output.name.removesuffix('.safetensors')}.rejected.tsv")
    _check_folds(folds)
    _check_matching(candidates, database, needed=False)
    reading, learning, matching = _parts(context)
    paths, left = [*reading.paths(), *matching.paths()], list[str]()

    def run(progress: "Progress") -> "Report":
        report = learn(reading, learning, matching, output, progress)
        left.append(report.files["rejected.tsv"])
        return report

    with new_file(output, beside, force=force, inputs=paths):
        perform(context, run, None)
        if left[0].count("\n") > 1:
            with write_atomically(beside) as file:
                file.write(left[0].encode())
            say(f"records that did not fit are in {beside}", quiet=quiet)
        else:
            beside.unlink(missing_ok=True)  # of an earlier model
    if not matching.paths() or not folds:
        say("iokr: no candidates, so no calibration: identify will leave probability and in_set empty.", quiet=quiet)
    say(f"\nwrote {output}", quiet=quiet)


@msms.command("identify")
@guarded
def identify(
    context: typer.Context,
    input: Inputs,
    model: Annotated[Path, typer.Option("-m", "--model", metavar="FILE", help="A model of `iokr msms train`.")],
    annotations: Annotations = None,
    candidates: Candidates = None,
    database: Database = None,
    match: MatchOption = Match.formula,
    ppm: Ppm = 10.0,
    adduct: Adduct = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Candidates listed for each spectrum.")] = 20,
    delta: Delta = 0.1,
    own_spectra: OwnOption = Own.leave_out,
    sirius_columns: Annotated[
        bool, typer.Option("--sirius-columns", help="Columns named as SIRIUS names them.")
    ] = False,
    pages: Pages = 20,
    ion_mode: IonModeOption = None,
    min_peaks: MinPeaks = 3,
    min_intensity: MinIntensity = 0.001,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder of the results.")] = Path(
        "iokr-msms"
    ),
    force: Force = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Rank the candidates of unknown spectra.

    The folder gets candidates.tsv, spectra.tsv (the best of each), rejected.tsv, metrics.json, run.json and
    report.html. Interrupted, it keeps the finished queries, and the same command goes on.
    """
    from iokr.cli.msms.identification import Request
    from iokr.cli.msms.identification import identify as rank

    _check_matching(candidates, database, needed=True)
    reading, _, matching = _parts(context)
    suffix = str(format) if format else "tsv"
    request = Request(
        top=top,
        delta=delta,
        own=str(own_spectra),
        pages=pages,
        sirius=sirius_columns,
        format=suffix,
        safe=spreadsheet_safe,
    )
    perform(
        context,
        lambda progress: rank(reading, model, matching, request, output, progress),
        output,
        more=(f"candidates.{suffix}", f"spectra.{suffix}", "rejected.tsv"),
    )


@msms.command("evaluate")
@guarded
def evaluate(
    context: typer.Context,
    input: Annotated[
        list[Path] | None, typer.Option("-i", "--input", metavar="FILE", help="Spectra with structures; repeatable.")
    ] = None,
    annotations: Annotations = None,
    candidates: Candidates = None,
    database: Database = None,
    match: MatchOption = Match.formula,
    ppm: Ppm = 10.0,
    adduct: Adduct = None,
    results: Annotated[Path | None, typer.Option("--results", help="Judge this candidates.tsv instead.")] = None,
    truth: Annotated[Path | None, typer.Option("--truth", help="Its truths: spectrum_id and smiles.")] = None,
    rivals: Annotated[bool, typer.Option("--rivals/--no-rivals", help="Library search and others beside it.")] = True,
    fingerprints: Fingerprints = "maccs,morgan2,rdkit6",
    kernels: KernelsOption = Kernels.both,
    combine: CombineOption = Combine.mean,
    model: MethodOption = Method.reverse,
    kernel_ppm: KernelPpm = 5.0,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Over molecules.")] = 5,
    folds_from: FoldsFrom = None,
    group: GroupOption = Group.inchikey14,
    similarity: Similarity = 0.7,
    own_spectra: OwnOption = Own.leave_out,
    delta: Delta = 0.1,
    ion_mode: IonModeOption = None,
    min_peaks: MinPeaks = 3,
    min_intensity: MinIntensity = 0.001,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder of the results.")] = Path(
        "iokr-msms-evaluate"
    ),
    force: Force = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """How often is the truth first, by folds over molecules, beside library search?

    With --group scaffold or similarity the same folds by larger groups stand beside it. Or judge the table of an
    earlier `identify` with --results and --truth.
    """
    from iokr.cli.msms.evaluation import evaluate as judge_folds
    from iokr.cli.msms.evaluation import judge

    if (results is None) != (truth is None):
        raise typer.BadParameter("--results and --truth go together.", param_hint="--results / --truth")
    if results is not None and truth is not None:
        perform(context, lambda progress: judge(results, truth), output)
        return
    if not input:
        raise typer.BadParameter("give spectra with -i, or --results and --truth.", param_hint="--input")
    if own_spectra == Own.exclude:
        raise typer.BadParameter(
            "exclude tells the model what folds by molecule guarantee; it is for identify.", param_hint="--own-spectra"
        )
    _check_matching(candidates, database, needed=True)
    reading, learning, matching = _parts(context)
    perform(
        context,
        lambda progress: judge_folds(
            reading, learning, matching, output, progress, rivals=rivals, delta=delta, safe=spreadsheet_safe
        ),
        output,
        more=("queries.tsv", "rejected.tsv"),
    )


@msms.command("demo")
@guarded
def demo(
    context: typer.Context,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder of the results.")] = Path(
        "iokr-msms-demo"
    ),
    force: Force = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train, identify and evaluate on spectra that are made here.

    Molecules of rings, chains and ends, and a peak for each part that a broken bond leaves: toy spectra, of positive
    mode and [M+H]+ alone. Negative mode, Na and other adducts are read from your files; each mode needs a model.
    """
    from iokr.cli.msms.demo import write_demo
    from iokr.cli.msms.identification import Request
    from iokr.cli.msms.identification import identify as rank
    from iokr.cli.msms.options import Learning, Matching, Reading
    from iokr.cli.msms.training import train as learn

    if output.exists() and any(output.iterdir()) and not force:
        raise FileExistsError(f"{output} is there already; use --force to write over it, or -o another folder.")
    paths = write_demo(output / "data", seed)
    learning = Learning(seed=seed)
    model = output / "model.safetensors"
    say(f"wrote {', '.join(path.name for path in paths.values())} to {output / 'data'}", quiet=quiet)
    say(f"iokr msms train -i library.mgf --candidates library_candidates.tsv -o {model.name}", quiet=quiet)
    known = Matching(paths["library_candidates.tsv"])
    learn(Reading((paths["library.mgf"],)), learning, known, model, lambda done, total, what: None)
    say(f"iokr msms identify -i unknowns.mgf -m {model.name} --candidates candidates.tsv -o results", quiet=quiet)
    results, matching = output / "results", Matching(paths["candidates.tsv"])
    perform(
        context,
        lambda progress: rank(Reading((paths["unknowns.mgf"],)), model, matching, Request(), results, progress),
        results,
        more=("candidates.tsv", "spectra.tsv", "rejected.tsv"),
    )
    from iokr.cli.msms.evaluation import judge
    from iokr.cli.shared import print_tables

    judged = judge(results / "candidates.tsv", paths["truth.tsv"])
    print_tables(judged.tables)
    say(judged.summary, quiet=quiet)


def _check_folds(folds: int) -> None:
    if folds == 1:
        raise typer.BadParameter("one fold leaves nothing to learn from; give 0, or 2 and more.", param_hint="--folds")


def _check_matching(candidates: Path | None, database: Path | None, *, needed: bool) -> None:
    if candidates is not None and database is not None:
        raise typer.BadParameter("give one of them.", param_hint="--candidates / --database")
    if needed and candidates is None and database is None:
        raise typer.BadParameter("give one of them: what is ranked.", param_hint="--candidates / --database")


def _parts(context: typer.Context) -> "tuple[Reading, Learning, Matching]":
    """The options of a command as three values."""
    from iokr.cli.msms.options import Learning, Matching, Reading

    given: dict[str, Any] = {
        name: str(value) if isinstance(value, enum.StrEnum) else value for name, value in context.params.items()
    }
    reading = Reading(
        tuple(given["input"]), given["annotations"], given["ion_mode"], given["min_peaks"], given["min_intensity"]
    )
    matching = Matching(*(given[name] for name in ("candidates", "database", "match", "ppm", "adduct")))
    names = ("fingerprints", "kernels", "combine", "model", "kernel_ppm", "folds", "folds_from", "group", "similarity")
    known = {name: given[name] for name in (*names, "calibration", "seed") if name in given and name != "model"}
    if "kernels" in given:
        known["model"] = given["model"]
    if "own_spectra" in given:
        known["own"] = given["own_spectra"]
    return reading, Learning(**known), matching
