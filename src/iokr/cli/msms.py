"""`iokr msms train`, `identify`, `evaluate` and `demo`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iokr._system.files import write_atomically
from iokr.apps import msms as app
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
    Format,
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
from iokr.cli.shared import (
    Force,
    Quiet,
    Seed,
    SpreadsheetSafe,
    Verbose,
    command_line,
    guarded,
    new_file,
    perform,
    print_tables,
    say,
)
from iokr.cli.signals import closing_words

if TYPE_CHECKING:
    from iokr.apps.report import Progress, Report

__all__ = ["msms"]

msms = typer.Typer(
    cls=Commands,
    name="msms",
    help="Identify molecules from tandem mass spectra, among candidates.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

READING = ("annotations", "ion_mode", "min_peaks", "min_intensity")
MATCHING = ("candidates", "database", "match", "ppm", "adduct")
LEARNING = (
    *("fingerprints", "kernels", "combine", "method", "kernel_ppm", "folds", "folds_from", "similarity"),
    *("unlabeled", "seed"),
)


@msms.command("train")
@guarded
def train(
    context: typer.Context,
    spectra: Inputs,
    annotations: Annotations = None,
    candidates: Candidates = None,
    database: Database = None,
    match: MatchOption = Match.formula,
    ppm: Ppm = 10.0,
    adduct: Adduct = None,
    fingerprints: Fingerprints = "maccs,morgan2,rdkit6",
    kernels: KernelsOption = Kernels.both,
    combine: CombineOption = Combine.mean,
    method: MethodOption = Method.reverse,
    kernel_ppm: KernelPpm = 5.0,
    folds: Folds = 5,
    folds_from: FoldsFrom = None,
    group: GroupOption = Group.inchikey14,
    similarity: Similarity = 0.7,
    calibration: Annotated[
        Calibration, typer.Option("--calibration", help="Out of fold, or on a held-out fifth of the molecules (split).")
    ] = Calibration.folds,
    unlabeled: Unlabeled = None,
    store_factor: Annotated[
        bool,
        typer.Option("--store-factor", help="Store the fitted matrices, 16 n² bytes: the model loads without a fit."),
    ] = False,
    ion_mode: IonModeOption = None,
    min_peaks: MinPeaks = 3,
    min_intensity: MinIntensity = 0.001,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="Model file.")] = Path(
        "model.safetensors"
    ),
    memory: Memory = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite an earlier model.")] = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train a model on spectra with known structures.

    With candidates the model is calibrated for probabilities and prediction sets. An interrupted run continues from its
    finished folds. Records that were left out or changed are listed in a file next to the model, MODEL.rejected.tsv.
    """
    rejected = output.with_name(f"{output.name.removesuffix('.safetensors')}.rejected.tsv")
    rejected_text = ""

    def run(progress: "Progress") -> "Report":
        nonlocal rejected_text
        model = app.train(
            _read(context, progress),
            **_chosen(context, *MATCHING, *LEARNING, "group", "calibration"),
            memory=_bytes(memory),
            cache=app.cache_file(),
            checkpoint=checkpoint,
            progress=progress,
        )
        progress(1, 1, "writing the model")
        model.save(output, compact=not store_factor, command=command_line())
        assert model.training is not None
        rejected_text = str(model.training.files["rejected.tsv"])
        return model.training

    inputs = [*spectra, *(path for path in (annotations, candidates, database) if path is not None)]
    with (
        new_file(output, rejected, force=force, inputs=inputs),
        _checkpoint(output, "folds") as checkpoint,
    ):
        perform(context, run, None)
        if rejected_text.count("\n") > 1:
            with write_atomically(rejected) as file:
                file.write(rejected_text.encode())
            say(f"records that were left out or changed are listed in {rejected}", quiet=quiet)
        else:
            rejected.unlink(missing_ok=True)  # of an earlier model
    if not folds or (candidates is None and database is None):
        say(
            "iokr: no candidates, so the model is not calibrated: it gives no probabilities and no prediction sets.",
            quiet=quiet,
        )
    say(f"\nwrote {output}", quiet=quiet)


