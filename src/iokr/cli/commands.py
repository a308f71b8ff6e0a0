"""The command `iokr` and its sub-commands."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any, Literal

import typer

from iokr.cli.demo import demo
from iokr.cli.doctor import doctor
from iokr.cli.group import Commands
from iokr.cli.links import links
from iokr.cli.msms import msms
from iokr.cli.shared import guarded, show_version
from iokr.cli.show import show

__all__ = ["ADDED", "added_command", "app"]

ADDED = {
    "reproduce": "Repeat a published experiment and compare the numbers.",
    "bench": "Measure time and memory, and compare with baselines.",
}
_MARKUP: Literal["rich"] | None = "rich" if sys.stdout.isatty() and sys.stderr.isatty() else None  # else plain lines
_ANY = {"ignore_unknown_options": True, "allow_extra_args": True, "help_option_names": []}


def added_command(name: str) -> Any:
    """The command called `name`, or None. The distribution that adds it is imported here, when the command is used."""
    found = entry_points(group="iokr.commands", name=name)
    if found:
        (entry, *_) = found
        return _as_command(name, entry.load())
    if name not in ADDED:
        return None

    def missing(context: typer.Context) -> None:
        raise ImportError(f"`iokr {name}` needs iokr-lab: pip install iokr-lab, or in a clone pip install ./lab.")

    missing.__doc__ = f"{ADDED[name]} Needs iokr-lab."
    return _as_command(name, missing, context_settings=_ANY)


def _as_command(name: str, function: Callable[..., None], **options: Any) -> Any:
    """A function as a command."""
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=_MARKUP)
    app.command(name, **options)(guarded(function))
    return typer.main.get_command(app)


class WithAdded(Commands):
    """The commands of iokr, and those of other distributions."""

    def list_commands(self, ctx: Any) -> list[str]:
        """Those of iokr first."""
        return [*super().list_commands(ctx), *ADDED]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """A command of another distribution is imported when it is called."""
        return super().get_command(ctx, cmd_name) or added_command(cmd_name)


app = typer.Typer(
    cls=WithAdded,
    pretty_exceptions_enable=False,
    rich_markup_mode=_MARKUP,
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, show, doctor):
    app.command()(guarded(command))
app.add_typer(links)
app.add_typer(msms)


@app.callback(invoke_without_command=True)
def iokr(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", help="Print the version and exit.", callback=show_version, is_eager=True
    ),
) -> None:
    """Structured prediction with kernels (input output kernel regression)."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
