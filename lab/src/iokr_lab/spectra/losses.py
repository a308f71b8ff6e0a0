"""Three losses and two penalties of A22, Table 1, on spectra of MassBank: one split, candidates of the same formula.

The talk minimises (1/n)Σℓ + (Λ/2)‖h‖², so λ = nΛ. It does not give κ, ε and the widths, which are fixed here and shown
on the page. The spectra differ from those of the talk, so only the order of the losses can be compared, not the levels.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from iokr.apps.report import Report, Table
from iokr.embeddings.nystroem import Nystroem
from iokr.estimators.regression.iokr import IOKR
from iokr.losses.base import Loss
from iokr.losses.epsilon import EpsilonSquare
from iokr.losses.huber import Huber
from iokr.losses.square import Square
from iokr_lab.spectra.protocol import Data, Similarities, Spectra, load, split
from iokr_lab.spectra.ranks import mean_ranks
from iokr_lab.study import Case, Results, Study

__all__ = ["STUDY"]

PENALTIES = (1e-6, 1e-4)  # Λ
KAPPA = 0.5
EPSILON = 0.1
LOSSES: dict[str, Loss] = {"ridge": Square(), "κ-Huber": Huber(KAPPA), "ε-ridge": EpsilonSquare(EPSILON)}
PUBLISHED = {
    ("ridge", 1e-6): (35.7, 79.9, 86.6),
    ("ridge", 1e-4): (38.1, 82.0, 88.9),
    ("κ-Huber", 1e-6): (38.3, 82.2, 89.1),
    ("κ-Huber", 1e-4): (37.7, 81.9, 88.8),
    ("ε-ridge", 1e-6): (37.1, 81.7, 88.3),
    ("ε-ridge", 1e-4): (36.3, 81.2, 87.9),
}
TOPS = (1, 10, 20)


@dataclass(frozen=True)
class Split80(Spectra):
    """One of five folds is the test part; outputs have `rank` coordinates."""

    rank: int = 1000


@dataclass(frozen=True)
class Cell(Case):
    """A loss at one Λ."""

    loss: str
    penalty: float


def _cases(plan: Split80, data: Data) -> list[Cell]:
    return [Cell(loss, penalty) for loss in LOSSES for penalty in PENALTIES]


def _work(case: Cell, plan: Split80, data: Data) -> dict[str, Any]:
    """Ranks of the true molecule, own spectra included as in the talk."""
    part = split(data, 0)
    n = len(part.train)
    model = IOKR(
        Similarities(data.grams["P"]),
        output_kernel=Similarities(data.tanimoto),
        embedding=Nystroem(min(plan.rank, n)),
        loss=LOSSES[case.loss],
        alpha=n * case.penalty,
        intercept=False,
    )
    model.fit(part.train, part.train)
    scores = model.scores(part.test, part.sets)
    return {
        "ranks": mean_ranks(scores, part.truth),
        "alpha": n * case.penalty,
        "gap": float(model.solution_.gap),
        "n": n,
    }


def _page(results: Results, plan: Split80, data: Data) -> Report:
    rows = []
    for case, cell in results.of(Cell).items():
        ranks = np.array(cell["ranks"])
        row: dict[str, Any] = {"loss": case.loss, "Λ": case.penalty, "λ = nΛ": round(cell["alpha"], 5)}
        for k, known in zip(TOPS, PUBLISHED[case.loss, case.penalty], strict=True):
            row |= {f"top-{k}, published": known, f"top-{k}, ours": round(100 * float(np.mean(ranks <= k)), 1)}
        rows.append({**row, "gap": f"{cell['gap']:.1e}"})
    n = next(iter(results.values()))["n"]
    m = len(next(iter(results.values()))["ranks"])
    best = max(rows, key=lambda row: row["top-1, ours"])
    return Report(
        "Three losses on spectra",
        f"{n} training spectra, {m} queries; the best top-1 is {best['top-1, ours']} %, by {best['loss']} at "
        f"Λ = {best['Λ']:g}.",
        (Table("One split, candidates of the same formula", rows, ours=tuple(f"top-{k}, ours" for k in TOPS)),),
        (
            f"κ = {KAPPA:g} and ε = {EPSILON:g} are fixed here; the talk gives neither, nor whether its ε loss is "
            "squared. Input kernel: the normalised probability product of peaks (5 ppm, σ of intensities 0.2).",
            f"Outputs have {plan.rank} Nyström coordinates; losses include the part of ψ(y) outside of them. Own "
            "spectra are included, as published.",
            "Published: d'Alché-Buc 2022, Table 1, on 5579 training spectra of another data set with larger candidate "
            "sets.",
        ),
    )


PLANS = {"short": Split80(n=300, rank=100), "default": Split80()}
STUDY = Study(plans=PLANS, load=load, cases=_cases, work=_work, page=_page)
