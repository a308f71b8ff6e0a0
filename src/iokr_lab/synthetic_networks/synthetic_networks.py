"""B16, Tables 8 and 9: random networks reconstructed from inputs that were computed from them."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Callable, Sequence
from typing import TypeVar

import numpy as np

from iokr.report import Report, usable_cores
from iokr.report.progress import Progress, silent
from iokr_lab.synthetic_networks.gaps import CLASSES, DENSITIES, HEADLINE, INERTIAS, LONGER, Results
from iokr_lab.synthetic_networks.models import WIDER, WIDTHS, Kernels
from iokr_lab.synthetic_networks.page import report
from iokr_lab.synthetic_networks.protocol import (
    Matrix,
    Network,
    calibrate,
    labelled_sets,
    mixture,
    random_graph,
)
from iokr_lab.synthetic_networks.published import RANDOM, SHARES

__all__ = ["run"]

OTHER_GRAPHS = 3

Case = TypeVar("Case")
Found = TypeVar("Found")
Step = Callable[[str], None]


def run(*, seed: int = 0, repeat: int | None = None, progress: Progress = silent) -> Report:
    """Make the networks, reconstruct them from 5, 10 and 20 % of their nodes, and put the printed figures beside ours.

    Parameters
    ----------
    seed : int, default=0
        Of the networks and of the labelled nodes.
    repeat : int, default=10
        How many labelled sets in every cell of the tables.
    progress : callable, optional
    """
    repeat = repeat or 10
    networks = len(DENSITIES) * (len(INERTIAS) + OTHER_GRAPHS) + len(CLASSES) * len(INERTIAS)
    total = networks * len(SHARES)
    steps = itertools.count()
    with warnings.catch_warnings():  # around all threads: K_Y of the margin is as published, its diagonal not constant
        warnings.filterwarnings("ignore", message="The outputs have different lengths")
        results = _measure(seed, repeat, lambda what: progress(next(steps), total, what))
    progress(total, total, "writing the page")
    return report(results, repeat)


def _measure(seed: int, repeat: int, step: Step) -> Results:
    results = Results()
    for i, density in enumerate(DENSITIES):
        W = random_graph(density, np.random.default_rng([seed, i]))
        beta = results.betas[density] = calibrate(W, RANDOM[density, HEADLINE][0])
        for inertia in INERTIAS:
            network = Network(W, beta, inertia / 100)
            results.counts[density, inertia] = network.X.shape[1]
            widths = WIDTHS if inertia == HEADLINE else ()
            kernels = Kernels.of(network, plain=widths, penalty=widths)
            for share in SHARES:
                step(f"density {density:g}, inertia {inertia} %, {share:.0%} labelled")
                sets = labelled_sets(W, share, repeat, seed)
                cell = density, share
                if inertia == HEADLINE:
                    draws = _side_by_side(kernels.everything, sets)
                    for name in draws[0].grids:
                        results.grids[name, cell] = [draw.grids[name] for draw in draws]
                    for name in draws[0].margins:
                        results.margins[name, cell] = [draw.margins[name] for draw in draws]
                    results.inertia[inertia, cell] = [draw.both for draw in draws]
                else:
                    results.inertia[inertia, cell] = _side_by_side(kernels.both, sets)
        for other in range(OTHER_GRAPHS):
            W = random_graph(density, np.random.default_rng([seed, 100 + other]))
            network = Network(W, calibrate(W, RANDOM[density, HEADLINE][0]), HEADLINE / 100)
            kernels = Kernels.of(network)
            for share in SHARES:
                step(f"density {density:g}, another graph, {share:.0%} labelled")
                found = _side_by_side(kernels.both, labelled_sets(W, share, repeat, seed))
                results.others.setdefault((density, share), []).append(found)
    for i, classes in enumerate(CLASSES):
        W = mixture(*classes, np.random.default_rng([seed, 10 + i]))
        beta = LONGER[classes] * _interpolated(W, results.betas)
        for inertia in INERTIAS:
            kernels = Kernels.of(Network(W, beta, inertia / 100), plain=WIDER if inertia == HEADLINE else ())
            for share in SHARES:
                step(f"classes {classes[0]:g} and {classes[1]:g}, inertia {inertia} %, {share:.0%} labelled")
                sets = labelled_sets(W, share, repeat, seed)
                results.mixtures[inertia, classes, share] = _side_by_side(kernels.both, sets)
                if inertia == HEADLINE:
                    results.mixtures_as_said[classes, share] = _side_by_side(kernels.as_said, sets)
    return results


def _side_by_side(work: Callable[[Case], Found], cases: Sequence[Case]) -> list[Found]:
    """`work` on every case, in threads, a core each."""
    from joblib import Parallel, delayed

    return list(Parallel(n_jobs=usable_cores(), prefer="threads")(delayed(work)(case) for case in cases))


def _interpolated(W: Matrix, betas: dict[float, float]) -> float:
    """The diffusion time for a network whose component counts are not printed, by its density."""
    density = W.sum() / (len(W) * (len(W) - 1))
    return float(np.exp(np.interp(np.log(density), np.log(list(betas)), np.log(list(betas.values())))))
