"""`iokr links cv`, `iokr links train` and `iokr links predict`."""

import enum
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from iokr.cli.group import Commands
from iokr.cli.links.options import (
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
    is_given,
    limited,
    names,
    numbers,
    spelled,
)
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
    from iokr.report import Report
    from iokr.report.progress import Progress

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
    from iokr.cli.links.across import cross_validate_across
    from iokr.cli.links.cross_validation import cross_validate

    across = _check_across(context)
    options = _options(context)

    def run(progress: "Progress") -> "Report":
        if across:
            return cross_validate_across(options, partners, folds=folds, seed=seed, progress=progress)
        return cross_validate(options, folds=folds, seed=seed, progress=progress)

    with limited(threads):
        perform(context, run, output, more=CV_FILES)


@links.command("train")
@guarded
def train(
    context: typer.Context,
    edges: Edges,
    nodes: Nodes,
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
    from iokr.cli.links.bipartite import predict_across
    from iokr.cli.links.prediction import predict_links

    across = _check_across(context)
    options = _options(context)

    def run(progress: "Progress") -> "Report":
        if across:
            return predict_across(options, partners, top=top, seed=seed, progress=progress)
        return predict_links(options, top=top, seed=seed, progress=progress)

    with limited(threads):
        perform(context, run, output, more=PREDICT_FILES)


def _new_nodes(context: typer.Context) -> tuple[str, ...]:
    """The file of new nodes; options of learning have no effect on a model that has learned."""
    if not context.params["nodes"]:
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
    learning += ("partners", "bipartite", "method", "alphas", "search_all", "partners_of", "between")
    learning += ("columns", "id_column", "one_hot", "transpose", "decimal", "source", "target", "weight")
    for name in learning:
        if is_given(context, name):
            raise typer.BadParameter(
                "has a meaning when a model is learned, with --edges only.", param_hint=spelled(context, name)
            )
    return tuple(context.params["nodes"])


def _check_across(context: typer.Context) -> bool:
    """Whether there are two kinds of nodes, which have features each, and one model."""
    given = context.params
    if given["partners"] is None and not given["bipartite"]:
        return False
    hint = "--bipartite" if given["bipartite"] else "--partners"
    if given["bipartite"] and given["partners"] is not None:
        raise typer.BadParameter("has no meaning with --partners: two tables tell two kinds.", param_hint=hint)
    if not given["nodes"]:
        raise typer.BadParameter(
            f"needs --nodes, the features of {'both kinds' if hint == '--bipartite' else 'one kind'}.", param_hint=hint
        )
    if len(given["nodes"]) > 1:
        raise typer.BadParameter(
            f"takes one table with {hint}; several views of two kinds of nodes are not combined.", param_hint="--nodes"
        )
    idle: tuple[str, ...] = ("kernel", "labeled", "combine", "beta", "unlabeled", "method")
    idle += ("search_all", "partners_of", "between", *(("ids",) if given["partners"] else ()))
    for name in idle:
        if is_given(context, name):
            raise typer.BadParameter(f"has no meaning with {hint}.", param_hint=spelled(context, name))
    return True


def _options(context: typer.Context) -> "Options":
    """What the commands that learn share, checked for usage."""
    from iokr.cli.links.model import Options

    absent = ("kernel", "alphas", "partners_of", "between", "edges")
    given: dict[str, Any] = {
        **dict.fromkeys(absent),
        "combine": Combine.mean,
        "spreadsheet_safe": False,
        "method": Method.auto,
        "search_all": False,
        **context.params,
    }
    given["nodes"] = tuple(given["nodes"] or ())
    if bool(given["nodes"]) == bool(given["kernel"]):
        raise typer.BadParameter("give either --nodes or --kernel.", param_hint="--nodes / --kernel")
    if not 0 < given["beta"] < float("inf"):
        raise typer.BadParameter(f"must be a positive number, got {given['beta']}.", param_hint="--beta")
    if given["nodes"]:
        idle: tuple[str, ...] = () if len(given["nodes"]) > 1 else ("combine",)
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
    if given["partners_of"] and given["between"]:
        raise typer.BadParameter("give --for or --between, not both.", param_hint="--for / --between")
    if list(given["nodes"]).count("-") + (given["edges"] == "-") > 1:
        raise typer.BadParameter("standard input can be read once.", param_hint="-")
    if (given["source"] is None) != (given["target"] is None):
        raise typer.BadParameter("give both, or neither.", param_hint="--source / --target")
    given["columns"] = names(given["columns"]) or None
    given["one_hot"] = names(given["one_hot"])
    given["kernels"], given["partners_of"] = tuple(given["kernel"] or ()), tuple(given["partners_of"] or ())
    given["alphas"], given["all"] = numbers(given["alphas"]), given["search_all"]
    values = {field.name: given[field.name] for field in fields(Options)}
    values = {name: str(value) if isinstance(value, enum.StrEnum) else value for name, value in values.items()}
    return Options(**values)
