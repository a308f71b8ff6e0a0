"""Options of `iokr links`, and the arguments of `iokr.apps.links` that they are."""

from pathlib import Path
from typing import Annotated, Literal

import typer

from iokr.cli.shared import in_options

__all__ = ["Edges", "Kernels", "SearchAll", "Threads", "check_usage", "fitting", "input_files", "reading"]


def _names(text: str | None) -> tuple[str, ...] | None:
    """Names, separated by commas."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip()) or None


def _numbers(text: str | None) -> tuple[float, ...] | None:
    """Numbers, separated by commas."""
    if text is None:
        return None
    try:
        return tuple(float(part) for part in text.split(","))
    except ValueError:
        raise typer.BadParameter(f"must be positive numbers, separated by commas, got {text!r}.") from None


Edges = Annotated[
    str, typer.Option("-e", "--edges", metavar="FILE", help="Known links: source, target, optional weight.")
]
Kernels = Annotated[
    list[str] | None,
    typer.Option("-k", "--kernel", metavar="FILE", help="Kernel matrix with ids, instead of features; repeatable."),
]
SearchAll = Annotated[
    bool, typer.Option("--all", help="Select parameters on all labelled nodes, not on a sample of 2000.")
]
Threads = Annotated[
    int | None,
    typer.Option("--threads", min=1, max=1024, help="Number of threads for linear algebra; default: one per core."),
]


def reading(
    nodes: Annotated[
        list[str] | None,
        typer.Option(
            "-i",
            "--nodes",
            metavar="FILE",
            help="Table of features of the nodes; the first column is the id. Repeat for several views of the nodes.",
        ),
    ] = None,
    partners: Annotated[
        list[str] | None,
        typer.Option(
            "--partners",
            metavar="FILE",
            help="Features of nodes of a second kind; only pairs of one node of each kind are scored. Repeatable.",
        ),
    ] = None,
    bipartite: Annotated[
        bool,
        typer.Option(
            "--bipartite",
            help="Two kinds of nodes in one table; the column of --edges in which a node occurs determines its kind.",
        ),
    ] = False,
    ids: Annotated[
        str | None, typer.Option("--ids", metavar="FILE", help="Ids of the rows of an .npy or .npz file.")
    ] = None,
    columns: Annotated[
        str | None,
        typer.Option("--columns", metavar="A,B,…", help="Feature columns; * matches any characters.", callback=_names),
    ] = None,
    id_column: Annotated[
        str | None, typer.Option("--id", metavar="COLUMN", help="Column with the ids of nodes.")
    ] = None,
    one_hot: Annotated[
        str | None,
        typer.Option(
            "--one-hot",
            metavar="A,B,…",
            help="Categorical columns to be one-hot encoded; * selects every column of text.",
            callback=_names,
        ),
    ] = None,
    transpose: Annotated[
        bool, typer.Option("--transpose", help="Rows of --nodes are features, columns are nodes.")
    ] = False,
    decimal: Annotated[
        Literal["auto", "point", "comma"],
        typer.Option("--decimal", help="Decimal separator; auto: a comma if that is unambiguous."),
    ] = "auto",
    source: Annotated[
        str | None, typer.Option("--source", metavar="COLUMN", help="Column of --edges with one end of a link.")
    ] = None,
    target: Annotated[
        str | None, typer.Option("--target", metavar="COLUMN", help="Column of --edges with the other end.")
    ] = None,
    weight: Annotated[
        str | None,
        typer.Option("--weight", metavar="COLUMN", help="Column of --edges with the weight; none: unweighted."),
    ] = None,
    labeled: Annotated[
        str,
        typer.Option(
            "--labeled",
            metavar="edges|all|FILE",
            help="Nodes whose mutual links are all known: those in the edge list, all, or a list of ids.",
        ),
    ] = "edges",
    missing: Annotated[
        Literal["reject", "mean", "zero"],
        typer.Option("--missing", help="Nodes with missing features: reject them, or impute the column mean or zero."),
    ] = "reject",
) -> None:
    """Options that are arguments of `iokr.apps.links.read`."""


def fitting(
    scale: Annotated[bool, typer.Option("--scale/--no-scale", help="Standardise features: mean 0, variance 1.")] = True,
    input_kernel: Annotated[
        Literal["gaussian", "linear", "cosine", "tanimoto"],
        typer.Option("--input-kernel", help="Kernel on the features."),
    ] = "gaussian",
    combine: Annotated[
        Literal["mean", "alignf", "align"],
        typer.Option(
            "--combine",
            help="Weights of several views: equal (mean), or by alignment of their kernels with the links.",
        ),
    ] = "mean",
    beta: Annotated[
        float, typer.Option("--beta", help="Diffusion time on the known links; a larger value gives a longer range.")
    ] = 1.0,
    unlabeled: Annotated[
        bool, typer.Option("--unlabeled", help="Semi-supervised: use the features of unlabelled nodes.")
    ] = False,
    scoring: Annotated[
        Literal["roc_auc", "average_precision", "both"],
        typer.Option("--scoring", help="Metric by which parameters and models are selected."),
    ] = "roc_auc",
    method: Annotated[
        Literal["auto", "iokr", "pairs", "stack"],
        typer.Option(
            "--method",
            help="iokr: LinkPredictor; pairs: PairLinkPredictor; stack: LinkStack of both; "
            "auto: the best of these by cross-validation over nodes.",
        ),
    ] = "auto",
    alphas: Annotated[
        str | None,
        typer.Option("--alphas", metavar="A,B,…", help="Regularisation parameters to select from.", callback=_numbers),
    ] = None,
) -> None:
    """Options that are arguments of `iokr.apps.links.fit`."""


def check_usage(context: typer.Context) -> None:
    """Raise for options that exclude each other or have no effect, exit code 2, before anything is read."""
    from iokr.apps.links import check_arguments

    sources = {name: context.get_parameter_source(name) for name in context.params}
    typed = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    try:
        check_arguments(context.params, typed)
    except ValueError as error:
        raise typer.BadParameter(in_options(str(error), context)) from None


def input_files(context: typer.Context) -> tuple[Path, ...]:
    """The files that a command reads."""
    from iokr.apps.links.data import files_of

    labeled = context.params["labeled"]
    tables = [context.params[name] for name in ("nodes", "partners", "edges")]
    return files_of(tables, [context.params["ids"], None if labeled in ("edges", "all") else labeled])
