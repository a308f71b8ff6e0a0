"""490 spectra given by a kernel, and 286 fingerprint bits of their molecules: every molecule is a candidate.

Folds are over the 462 distinct fingerprints. All of them are candidates of every query, so four fifths of the wrong
candidates are training molecules, whose own spectra raise their scores unless they are left out (`scores_without_own`).
λ is 0.1, or chosen in the training folds by leaving molecules out. The figures depend on the assignment to folds, which
is therefore drawn several times.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import Report, Spread, Table
from iokr.data.objects import distinct
from iokr.estimators.regression.cv import IOKRCV
from iokr.kernels.algebra import GaussianOf
from iokr.kernels.precomputed import Precomputed
from iokr.kernels.structured.sets import Tanimoto
from iokr.model_selection.own import scores_without_own
from iokr_lab.data.msms import load_msms_fp490
from iokr_lab.spectra.ranks import DIGITS, mean_ranks, rank_figures
from iokr_lab.study import Case, Plan, Results, Study

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]

KERNELS = {"Tanimoto": Tanimoto(), "Gaussian of Tanimoto, γ = 1": GaussianOf(Tanimoto(), 1.0)}
FORWARD = "forward"
REVERSE = "reverse cosine"
FIXED = "0.1"
CHOSEN = "chosen"
ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
FOLDS = 5
OWN = {"plain": "included", "own out": "left out"}


@dataclass(frozen=True)
class Molecules:
    """The kernel between spectra, the distinct fingerprints, and the index of the fingerprint of each spectrum."""

    K: Matrix
    bits: Matrix  # (462, 286)
    which: NDArray[np.intp]  # (490,)


@dataclass(frozen=True)
class Fold(Case):
    """One model on one fold."""

    method: str
    kernel: str
    alpha: str
    draw: int
    fold: int


def _load(plan: Plan) -> Molecules:
    data = load_msms_fp490()
    first, which = distinct(data.fingerprints)
    return Molecules(data.K, data.fingerprints[first], which)


def _cases(plan: Plan, data: Molecules) -> list[Fold]:
    models = [(FORWARD, kernel, FIXED) for kernel in KERNELS]
    models += [(FORWARD, "Tanimoto", CHOSEN), (REVERSE, "Tanimoto", CHOSEN)]
    return [Fold(*model, draw, fold) for model in models for draw in range(plan.repeat) for fold in range(FOLDS)]


def _work(case: Fold, plan: Plan, data: Molecules) -> dict[str, Any]:
    """Mean ranks of the true molecule, plain and with a candidate's own spectra left out."""
    number = np.random.default_rng((plan.seed, case.draw)).permutation(np.arange(len(data.bits)) % FOLDS)
    test = np.flatnonzero(number[data.which] == case.fold)
    train = np.flatnonzero(number[data.which] != case.fold)
    bits = data.bits[data.which[train]]
    groups = data.which[train]
    kernel = KERNELS[case.kernel]
    alphas = (0.1,) if case.alpha == FIXED else ALPHAS
    own_group = np.arange(len(data.bits))
    no_group = [None] * len(own_group)
    if case.method == FORWARD:
        model = IOKRCV(Precomputed(data.K), output_kernel=kernel, alphas=alphas).fit(train, bits, groups=groups)
        plain = scores_without_own(model, test, data.bits, groups, no_group)
        own = scores_without_own(model, test, data.bits, groups, own_group)
    else:
        model = IOKRCV(kernel, output_kernel=Precomputed(data.K), alphas=alphas).fit(bits, train, groups=groups)
        plain = scores_without_own(model, data.bits, test, groups, no_group, by="inputs", cosine=True).T
        own = scores_without_own(model, data.bits, test, groups, own_group, by="inputs", cosine=True).T
    truth = data.which[test]
    ranks = {name: mean_ranks(np.asarray(f), truth) for name, f in (("plain", plain), ("own out", own))}
    return {"alpha": float(model.alpha_), "ranks": ranks}


def _page(results: Results, plan: Plan, data: Molecules) -> Report:
    rows = []
    reciprocal = {}
    for method, kernel, alpha in dict.fromkeys((case.method, case.kernel, case.alpha) for case in results.of(Fold)):
        cells = results.of(Fold, method=method, kernel=kernel, alpha=alpha)
        chosen = sorted({cell["alpha"] for cell in cells.values()})
        for name, spectra in OWN.items():
            values = _values_of_draws(cells, name, plan.repeat)
            reciprocal[method, kernel, alpha, name] = float(np.mean(values["MRR"]))
            rows.append(
                {
                    "model": method,
                    "output kernel": kernel,
                    "λ": " ".join(f"{a:g}" for a in chosen) if alpha == CHOSEN else alpha,
                    "own spectra": spectra,
                    **{key: Spread.of(value, digits=DIGITS[key]) for key, value in values.items()},
                }
            )
    with_own = reciprocal[FORWARD, "Tanimoto", FIXED, "plain"]
    without = reciprocal[FORWARD, "Tanimoto", FIXED, "own out"]
    reverse = reciprocal[REVERSE, "Tanimoto", CHOSEN, "own out"]
    return Report(
        "Molecules of 490 spectra among all 462",
        f"Mean reciprocal rank of the forward model: {without:.3f} with a candidate's own spectra left out of its "
        f"score, {with_own:.3f} with them included; of the reverse model: {reverse:.3f}.",
        (Table("Five folds over molecules, every molecule a candidate", rows, ours=("top-1", "MRR")),),
        (
            "Mean ± standard deviation over random assignments to folds; ties count their mean rank. The chosen λ has "
            "the smallest leave-one-molecule-out error in the training folds; 0.1 is fixed.",
        ),
    )


def _values_of_draws(cells: Mapping[Fold, Mapping[str, Any]], name: str, n_draws: int) -> dict[str, list[float]]:
    """Each figure for every draw of folds, from the ranks of all its folds."""
    figures = []
    for draw in range(n_draws):
        ranks = [cell["ranks"][name] for case, cell in cells.items() if case.draw == draw]
        figures.append(rank_figures(np.concatenate(ranks)))
    return {key: [one[key] for one in figures] for key in DIGITS}


PLANS = {"short": Plan(), "default": Plan(repeat=10)}
STUDY = Study(plans=PLANS, load=_load, cases=_cases, work=_work, page=_page)
