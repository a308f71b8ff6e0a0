"""A width for every feature, or one for all; by the evidence, or by leave-one-out: which is better on new rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from time import thread_time
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import Report, Spread, Table, Text
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.ard import ARD
from iokr.kernels.vectors import RBF
from iokr.model_selection.tuning import tune
from iokr_lab.data.quantile import load_quantile
from iokr_lab.study import Case, Plan, Results, Study
from iokr_lab.tables import difference, paired

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]
SETS = ("Boston", "BigMac2003", "sniffer", "highway")
ONE_LOO, ONE_EVIDENCE = "one width, leave-one-out", "one width, evidence"
ARD_LOO, ARD_EVIDENCE = "ARD, leave-one-out", "ARD, evidence"
PROCESS, BOOSTING = "scikit-learn's Gaussian process, ARD", "scikit-learn's gradient boosting"
TRAINING = 0.7  # of the rows
SCALES = np.exp(np.arange(-4.0, 5.0))  # of the median width, for leave-one-out on a grid


@dataclass(frozen=True)
class Draw(Case):
    """A set and the number of a draw of training rows."""

    set: str
    draw: int


def load(plan: Plan) -> dict[str, tuple[Matrix, Matrix]]:
    """Inputs and response of every set."""
    found = {name: load_quantile(name) for name in SETS}
    return {name: (one.X, one.y) for name, one in found.items()}


def cases(plan: Plan, data: dict[str, tuple[Matrix, Matrix]]) -> list[Draw]:
    """Every draw of every set."""
    return [Draw(name, i) for name, i in itertools.product(data, range(plan.repeat))]


# ------------------------------------------------------------------------------------------------------------- methods


def one_by_leave_one_out(X: Matrix, y: Matrix) -> tuple[Any, dict[str, Any]]:
    """Nine widths about the median one, and alpha."""
    gamma = float(RBF().fit(X).gamma_)
    return IOKRCV([RBF(gamma * scale) for scale in SCALES]).fit(X, y), {}


def tuned(kernel: ARD | RBF, by: str, X: Matrix, y: Matrix) -> tuple[Any, dict[str, Any]]:
    """By gradients; what leave-one-out says of it, how many widths are off, and how many the default limit allows."""
    names = ["kernel__gammas" if isinstance(kernel, ARD) else "kernel__gamma", "alpha"]
    model = tune(IOKR(kernel), X, y, names, by=by, limit=None)
    left_out = float(np.mean((y - model.loo_decision_function()[:, 0]) ** 2))
    off = sum(model.tuning_["off"].get("kernel__gammas", []))
    return model, {"left out": left_out, "off": int(off), "evaluations": len(model.tuning_["path"])}


def process(X: Matrix, y: Matrix) -> tuple[Any, dict[str, Any]]:
    """c exp(−Σ_l (x_l − z_l)²/(2σ_l²)) + noise, by the evidence, from one start."""
    from sklearn.gaussian_process import GaussianProcessRegressor, kernels

    ones, wide = np.ones(X.shape[1]), (1e-5, 1e5)
    kernel = kernels.ConstantKernel(1.0, wide) * kernels.RBF(ones, wide) + kernels.WhiteKernel(0.1, (1e-8, 1e3))
    return GaussianProcessRegressor(kernel, random_state=0).fit(X, y), {}


def boosting(X: Matrix, y: Matrix) -> tuple[Any, dict[str, Any]]:
    """Trees one after the other, as they come."""
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(random_state=0).fit(X, y), {}


METHODS: dict[str, Callable[[Matrix, Matrix], tuple[Any, dict[str, Any]]]] = {
    ONE_LOO: one_by_leave_one_out,
    ONE_EVIDENCE: partial(tuned, RBF(), "evidence"),
    ARD_LOO: partial(tuned, ARD(), "loo"),
    ARD_EVIDENCE: partial(tuned, ARD(), "evidence"),
    PROCESS: process,
    BOOSTING: boosting,
}


def split(X: Matrix, y: Matrix, seed: Sequence[int]) -> tuple[Matrix, Matrix, Matrix, Matrix]:
    """Training inputs and response, then those of the test, in units of the training rows."""
    order = np.random.default_rng(seed).permutation(len(y))
    n = round(TRAINING * len(y))
    first, then = order[:n], order[n:]
    mean, deviation = X[first].mean(axis=0), X[first].std(axis=0)
    Z = (X - mean) / np.where(deviation > 0, deviation, 1.0)
    t = (y - y[first].mean()) / y[first].std()
    return Z[first], t[first], Z[then], t[then]


def work(case: Draw, plan: Plan, data: dict[str, tuple[Matrix, Matrix]]) -> dict[str, Any]:
    """The mean square on the test rows, in units of the response's variance, for every method."""
    A, a, B, b = split(*data[case.set], (plan.seed, SETS.index(case.set), case.draw))
    found: dict[str, Any] = {"rows": len(a), "widths": A.shape[1], "refused": refused(A, a)}
    for name, method in METHODS.items():
        start = thread_time()
        model, more = method(A, a)
        seconds = round(thread_time() - start, 3)
        found[name] = {"error": float(np.mean((model.predict(B) - b) ** 2)), "seconds": seconds, **more}
    return found


