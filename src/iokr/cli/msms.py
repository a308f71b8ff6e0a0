"""`iokr msms train`, `identify`, `evaluate` and `demo`."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from iokr._system.files import write_atomically
from iokr.apps import msms as app
from iokr.cli.group import Commands
from iokr.cli.msms_options import Delta, FormatOption, Group, Inputs, Own, learning, matching, reading
from iokr.cli.shared import (
    Folder,
    Force,
    ForceModel,
    ModelFile,
    Quiet,
    Seed,
    SpreadsheetSafe,
    Verbose,
    arguments,
    command_line,
    guarded,
    new_file,
    perform,
    print_tables,
    say,
    with_options,
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


@msms.command("train")
@guarded
@with_options(reading, matching, learning)
def train(
    context: typer.Context,
    spectra: Inputs,
    folds: Annotated[
        int, typer.Option("--folds", min=0, help="Folds over molecules; 0 trains without calibration.")
    ] = 5,
    group: Annotated[
        Literal["inchikey14", "scaffold", "similarity"],
        typer.Option("--group", help="Unit of a fold: a molecule, a scaffold, or a group of similar molecules."),
    ] = "inchikey14",
    calibration: Annotated[
        Literal["folds", "split"],
        typer.Option(
            "--calibration", help="Calibrate on out-of-fold scores, or on a held-out fifth of the molecules (split)."
        ),
    ] = "folds",
    store_factor: Annotated[
        bool,
        typer.Option(
            "--store-factor", help="Store the fitted matrices, 16 n² bytes for n spectra; loading then needs no fit."
        ),
    ] = False,
    output: ModelFile = Path("model.safetensors"),
    force: ForceModel = False,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train a model on spectra with known structures.

    With candidates the model is calibrated for probabilities and prediction sets. An interrupted run resumes from its
    finished folds. Rejected and modified records are listed in a file next to the model, MODEL.rejected.tsv.
    """
    rejected = output.with_name(f"{output.name.removesuffix('.safetensors')}.rejected.tsv")

    def run(progress: "Progress") -> "Report":
        model = app.train(
            _read(context, progress),
            **arguments(context, matching, learning),
            folds=folds,
            group=group,
            calibration=calibration,
            cache=app.cache_file(),
            checkpoint=checkpoint,
            progress=progress,
        )
        progress(1, 1, "writing the model")
        model.save(output, compact=not store_factor, command=command_line())
        assert model.training is not None
        return model.training

    tables = {name: context.params[name] for name in ("annotations", "candidates", "database")}
    inputs = [*spectra, *(path for path in tables.values() if path is not None)]
    with (
        new_file(output, rejected, force=force, inputs=inputs),
        _checkpoint(output, "folds") as checkpoint,
    ):
        text = str(perform(context, run, None).files["rejected.tsv"])
        if text.count("\n") > 1:  # more than the names of columns
            with write_atomically(rejected) as file:
                file.write(text.encode())
            say(f"records that were left out or changed are listed in {rejected}", quiet=quiet)
        else:
            rejected.unlink(missing_ok=True)  # of an earlier model
    if not folds or (tables["candidates"] is None and tables["database"] is None):
        say(
            "iokr: without candidates the model is not calibrated: it gives no probabilities and no prediction sets.",
            quiet=quiet,
        )
    say(f"\nwrote {output}", quiet=quiet)


