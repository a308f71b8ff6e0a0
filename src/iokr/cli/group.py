"""How commands are called: an option that means one value is given once, and messages about usage can be printed."""

import re
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from iokr._system.text import printable

__all__ = ["Commands"]


class Commands(TyperGroup):
    """A group all of whose commands refuse an option that is repeated, unless it is meant to be."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """As before, messages printable."""
        with _legible():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """As before, messages printable."""
        with _legible():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """The command, whose options are counted first."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing and not isinstance(command, TyperGroup):
            _refuse_repeated(command.context_class(command, info_name=name, parent=ctx), rest)
        return name, command, rest


def _refuse_repeated(ctx: Any, args: list[str]) -> None:
    try:
        _, _, order = ctx.command.make_parser(ctx).parse_args(args=list(args))
    except Exception:  # it will be said when the command parses them itself
        return
    for parameter, count in Counter(order).items():
        option = parameter.param_type_name == "option"
        if option and count > 1 and not getattr(parameter, "multiple", False) and not parameter.is_eager:
            name = max(parameter.opts, key=len)
            times = "twice" if count == 2 else f"{count} times"
            raise typer.BadParameter(f"given {times}, but it takes one value; give it once.", ctx, param_hint=name)


@contextmanager
def _legible() -> Iterator[None]:
    try:
        yield
    except Exception as error:  # of usage, wherever the installed typer has its classes from
        message = getattr(error, "message", None)
        if isinstance(message, str) and hasattr(error, "exit_code"):
            error.message = printable(_in_words(message))  # type: ignore[attr-defined]  # it was asked for above
        raise


_HERE = {"rbf": "gaussian", "linkpredictor": "iokr", "pairmodel": "pairs", "linkstack": "stack", "aligned": "alignf"}


def _in_words(message: str) -> str:
    """Without the name of an exception; what has another name in Python is told by that of the command."""
    message = message.replace("Value error, ", "")
    if " is called " in message:  # a group within a group has said so
        return message
    found = re.fullmatch(r"(.*?)'(\w+)(?:\(.*\))?' is not one of (.*?)\.?", message)
    name = _HERE.get(found[2].lower(), "") if found else ""
    return f"{message.rstrip('.')}; {found[2]} is called {name} here." if found and f"'{name}'" in found[3] else message
