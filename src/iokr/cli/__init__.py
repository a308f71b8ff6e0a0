"""The command `iokr`, one file per sub-command: options, one call into `iokr.apps`, and output.

Signal handlers are installed before anything is imported, and nothing heavy is imported before a sub-command runs, so
that `iokr --help` answers at once.
"""

import os
import sys
from typing import TYPE_CHECKING

from iokr._lazy import lazy_names
from iokr.cli.signals import end_at_signals

if TYPE_CHECKING:
    from iokr.cli.commands import app

__all__ = ["app", "main"]


__getattr__, __dir__ = lazy_names(__name__)


def main() -> None:
    """Run the command line; exit code 0 if done, 1 for bad input, 2 for wrong usage, 130 and 143 after signals."""
    end_at_signals()
    from iokr.cli.commands import app

    try:
        app(prog_name="iokr")
    finally:
        _flush()


def _flush() -> None:
    """Write what is left; if the reader has closed the pipe (`iokr doctor | head`) the rest goes nowhere."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