def refused(X: Matrix, y: Matrix) -> bool:
    """Whether `tune` finds these widths too many for these rows, unless `limit=None`."""
    try:
        tune(IOKR(ARD()), X, y, ["kernel__gammas"])
    except ValueError as error:
        if "limit=None" not in str(error):
            raise
        return True
    return False


# ---------------------------------------------------------------------------------------------------------------- page


def page(results: Results, plan: Plan, data: dict[str, tuple[Matrix, Matrix]]) -> Report:
    """Errors on new rows, what leave-one-out said, and ARD against one width draw by draw."""

    def errors(name: str, method: str) -> list[float]:
        return results.numbers(Draw, f"{method}.error", set=name)

    means = {name: {method: float(np.mean(errors(name, method))) for method in METHODS} for name in data}
    better = [name for name in data if means[name][ARD_EVIDENCE] <= means[name][ONE_LOO]]
    one_wins = [name for name in data if means[name][ONE_EVIDENCE] < means[name][ARD_EVIDENCE]]
    refused_sets = [name for name in data if any(results.numbers(Draw, "refused", set=name))]
    summary = (
        f"ARD by the evidence has at most the test error of one width by leave-one-out on {_listed(better)}. One width "
        f"by the evidence has a smaller one than ARD on {_listed(one_wins)}. Refused by default, as there are more "
        f"widths than a fifth of the rows: {_listed(refused_sets)}."
    )
    rows = [
        ({"set": name, "against": other}, difference(errors(name, ARD_EVIDENCE), errors(name, other), **_TEST))
        for name in data
        for other in (ONE_LOO, ONE_EVIDENCE, ARD_LOO)
    ]
    return Report(
        "A width for every feature, or one for all",
        summary,
        (
            Text("The setting", (_SETTING,)),
            _errors_table(results, data, errors),
            _said_table(results, data),
            paired("ARD by the evidence less another choice: mean square on test rows", rows, note=_LESS),
            _seconds_table(results, data),
        ),
        (
            f"± is the standard deviation over {plan.repeat} draws of 70 % of the rows for training.",
            "Inputs and response are scaled by mean and deviation of the training rows; 1 is the error of their mean, "
            "up to chance. Categories are columns of zeros and ones.",
        ),
    )


_SETTING = (
    "k(x, z) = exp(−Σ_l γ_l (x_l − z_l)²), the γ_l all the same or each its own (ARD), and alpha. They are chosen on "
    "the training rows: by leave-one-out on a grid, or by gradients of leave-one-out or of the evidence, the density "
    "of the response under a Gaussian process. Beside them what users would take: scikit-learn's Gaussian process, "
    "which maximises the same evidence from another start, and its gradient boosting as it comes."
)
_LESS = "Below zero ARD by the evidence is better."
_TEST: dict[str, Any] = {"ratio": (1 - TRAINING) / TRAINING, "larger": False}


def _listed(names: Sequence[str]) -> str:
    return ", ".join(names) or "none"


def _errors_table(
    results: Results, data: dict[str, tuple[Matrix, Matrix]], errors: Callable[[str, str], list[float]]
) -> Table:
    rows = []
    for name in data:
        n, p = (results.numbers(Draw, what, set=name)[0] for what in ("rows", "widths"))
        row: dict[str, Any] = {"set": name, "training rows": n, "features": p}
        rows.append(row | {method: Spread.of(errors(name, method), digits=3) for method in METHODS})
    return Table("Mean square on test rows", rows, ours=(ARD_EVIDENCE,))


def _said_table(results: Results, data: dict[str, tuple[Matrix, Matrix]]) -> Table:
    rows = []
    for name, method in itertools.product(data, (ARD_LOO, ARD_EVIDENCE)):

        def of(what: str, name: str = name, method: str = method) -> list[float]:
            return results.numbers(Draw, f"{method}.{what}", set=name)

        rows.append(
            {
                "set": name,
                "method": method,
                "leave-one-out says": Spread.of(of("left out"), digits=3),
                "test rows say": Spread.of(of("error"), digits=3),
                "widths off": f"{np.mean(of('off')):.1f} of {results.numbers(Draw, 'widths', set=name)[0]}",
                "evaluations": round(float(np.mean(of("evaluations")))),
            }
        )
    note = "A tuned model's leave-one-out error has been minimised, or has seen its widths: it is too small."
    return Table("What leave-one-out says of tuned widths", rows, note)


def _seconds_table(results: Results, data: dict[str, tuple[Matrix, Matrix]]) -> Table:
    rows = [
        {
            "set": name,
            **{m: Spread.of(results.numbers(Draw, f"{m}.seconds", set=name), digits=2) for m in METHODS},
        }
        for name in data
    ]
    return Table("Processor seconds of a fit", rows, folded=True)


STUDY = Study(
    plans={"short": Plan(repeat=2), "default": Plan(repeat=40)},
    load=load,
    cases=cases,
    work=work,
    page=page,
    ignored=("The optimal value found", "lbfgs failed to converge"),  # of the Gaussian process
)
