"""Which options of `iokr links` go together; what has no meaning is refused by name, exit code 2."""

import enum
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import typer

from iokr.cli.links_options import Combine, Method, is_given, names, numbers, spelled

if TYPE_CHECKING:
    from iokr.apps.links.model import Options

__all__ = ["check_across", "check_model", "options_of"]

_LEARNING: tuple[str, ...] = (
    *("kernel", "labeled", "missing", "scale", "input_kernel", "combine", "beta", "unlabeled", "scoring"),
    *("bipartite", "method", "alphas", "search_all", "columns", "id_column", "one_hot", "transpose", "decimal"),
    *("source", "target", "weight"),
)


def check_model(context: typer.Context) -> None:
    """Options of learning have no effect on a model that has learned."""
    for name in _LEARNING:
        if is_given(context, name):
            raise typer.BadParameter(
                "has a meaning when a model is learned, with --edges only.", param_hint=spelled(context, name)
            )
    _check_lists(context.params)


def _check_lists(given: dict[str, Any]) -> None:
    if given.get("partners_of") and given.get("between"):
        raise typer.BadParameter("give --for or --between, not both.", param_hint="--for / --between")
    if [*(given["nodes"] or ()), *(given["partners"] or ()), given["edges"]].count("-") > 1:
        raise typer.BadParameter("standard input can be read once.", param_hint="-")


def check_across(context: typer.Context) -> bool:
    """Whether there are two kinds of nodes, which have features each, and one model."""
    given = context.params
    if not given["partners"] and not given["bipartite"]:
        return False
    hint = "--bipartite" if given["bipartite"] else "--partners"
    if given["bipartite"] and given["partners"]:
        raise typer.BadParameter("has no meaning with --partners: two tables tell two kinds.", param_hint=hint)
    if not given["nodes"]:
        raise typer.BadParameter(
            f"needs --nodes, the features of {'both kinds' if hint == '--bipartite' else 'one kind'}.", param_hint=hint
        )
    idle = ("kernel", "labeled", "beta", "unlabeled", "method", "search_all", *(("ids",) if given["partners"] else ()))
    for name in idle:
        if is_given(context, name):
            raise typer.BadParameter(f"has no meaning with {hint}.", param_hint=spelled(context, name))
    return True


def options_of(context: typer.Context) -> "Options":
    """What the commands that learn share, checked for usage."""
    from iokr.apps.links.model import Options

    absent = ("kernel", "alphas", "partners_of", "between", "edges")
    given: dict[str, Any] = {
        **dict.fromkeys(absent),
        "combine": Combine.mean,
        "spreadsheet_safe": False,
        "method": Method.auto,
        "search_all": False,
        **context.params,
    }
    for name in ("nodes", "partners"):
        given[name] = tuple(given[name] or ())
    if bool(given["nodes"]) == bool(given["kernel"]):
        raise typer.BadParameter("give either --nodes or --kernel.", param_hint="--nodes / --kernel")
    if not 0 < given["beta"] < float("inf"):
        raise typer.BadParameter(f"must be a positive number, got {given['beta']}.", param_hint="--beta")
    if given["nodes"]:
        several = len(given["nodes"]) > 1 or len(given["partners"]) > 1
        idle: tuple[str, ...] = () if several else ("combine",)
    else:
        idle = ("missing", "scale", "input_kernel", "columns", "id_column", "one_hot", "transpose")
    for name in idle:
        if is_given(context, name):
            other = "several --nodes or --kernel" if given["nodes"] else "--nodes"
            raise typer.BadParameter(f"has a meaning with {other} only.", param_hint=spelled(context, name))
    if given["method"] == Method.pairs and given["unlabeled"]:
        raise typer.BadParameter(
            "PairModel has no use for unlabelled nodes; leave one of the two out.", param_hint="--method"
        )
    _check_lists(given)
    if (given["source"] is None) != (given["target"] is None):
        raise typer.BadParameter("give both, or neither.", param_hint="--source / --target")
    given["columns"] = names(given["columns"]) or None
    given["one_hot"] = names(given["one_hot"])
    given["kernels"], given["partners_of"] = tuple(given["kernel"] or ()), tuple(given["partners_of"] or ())
    given["alphas"], given["all"] = numbers(given["alphas"]), given["search_all"]
    values = {field.name: given[field.name] for field in fields(Options)}
    values = {name: str(value) if isinstance(value, enum.StrEnum) else value for name, value in values.items()}
    return Options(**values)
