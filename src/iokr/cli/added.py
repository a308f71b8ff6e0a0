"""Commands of other distributions, by the entry points `iokr.commands`: `reproduce` and `bench` of iokr-lab."""

from __future__ import annotations

from collections.abc import Callable
from importlib.metadata import entry_points
from typing import Any

import typer

from iokr.cli.shared import guarded

__all__ = ["ADDED", "added_command"]

ADDED = {
    "reproduce": "Repeat a published experiment and compare the numbers.",
    "bench": "Measure against baselines and the arithmetic lower bound.",
}
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
    app = typer.Typer(add_completion=False, pretty_exceptions_enable=False)
    app.command(name, **options)(guarded(function))
    return typer.main.get_command(app)
