"""One width per feature (ARD) or one for all, by the evidence or by leave-one-out; columns that play no role."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.report import Report, Spread, Table, Text
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.vectors import ARD, RBF
from iokr.model_selection.tuning import tune
from iokr_lab.data.quantile import load_quantile
from iokr_lab.selection.irrelevant import COUNTS, MOST, Irrelevant, at_least_boosting, evaluate, table
from iokr_lab.splits import TrainTest, standardised_split
from iokr_lab.study import Case, Plan, Results, Study
from iokr_lab.tables import difference, paired
from iokr_lab.timing import timed

__all__ = ["STUDY"]

Matrix = NDArray[np.float64]
Sets = dict[str, tuple[Matrix, Matrix]]  # inputs and response
SETS = ("Boston", "BigMac2003", "sniffer", "highway")
ONE_LOO = "one width, leave-one-out"
ONE_EVIDENCE = "one width, evidence"
ARD_LOO = "ARD, leave-one-out"
ARD_EVIDENCE = "ARD, evidence"
ARD_PRIOR = "ARD, evidence with the prior"
PROCESS = "scikit-learn's Gaussian process, ARD"
BOOSTING = "scikit-learn's gradient boosting"
TRAINING = 0.7  # share of the rows
SCALES = np.exp(np.arange(-4.0, 5.0))  # widths of the grid, in units of the median width


@dataclass(frozen=True)
class Draw(Case):
    """A data set and the number of a draw of training rows."""

    set: str
    draw: int


@dataclass(frozen=True)
class Widths(Plan):
    """The numbers of columns that play no role."""

    counts: tuple[int, ...] = COUNTS


def load(plan: Widths) -> Sets:
    """Inputs and response of every set."""
    found = {name: load_quantile(name) for name in SETS}
    return {name: (one.X, one.y) for name, one in found.items()}


def cases(plan: Widths, data: Sets) -> list[Draw | Irrelevant]:
    """Every draw of every set, and at most ten draws of Friedman's function among irrelevant columns."""
    draws = [Draw(name, i) for name, i in itertools.product(data, range(plan.repeat))]
    few = range(min(plan.repeat, MOST))
    return [*draws, *(Irrelevant(count, i) for count, i in itertools.product(plan.counts, few))]


# ------------------------------------------------------------------------------------------------------------- methods


def one_by_leave_one_out(X: Matrix, y: Matrix) -> tuple[Any, dict[str, Any]]:
    """Nine widths around the median width, and alpha."""
    gamma = float(RBF().fit(X).gamma_)
    return IOKRCV([RBF(gamma * scale) for scale in SCALES]).fit(X, y), {}


def tuned(kernel: ARD | RBF, by: str, X: Matrix, y: Matrix, prior: str | None = None) -> tuple[Any, dict[str, Any]]:
    """Widths by gradients; with the leave-one-out error, the number of switched-off features and of evaluations."""
    names = ["kernel__gammas" if isinstance(kernel, ARD) else "kernel__gamma", "alpha"]
    model = tune(IOKR(kernel), X, y, names, by=by, limit=None, prior=prior)
    left_out = float(np.mean((y - model.loo_decision_function()[:, 0]) ** 2))
    off = sum(model.tuning_["off"].get("kernel__gammas", []))
    return model, {"left out": left_out, "off": int(off), "evaluations": len(model.tuning_["path"])}


def process(X: Matrix, y: Matrix) -> tuple[Any, dict[str, Any]]:
    """c exp(−Σ_l (x_l − z_l)²/(2σ_l²)) + noise, by the evidence from one starting point."""
    from sklearn.gaussian_process import GaussianProcessRegressor, kernels

    ones = np.ones(X.shape[1])
    wide = (1e-5, 1e5)
    kernel = kernels.ConstantKernel(1.0, wide) * kernels.RBF(ones, wide) + kernels.WhiteKernel(0.1, (1e-8, 1e3))
    return GaussianProcessRegressor(kernel, random_state=0).fit(X, y), {}


def boosting(X: Matrix, y: Matrix) -> tuple[Any, dict[str, Any]]:
    """Gradient boosting with default parameters."""
    from sklearn.ensemble import GradientBoostingRegressor

    return GradientBoostingRegressor(random_state=0).fit(X, y), {}


METHODS: dict[str, Callable[[Matrix, Matrix], tuple[Any, dict[str, Any]]]] = {
    ONE_LOO: one_by_leave_one_out,
    ONE_EVIDENCE: partial(tuned, RBF(), "evidence"),
    ARD_LOO: partial(tuned, ARD(), "loo"),
    ARD_EVIDENCE: partial(tuned, ARD(), "evidence"),
    ARD_PRIOR: partial(tuned, ARD(), "evidence", prior="sparse"),
    PROCESS: process,
    BOOSTING: boosting,
}


def split(X: Matrix, y: Matrix, seed: tuple[int, ...]) -> TrainTest:
    """Seven tenths of the rows for training; everything standardised by them."""
    return standardised_split(X, y, seed, TRAINING)


