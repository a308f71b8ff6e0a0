"""`iokr links cv` and `iokr links predict`."""

import enum
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    perform,
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
    perform(
        context,
        lambda progress: cross_validate(options, folds=folds, seed=seed, progress=progress),
        output,
        more=CV_FILES,
    )


@links.command("predict")
@guarded
def predict(
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
    top: Annotated[int, typer.Option("--top", min=1, help="How many links to list.")] = 1000,
    output: Output = Path("iokr-links"),
    force: Force = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """List the pairs most likely to be linked that are not known to be.

    The folder gets edges.tsv, the known and predicted network as network.graphml and network.cyjs (Cytoscape),
    rejected.tsv (every row of a file that did not fit), the table, metrics.json, run.json and report.html.
    """
    from iokr.cli.links.prediction import predict_links

    options = _options(context)
    perform(
        context,
        lambda progress: predict_links(options, top=top, seed=seed, progress=progress),
        output,
        more=PREDICT_FILES,
    )


def _options(context: typer.Context) -> "Options":
    """What both commands share, checked for usage."""
    from iokr.cli.links.model import Options

    given = context.params
    if (given["nodes"] is None) == (not given["kernel"]):
        raise typer.BadParameter("give either --nodes or --kernel.", param_hint="--nodes / --kernel")
    if not 0 < given["beta"] < float("inf"):
        raise typer.BadParameter(f"must be a positive number, got {given['beta']}.", param_hint="--beta")
    idle = ("combine",) if given["nodes"] else ("missing", "scale", "input_kernel")
    for name in idle:
        source = context.get_parameter_source(name)
        if source is not None and source.name == "COMMANDLINE":
            other = "--kernel" if given["nodes"] else "--nodes"
            raise typer.BadParameter(f"has a meaning with {other} only.", param_hint=f"--{name.replace('_', '-')}")
    values = {field.name: given[field.name] for field in fields(Options) if field.name != "kernels"}
    return Options(kernels=tuple(given["kernel"] or ()), **values)
