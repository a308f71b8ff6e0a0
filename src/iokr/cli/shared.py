"""Options, messages, progress bars and tables of all commands, and errors in one line."""

import functools
import inspect
import re
import shlex
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from iokr._system.files import lock_file, locked, refuse_link, remove_unfinished
from iokr._system.text import printable
from iokr.cli.signals import INTERRUPTED

if TYPE_CHECKING:
    from iokr.apps.report import Report, Table
    from iokr.apps.report.progress import Progress

__all__ = [
    "Folder",
    "Force",
    "ForceModel",
    "FormatOption",
    "ModelFile",
    "Output",
    "Quiet",
    "Repeat",
    "Seed",
    "SpreadsheetSafe",
    "Verbose",
    "arguments",
    "bar",
    "command_line",
    "guarded",
    "in_options",
    "new_file",
    "perform",
    "print_sections",
    "print_tables",
    "say",
    "show_version",
    "with_options",
]


_OFTEN = 5.0  # seconds between two lines of one stage

Output = Annotated[Path | None, typer.Option("-o", "--output", metavar="FOLDER", help="Folder for the results.")]
Folder = Annotated[Path, typer.Option("-o", "--output", metavar="FOLDER", help="Folder for the results.")]
ModelFile = Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="File for the model.")]
Force = Annotated[bool, typer.Option("--force", help="Overwrite the files of an earlier run.")]
ForceModel = Annotated[bool, typer.Option("--force", help="Overwrite an earlier model.")]
Quiet = Annotated[bool, typer.Option("-q", "--quiet", help="No progress bars and no messages.")]
Verbose = Annotated[bool, typer.Option("-v", "--verbose", help="More messages, and tracebacks of errors.")]
Seed = Annotated[int, typer.Option("--seed", min=0, help="Random seed.")]
Repeat = Annotated[
    int | None, typer.Option("--repeat", min=1, help="Number of repetitions; default: that of the experiment.")
]
SpreadsheetSafe = Annotated[
    bool,
    typer.Option("--spreadsheet-safe", help="Write an apostrophe before text that a spreadsheet would execute."),
]
FormatOption = Annotated[
    Literal["tsv", "csv", "json"] | None,
    typer.Option("--format", help="Format of the tables; default: aligned text, and TSV files."),
]


