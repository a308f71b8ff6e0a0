"""`iokr demo`."""

from pathlib import Path

import typer

from iokr.cli.shared import Force, FormatOption, Output, Quiet, Seed, Verbose, perform


def demo(
    context: typer.Context,
    output: Output = Path("iokr-demo"),
    force: Force = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Reconstruct a network from the links of a tenth of its nodes.

    A simulated network of 700 nodes in communities. Prints how well the other links are ranked, compared with
    similarity of features and with a baseline, and writes a page with the true and the predicted network, curves, and
    the leave-one-out path.
    """
    from iokr.apps.demo import demonstrate

    perform(context, lambda progress: demonstrate(seed=seed, progress=progress), output)
