"""`iokr links cv`, `iokr links train` and `iokr links predict`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from threadpoolctl import threadpool_limits

from iokr.cli.group import Commands
from iokr.cli.links_options import Edges, Kernels, SearchAll, Threads, check_usage, fitting, input_files, reading
from iokr.cli.shared import (
    Folder,
    Force,
    ForceModel,
    FormatOption,
    ModelFile,
    Quiet,
    Seed,
    SpreadsheetSafe,
    Verbose,
    arguments,
    command_line,
    guarded,
    new_file,
    perform,
    say,
    with_options,
)

if TYPE_CHECKING:
    from iokr.apps.links import LinkData
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
READING = "reading files"


@links.command("cv")
@guarded
@with_options(reading, fitting)
def cv(
    context: typer.Context,
    edges: Edges,
    kernels: Kernels = None,
    threads: Threads = None,
    folds: Annotated[int, typer.Option("--folds", min=2, help="Number of folds of nodes.")] = 5,
    output: Folder = Path("iokr-links-cv"),
    force: Force = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Estimate the accuracy by cross-validation over nodes.

    Known-known, known-new and new-new pairs are evaluated separately. The folder contains the tables, metrics.json,
    curves.tsv, rejected.tsv (rejected and modified rows of the files), run.json and report.html.
    """
    check_usage(context)

    def run(progress: "Progress") -> "Report":
        from iokr.apps import links

        data = _read(context, progress)
        scores = links.cross_validate(data, folds=folds, seed=seed, progress=progress, **arguments(context, fitting))
        progress(1, 1, "drawing the page")
        return scores.report(spreadsheet_safe=spreadsheet_safe)

    with threadpool_limits(threads):
        perform(context, run, output, more=CV_FILES)


@links.command("train")
@guarded
@with_options(reading, fitting)
def train(
    context: typer.Context,
    edges: Edges,
    search_all: SearchAll = False,
    threads: Threads = None,
    output: ModelFile = Path("model.safetensors"),
    force: ForceModel = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Fit a model to a network and save it to a file.

    Models are compared as by `iokr links predict`, and the best one is saved. `iokr links predict --model FILE` ranks
    pairs of its nodes or, with `--nodes new.tsv`, pairs with a new node. `iokr show FILE` describes the model.
    """
    check_usage(context)

    def run(progress: "Progress") -> "Report":
        from iokr.apps import links

        data = _read(context, progress)
        model = links.fit(data, seed=seed, progress=progress, search_all=search_all, **arguments(context, fitting))
        progress(1, 1, "writing the model")
        links.save(model, output, provenance={"command": command_line()})
        return model.report()

    with new_file(output, force=force, inputs=input_files(context)), threadpool_limits(threads):
        perform(context, run, None)
    say(f"\nwrote {output}", quiet=quiet)


@links.command("predict")
@guarded
@with_options(reading, fitting)
def predict(
    context: typer.Context,
    edges: Annotated[
        str | None, typer.Option("-e", "--edges", metavar="FILE", help="Known links: source, target, optional weight.")
    ] = None,
    kernels: Kernels = None,
    model: Annotated[
        Path | None,
        typer.Option("--model", metavar="FILE", help="Model file of `iokr links train`, instead of --edges."),
    ] = None,
    search_all: SearchAll = False,
    threads: Threads = None,
    top: Annotated[int, typer.Option("--top", min=1, help="Maximum number of pairs to list.")] = 1000,
    partners_of: Annotated[
        list[str] | None, typer.Option("--for", metavar="ID", help="Only partners of this node; repeatable.")
    ] = None,
    between: Annotated[
        tuple[str, str] | None,
        typer.Option(
            "--between", metavar="FILE FILE", help="Only pairs of a node in one list of ids and a node in the other."
        ),
    ] = None,
    output: Folder = Path("iokr-links"),
    force: Force = False,
    spreadsheet_safe: SpreadsheetSafe = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Rank the pairs of nodes that are not known to be linked.

    With --model no model is fitted: pairs of nodes of the saved model are ranked or, with --nodes, pairs with a new
    node. Features of new nodes are checked, imputed and scaled as at training.

    The folder contains edges.tsv, the known and predicted network as network.graphml and network.cyjs (Cytoscape),
    rejected.tsv (rejected and modified rows of the files), the tables, metrics.json, run.json and report.html.
    """
    if (edges is None) == (model is None):
        raise typer.BadParameter("give either --edges or --model.", param_hint="--edges / --model")
    check_usage(context)

    def run(progress: "Progress") -> "Report":
        from iokr.apps import links

        selection: dict[str, Any] = {name: context.params[name] for name in ("top", "partners_of", "between", "seed")}
        if model is not None:
            progress(0, 1, READING)
            nodes: dict[str, Any] = {name: context.params[name] or None for name in ("nodes", "partners", "ids")}
            result = links.predict(links.load(model), **nodes, **selection, progress=progress)
        else:
            options = {**selection, **arguments(context, fitting), "search_all": search_all}
            result = links.predict(_read(context, progress), **options, progress=progress)
        progress(1, 1, "drawing the page")
        return result.report(spreadsheet_safe=spreadsheet_safe)

    with threadpool_limits(threads):
        perform(context, run, output, more=PREDICT_FILES)


def _read(context: typer.Context, progress: "Progress") -> "LinkData":
    """The network of --nodes, or --kernel, and --edges."""
    from iokr.apps import links

    progress(0, 1, READING)
    kernels = context.params.get("kernels") or None
    return links.read(edges=context.params["edges"], kernels=kernels, **arguments(context, reading))
