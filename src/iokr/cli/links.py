"""`iokr links cv`, `iokr links train` and `iokr links predict`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from iokr.cli.group import Commands
from iokr.cli.links_options import (
    All,
    Alphas,
    Beta,
    Bipartite,
    Columns,
    Combine,
    CombineOption,
    Decimal,
    DecimalOption,
    Edges,
    IdColumn,
    Ids,
    InputKernel,
    InputKernelOption,
    Kernels,
    Labeled,
    Method,
    MethodOption,
    Missing,
    MissingOption,
    Nodes,
    OneHot,
    Partners,
    Scale,
    Scoring,
    ScoringOption,
    Semi,
    Source,
    Target,
    Threads,
    Transpose,
    Weight,
    limited,
)
from iokr.cli.links_usage import check_across, check_model, options_of
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
    from iokr.apps.report import Report
    from iokr.apps.report.progress import Progress

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


@links.command("cv")
@guarded
def cv(
    context: typer.Context,
    edges: Edges,
    nodes: Nodes = None,
    partners: Partners = None,
    bipartite: Bipartite = False,
    kernel: Kernels = None,
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
    from iokr.apps.links.across import cross_validate_across
    from iokr.apps.links.cross_validation import cross_validate

    validate = cross_validate_across if check_across(context) else cross_validate
    options = options_of(context)

    def run(progress: "Progress") -> "Report":
        return validate(options, folds=folds, seed=seed, progress=progress)

    with limited(threads):
        perform(context, run, output, more=CV_FILES)


@links.command("train")
@guarded
def train(
    context: typer.Context,
    edges: Edges,
    nodes: Nodes,
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

    Models are compared as by `iokr links predict`, and the best one is kept. `iokr links predict --model FILE` lists
    links of its nodes, with `--nodes new.tsv` those of nodes that come later; `iokr show FILE` says what is in it.
    """
    from iokr.apps.links.training import train as learn
    from iokr.apps.links.training import train_across

    learned = train_across if check_across(context) else learn
    options = options_of(context)
    with new_file(output, force=force, inputs=options.paths()), limited(threads):
        perform(context, lambda progress: learned(options, output, seed=seed, progress=progress), None)
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
    partners: Partners = None,
    bipartite: Bipartite = False,
    kernel: Kernels = None,
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

    With --model nothing is learned: pairs of the model's nodes are listed, or, with --nodes, pairs with a node that the
    model has not seen, its features scaled and checked as at training.

    The folder gets edges.tsv, the known and predicted network as network.graphml and network.cyjs (Cytoscape),
    rejected.tsv (every row of a file that did not fit), the table, metrics.json, run.json and report.html.
    """
    if (edges is None) == (model is None):
        raise typer.BadParameter("give either --edges, to learn, or --model.", param_hint="--edges / --model")
    if model is not None:
        from iokr.apps.links.kept import predict_kept
        from iokr.apps.links.placed import Asked

        check_model(context)
        asked = Asked(top, tuple(partners_of or ()), between, spreadsheet_safe)
        files = tuple(nodes or ()), tuple(partners or ())

        def run(progress: "Progress") -> "Report":
            return predict_kept(model, *files, ids, asked, seed=seed, progress=progress)

    else:
        from iokr.apps.links.bipartite import predict_across
        from iokr.apps.links.prediction import predict_links

        predicted = predict_across if check_across(context) else predict_links
        options = options_of(context)

        def run(progress: "Progress") -> "Report":
            return predicted(options, top=top, seed=seed, progress=progress)

    with limited(threads):
        perform(context, run, output, more=PREDICT_FILES)
