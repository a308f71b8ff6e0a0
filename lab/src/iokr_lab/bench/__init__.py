"""Time and memory compared with baselines and the arithmetic lower bound, in one run: `iokr bench`.

A benchmark is one file here and one line in `BENCHMARKS`. Its file has the constant `BENCHMARK` (see
`iokr_lab.bench.base`); it is imported when it runs, so the list is cheap.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

    from iokr.apps.report import Progress, Report

__all__ = ["BENCHMARKS", "available", "run"]

BENCHMARKS = {
    "ridge": "Closed forms: one fit, a path with leave-one-out, ranking, unlabelled points, memory",
    "losses": "Margin, Huber and ε losses to a gap of 1e-6: gradient methods, quadratic programs, ridge fits",
    "covariance": "Covariance operators of implicit outputs: one fit, one more λ, growth, the low-rank option, memory",
    "links": "Link prediction: one fold with every baseline, the best links of 10 000 nodes, memory",
    "trees": "Output-kernel forests and scikit-learn's on coordinates of the outputs; splits on fewer coordinates",
    "kernels": "Gram matrices of strings, rankings, sets, graphs and series: loops over pairs, GraKeL, tslearn",
    "pairs": "Ridge and margin on pairs of nodes without a matrix of pairs, dense Grams and the vec trick",
    "files": "Saving, loading and mapping a model of a gigabyte: its bytes and their hashes, the package safetensors",
    "tuning": "Widths of a kernel by gradients: one evaluation compared with the bare calls of its arithmetic",
    "functional": "Curves with gaps: a fit and leave-one-out compared with dense systems, complete ones with baselines",
    "quantiles": "Quantiles at 20 levels with and without the penalty on crossings, compared with generic solvers",
    "scale": "From thousands of points to millions: packed, low rank, streamed, on many machines, and their floors",
    "spectra": "Mass spectra: probability products and their exponentials, packed fingerprints, cosines of peaks",
    "gpu": "One fit on a CUDA device through torch, compared with the bare arithmetic in torch",
}


def available() -> list[tuple[str, str]]:
    """Name and title of every benchmark.

    Examples
    --------
    >>> from iokr_lab.bench import available
    >>> [name for name, title in available()][:4]
    ['ridge', 'losses', 'covariance', 'links']
    """
    return list(BENCHMARKS.items())


def run(
    name: str,
    *,
    repeat: int = 5,
    seed: int = 0,
    progress: Progress | None = None,
    quick: bool = False,
    sections: Sequence[str] | None = None,
) -> Report:
    """Run the benchmark called `name`.

    Parameters
    ----------
    name : str
        One of `available()`.
    repeat : int, default=5
        Rounds in which every contender runs once; the figures are medians over the rounds.
    seed : int, default=0
        Random seed of the data.
    progress : callable, optional
        Called with the steps done, the steps in all, and what is being done.
    quick : bool, default=False
        Small sizes that take seconds: shows that everything runs and agrees. Targets are not evaluated.
    sections : sequence of str, optional
        Only the sections whose titles contain these words.

    Returns
    -------
    Report
        A table per question, then the targets and whether they are met; `info` names machine and versions.

    Raises
    ------
    Disagreement
        When two contenders give different answers to the same question, so that their times cannot be compared.
    """
    if name not in BENCHMARKS:
        raise ValueError(f"`name` must be one of {', '.join(BENCHMARKS)}, got {name!r}.")
    if isinstance(repeat, bool) or not isinstance(repeat, int) or repeat < 1:
        raise ValueError(f"`repeat` must be a positive integer, got {repeat!r}.")
    from iokr.apps.report import silent
    from iokr_lab.bench.base import only, survey

    benchmark = import_module(f"iokr_lab.bench.{name}").BENCHMARK
    if sections:
        benchmark = only(benchmark, sections)
    return survey(benchmark, repeat=repeat, seed=seed, progress=progress or silent, quick=quick)
