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
    """Reconstruct a network from links among a tenth of its nodes.

    The network is simulated, with 700 nodes in communities. The command prints the accuracy of the ranking of the other
    links, compared with the similarity of features and with a baseline, and writes a page with the true and the
    predicted network, curves of the ranking, and the leave-one-out scores along the regularisation path.
    """
    from iokr.apps.demo import demonstrate

    perform(context, lambda progress: demonstrate(seed=seed, progress=progress), output)
