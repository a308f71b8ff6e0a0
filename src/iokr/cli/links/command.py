"""`iokr links cv`, `iokr links train` and `iokr links predict`."""

import enum
from contextlib import nullcontext
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iokr.cli.group import Commands
from iokr.cli.shared import (
    Force,
    FormatOption,
    Output,
    Quiet,
    Seed,
    SpreadsheetSafe,
    Verbose,
    guarded,
    new_file,
    perform,
    say,
)

if TYPE_CHECKING:
    from iokr.cli.links.model import Options

__all__ = ["links"]

links = typer.Typer(
    cls=Commands,
    name="links",
    help="Predict links of a network from features of its nodes.",
    no_args_is_help=True,
    context_settings={"help_option_names": ["-h", "--help"]},
)

CV_FILES = ("curves.tsv", "rejected.tsv")
PREDICT_FILES = ("edges.tsv", "network.graphml", "network.cyjs", "rejected.tsv")


Missing = enum.StrEnum("Missing", ["reject", "mean", "zero"])
InputKernel = enum.StrEnum("InputKernel", ["gaussian", "linear", "cosine", "tanimoto"])
Combine = enum.StrEnum("Combine", ["mean", "alignf", "align"])
Scoring = enum.StrEnum("Scoring", ["roc_auc", "average_precision", "both"])
Method = enum.StrEnum("Method", ["auto", "iokr", "pairs"])

