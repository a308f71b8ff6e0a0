"""490 spectra, known through a kernel, and 286 bits of their molecules: every molecule is a candidate.

Folds are over distinct fingerprints, of which there are 462; all of them are candidates of every query, so four fifths
of the wrong ones are training molecules. Counted plainly these vote for themselves; left out of their own scores they
do not (`scores_without_own`). λ is 0.1, or chosen inside the training folds by leaving molecules out. How molecules
fall into folds moves the figures, so that is drawn several times.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import Report, Spread, Table
from iokr.data.objects import distinct
from iokr.estimators.identification.confidence import mean_rank
from iokr.estimators.regression.cv import IOKRCV
from iokr.kernels.gaussian_of import GaussianOf
from iokr.kernels.precomputed import Precomputed
from iokr.kernels.structured.sets import Tanimoto
from iokr.model_selection.own import scores_without_own
from iokr_lab.data.msms import load_msms_fp490
from iokr_lab.study import Case, Plan, Results, Study

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]

KERNELS = {"Tanimoto": Tanimoto(), "Gaussian of Tanimoto, γ = 1": GaussianOf(Tanimoto(), 1.0)}
FORWARD, REVERSE = "forward", "reverse cosine"
FIXED, CHOSEN = "0.1", "chosen"
ALPHAS = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0)
FOLDS = 5
TOPS = (1, 5, 10, 20)


@dataclass(frozen=True)
class Molecules:
    """The kernel between spectra, the distinct fingerprints, and which of them each spectrum has."""

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
    """Mean ranks of the truth, plain and with a candidate's own spectra left out."""
    number = np.random.default_rng((plan.seed, case.draw)).permutation(np.arange(len(data.bits)) % FOLDS)
    test = np.flatnonzero(number[data.which] == case.fold)
    train = np.flatnonzero(number[data.which] != case.fold)
    bits, groups = data.bits[data.which[train]], data.which[train]
    kernel, alphas = KERNELS[case.kernel], (0.1,) if case.alpha == FIXED else ALPHAS
    everything = np.arange(len(data.bits))
    nobody = [None] * len(everything)
    if case.method == FORWARD:
        model = IOKRCV(Precomputed(data.K), output_kernel=kernel, alphas=alphas).fit(train, bits, groups=groups)
        plain, own = (scores_without_own(model, test, data.bits, groups, who) for who in (nobody, everything))
    else:
        model = IOKRCV(kernel, output_kernel=Precomputed(data.K), alphas=alphas).fit(bits, train, groups=groups)
        plain, own = (
            scores_without_own(model, data.bits, test, groups, who, by="inputs", cosine=True).T
            for who in (nobody, everything)
        )
    truth = data.which[test]
    ranks = {
        name: [mean_rank(f, int(t)) for f, t in zip(np.asarray(found), truth, strict=True)]
        for name, found in (("plain", plain), ("own out", own))
    }
    return {"alpha": float(model.alpha_), "ranks": ranks}


def figures(ranks: NDArray[Any]) -> dict[str, float]:
    """Top-k in percent and the mean reciprocal rank."""
    return {f"top-{k}": 100 * float(np.mean(ranks <= k)) for k in TOPS} | {"MRR": float(np.mean(1 / ranks))}


def _page(results: Results, plan: Plan, data: Molecules) -> Report:
    rows, found = [], {}
    for model in dict.fromkeys((case.method, case.kernel, case.alpha) for case in results if isinstance(case, Fold)):
        method, kernel, alpha = model
        cells = results.of(Fold, method=method, kernel=kernel, alpha=alpha)
        alphas = sorted({cell["alpha"] for cell in cells.values()})
        for name in ("plain", "own out"):
            draws = [
                figures(np.concatenate([cell["ranks"][name] for case, cell in cells.items() if case.draw == draw]))
                for draw in range(plan.repeat)
            ]
            values = {key: [one[key] for one in draws] for key in draws[0]}
            found[(*model, name)] = float(np.mean(values["MRR"]))
            rows.append(
                {
                    "model": method,
                    "output kernel": kernel,
                    "λ": " ".join(f"{a:g}" for a in alphas) if alpha == CHOSEN else alpha,
                    "own spectra": "count" if name == "plain" else "left out",
                    **{key: Spread.of(value, digits=3 if key == "MRR" else 1) for key, value in values.items()},
                }
            )
    before, after = (found[FORWARD, "Tanimoto", FIXED, name] for name in ("plain", "own out"))
    reverse = found[REVERSE, "Tanimoto", CHOSEN, "own out"]
    return Report(
        "Molecules of 490 spectra among all 462",
        f"Mean reciprocal rank of the forward model {after:.3f} when a candidate's own spectra are left out of its "
        f"score and {before:.3f} when they count; of the reverse model {reverse:.3f}.",
        (Table("Five folds over molecules, every molecule a candidate", rows, ours=("top-1", "MRR")),),
        (
            "Mean ± deviation over random folds; a tie counts its mean rank. The chosen λ is that of the smallest "
            "leave-one-molecule-out error inside the training folds; 0.1 is fixed.",
        ),
    )


PLANS = {"short": Plan(), "default": Plan(repeat=10)}
STUDY = Study(plans=PLANS, load=_load, cases=_cases, work=_work, page=_page)