def with_options(*groups: Callable[..., None]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command with the options of some groups after its first one; `arguments` reads their values."""

    def merged(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command)
        context, first, *rest = own.parameters.values()
        shared = [option for group in groups for option in inspect.signature(group).parameters.values()]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            command(**{name: given[name] for name in own.parameters})

        options = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in (first, *shared, *rest)]
        run.__signature__ = own.replace(parameters=[context, *options])  # type: ignore[attr-defined]
        run.__annotations__ = {option.name: option.annotation for option in (context, *options)}
        return run

    return merged


def arguments(context: typer.Context, *groups: Callable[..., None]) -> dict[str, Any]:
    """The options of some groups as the library takes them; a repeatable option that is not given is None."""
    values = {name: context.params[name] for group in groups for name in inspect.signature(group).parameters}
    return {name: None if value in ([], ()) else value for name, value in values.items()}


def guarded(command: Callable[..., None]) -> Callable[..., None]:
    """A command whose errors are one line on standard error, with exit code 1, and warnings one line each."""

    @functools.wraps(command)
    def run(**options: Any) -> None:
        context: typer.Context | None = options.get("context")
        verbose = bool(options.get("verbose"))
        try:
            with _one_line_warnings(context, verbose=verbose):
                command(**options)
        except (typer.Exit, typer.Abort, typer.BadParameter):
            raise
        except KeyboardInterrupt:
            say(INTERRUPTED)
            raise typer.Exit(130) from None
        except BrokenPipeError:  # the reader of standard output, such as `head`, has closed it
            sys.stderr.close()
            raise typer.Exit(0) from None
        except Exception as error:  # of any kind: one line, and the traceback with --verbose only
            if verbose:
                say(traceback.format_exc().rstrip())
            say(f"iokr: {in_options(_one_line(error), context)}")
            raise typer.Exit(1) from None

    return run


_ARGUMENT = re.compile(r"`(\w+)(?:=([^`]*))?`")  # `folds`, `missing="mean"`


def in_options(text: str, context: typer.Context | None) -> str:
    """Text of the library, with its arguments as the options of the running command.

    `folds` becomes --folds, `missing="mean"` --missing mean, `transpose=True` --transpose, `scale=False` --no-scale.
    An argument is that parameter of the command which has its name; other words between backticks stay as they are.
    """
    if context is None:
        return text
    options = {one.name: one for one in context.command.params if one.param_type_name == "option"}

    def typed(found: re.Match[str]) -> str:
        option = options.get(found[1])
        if option is None:
            return found[0]
        name = max(option.opts, key=len)
        value = (found[2] or "").strip("\"'")
        if value == "False":
            return max(option.secondary_opts, key=len, default=name)
        return name if value in ("", "True") else f"{name} {value}"

    return _ARGUMENT.sub(typed, text)


@contextmanager
def _one_line_warnings(context: typer.Context | None, *, verbose: bool) -> Iterator[None]:
    """Each warning once, as a single line; with `verbose` as Python prints it."""
    seen: set[str] = set()

    def show(message: Warning | str, category: Any, filename: str, lineno: int, *_: Any, **__: Any) -> None:
        text = " ".join(str(message).split())
        if verbose:
            say(warnings.formatwarning(message, category, filename, lineno).rstrip())
        elif text not in seen:
            seen.add(text)
            say(f"iokr: warning: {in_options(text, context)}")

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def _one_line(error: Exception) -> str:
    """The message of an error, with the name of its class if it was not meant for users."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror}."
    text = " ".join(str(error).split())
    if text and isinstance(error, (ValueError, TypeError, OSError, MemoryError, ImportError)):
        return text
    return f"unexpected {type(error).__name__}: {text or 'no message'} (-v shows where)"


def show_version(wanted: bool) -> None:
    """Print the version and exit."""
    if wanted:
        from iokr import __version__

        typer.echo(f"iokr {__version__}")
        raise typer.Exit


def command_line() -> str:
    """The command line, as typed."""
    return shlex.join(["iokr", *sys.argv[1:]])


def say(message: str, *, quiet: bool = False) -> None:
    """Print a message on standard error, with control characters escaped."""
    if not quiet:
        typer.echo(printable(message), err=True)


@contextmanager
def bar(*, quiet: bool = False) -> "Iterator[Progress]":
    """A progress bar on standard error; plain lines if that is not a terminal; nothing if `quiet`."""
    if quiet:
        yield lambda done, total, what: None
    elif sys.stderr.isatty():
        with _rich_bar() as progress:
            yield progress
    else:
        yield _plain_lines()


@contextmanager
def _rich_bar() -> "Iterator[Progress]":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=Console(stderr=True), transient=True) as rich:
        task, of = rich.add_task("", total=None), 0

        def progress(done: int, total: int, what: str) -> None:
            nonlocal of
            if total != of:  # a new stretch of work, whose time is counted from here
                rich.reset(task, completed=done)
                of = total
            rich.update(task, completed=done, total=total, description=printable(what))

        yield progress


def _plain_lines() -> "Progress":
    """A line for every stage ("stage: detail"), and one every few seconds within it."""
    stage = ""
    shown = monotonic()

    def progress(done: int, total: int, what: str) -> None:
        nonlocal stage, shown
        begun = what.partition(": ")[0]
        if begun != stage or monotonic() - shown > _OFTEN:
            say(f"{what} ({done} of {total})")
            stage = begun
            shown = monotonic()

    return progress


def print_tables(tables: "Sequence[Table]", format: str | None = None, *, spreadsheet_safe: bool = False) -> None:
    """Print tables: drawn on a terminal, as aligned text elsewhere, or in a `format`.

    Control characters are escaped, except in a `format` that does not go to a terminal.
    """
    if format is not None:
        from iokr.apps.report import Report

        text = Report("", "", tuple(tables)).table_text(format, spreadsheet_safe=spreadsheet_safe)
        typer.echo(printable(text) if sys.stdout.isatty() else text, nl=False)
    elif sys.stdout.isatty():
        for table in tables:
            _draw(table)
    else:
        typer.echo("\n\n".join(_aligned(table) for table in tables))


def print_sections(sections: Mapping[str, Mapping[str, Any]], column: str, format: str | None) -> None:
    """Print a table for each section: its items, and their values in a column of that name."""
    from iokr.apps.report import Table

    tables = [
        Table(title, [{"item": item, column: value} for item, value in values.items()])
        for title, values in sections.items()
    ]
    print_tables(tables, format)