@msms.command("identify")
@guarded
def identify(
    context: typer.Context,
    spectra: Inputs,
    model: Annotated[Path, typer.Option("-m", "--model", metavar="FILE", help="Model file of `iokr msms train`.")],
    annotations: Annotations = None,
    candidates: Candidates = None,
    database: Database = None,
    match: MatchOption = Match.formula,
    ppm: Ppm = 10.0,
    adduct: Adduct = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Number of candidates listed for each spectrum.")] = 20,
    delta: Delta = 0.1,
    own: OwnOption = Own.leave_out,
    write_fingerprints: Annotated[
        bool, typer.Option("--write-fingerprints", help="Write predicted fingerprints to fingerprints.npz.")
    ] = False,
    sirius_columns: Annotated[bool, typer.Option("--sirius-columns", help="Name columns as SIRIUS does.")] = False,
    pages: Pages = 20,
    ion_mode: IonModeOption = None,
    min_peaks: MinPeaks = 3,
    min_intensity: MinIntensity = 0.001,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder for the results.")] = Path(
        "iokr-msms"
    ),
    force: Force = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Rank the candidates of unknown spectra.

    Writes candidates.tsv, spectra.tsv (the best candidate of each spectrum), rejected.tsv, metrics.json, run.json and
    report.html. An interrupted run continues from its finished spectra.
    """
    suffix = str(format or "tsv")

    def run(progress: "Progress") -> "Report":
        result = app.identify(
            model,
            _read(context, progress),
            **_chosen(context, *MATCHING, "top", "delta", "own"),
            cache=app.cache_file(),
            checkpoint=checkpoint,
            progress=progress,
        )
        progress(1, 1, "drawing the page")
        return result.page(
            **_chosen(context, "pages", "sirius_columns", "write_fingerprints", "spreadsheet_safe"), format=suffix
        )

    if format == Format.parquet:  # of the two tables; other files and what is printed have no such format
        context.params["format"] = None
    files = (f"candidates.{suffix}", f"spectra.{suffix}", "rejected.tsv", "fingerprints.npz")
    with _checkpoint(output, "spectra") as checkpoint:
        perform(context, run, output, more=files)


@msms.command("evaluate")
@guarded
def evaluate(
    context: typer.Context,
    spectra: Annotated[
        list[Path] | None, typer.Option("-i", "--input", metavar="FILE", help="Spectra with structures; repeatable.")
    ] = None,
    annotations: Annotations = None,
    candidates: Candidates = None,
    database: Database = None,
    match: MatchOption = Match.formula,
    ppm: Ppm = 10.0,
    adduct: Adduct = None,
    results: Annotated[
        Path | None, typer.Option("--results", help="Evaluate this table of ranked candidates instead.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="True molecules for --results: spectrum_id and smiles.")
    ] = None,
    baselines: Annotated[
        bool, typer.Option("--baselines/--no-baselines", help="Also evaluate library search and other baselines.")
    ] = True,
    fingerprints: Fingerprints = "maccs,morgan2,rdkit6",
    kernels: KernelsOption = Kernels.both,
    combine: CombineOption = Combine.mean,
    method: MethodOption = Method.reverse,
    kernel_ppm: KernelPpm = 5.0,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Folds over molecules.")] = 5,
    folds_from: FoldsFrom = None,
    groups: Annotated[
        list[Group] | None, typer.Option("--group", help="Evaluate also with folds over larger groups; repeatable.")
    ] = None,
    similarity: Similarity = 0.7,
    unlabeled: Unlabeled = None,
    own: OwnOption = Own.leave_out,
    delta: Delta = 0.1,
    pages: Annotated[
        int, typer.Option("--pages", min=0, help="Number of queries drawn on the page: those with the worst ranks.")
    ] = 20,
    ion_mode: IonModeOption = None,
    min_peaks: MinPeaks = 3,
    min_intensity: MinIntensity = 0.001,
    memory: Memory = None,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder for the results.")] = Path(
        "iokr-msms-evaluate"
    ),
    force: Force = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Evaluate by cross-validation over molecules, and compare with library search.

    --group scaffold and --group similarity evaluate also with folds over larger groups. With --results and --truth, the
    table of an earlier `identify` is evaluated.
    """
    if (results is None) != (truth is None):
        raise typer.BadParameter("--results and --truth must be given together.", param_hint="--results / --truth")
    if results is not None:
        perform(context, lambda progress: app.evaluate_table(results, truth).page(), output)
        return
    if not spectra:
        raise typer.BadParameter("give spectra with -i, or --results and --truth.", param_hint="--input")

    def run(progress: "Progress") -> "Report":
        result = app.evaluate(
            _read(context, progress),
            **_chosen(context, *MATCHING, *LEARNING, "baselines", "own", "delta"),
            groups=[str(group) for group in groups or []],
            memory=_bytes(memory),
            cache=app.cache_file(),
            checkpoint=checkpoint,
            progress=progress,
        )
        progress(1, 1, "drawing the page")
        return result.page(**_chosen(context, "pages", "spreadsheet_safe"))

    with _checkpoint(output, "folds") as checkpoint:
        perform(context, run, output, more=("queries.tsv", "rejected.tsv"))