@msms.command("identify")
@guarded
@with_options(reading, matching)
def identify(
    context: typer.Context,
    spectra: Inputs,
    model: Annotated[Path, typer.Option("-m", "--model", metavar="FILE", help="Model file of `iokr msms train`.")],
    top: Annotated[int, typer.Option("--top", min=1, help="Maximum number of candidates per spectrum.")] = 20,
    delta: Delta = 0.1,
    own: Own = "leave-out",
    write_fingerprints: Annotated[
        bool, typer.Option("--write-fingerprints", help="Write the predicted fingerprints to fingerprints.npz.")
    ] = False,
    sirius_columns: Annotated[bool, typer.Option("--sirius-columns", help="Name columns as SIRIUS does.")] = False,
    pages: Annotated[int, typer.Option("--pages", min=0, help="Number of spectra drawn on the page.")] = 20,
    output: Folder = Path("iokr-msms"),
    force: Force = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Rank the candidates of unknown spectra.

    Writes candidates.tsv, spectra.tsv (the best candidate of each spectrum), rejected.tsv, metrics.json, run.json and
    report.html. An interrupted run resumes from its finished spectra.
    """
    suffix = format or "tsv"

    def run(progress: "Progress") -> "Report":
        result = app.identify(
            model,
            _read(context, progress),
            **arguments(context, matching),
            top=top,
            delta=delta,
            own=own,
            cache=app.cache_file(),
            checkpoint=checkpoint,
            progress=progress,
        )
        progress(1, 1, "drawing the page")
        return result.page(
            pages=pages,
            format=suffix,
            sirius_columns=sirius_columns,
            write_fingerprints=write_fingerprints,
            spreadsheet_safe=spreadsheet_safe,
        )

    if format == "parquet":  # of the two tables; other files and what is printed have no such format
        context.params["format"] = None
    files = (f"candidates.{suffix}", f"spectra.{suffix}", "rejected.tsv", "fingerprints.npz")
    with _checkpoint(output, "spectra") as checkpoint:
        perform(context, run, output, more=files)


@msms.command("evaluate")
@guarded
@with_options(reading, matching, learning)
def evaluate(
    context: typer.Context,
    spectra: Annotated[
        list[Path] | None, typer.Option("-i", "--input", metavar="FILE", help="Spectra with structures; repeatable.")
    ] = None,
    results: Annotated[
        Path | None, typer.Option("--results", help="Evaluate this table of ranked candidates instead of spectra.")
    ] = None,
    truth: Annotated[
        Path | None, typer.Option("--truth", help="True molecules for --results: spectrum_id and smiles.")
    ] = None,
    baselines: Annotated[
        bool, typer.Option("--baselines/--no-baselines", help="Also evaluate library search and other baselines.")
    ] = True,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Folds over molecules.")] = 5,
    groups: Annotated[
        list[Group] | None, typer.Option("--group", help="Also evaluate with folds over larger groups; repeatable.")
    ] = None,
    own: Own = "leave-out",
    delta: Delta = 0.1,
    pages: Annotated[
        int, typer.Option("--pages", min=0, help="Number of queries drawn on the page: those with the worst ranks.")
    ] = 20,
    output: Folder = Path("iokr-msms-evaluate"),
    force: Force = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Estimate the accuracy by cross-validation over molecules.

    The accuracy is compared with that of library search and other baselines, unless --no-baselines is given.
    --group scaffold and --group similarity also evaluate with folds over larger groups. With --results and --truth, the
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
            **arguments(context, matching, learning),
            baselines=baselines,
            folds=folds,
            groups=[str(group) for group in groups or []],
            own=own,
            delta=delta,
            cache=app.cache_file(),
            checkpoint=checkpoint,
            progress=progress,
        )
        progress(1, 1, "drawing the page")
        return result.page(pages=pages, spreadsheet_safe=spreadsheet_safe)

    with _checkpoint(output, "folds") as checkpoint:
        perform(context, run, output, more=("queries.tsv", "rejected.tsv"))


@msms.command("demo")
@guarded
def demo(
    context: typer.Context,
    output: Folder = Path("iokr-msms-demo"),
    force: Force = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Train, identify and evaluate on simulated spectra.

    The spectra are simulated for small molecules, in positive ion mode with the adduct [M+H]+: breaking a bond gives a
    peak for each fragment. Real files may have negative mode and other adducts; each ion mode needs its own model.
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


def _read(context: typer.Context, progress: "Progress") -> Any:
    """The spectra of --input."""
    progress(0, 1, "reading spectra")
    return app.read_spectra(context.params["spectra"], **arguments(context, reading))


@contextmanager
def _checkpoint(result: Path, what: str) -> "Iterator[app.Checkpoint]":
    """A file of finished parts next to a result: removed when the result is written, but not after an interrupt."""
    checkpoint = app.Checkpoint(result.with_name(f"{result.name}.partial") / f"{what}.jsonl")

    def words() -> str:
        if not checkpoint.parts:
            return ""
        return f"{len(checkpoint.parts)} finished {what} are stored; the same command resumes from there."

    with closing_words(words):
        yield checkpoint
    checkpoint.remove()
