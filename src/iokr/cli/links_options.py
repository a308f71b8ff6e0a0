"""Options of `iokr links`, and the arguments of `iokr.apps.links` that they are."""

import enum
import functools
import inspect
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from typing import Annotated, Any

import typer

from iokr.cli.shared import in_options

__all__ = [
    "Edges",
    "Kernels",
    "SearchAll",
    "Threads",
    "arguments",
    "check_usage",
    "fitting",
    "input_files",
    "limited",
    "reading",
    "with_options",
]


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


Missing = enum.StrEnum("Missing", ["reject", "mean", "zero"])
InputKernel = enum.StrEnum("InputKernel", ["gaussian", "linear", "cosine", "tanimoto"])
Combine = enum.StrEnum("Combine", ["mean", "alignf", "align"])
Scoring = enum.StrEnum("Scoring", ["roc_auc", "average_precision", "both"])
Decimal = enum.StrEnum("Decimal", ["auto", "point", "comma"])
Method = enum.StrEnum("Method", ["auto", "iokr", "pairs", "stack"])

Edges = Annotated[
    str, typer.Option("-e", "--edges", metavar="FILE", help="Known links: source, target, optional weight.")
]
Nodes = Annotated[
    list[str] | None,
    typer.Option(
        "-i",
        "--nodes",
        metavar="FILE",
        help="Features of nodes; the first column is the id. Repeat it for several views of the same nodes.",
    ),
]
Kernels = Annotated[
    list[str] | None,
    typer.Option("-k", "--kernel", metavar="FILE", help="Kernel matrix with ids, instead of features; repeatable."),
]
Ids = Annotated[str | None, typer.Option("--ids", metavar="FILE", help="Ids of the rows of an .npy or .npz file.")]
Labeled = Annotated[
    str,
    typer.Option(
        "--labeled",
        metavar="edges|all|FILE",
        help="Nodes whose mutual links are all known: those in the edge list, all, or a list of ids.",
    ),
]
MissingOption = Annotated[
    Missing, typer.Option("--missing", help="Nodes with missing features: reject them, or impute the mean or zero.")
]
Scale = Annotated[bool, typer.Option("--scale/--no-scale", help="Standardise features: mean 0, variance 1.")]
InputKernelOption = Annotated[InputKernel, typer.Option("--input-kernel", help="Kernel on the features.")]
CombineOption = Annotated[Combine, typer.Option("--combine", help="How the kernels of several views are combined.")]
Beta = Annotated[float, typer.Option("--beta", help="Diffusion time on the known links; larger reaches further.")]
Semi = Annotated[bool, typer.Option("--unlabeled", help="Semi-supervised: use the features of unlabelled nodes.")]
MethodOption = Annotated[
    Method,
    typer.Option(
        "--method", help="LinkPredictor, PairLinkPredictor, LinkStack of both, or the best in folds of nodes."
    ),
]
Alphas = Annotated[
    str | None,
    typer.Option("--alphas", metavar="A,B,…", help="Values of the regularisation to choose from.", callback=_numbers),
]
SearchAll = Annotated[
    bool, typer.Option("--all", help="Choose parameters on all labelled nodes, not on a sample of 2000.")
]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, max=1024, help="Threads of linear algebra; default: one per core.")
]
ScoringOption = Annotated[
    Scoring, typer.Option("--scoring", help="Accuracy by which parameters and models are chosen.")
]
Partners = Annotated[
    list[str] | None,
    typer.Option(
        "--partners",
        metavar="FILE",
        help="Nodes of a second kind: only pairs across are scored. Repeat it for several views.",
    ),
]
Bipartite = Annotated[
    bool,
    typer.Option("--bipartite", help="Two kinds of nodes in one table; the column of --edges determines the kind."),
]
Columns = Annotated[
    str | None,
    typer.Option(
        "--columns",
        metavar="A,B,…",
        help="Feature columns; * matches any characters.",
        callback=_names,
    ),
]
IdColumn = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="Column with the ids of nodes.")]
OneHot = Annotated[
    str | None,
    typer.Option(
        "--one-hot",
        metavar="A,B,…",
        help="Categorical columns, encoded as zeros and ones; * for every column of text.",
        callback=_names,
    ),
]
Transpose = Annotated[bool, typer.Option("--transpose", help="Rows of --nodes are features, columns are nodes.")]
DecimalOption = Annotated[
    Decimal, typer.Option("--decimal", help="Decimal separator; auto: a comma where that is certain.")
]
Source = Annotated[str | None, typer.Option("--source", metavar="COLUMN", help="Column of --edges: one end of a link.")]
Target = Annotated[str | None, typer.Option("--target", metavar="COLUMN", help="Column of --edges: the other end.")]
Weight = Annotated[
    str | None, typer.Option("--weight", metavar="COLUMN", help="Column of --edges: the weight; none: unweighted.")
]