@msms.command("demo")
@guarded
def demo(
    context: typer.Context,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder for the results.")] = Path(
        "iokr-msms-demo"
    ),
    force: Force = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train, identify and evaluate on simulated spectra.

    Toy spectra of small molecules, of positive ion mode and [M+H]+: a peak for each part that a broken bond leaves.
    Your own files may have negative mode and other adducts; each ion mode needs a model.
    """
    if output.exists() and any(output.iterdir()) and not force:
        raise FileExistsError(f"{output} is not empty; use --force to overwrite it, or give another folder with -o.")
    paths = app.write_demo(output / "data", seed)
    path = output / "model.safetensors"
    results = output / "results"
    cache = app.cache_file()
    say(f"wrote {', '.join(paths)} to {output / 'data'}", quiet=quiet)
    say(f"iokr msms train -i library.mgf --candidates library_candidates.tsv -o {path.name}", quiet=quiet)
    model = app.train(paths["library.mgf"], paths["library_candidates.tsv"], seed=seed, cache=cache)
    model.save(path, command=command_line())
    say(f"iokr msms identify -i unknowns.mgf -m {path.name} --candidates candidates.tsv -o results", quiet=quiet)

    def run(progress: "Progress") -> "Report":
        result = app.identify(path, paths["unknowns.mgf"], paths["candidates.tsv"], cache=cache, progress=progress)
        return result.page()

    perform(context, run, results, more=("candidates.tsv", "spectra.tsv", "rejected.tsv"))
    evaluated = app.evaluate_table(results / "candidates.tsv", paths["truth.tsv"]).page()
    print_tables(evaluated.tables)
    say(evaluated.summary, quiet=quiet)


def _chosen(context: typer.Context, *names: str) -> dict[str, Any]:
    """Options by name: the values of enumerations as text, None for a repeatable option that is not given."""
    values = {name: context.params[name] for name in names}
    plain = {name: str(value) if isinstance(value, str) else value for name, value in values.items()}
    return {name: None if value in ([], ()) else value for name, value in plain.items()}


def _read(context: typer.Context, progress: "Progress") -> Any:
    """The spectra of --input."""
    progress(0, 1, "reading spectra")
    return app.read_spectra(context.params["spectra"], **_chosen(context, *READING))


@contextmanager
def _checkpoint(result: Path, what: str) -> "Iterator[app.Checkpoint]":
    """A file of finished parts next to a result: removed when the result is written, kept after an interrupt."""
    parts = app.Checkpoint(result.with_name(f"{result.name}.partial") / f"{what}.jsonl")

    def words() -> str:
        return (
            f"{len(parts.parts)} finished {what} are stored; the same command continues from there."
            if parts.parts
            else ""
        )

    with closing_words(words):
        yield parts
    parts.remove()


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
        raise typer.BadParameter(f"{size!r} is not a size; give one such as 4GB or 500MB.", param_hint="--memory")
    return value