def work(case: Draw | Irrelevant, plan: Widths, data: Sets) -> dict[str, Any]:
    """The mean squared error on the test rows, in units of the variance of the response, for every method."""
    if isinstance(case, Irrelevant):
        return evaluate(case, plan.seed)
    part = split(*data[case.set], (plan.seed, SETS.index(case.set), case.draw))
    default = tune(IOKR(ARD()), part.X, part.Y, ["kernel__gammas", "alpha"]).tuning_["prior"]
    found: dict[str, Any] = {"rows": len(part.Y), "widths": part.X.shape[1], "prior": default == "sparse"}
    for name, method in METHODS.items():
        (model, more), seconds = timed(partial(method, part.X, part.Y))
        error = float(np.mean((model.predict(part.X_test) - part.Y_test) ** 2))
        found[name] = {"error": error, "seconds": round(seconds, 3), **more}
    return found


# ---------------------------------------------------------------------------------------------------------------- page


def page(results: Results, plan: Widths, data: Sets) -> Report:
    """Test errors, leave-one-out errors, and ARD against one width draw by draw."""

    def errors(name: str, method: str) -> list[float]:
        return results.numbers(Draw, f"{method}.error", set=name)

    means = {name: {method: float(np.mean(errors(name, method))) for method in METHODS} for name in data}
    better = [name for name in data if means[name][ARD_EVIDENCE] <= means[name][ONE_LOO]]
    one_wins = [name for name in data if means[name][ONE_EVIDENCE] < means[name][ARD_EVIDENCE]]
    with_prior = [name for name in data if any(results.numbers(Draw, "prior", set=name))]
    summary = (
        f"ARD by the evidence has at most the test error of one width by leave-one-out on {_listed(better)}. One width "
        f"by the evidence has a smaller test error than ARD on {_listed(one_wins)}. The default takes the prior, as "
        f"there are more widths than a fifth of the rows: {_listed(with_prior)}. "
        f"{at_least_boosting(results, plan.counts)}"
    )
    rows = [
        ({"set": name, "against": other}, difference(errors(name, ARD_EVIDENCE), errors(name, other), **_TEST))
        for name in data
        for other in (ONE_LOO, ONE_EVIDENCE, ARD_LOO, ARD_PRIOR)
    ]
    return Report(
        "One width per feature or one for all",
        summary,
        (
            Text("The setting", (_SETTING,)),
            _errors_table(results, data, errors),
            _leave_one_out_table(results, data),
            table(results, plan.counts),
            paired("ARD by the evidence minus another choice: mean squared test error", rows, note=_SIGN),
            _seconds_table(results, data),
        ),
        (
            f"± is the standard deviation over {plan.repeat} draws of 70 % of the rows for training.",
            "Inputs and response are standardised by the training rows; predicting the mean has an error of about 1. "
            "Categories are columns of zeros and ones.",
        ),
    )


_SETTING = (
    "The kernel is k(x, z) = exp(−Σ_l γ_l (x_l − z_l)²), with one γ for all features or one per feature (ARD). γ and "
    "alpha are chosen on the training rows: by leave-one-out on a grid, or by gradients of the leave-one-out error or "
    "of the evidence, the density of the response under a Gaussian process. The prior is that of `tune`: columns may "
    "play no role, or all have one γ. Baselines: scikit-learn's Gaussian "
    "process, which maximises the same evidence from another starting point, and its gradient boosting with default "
    "parameters."
)
_SIGN = "Negative differences favour ARD by the evidence."
_TEST: dict[str, Any] = {"ratio": (1 - TRAINING) / TRAINING, "larger": False}


def _listed(names: Iterable[str]) -> str:
    return ", ".join(names) or "none"


def _errors_table(results: Results, data: Sets, errors: Callable[[str, str], list[float]]) -> Table:
    rows = []
    for name in data:
        n = results.numbers(Draw, "rows", set=name)[0]
        p = results.numbers(Draw, "widths", set=name)[0]
        row: dict[str, Any] = {"set": name, "training rows": n, "features": p}
        rows.append(row | {method: Spread.of(errors(name, method), digits=3) for method in METHODS})
    return Table("Mean squared error on test rows", rows, ours=(ARD_EVIDENCE,))


def _leave_one_out_table(results: Results, data: Sets) -> Table:
    rows = []
    for name, method in itertools.product(data, (ARD_LOO, ARD_EVIDENCE, ARD_PRIOR)):

        def of(what: str, name: str = name, method: str = method) -> list[float]:
            return results.numbers(Draw, f"{method}.{what}", set=name)

        rows.append(
            {
                "set": name,
                "method": method,
                "leave-one-out": Spread.of(of("left out"), digits=3),
                "test rows": Spread.of(of("error"), digits=3),
                "features switched off": f"{np.mean(of('off')):.1f} of {results.numbers(Draw, 'widths', set=name)[0]}",
                "evaluations": round(float(np.mean(of("evaluations")))),
            }
        )
    note = "The widths were tuned on the same rows, so the leave-one-out error is too optimistic."
    return Table("Leave-one-out error and test error of tuned widths", rows, note)


def _seconds_table(results: Results, data: Sets) -> Table:
    rows = [
        {
            "set": name,
            **{m: Spread.of(results.numbers(Draw, f"{m}.seconds", set=name), digits=2) for m in METHODS},
        }
        for name in data
    ]
    return Table("Processor seconds of a fit", rows, folded=True)


STUDY = Study(
    plans={"short": Widths(repeat=2), "default": Widths(repeat=40)},
    load=load,
    cases=cases,
    work=work,
    page=page,
    # warnings of the Gaussian process, and of the search for one width
    ignored=("The optimal value found", "lbfgs failed to converge", "The best (`alpha`|kernel)"),
)