def reading(
    nodes: Nodes = None,
    partners: Partners = None,
    bipartite: Bipartite = False,
    ids: Ids = None,
    columns: Columns = None,
    id_column: IdColumn = None,
    one_hot: OneHot = None,
    transpose: Transpose = False,
    decimal: DecimalOption = Decimal.auto,
    source: Source = None,
    target: Target = None,
    weight: Weight = None,
    labeled: Labeled = "edges",
    missing: MissingOption = Missing.reject,
) -> None:
    """Options that are arguments of `iokr.apps.links.read`."""


def fitting(
    scale: Scale = True,
    input_kernel: InputKernelOption = InputKernel.gaussian,
    combine: CombineOption = Combine.mean,
    beta: Beta = 1.0,
    unlabeled: Semi = False,
    scoring: ScoringOption = Scoring.roc_auc,
    method: MethodOption = Method.auto,
    alphas: Alphas = None,
) -> None:
    """Options that are arguments of `iokr.apps.links.fit`."""


def with_options(*groups: Callable[..., None]) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """A command with the options of some groups after its first one; `arguments` reads their values."""

    def merged(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command)
        context, first, *rest = own.parameters.values()
        shared = [option for group in groups for option in inspect.signature(group).parameters.values()]

        @functools.wraps(command)
        def run(**given: Any) -> None:
            command(**{name: given[name] for name in own.parameters})

        options = [option.replace(kind=inspect.Parameter.KEYWORD_ONLY) for option in (first, *shared, *rest)]
        run.__signature__ = own.replace(parameters=[context, *options])  # type: ignore[attr-defined]
        run.__annotations__ = {option.name: option.annotation for option in (context, *options)}
        return run

    return merged


def arguments(context: typer.Context, group: Callable[..., None]) -> dict[str, Any]:
    """The options of a group as the library takes them."""
    return {name: _plain(context.params[name]) for name in inspect.signature(group).parameters}


def _plain(value: Any) -> Any:
    """A choice as its name, an empty list as None."""
    if isinstance(value, enum.Enum):
        return value.value
    return None if value in ([], ()) else value


def check_usage(context: typer.Context) -> None:
    """Raise for options that exclude each other or have no effect, exit code 2, before anything is read."""
    from iokr.apps.links import check_arguments

    values = {name: _plain(value) for name, value in context.params.items()}
    sources = {name: context.get_parameter_source(name) for name in values}
    typed = [name for name, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    try:
        check_arguments(values, typed)
    except ValueError as error:
        raise typer.BadParameter(in_options(str(error), context)) from None


def input_files(context: typer.Context) -> tuple[Path, ...]:
    """The files that a command reads."""
    from iokr.apps.links.data import files_of

    labeled = context.params["labeled"]
    tables = [context.params[name] for name in ("nodes", "partners", "edges")]
    return files_of(tables, [context.params["ids"], None if labeled in ("edges", "all") else labeled])


def limited(threads: int | None) -> Any:
    """At most this many threads of linear algebra inside the block."""
    if threads is None:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=threads)
