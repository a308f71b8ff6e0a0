"""The page of `metabolites`: ranks, paired differences, effect of own spectra, confidence and breakdown of the best."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import Report, Table
from iokr_lab.spectra.confidence import Scores, confidence
from iokr_lab.spectra.protocol import Data, Spectra, Split
from iokr_lab.spectra.ranks import DIGITS, mean_ranks, rank_figures

__all__ = ["page"]

BEST = "reverse, six"
LIBRARY = "library, modified cosine, 10 neighbours"
BOTH = "forward + reverse, six"
WITH_LIBRARY = "forward + reverse + ½ library, six"
DRAWS = 2000  # bootstrap samples of molecules
ORDER = (
    *("reverse, six", "reverse, P + L", "reverse, P", "forward, six", "forward, P + L", "forward, P"),
    *(BOTH, WITH_LIBRARY),
)
Methods = dict[str, dict[str, Scores]]  # method → own spectra "leave-out" or "count" → scores
Ranks = dict[str, dict[str, NDArray[Any]]]  # method → own spectra → rank of each query


def page(
    methods: Methods,
    parts: list[Split],
    data: Data,
    plan: Spectra,
    chosen: list[dict[str, Any]],
    nearest: NDArray[Any],
) -> Report:
    """Every table, from the scores of every method with own spectra left out and included."""
    _add_fusions(methods)
    labels = [name for name in ORDER if name in methods] + [name for name in methods if name not in ORDER]
    truth = [part.truth for part in parts]
    ranks = {name: {own: _ranks(scores, truth) for own, scores in methods[name].items()} for name in labels}
    n_queries = sum(map(len, truth))
    sizes = [len(candidates) for part in parts for candidates in part.candidates]
    best = rank_figures(ranks[BEST]["leave-out"])
    gap, low, high = _difference(ranks[BEST]["leave-out"], ranks[LIBRARY]["leave-out"], plan.seed)
    found = confidence(methods[BEST]["leave-out"], truth)
    return Report(
        "Molecules of spectra, among those of the same formula",
        f"The reverse model ranks {best['top-1']:.1f} % of {n_queries} molecules first ({best['top-10']:.1f} % among "
        f"the first ten), {gap:.1f} points more than the best library search (95 % interval: {low:.1f} to {high:.1f}). "
        f"{found.summary}",
        (
            Table(
                f"{n_queries} spectra, {np.mean(sizes):.1f} candidates each on average",
                _method_rows(methods, ranks, truth),
                ours=("top-1", "MRR"),
                note="Own spectra of a candidate are left out of its score, except in the column “own spectra "
                "included”. ± is the standard deviation of top-1 over the folds.",
            ),
            Table("Reverse model with six kernels minus other methods", _difference_rows(ranks, plan.seed)),
            Table("Training molecules among wrong first places", _training_rows(methods, labels, parts)),
            *found.tables,
            found.figure,
            Table(
                "Accuracy of the reverse model with six kernels by group of queries",
                _group_rows(ranks[BEST]["leave-out"], parts, data, nearest),
            ),
            Table("Alphas chosen in the folds", [_as_text(row) for row in chosen], folded=True),
        ),
        (
            "P is the normalised probability product of peaks (widths of 5 ppm, σ of intensities 0.2), L the same for "
            "losses, six = (2P + L + four kernels on sub-formulas)/7; the latter need the precursor's formula. These "
            "kernels and the settings of the baselines (tolerance 0.01, roots of intensities) were fixed in advance, "
            "after trials on a part of these spectra; alphas are chosen in the training folds.",
            "Every molecule of this set has one spectrum. If the unknown is a molecule of the library, leaving its "
            "spectra out discards evidence; that case is not measured here.",
            "Published on another data set (5579 training spectra, larger candidate sets; d'Alché-Buc 2022, Table 1): "
            "ridge 38.1, 82.0 and 88.9 % among the first 1, 10 and 20. Levels cannot be compared.",
        ),
    )


def _as_text(row: dict[str, Any]) -> dict[str, Any]:
    """Lists of numbers as text."""
    texts = {}
    for name, value in row.items():
        texts[name] = ", ".join(f"{v:g}" for v in value) if isinstance(value, list) else value
    return texts


def _add_fusions(methods: Methods) -> None:
    """Add sums of standardised scores: forward + reverse, and with half of the library search."""
    if LIBRARY not in methods:
        return
    for own in ("leave-out", "count"):
        both: Scores = []
        with_library: Scores = []
        folds = (methods[name][own] for name in ("forward, six", BEST, LIBRARY))
        for forward, reverse, library in zip(*folds, strict=True):
            sums = [_standardised(f) + _standardised(r) for f, r in zip(forward, reverse, strict=True)]
            more = [f + _standardised(b) / 2 for f, b in zip(sums, library, strict=True)]
            both.append([f.tolist() for f in sums])
            with_library.append([f.tolist() for f in more])
        methods.setdefault(BOTH, {})[own] = both
        methods.setdefault(WITH_LIBRARY, {})[own] = with_library


def _standardised(values: list[float]) -> NDArray[Any]:
    f = np.array(values)
    deviation = f.std()
    if deviation == 0:
        return np.zeros(len(f))
    return np.asarray((f - f.mean()) / deviation)


def _ranks(scores: Scores, truth: list[list[int]]) -> NDArray[Any]:
    """The ranks of all queries, fold after fold."""
    return np.concatenate([mean_ranks(fold, true) for fold, true in zip(scores, truth, strict=True)])


def _method_rows(methods: Methods, ranks: Ranks, truth: list[list[int]]) -> list[dict[str, Any]]:
    rows = []
    for name, by_own in ranks.items():
        figures = rank_figures(by_own["leave-out"])
        included = by_own.get("count")
        top = None if included is None else round(100 * float(np.mean(included <= 1)), 1)
        tops = []
        for fold, true in zip(methods[name]["leave-out"], truth, strict=True):
            tops.append(100 * float(np.mean(mean_ranks(fold, true) <= 1)))
        rows.append(
            {
                "method": name,
                **_rounded(figures),
                "top-1, own spectra included": top,
                "± over folds": round(float(np.std(tops, ddof=1)), 1),
            }
        )
    return rows


def _rounded(figures: dict[str, float]) -> dict[str, float]:
    return {key: round(value, DIGITS[key]) for key, value in figures.items()}


def _difference(first: NDArray[Any], second: NDArray[Any], seed: int) -> tuple[float, float, float]:
    """Difference in points of top-1 with its 95 % bootstrap interval over molecules."""
    d = 100 * ((first <= 1).astype(float) - (second <= 1))
    rng = np.random.default_rng((seed, 95))
    draws = d[rng.integers(len(d), size=(DRAWS, len(d)))].mean(axis=1)
    low, high = np.percentile(draws, [2.5, 97.5])
    return float(d.mean()), float(low), float(high)


def _difference_rows(ranks: Ranks, seed: int) -> list[dict[str, Any]]:
    rows = []
    for name, by_own in ranks.items():
        if name != BEST:
            gap, low, high = _difference(ranks[BEST]["leave-out"], by_own["leave-out"], seed)
            rows.append({"method": name, "points of top-1": f"{gap:+.1f}", "95 % interval": f"{low:.1f} to {high:.1f}"})
    return rows


def _training_rows(methods: Methods, labels: list[str], parts: list[Split]) -> list[dict[str, Any]]:
    """The share of wrong first places taken by training molecules, and the share expected by chance."""
    rows = []
    for name in labels:
        if "count" not in methods[name]:
            continue
        row: dict[str, Any] = {"method": name}
        for own, title in (("count", "own spectra included"), ("leave-out", "left out")):
            taken, expected = _training_shares(methods[name][own], parts)
            row[f"share, {title}, %"] = taken
            row[f"by chance, {title}, %"] = expected
        rows.append(row)
    return rows


def _training_shares(scores: Scores, parts: list[Split]) -> tuple[float, float]:
    taken = 0
    expected = 0.0
    wrong = 0
    for part, fold in zip(parts, scores, strict=True):
        for candidates, true, values in zip(part.candidates, part.truth, fold, strict=True):
            first = int(np.argmax(values))
            if first == true:
                continue
            in_training = np.isin(candidates, part.train)
            wrong += 1
            taken += bool(in_training[first])
            expected += in_training.sum() / (len(candidates) - 1)
    return round(100 * taken / max(wrong, 1), 1), round(100 * expected / max(wrong, 1), 1)


def _group_rows(ranks: NDArray[Any], parts: list[Split], data: Data, nearest: NDArray[Any]) -> list[dict[str, Any]]:
    test = np.concatenate([part.test for part in parts])
    sizes = np.array([len(candidates) for part in parts for candidates in part.candidates])
    peaks = data.bank.spectra.lengths[test]
    mass = data.bank.spectra.precursor_mz[test]
    third, two_thirds = np.percentile(mass, [100 / 3, 200 / 3])
    groups = {
        "2–5 candidates": sizes <= 5,
        "6–20 candidates": (sizes > 5) & (sizes <= 20),
        "more than 20 candidates": sizes > 20,
        "nearest training molecule: Tanimoto > 0.7": nearest > 0.7,
        "0.4–0.7": (nearest > 0.4) & (nearest <= 0.7),
        "at most 0.4": nearest <= 0.4,
        f"precursor below {third:.0f}": mass <= third,
        f"{third:.0f} to {two_thirds:.0f}": (mass > third) & (mass <= two_thirds),
        f"above {two_thirds:.0f}": mass > two_thirds,
        "fewer than 20 peaks": peaks < 20,
        "20 to 60 peaks": (peaks >= 20) & (peaks <= 60),
        "more than 60 peaks": peaks > 60,
        "molecules of CASMI 2016": data.bank.casmi2016[test],
    }
    rows = []
    for name, members in groups.items():
        if members.any():
            rows.append({"queries": name, "number": int(members.sum()), **_rounded(rank_figures(ranks[members]))})
    return rows
