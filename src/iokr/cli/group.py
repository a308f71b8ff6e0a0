"""Groups of commands: options of one value are given once, and control characters in messages are escaped."""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer
from typer.core import TyperGroup

from iokr._system.text import printable

__all__ = ["Commands"]


class Commands(TyperGroup):
    """A group whose commands reject a repeated option, unless it takes several values."""

    def make_context(self, *args: Any, **options: Any) -> Any:
        """As in the base class, with control characters in messages escaped."""
        with _legible():
            return super().make_context(*args, **options)

    def invoke(self, ctx: Any) -> Any:
        """As in the base class, with control characters in messages escaped."""
        with _legible():
            return super().invoke(ctx)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[Any, Any, list[str]]:
        """The command, after a check of repeated options."""
        name, command, rest = super().resolve_command(ctx, args)
        if command is not None and not ctx.resilient_parsing and not isinstance(command, TyperGroup):
            _refuse_repeated(command.context_class(command, info_name=name, parent=ctx), rest)
        return name, command, rest


def _refuse_repeated(ctx: Any, args: list[str]) -> None:
    try:
        _, _, order = ctx.command.make_parser(ctx).parse_args(args=list(args))
    except Exception:  # the command reports it when it parses them itself
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
    except Exception as error:  # the class of usage errors depends on the version of typer
        message = getattr(error, "message", None)
        if isinstance(message, str) and hasattr(error, "exit_code"):
            error.message = printable(message.replace("Value error, ", ""))  # type: ignore[attr-defined]  # checked above
        raise