def _draw(table: "Table") -> None:
    from rich import box
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
    for column in table.columns:
        style = "bold cyan" if column in table.ours else None
        drawn.add_column(Text(printable(column)), justify="right" if table.numeric(column) else "left", style=style)
    for i, row in enumerate(table.texts()):
        drawn.add_row(*(Text(printable(cell)) for cell in row), style="bold cyan" if i in table.our_rows else None)
    console = Console()
    console.print(Text(printable(table.title), style="bold"))
    console.print(drawn)
    if table.note:
        console.print(Text(printable(table.note), style="dim"))


def _aligned(table: "Table") -> str:
    """The table as text with aligned columns."""
    rows = [[printable(cell).replace("\n", " ") for cell in row] for row in (table.columns, *table.texts())]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    right = [table.numeric(column) for column in table.columns]
    lines = [
        "  ".join(
            cell.rjust(width) if flush else cell.ljust(width)
            for cell, width, flush in zip(row, widths, right, strict=True)
        ).rstrip()
        for row in rows
    ]
    return "\n".join([printable(table.title), *lines] + ([printable(table.note)] if table.note else []))


@contextmanager
def new_file(path: Path, *others: Path, force: bool, inputs: Sequence[Path] = ()) -> Iterator[None]:
    """Check that a file, and others next to it, can be written; lock it, and remove what killed runs have left."""
    files = (path, *others)
    for file in files:
        _check_new(file, force, inputs)
    busy = f"{path} is being written by another run; wait for it, or choose another file with -o."
    with locked(lock_file(path), busy):
        for file in files:
            _check_new(file, force, inputs)  # again, now that the file is locked
            remove_unfinished(file)
        yield


def _check_new(path: Path, force: bool, inputs: Sequence[Path]) -> None:
    """Raise if a file cannot be written: a link, a folder, an input of the command, or existing without `force`."""
    refuse_link(path)
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder; -o must be a file.")
    if not path.parent.is_dir():
        raise FileNotFoundError(f"{path.parent} is not a folder; create it before {path.name} is written to it.")
    if any(other.exists() and path.exists() and path.samefile(other) for other in inputs):
        raise FileExistsError(f"{path} is an input of this command; choose another file with -o.")
    if path.exists() and not force:
        raise FileExistsError(f"{path} exists; use --force to overwrite it, or choose another file with -o.")


def perform(
    context: typer.Context, run: "Callable[[Progress], Report]", folder: Path | None, *, more: Sequence[str] = ()
) -> "Report":
    """Run with a progress bar, print the tables, and write the folder of the run, which is checked before the work.

    --force, --format, --quiet and --verbose are read from the context; `more` are files of the folder in addition to
    those of every run.
    """
    from iokr._system.folders import ResultFolder
    from iokr.apps.report import check_folder, require_report_packages, write_run

    options = context.params
    format = options["format"]
    writing: dict[str, Any] = {"force": options["force"], "format": format or "tsv"}
    safe = bool(options.get("spreadsheet_safe"))
    if folder is not None:
        require_report_packages()
        check_folder(folder, more=more, **writing)
    with nullcontext() if folder is None else ResultFolder(folder).reserved():
        if folder is not None:
            check_folder(folder, more=more, **writing)  # again, now that the folder is locked
        with bar(quiet=options["quiet"]) as progress:
            report = _report_in_options(run(progress), context)
        paths: list[Path] = []
        try:
            if folder is not None:  # before the tables, whose reader may leave
                paths = write_run(report, folder, spreadsheet_safe=safe, **writing)
        finally:  # a full disk does not lose the tables
            shown = [table for table in report.tables if format or options["verbose"] or not table.folded]
            print_tables(shown, format, spreadsheet_safe=safe)
    if options["verbose"]:
        say("\n" + "\n".join([*report.notes, *(f"{name}: {value}" for name, value in report.info.items())]))
    if paths:
        *data, page = paths
        say(f"\nwrote {', '.join(path.name for path in data)} and the page {page}", quiet=options["quiet"])
    return report


def _report_in_options(report: "Report", context: typer.Context) -> "Report":
    """A report whose notes name options of the command in place of arguments, and which knows the command."""
    from iokr.apps.report import Table

    items = tuple(
        replace(item, note=in_options(item.note, context)) if isinstance(item, Table) else item for item in report.items
    )
    notes = tuple(in_options(note, context) for note in report.notes)
    return replace(report, items=items, notes=notes).with_info({"command": command_line()})
