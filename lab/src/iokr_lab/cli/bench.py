"""`iokr bench`."""

from typing import Annotated

import typer

from iokr.cli.shared import Force, FormatOption, Output, Quiet, Seed, Verbose, perform, print_tables


def _names(incomplete: str) -> list[tuple[str, str]]:
    """The completions of the shell, each with a title."""
    from iokr_lab.bench import available

    return [(name, title) for name, title in available() if name.startswith(incomplete)]


def bench(
    context: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(
            help="Name of the benchmark; without a name, all are listed.", show_default=False, autocompletion=_names
        ),
    ] = None,
    output: Output = None,
    force: Force = False,
    seed: Seed = 0,
    repeat: Annotated[int, typer.Option("--repeat", min=1, help="Number of rounds; times are medians over them.")] = 5,
    quick: Annotated[bool, typer.Option("--quick", help="Small sizes, to test the set-up.")] = False,
    section: Annotated[
        list[str] | None,
        typer.Option("--section", metavar="WORDS", help="Only sections whose title contains these words; repeatable."),
    ] = None,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Measure time and memory, and compare with baselines.

    Times are also compared with the arithmetic lower bound. A contender that is not installed is listed as skipped. The
    sections of large benchmarks can be run one by one: iokr bench scale --section "low rank on the CPU". With -o, the
    table, metrics.json, run.json and report.html are written to a folder.
    """
    from iokr.apps.report import Table
    from iokr_lab import bench as benchmarks

    titles = dict(benchmarks.available())
    if name is None:
        rows = [{"name": name, "question": title} for name, title in titles.items()]
        print_tables([Table("Benchmarks", rows)], format)
        return
    if name not in titles:
        hint = f"there is no benchmark {name!r}; available: {', '.join(titles)}."
        raise typer.BadParameter(hint, param_hint="NAME")
    perform(
        context,
        lambda progress: benchmarks.run(
            name, repeat=repeat, seed=seed, progress=progress, quick=quick, sections=section
        ),
        output,
    )
