"""The sub-commands of `iokr`, each from its file."""

import sys

import typer

from iokr.cli.bench import bench
from iokr.cli.demo.command import demo
from iokr.cli.doctor import doctor
from iokr.cli.group import Commands
from iokr.cli.links.command import links
from iokr.cli.msms.command import msms
from iokr.cli.reproduce import reproduce
from iokr.cli.shared import guarded, show_version
from iokr.cli.show import show

__all__ = ["app"]

app = typer.Typer(
    cls=Commands,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich" if sys.stdout.isatty() and sys.stderr.isatty() else None,  # else plain lines
    context_settings={"help_option_names": ["-h", "--help"]},
)
for command in (demo, reproduce, bench, show, doctor):
    app.command()(guarded(command))
app.add_typer(links)
app.add_typer(msms)


@app.callback(invoke_without_command=True)
def iokr(
    context: typer.Context,
    version: bool = typer.Option(
        False, "--version", help="Print the version and stop.", callback=show_version, is_eager=True
    ),
) -> None:
    """Input Output Kernel Regression: predict vectors, labels or any other objects."""
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())