Edges = Annotated[
    str, typer.Option("-e", "--edges", metavar="FILE", help="Known links: source, target, perhaps weight.")
]
Nodes = Annotated[
    str | None, typer.Option("-i", "--nodes", metavar="FILE", help="Features of the nodes; the first column is the id.")
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
CombineOption = Annotated[Combine, typer.Option("--combine", help="How several kernel matrices become one.")]
Beta = Annotated[float, typer.Option("--beta", help="Diffusion time on the known links: larger reaches further.")]
Semi = Annotated[bool, typer.Option("--unlabeled", help="Nodes without known links take part in learning.")]
MethodOption = Annotated[
    Method, typer.Option("--method", help="LinkPredictor, PairModel, or the better one by folds of nodes.")
]
Alphas = Annotated[
    str | None, typer.Option("--alphas", metavar="A,B,…", help="Values of the regularisation to choose from.")
]
All = Annotated[bool, typer.Option("--all", help="Choose parameters on all labelled nodes, not on a sample of many.")]
Threads = Annotated[
    int | None, typer.Option("--threads", min=1, help="Threads of linear algebra; default: one per core.")
]
ScoringOption = Annotated[Scoring, typer.Option("--scoring", help="What leave-one-out chooses parameters by.")]


@links.command("cv")
@guarded
def cv(
    context: typer.Context,
    edges: Edges,
    nodes: Nodes = None,
    kernel: Kernels = None,
    ids: Ids = None,
    labeled: Labeled = "edges",
    missing: MissingOption = Missing.reject,
    scale: Scale = True,
    input_kernel: InputKernelOption = InputKernel.gaussian,
    combine: CombineOption = Combine.mean,
    beta: Beta = 1.0,
    unlabeled: Semi = False,
    scoring: ScoringOption = Scoring.roc_auc,
    method: MethodOption = Method.auto,
    alphas: Alphas = None,
    threads: Threads = None,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Into how many parts the nodes are cut.")] = 5,
    output: Output = Path("iokr-links-cv"),
    force: Force = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """How well are links found that the model has not seen?

    Between known nodes, to new nodes, and among new nodes, by folds over the nodes. The folder gets the table,
    metrics.json, curves.tsv, rejected.tsv (every row of a file that did not fit), run.json and report.html.
    """
    from iokr.cli.links.cross_validation import cross_validate

    options = _options(context)
    with _limited(threads):
        perform(
            context,
            lambda progress: cross_validate(options, folds=folds, seed=seed, progress=progress),
            output,
            more=CV_FILES,
        )


@links.command("train")
@guarded
def train(
    context: typer.Context,
    edges: Edges,
    nodes: Annotated[
        str, typer.Option("-i", "--nodes", metavar="FILE", help="Features of the nodes; the first column is the id.")
    ],
    ids: Ids = None,
    labeled: Labeled = "edges",
    missing: MissingOption = Missing.reject,
    scale: Scale = True,
    input_kernel: InputKernelOption = InputKernel.gaussian,
    beta: Beta = 1.0,
    unlabeled: Semi = False,
    scoring: ScoringOption = Scoring.roc_auc,
    output: Annotated[Path, typer.Option("-o", "--output", metavar="FILE", help="The model.")] = Path(
        "model.safetensors"
    ),
    force: Annotated[bool, typer.Option("--force", help="Write over an earlier model.")] = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Learn from a network, and keep the model in a file.

    It is for nodes that come later: `iokr links predict --model FILE --nodes new.tsv` places them; `iokr show FILE`
    says what is in it.
    """
    from iokr.cli.links.training import train as learn

    options = _options(context)
    with new_file(output, force=force, inputs=options.paths()):
        perform(context, lambda progress: learn(options, output, seed=seed, progress=progress), None)
    say(f"\nwrote {output}", quiet=quiet)


@links.command("predict")
@guarded
def predict(
    context: typer.Context,
    edges: Annotated[
        str | None, typer.Option("-e", "--edges", metavar="FILE", help="Known links: source, target, perhaps weight.")
    ] = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", metavar="FILE", help="A model of `iokr links train`, in place of --edges."),
    ] = None,
    nodes: Nodes = None,
    partners: Annotated[
        str | None,
        typer.Option("--partners", metavar="FILE", help="Nodes of another kind: only pairs across are predicted."),
    ] = None,
    kernel: Kernels = None,
    ids: Ids = None,
    labeled: Labeled = "edges",
    missing: MissingOption = Missing.reject,
    scale: Scale = True,
    input_kernel: InputKernelOption = InputKernel.gaussian,
    combine: CombineOption = Combine.mean,
    beta: Beta = 1.0,
    unlabeled: Semi = False,
    scoring: ScoringOption = Scoring.roc_auc,
    method: MethodOption = Method.auto,
    alphas: Alphas = None,
    search_all: All = False,
    threads: Threads = None,
    top: Annotated[int, typer.Option("--top", min=1, help="How many links to list.")] = 1000,
    partners_of: Annotated[
        list[str] | None, typer.Option("--for", metavar="ID", help="Only partners of this node; repeatable.")
    ] = None,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option("--between", metavar="FILE FILE", help="Only pairs of a node of one list and one of the other."),
    ] = None,
    output: Output = Path("iokr-links"),
    force: Force = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """List the pairs most likely to be linked that are not known to be.

    With --model nothing is learned: pairs with a node of --nodes that the model has not seen are listed, their features
    scaled and checked as at training.

    The folder gets edges.tsv, the known and predicted network as network.graphml and network.cyjs (Cytoscape),
    rejected.tsv (every row of a file that did not fit), the table, metrics.json, run.json and report.html.
    """
    if (edges is None) == (model is None):
        raise typer.BadParameter("give either --edges, to learn, or --model.", param_hint="--edges / --model")
    if model is not None:
        from iokr.cli.links.training import predict_new

        new = _new_nodes(context)
        perform(
            context,
            lambda progress: predict_new(model, new, ids, top=top, seed=seed, safe=spreadsheet_safe, progress=progress),
            output,
            more=PREDICT_FILES,
        )
        return
    options = _options(context)
    if partners is not None:
        _check_across(context)
        from iokr.cli.links.bipartite import predict_across

        with _limited(threads):
            perform(
                context,
                lambda progress: predict_across(options, partners, top=top, seed=seed, progress=progress),
                output,
                more=PREDICT_FILES,
            )
        return
    from iokr.cli.links.prediction import predict_links

    with _limited(threads):
        perform(
            context,
            lambda progress: predict_links(options, top=top, seed=seed, progress=progress),
            output,
            more=PREDICT_FILES,
        )


def _new_nodes(context: typer.Context) -> str:
    """The file of new nodes; options of learning have no effect on a model that has learned."""
    if context.params["nodes"] is None:
        raise typer.BadParameter("--model needs --nodes, the features of new nodes.", param_hint="--nodes")
    learning: tuple[str, ...] = (
        "kernel",
        "labeled",
        "missing",
        "scale",
        "input_kernel",
        "combine",
        "beta",
        "unlabeled",
        "scoring",
    )
    learning += ("partners", "method", "alphas", "search_all", "partners_of", "between")
    for name in learning:
        if _is_given(context, name):
            raise typer.BadParameter(
                "has a meaning when a model is learned, with --edges only.", param_hint=_spelled(context, name)
            )
    return str(context.params["nodes"])


def _check_across(context: typer.Context) -> None:
    """Two kinds of nodes have features each, and one model."""
    if context.params["nodes"] is None:
        raise typer.BadParameter("needs --nodes, the features of the other kind.", param_hint="--partners")
    idle = (
        "kernel",
        "ids",
        "labeled",
        "combine",
        "beta",
        "unlabeled",
        "method",
        "search_all",
        "partners_of",
        "between",
    )
    for name in idle:
        if _is_given(context, name):
            raise typer.BadParameter("has no meaning with --partners.", param_hint=_spelled(context, name))


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"


def _options(context: typer.Context) -> "Options":
    """What the commands that learn share, checked for usage."""
    from iokr.cli.links.model import Options

    absent = ("kernel", "alphas", "partners_of", "between")
    given: dict[str, Any] = {
        **dict.fromkeys(absent),
        "combine": Combine.mean,
        "spreadsheet_safe": False,
        "method": Method.auto,
        "search_all": False,
        **context.params,
    }
    if (given["nodes"] is None) == (not given["kernel"]):
        raise typer.BadParameter("give either --nodes or --kernel.", param_hint="--nodes / --kernel")
    if not 0 < given["beta"] < float("inf"):
        raise typer.BadParameter(f"must be a positive number, got {given['beta']}.", param_hint="--beta")
    idle = ("combine",) if given["nodes"] else ("missing", "scale", "input_kernel")
    for name in idle:
        if _is_given(context, name):
            other = "--kernel" if given["nodes"] else "--nodes"
            raise typer.BadParameter(f"has a meaning with {other} only.", param_hint=_spelled(context, name))
    if given["method"] == Method.pairs and given["unlabeled"]:
        raise typer.BadParameter(
            "PairModel has no use for unlabelled nodes; leave one of the two out.", param_hint="--method"
        )
    if given["partners_of"] and given["between"]:
        raise typer.BadParameter("give --for or --between, not both.", param_hint="--for / --between")
    given["kernels"], given["partners_of"] = tuple(given["kernel"] or ()), tuple(given["partners_of"] or ())
    given["alphas"], given["all"] = _numbers(given["alphas"]), given["search_all"]
    values = {field.name: given[field.name] for field in fields(Options)}
    values = {name: str(value) if isinstance(value, enum.StrEnum) else value for name, value in values.items()}
    return Options(**values)


def _numbers(text: str | None) -> tuple[float, ...] | None:
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


def _spelled(context: typer.Context, name: str) -> str:
    """An option as it is typed."""
    found = next((p for p in context.command.params if p.name == name), None)
    return max(found.opts, key=len) if found is not None else f"--{name.replace('_', '-')}"


def _limited(threads: int | None) -> Any:
    """So many threads of linear algebra within."""
    if threads is None:
        return nullcontext()
    from threadpoolctl import threadpool_limits

    return threadpool_limits(limits=threads)
