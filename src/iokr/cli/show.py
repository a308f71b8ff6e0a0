"""`iokr show`."""

from pathlib import Path
from typing import Annotated

import typer

from iokr.cli.shared import FormatOption, Quiet, Verbose, print_tables, say


def show(
    file: Annotated[
        Path, typer.Argument(help="A model that `iokr.save` or a command has written.", show_default=False)
    ],
    verify: Annotated[bool, typer.Option("--verify", help="Compare every array with its hash.")] = False,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Print what is in a model file, in words.

    The header is read, nothing else; with --verify all of the file. A file that is damaged is named, exit code 1.
    """
    from iokr.apps.report import Table
    from iokr.files import describe
    from iokr.files import verify as verify_hashes

    sections = describe(file)
    if verify:
        verify_hashes(file)
    print_tables(
        [
            Table(title, [{"what": name, "value": words} for name, words in rows.items()])
            for title, rows in sections.items()
        ],
        format,
    )
    if verify:
        say("every array is what was saved.", quiet=quiet)
