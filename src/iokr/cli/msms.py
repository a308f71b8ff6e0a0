"""`iokr msms train`, `identify`, `evaluate` and `demo`."""

import enum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iokr._system.files import write_atomically
from iokr.cli.group import Commands
from iokr.cli.msms_options import (
    Adduct,
    Annotations,
    Calibration,
    Candidates,
    Combine,
    CombineOption,
    Database,
    Delta,
    Fingerprints,
    Folds,
    FoldsFrom,
    FormatOption,
    Group,
    GroupOption,
    Inputs,
    IonModeOption,
    KernelPpm,
    Kernels,
    KernelsOption,
    Match,
    MatchOption,
    Memory,
    Method,
    MethodOption,
    MinIntensity,
    MinPeaks,
    Own,
    OwnOption,
    Pages,
    Ppm,
    Similarity,
    Unlabeled,
)
from iokr.cli.shared import Force, Quiet, Seed, SpreadsheetSafe, Verbose, guarded, new_file, perform, say

if TYPE_CHECKING:
    from iokr.apps.msms.options import Learning, Matching, Reading
    from iokr.apps.report import Progress, Report

__all__ = ["msms"]

msms = typer.Typer(
    cls=Commands,
    name="msms",
    help="Find the molecules of tandem mass spectra among candidates.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)


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
    unlabeled: Unlabeled = None,
    store_factor: Annotated[
        bool,
        typer.Option("--store-factor", help="A model of 16 n² bytes that need not be computed again when it is used."),
    ] = False,
    ion_mode: IonModeOption = None,
    min_peaks: MinPeaks = 3,
    min_intensity: MinIntensity = 0.001,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The model.")] = Path(
        "model.safetensors"
    ),
    memory: Memory = None,
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
    from iokr.apps.msms.training import train as learn

    beside = output.with_name(f"{output.name.removesuffix('.safetensors')}.rejected.tsv")
    _check_folds(folds)
    _check_matching(candidates, database, needed=False)
    _check_unlabeled(unlabeled, model)
    _bytes(memory)
    reading, learning, matching = _parts(context)
    paths, left = [*reading.paths(), *matching.paths()], list[str]()

    def run(progress: "Progress") -> "Report":
        report = learn(reading, learning, matching, output, progress, store_factor=store_factor, memory=_bytes(memory))
        left.append(str(report.files["rejected.tsv"]))
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
    write_fingerprints: Annotated[
        bool, typer.Option("--write-fingerprints", help="Also fingerprints.npz: what is expected of every bit.")
    ] = False,
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
    from iokr.apps.msms.identification import Request
    from iokr.apps.msms.identification import identify as rank

    _check_matching(candidates, database, needed=True)
    reading, _, matching = _parts(context)
    suffix = str(format) if format else "tsv"
    request = Request(
        top=top,
        delta=delta,
        own=str(own_spectra),
        pages=pages,
        sirius=sirius_columns,
        fingerprints=write_fingerprints,
        format=suffix,
        safe=spreadsheet_safe,
    )
    perform(
        context,
        lambda progress: rank(reading, model, matching, request, output, progress),
        output,
        more=(f"candidates.{suffix}", f"spectra.{suffix}", "rejected.tsv", "fingerprints.npz"),
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
    results: Annotated[Path | None, typer.Option("--results", help="Evaluate this candidates.tsv instead.")] = None,
    truth: Annotated[Path | None, typer.Option("--truth", help="Its truths: spectrum_id and smiles.")] = None,
    rivals: Annotated[bool, typer.Option("--rivals/--no-rivals", help="Library search and others beside it.")] = True,
    fingerprints: Fingerprints = "maccs,morgan2,rdkit6",
    kernels: KernelsOption = Kernels.both,
    combine: CombineOption = Combine.mean,
    model: MethodOption = Method.reverse,
    kernel_ppm: KernelPpm = 5.0,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Over molecules.")] = 5,
    folds_from: FoldsFrom = None,
    group: Annotated[
        list[Group] | None, typer.Option("--group", help="Folds by larger groups beside those by molecule; repeatable.")
    ] = None,
    similarity: Similarity = 0.7,
    unlabeled: Unlabeled = None,
    own_spectra: OwnOption = Own.leave_out,
    delta: Delta = 0.1,
    pages: Annotated[int, typer.Option("--pages", min=0, help="Queries drawn on the page: the worst misses.")] = 20,
    ion_mode: IonModeOption = None,
    min_peaks: MinPeaks = 3,
    min_intensity: MinIntensity = 0.001,
    memory: Memory = None,
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

    With --group scaffold and --group similarity folds by larger groups stand beside those by molecule. Or evaluate the
    table of an earlier `identify` with --results and --truth.
    """
    from iokr.apps.msms.evaluation import evaluate as judge_folds
    from iokr.apps.msms.judging import judge

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
    _check_unlabeled(unlabeled, model)
    reading, learning, matching = _parts(context)
    options: dict[str, Any] = {"rivals": rivals, "delta": delta, "pages": pages, "memory": _bytes(memory)}
    perform(
        context,
        lambda progress: judge_folds(
            reading,
            learning,
            matching,
            output,
            progress,
            groups=[str(name) for name in group or []],
            safe=spreadsheet_safe,
            **options,
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
    from iokr.apps.msms.demo import write_demo
    from iokr.apps.msms.identification import Request
    from iokr.apps.msms.identification import identify as rank
    from iokr.apps.msms.options import Learning, Matching, Reading
    from iokr.apps.msms.training import train as learn

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
    from iokr.apps.msms.judging import judge
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


def _check_unlabeled(unlabeled: list[Path] | None, model: Method) -> None:
    if unlabeled and model == Method.reverse:
        raise typer.BadParameter(
            "the reverse model maps molecules to spectra, and these have no molecule; use --model forward or fusion.",
            param_hint="--unlabeled",
        )


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
        raise typer.BadParameter(f"{size!r} is no size; give one such as 4GB or 500MB.", param_hint="--memory")
    return value


def _parts(context: typer.Context) -> "tuple[Reading, Learning, Matching]":
    """The options of a command as three values."""
    from iokr.apps.msms.options import Learning, Matching, Reading

    given: dict[str, Any] = {
        name: str(value) if isinstance(value, enum.StrEnum) else value for name, value in context.params.items()
    }
    if given.get("format") == "parquet":  # for the files of this command; what every run writes and prints has no such
        context.params["format"] = None
    if not isinstance(given.get("group"), str):  # those of `evaluate` stand beside folds by molecule
        given["group"] = "inchikey14"
    given["unlabeled"] = tuple(given.get("unlabeled") or ())
    reading = Reading(
        tuple(given["input"]), given["annotations"], given["ion_mode"], given["min_peaks"], given["min_intensity"]
    )
    matching = Matching(*(given[name] for name in ("candidates", "database", "match", "ppm", "adduct")))
    names = ("fingerprints", "kernels", "combine", "model", "kernel_ppm", "folds", "folds_from", "group", "similarity")
    known = {
        name: given[name] for name in (*names, "calibration", "seed", "unlabeled") if name in given and name != "model"
    }
    if "kernels" in given:
        known["model"] = given["model"]
    if "own_spectra" in given:
        known["own"] = given["own_spectra"]
    return reading, Learning(**known), matching
