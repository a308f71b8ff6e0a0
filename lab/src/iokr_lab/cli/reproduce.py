"""`iokr reproduce`."""

from pathlib import Path
from typing import Annotated

import typer

from iokr.cli.shared import Force, FormatOption, Output, Quiet, Repeat, Seed, Verbose, perform, print_tables, say
from iokr.cli.signals import INTERRUPTED, closing_words


def _names(incomplete: str) -> list[tuple[str, str]]:
    """The completions of the shell, each with a title."""
    from iokr_lab import EXPERIMENTS

    return [(e.name, e.title) for e in EXPERIMENTS if e.name.startswith(incomplete)]


def reproduce(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            help="Name of the experiment; without a name, all are listed.", show_default=False, autocompletion=_names
        ),
    ] = None,
    output: Output = None,
    force: Force = False,
    seed: Seed = 0,
    repeat: Repeat = None,
    short: Annotated[bool, typer.Option("--short", help="A smaller plan that takes minutes at most.")] = False,
    full: Annotated[bool, typer.Option("--full", help="The complete published protocol of a long experiment.")] = False,
    scheduler: Annotated[
        str | None,
        typer.Option(
            "--scheduler",
            metavar="ADDRESS",
            help="Run on the workers of this Dask scheduler, tcp://HOST:8786; they need the same iokr and the data.",
        ),
    ] = None,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Repeat a published experiment and compare the numbers.

    Writes a folder (default: iokr-NAME) with the table, metrics.json, run.json, report.html, and the finished cases in
    cells.jsonl. During the run finished cases are in iokr-NAME.partial; after an interruption the same command resumes
    from them.
    """
    from iokr._system.folders import ResultFolder
    from iokr.apps.report import Table
    from iokr.datasets.home import missing_data
    from iokr_lab import EXPERIMENTS, find

    if name is None:
        rows = [
            {"name": e.name, "what": e.title, "paper": e.paper, "time, --short": e.time, "data found": not e.missing()}
            for e in EXPERIMENTS
        ]
        print_tables([Table("Experiments", rows)], format)
        if absent := missing_data(name for e in EXPERIMENTS for name in e.data):
            say(absent, quiet=quiet)
        return
    try:
        experiment = find(name)
    except ValueError as error:
        raise typer.BadParameter(str(error), param_hint="NAME") from None
    if short and full:
        raise typer.BadParameter("choose one of --short and --full.", param_hint="--short")
    folder = output or Path(f"iokr-{name}")
    plan = "short" if short else "full" if full else "default"

    def kept() -> str:
        return f"The finished cases are in {where}; the same command resumes from there." if _has_cells(where) else ""

    where = ResultFolder(folder).partial
    try:
        with closing_words(kept):
            perform(
                context,
                lambda progress: experiment.run(
                    plan=plan, seed=seed, repeat=repeat, progress=progress, folder=folder, scheduler=scheduler
                ),
                folder,
            )
    except KeyboardInterrupt:
        say(" ".join(filter(None, [INTERRUPTED, kept()])))
        raise typer.Exit(130) from None


def _has_cells(partial: Path) -> bool:
    """Whether the folder of an unfinished run has a finished cell."""
    try:
        return (partial / "cells.jsonl").stat().st_size > 0
    except OSError:
        return False
