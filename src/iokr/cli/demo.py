"""`iokr demo`."""

from pathlib import Path

from iokr.cli.shared import Force, FormatOption, Output, Quiet, Seed, Verbose, perform


def demo(
    output: Output = Path("iokr-demo"),
    force: Force = False,
    seed: Seed = 0,
    format: FormatOption = None,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Complete the lower half of handwritten digits from the upper half.

    Learns on scikit-learn's digits, prints the error on held-out ones beside two baselines, and writes a page with the
    pictures.
    """
    from iokr.experiments import DEMO

    perform(
        lambda progress: DEMO.run(seed=seed, progress=progress),
        output,
        force=force,
        format=format,
        quiet=quiet,
        verbose=verbose,
    )
