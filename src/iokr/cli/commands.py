"""The command `iokr` and its sub-commands."""

import sys
from typing import Any

import typer

from iokr.cli.added import ADDED, added_command
from iokr.cli.demo import demo
from iokr.cli.doctor import doctor
from iokr.cli.group import Commands
from iokr.cli.links import links
from iokr.cli.msms import msms
from iokr.cli.shared import guarded, show_version
from iokr.cli.show import show

__all__ = ["app"]


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
    rich_markup_mode="rich" if sys.stdout.isatty() and sys.stderr.isatty() else None,  # else plain lines
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
    """Input output kernel regression: predict vectors, labels, links, or any other objects."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
