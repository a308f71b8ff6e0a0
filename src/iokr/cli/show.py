"""`iokr show`."""

from pathlib import Path
from typing import Annotated

import typer

from iokr.cli.shared import FormatOption, Quiet, Verbose, print_sections, say


def show(
    file: Annotated[Path, typer.Argument(help="Model file written by `iokr.save` or a command.", show_default=False)],
    verify: Annotated[bool, typer.Option("--verify", help="Check the hash of every array.")] = False,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Describe a model file.

    Only the header is read, or with --verify the whole file. The exit code is 1 if the file is damaged.
    """
    from iokr.files import describe
    from iokr.files import verify as verify_hashes

    sections = describe(file)
    if verify:
        verify_hashes(file)
    print_sections(sections, "value", format)
    if verify:
        say("all hashes are correct.", quiet=quiet)
