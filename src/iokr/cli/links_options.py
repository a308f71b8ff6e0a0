"""Options of `iokr links`, and how they are read."""

import enum
from contextlib import nullcontext
from typing import Annotated, Any

import typer

__all__ = [
    "All",
    "Alphas",
    "Beta",
    "Bipartite",
    "Columns",
    "Combine",
    "CombineOption",
    "Decimal",
    "DecimalOption",
    "Edges",
    "IdColumn",
    "Ids",
    "InputKernel",
    "InputKernelOption",
    "Kernels",
    "Labeled",
    "Method",
    "MethodOption",
    "Missing",
    "MissingOption",
    "Nodes",
    "OneHot",
    "Partners",
    "Scale",
    "Scoring",
    "ScoringOption",
    "Semi",
    "Source",
    "Target",
    "Threads",
    "Transpose",
    "Weight",
    "is_given",
    "limited",
    "names",
    "numbers",
    "spelled",
]

Missing = enum.StrEnum("Missing", ["reject", "mean", "zero"])
InputKernel = enum.StrEnum("InputKernel", ["gaussian", "linear", "cosine", "tanimoto"])
Combine = enum.StrEnum("Combine", ["mean", "alignf", "align"])
Scoring = enum.StrEnum("Scoring", ["roc_auc", "average_precision", "both"])
Decimal = enum.StrEnum("Decimal", ["auto", "point", "comma"])
Method = enum.StrEnum("Method", ["auto", "iokr", "pairs", "stack"])

Edges = Annotated[
    str, typer.Option("-e", "--edges", metavar="FILE", help="Known links: source, target, perhaps weight.")
]
Nodes = Annotated[
    list[str] | None,
    typer.Option(
        "-i",
        "--nodes",
        metavar="FILE",
        help="Features of the nodes; the first column is the id. Given again: another view of the same nodes.",
    ),
]
Kernels = Annotated[
    list[str] | None,
    typer.Option("-k", "--kernel", metavar="FILE", help="A kernel matrix with ids, in place of features; repeatable."),
]
Ids = Annotated[str | None, typer.Option("--ids", metavar="FILE", help="Ids of the rows of an .npy or .npz file.")]
Labeled = Annotated[
    str,
    typer.Option(
        "--labeled",
        metavar="edges|all|FILE",
        help="Nodes whose links are all known: those in the edge list, all, a list.",
    ),
]
MissingOption = Annotated[
    Missing, typer.Option("--missing", help="Nodes with missing features: leave out, or fill in.")
]
Scale = Annotated[bool, typer.Option("--scale/--no-scale", help="Scale every feature to mean 0 and variance 1.")]
InputKernelOption = Annotated[InputKernel, typer.Option("--input-kernel", help="How features are compared.")]
CombineOption = Annotated[Combine, typer.Option("--combine", help="How the kernels of several views become one.")]
Beta = Annotated[float, typer.Option("--beta", help="Diffusion time on the known links: larger reaches further.")]
Semi = Annotated[bool, typer.Option("--unlabeled", help="Nodes without known links take part in learning.")]
MethodOption = Annotated[
    Method, typer.Option("--method", help="LinkPredictor, PairModel, both together, or the best by folds of nodes.")
]
Alphas = Annotated[
    str | None, typer.Option("--alphas", metavar="A,B,…", help="Values of the regularisation to choose from.")
]
All = Annotated[bool, typer.Option("--all", help="Choose parameters on all labelled nodes, not on a sample of many.")]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, max=1024, help="Threads of linear algebra; default: one per core.")
]
ScoringOption = Annotated[Scoring, typer.Option("--scoring", help="What leave-one-out chooses parameters by.")]
Partners = Annotated[
    list[str] | None,
    typer.Option(
        "--partners",
        metavar="FILE",
        help="Nodes of another kind: only pairs across are scored. Given again: another view of them.",
    ),
]
Bipartite = Annotated[
    bool,
    typer.Option(
        "--bipartite", help="Two kinds of nodes in one table; the column of --edges tells the kind. Only pairs across."
    ),
]
Columns = Annotated[
    str | None, typer.Option("--columns", metavar="A,B,…", help="Which columns are features; * stands for any letters.")
]
IdColumn = Annotated[str | None, typer.Option("--id", metavar="COLUMN", help="The column with the ids of nodes.")]
OneHot = Annotated[
    str | None,
    typer.Option(
        "--one-hot", metavar="A,B,…", help="Columns of categories, made zeros and ones; * is every one of text."
    ),
]
Transpose = Annotated[bool, typer.Option("--transpose", help="Rows of --nodes are features, columns are nodes.")]
DecimalOption = Annotated[
    Decimal, typer.Option("--decimal", help="What stands before decimals; auto: a comma if that is certain.")
]
Source = Annotated[str | None, typer.Option("--source", metavar="COLUMN", help="Of --edges: one end of a link.")]
Target = Annotated[str | None, typer.Option("--target", metavar="COLUMN", help="Of --edges: the other end.")]
Weight = Annotated[
    str | None, typer.Option("--weight", metavar="COLUMN", help="Of --edges: the weight; none: all links alike.")
]


def names(text: str | None) -> tuple[str, ...]:
    """Names with commas between them."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def numbers(text: str | None) -> tuple[float, ...] | None:
    """Positive numbers with commas between them."""
    if text is None:
        return None
    try:
        values = tuple(float(part) for part in text.split(","))
    except ValueError:
        values = ()
    if not values or not all(0 < value < float("inf") for value in values):
        raise typer.BadParameter(
            f"must be positive numbers with commas between them, got {text!r}.", param_hint="--alphas"
        )
    return values


def is_given(context: typer.Context, name: str) -> bool:
    """Whether the user has typed an option."""
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def spelled(context: typer.Context, name: str) -> str:
    """An option as it is typed."""
    found = next((p for p in context.command.params if p.name == name), None)
    return max(found.opts, key=len) if found is not None else f"--{name.replace('_', '-')}"


def limited(threads: int | None) -> Any:
    """So many threads of linear algebra within."""
    if threads is None:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=threads)
