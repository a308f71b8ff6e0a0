"""What must not change: shifts, orders, weights, names, units, libraries, copies."""

from __future__ import annotations

import copy
import datetime
import decimal
import enum
import fractions
import pickle
import uuid
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from sklearn.base import clone

from attack.components import kernel_instances, objects
from attack.estimators import answer, build
from attack.judge import LOOSE, TIGHT, Case, Wrong, check_finite, check_same, plain
from attack.problems import ADJACENCY, LABELED, LABELS, NEW, PAIRS, PROBLEMS, WEIGHT, N, X, Y, estimators, fitting
from attack.targets import parameters
from iokr.data.objects import take
from iokr.estimators.quantiles.base import QuantileRegression
from iokr.solvers import ADMM

__all__ = ["relation_cases"]

SHIFTS = [2.0**k for k in (3, 10, 20, 26, 30, 40)]
ORDER = np.array([7, 2, 11, 0, 5, 9, 1, 10, 3, 8, 4, 6])
Names = Callable[[int], Any]
RENAMED: dict[str, Names] = {
    "2**60 + k": lambda k: 2**60 + k,
    "2**53 + k": lambda k: 2**53 + k,
    "-2**60 - k": lambda k: -(2**60) - k,
    "10**30 + k": lambda k: 10**30 + k,
    "floats": lambda k: 0.1 + k / 8,
    "strings": lambda k: f"w{9 - k}",
    "bytes": lambda k: b"w%d" % k,
    "tuples": lambda k: (2**60 + k, "a"),
    "number tuples": lambda k: (2**60 + k, 1),
    "frozen sets": lambda k: frozenset({2**60 + k}),
    "mixed types": lambda k: [False, "one", 2.5][k],
    "dates": lambda k: np.datetime64("2026-01-01") + np.timedelta64(k, "ns"),
    "near floats": lambda k: np.nextafter(1.0, 2.0) if k == 1 else 1.0 + k,
    "strings of numbers": lambda k: ["1", "1.0", "01"][k],
    "fractions": lambda k: fractions.Fraction(k, 7),
    "decimals": lambda k: decimal.Decimal(k) / 3,
    "names of an enumeration": lambda k: list(_Color)[k],
    "UUIDs": lambda k: uuid.UUID(int=k),
    "time stamps": lambda k: datetime.datetime(2026, 1, 1, tzinfo=datetime.timezone(datetime.timedelta(hours=k))),
    "texts that end in NUL": lambda k: "a" + "\0" * k,
    "texts that end in blanks": lambda k: "a" + " " * k,
    "accents": lambda k: ["\u00e9", "e\u0301", "e"][k],
    "lone surrogates": lambda k: chr(0xD800 + k),
    "infinities": lambda k: [float("inf"), float("-inf"), 0.0][k],
    "nested tuples": lambda k: ((k,), ("a", (k,))),
}


class _Color(enum.Enum):
    RED, GREEN, BLUE = 1, 2, 3


UNSTABLE = ("OutputKernelTree", "OutputKernelForest", "OutputKernelBoosting", "OK3")  # drawn by position
DRAWN = ("TPPK", "LocalModels", "QuantileCurvesCV", "NeuralRegressor")  # decoys, folds and batches by position
DRAWN += ("KernelAutoencoder",)  # random codes by position
UNITS = ("KernelAutoencoder",)  # code_alpha is weighed against errors in the units of the outputs, as documented
FIRST = ("Neighbors",)  # of equally near inputs the first count, as documented
SINGLE = ("NeuralRegressor",)  # computes in float32


def relation_cases() -> Iterator[Case]:
    """All of them."""
    seen: dict[str, int] = {}
    for name, kernel, domain in kernel_instances():
        i = seen[name] = seen.get(name, -1) + 1
        for what, check in KERNELS.items():
            yield Case(f"{name}/{i} {what}", lambda k=kernel, d=domain, f=check: f(k, d), ("X", "kernel"))
        if domain == "vectors" and name not in ("kernels.FromFunction", "kernels.Features"):
            for s in SHIFTS:
                yield Case(f"{name}/{i} shifted by {s:g}", lambda k=kernel, s=s: shifted(k, s), ("X", "kernel"))
            for c in (-400, -100, -30, 30, 100, 400):
                yield Case(f"{name}/{i} units 2**{c}", lambda k=kernel, c=c: units(k, c), ("X", "kernel"))
    for name, cls in estimators().items():
        for problem in fitting(cls):
            for what, check in MODELS.items():
                yield Case(
                    f"{name}/{problem} {what}", lambda c=cls, p=problem, f=check: f(c, p), ("X", "y", "adjacency")
                )
            if problem == "labels":
                for word, rename in RENAMED.items():
                    for as_array in (False, True):
                        label = f"{name}/renamed to {word}{' in an array' if as_array else ''}"
                        yield Case(label, lambda c=cls, r=rename, a=as_array: renamed(c, r, a), ("y", "candidates"))
            if problem == "vectors":
                for s in SHIFTS:
                    yield Case(f"{name}/inputs shifted by {s:g}", lambda c=cls, s=s: inputs_shifted(c, s), ("X",))
                for c in (-300, -40, -3, 3, 40, 300):
                    yield Case(f"{name}/outputs times 2**{c}", lambda k=cls, c=c: outputs_scaled(k, c), ("y",))


# --------------------------------------------------------------------------------------------------------- kernels


def _fitted(kernel: Any, domain: str) -> tuple[Any, Any]:
    X = objects(domain)
    return clone(kernel).fit(X), X


def symmetric(kernel: Any, domain: str) -> None:
    k, X = _fitted(kernel, domain)
    K = plain(k(X))
    check_same(K, K.T, "k(X) against its transpose")
    check_same(k.diag(k.represent(X)), np.diag(K), "diag")
    if np.linalg.eigvalsh(K)[0] < -1e-9 * abs(np.trace(K)):
        raise Wrong("not positive semi-definite")


def reordered(kernel: Any, domain: str) -> None:
    k, X = _fitted(kernel, domain)
    check_same(k(take(X, ORDER)), plain(k(X))[np.ix_(ORDER, ORDER)], "rows in another order")


def one_by_one(kernel: Any, domain: str) -> None:
    k, X = _fitted(kernel, domain)
    check_same(np.vstack([plain(k(take(X, [i]), X)) for i in range(N)]), k(X, X), "row by row")


def repeated_rows(kernel: Any, domain: str) -> None:
    k, X = _fitted(kernel, domain)
    twice = np.r_[ORDER, ORDER]
    check_same(k(take(X, twice)), plain(k(X))[np.ix_(twice, twice)], "every row twice")


def copies(kernel: Any, domain: str) -> None:
    k, X = _fitted(kernel, domain)
    K = k(X)
    for word, other in {
        "pickle": pickle.loads(pickle.dumps(k)),
        "deepcopy": copy.deepcopy(k),
        "clone": clone(k).fit(X),
        "again": k.fit(X),
    }.items():
        check_same(other(X), K, word, 1e-14)  # what fit computed may be kept until it is asked for


def summed(kernel: Any, domain: str) -> None:
    X = objects(domain)
    K = plain(clone(kernel)(X))
    check_same((clone(kernel) + clone(kernel))(X), 2 * K, "k + k")
    check_same((2.0 * clone(kernel))(X), 2 * K, "2k")
    check_same((clone(kernel) * clone(kernel))(X), K * K, "k k")


KERNELS = {
    "symmetric": symmetric,
    "reordered": reordered,
    "one by one": one_by_one,
    "rows repeated": repeated_rows,
    "copies": copies,
    "sums and products": summed,
}


def shifted(kernel: Any, s: float) -> None:
    """A kernel that a shift by one leaves alone is the same far from the origin: against the points shifted back."""
    X = objects("vectors")
    if np.abs(plain(clone(kernel)(X + 1.0)) - plain(clone(kernel)(X))).max() > 1e-9:
        return
    far = X + s
    check_same(clone(kernel)(far), clone(kernel)(far - s), f"shifted by {s:g}", 1e-12)


def units(kernel: Any, c: int) -> None:
    """A kernel that does not see whether units are doubled does not see other units either; others stay finite."""
    X = objects("vectors")
    K = plain(clone(kernel)(X))
    scaled = clone(kernel)(X * 2.0**c)
    check_finite(scaled)
    if np.abs(plain(clone(kernel)(2 * X)) - K).max() <= 1e-12 * np.abs(K).max():
        check_same(scaled, K, f"units of 2**{c}", 1e-11)


# ------------------------------------------------------------------------------------------------------------ models


def _data(cls: type, problem: str) -> dict[str, Any]:
    known = parameters(cls.fit)
    return {name: copy.deepcopy(value) for name, value in PROBLEMS[problem][1].items() if name in known}


def _ask(model: Any, problem: str) -> Any:
    if problem in ("spectra", "bags"):
        return answer(model, problem)
    if problem in ("links", "bipartite", "classes"):
        return model.decision_function(NEW)
    if problem == "pairs":
        return model.decision_function(np.array([[0, N], [1, 2], [N + 1, 3]]), NEW)
    if problem == "numbers" or (problem == "vectors" and not hasattr(model, "distances")):
        return model.predict(NEW)
    return model.distances(NEW, PROBLEMS[problem][2]["candidates"])  # coordinates may turn, distances do not


def fitted_twice(cls: type, problem: str) -> None:
    data = _data(cls, problem)
    model = build(cls, problem).fit(**data)
    first = _ask(model, problem)
    check_same(_ask(model.fit(**data), problem), first, "fitted again", 1e-12)
    check_same(_ask(build(cls, problem).fit(**data), problem), first, "another model", 1e-12)


def model_copies(cls: type, problem: str) -> None:
    model = build(cls, problem).fit(**_data(cls, problem))
    first = _ask(model, problem)
    check_same(_ask(pickle.loads(pickle.dumps(model)), problem), first, "pickle", 0.0)
    check_same(_ask(copy.deepcopy(model), problem), first, "deepcopy", 0.0)
    check_same(_ask(clone(model).fit(**_data(cls, problem)), problem), first, "clone", 1e-12)


def untouched(cls: type, problem: str) -> None:
    data = _data(cls, problem)
    before = pickle.dumps(data)
    model = build(cls, problem)
    parts = repr(model)
    _ask(model.fit(**data), problem)
    if pickle.dumps(data) != before:
        raise Wrong("the data were changed")
    if repr(model) != parts:
        raise Wrong("the model's parameters were changed")


def rows_reordered(cls: type, problem: str) -> None:
    data = _data(cls, problem)
    if cls.__name__ in UNSTABLE or _default(cls, "loss") == "hinge" or cls.__name__ in DRAWN + FIRST:
        return
    expected = _ask(build(cls, problem).fit(**data), problem)
    if problem == "links":
        place = {int(node): i for i, node in enumerate(ORDER)}
        other = {
            "X": X[ORDER],
            "adjacency": ADJACENCY[np.ix_(ORDER, ORDER)],
            "labeled": np.array([place[int(i)] for i in LABELED]),
        }
    elif problem == "pairs":
        swap = np.random.default_rng(0).permutation(len(PAIRS))
        other = {name: value[swap] for name, value in data.items() if name != "X"} | {"X": X}
        other["pairs"] = other["pairs"][:, ::-1]
    elif problem == "bipartite":
        other = {"X": X[ORDER], "Z": data["Z"], "links": data["links"][ORDER]}
    else:
        other = {name: take(value, ORDER) for name, value in data.items()}
    if problem == "links":
        expected = plain(expected)[:, ORDER]
    check_same(_ask(build(cls, problem).fit(**other), problem), expected, "rows in another order", 1e-7)


def _default(cls: type, parameter: str) -> Any:
    found = parameters(cls).get(parameter)
    return None if found is None else found.default


def halves(cls: type, problem: str) -> None:
    """A row twice with half its weight is the row."""
    if "sample_weight" not in parameters(cls.fit) or problem in ("pairs", "links"):
        return
    if cls.__name__ in (
        *UNSTABLE,
        "IOKRCV",
        "MultiTaskCV",
        "QuantileCurvesCV",
        "KDE",
    ):  # leave-one-out and draws count rows, as documented
        return
    data = _data(cls, problem) | {"sample_weight": WEIGHT}
    # an iteration stops at a gap of 1e-5 of J(0), which leaves h far less sure: here it goes on
    given = {"solver": ADMM(1e-12, max_iter=100_000)} if issubclass(cls, QuantileRegression) else {}
    expected = _ask(build(cls, problem, **given).fit(**data), problem)
    twice = np.r_[np.arange(N), 3, 7]
    other = {name: take(value, twice) for name, value in data.items()}
    w = WEIGHT[twice].copy()
    w[[3, 7, N, N + 1]] /= 2
    halved = build(cls, problem, **given).fit(**other | {"sample_weight": w})
    check_same(_ask(halved, problem), expected, "rows in halves", LOOSE if given else 1e-7)


def by_rows(cls: type, problem: str) -> None:
    model = build(cls, problem).fit(**_data(cls, problem))
    if problem in ("links", "bipartite"):
        whole = plain(model.decision_function(NEW))
        parts = np.vstack([plain(model.decision_function(NEW[i : i + 1])) for i in range(len(NEW))])
    elif problem == "pairs":
        whole = plain(model.decision_function(PAIRS))
        parts = np.concatenate([plain(model.decision_function(PAIRS[i : i + 1])) for i in range(len(PAIRS))])
    elif problem == "bags":
        sets = PROBLEMS[problem][2]["sets"]
        whole = model.decision_function(sets)
        parts = np.concatenate([model.decision_function(sets[i : i + 1]) for i in range(len(sets))])
    elif problem == "spectra":
        more = PROBLEMS[problem][2]
        queries, sets, names = more["X"], more["candidates"], more["candidate_groups"]
        whole = np.concatenate(model.scores(queries, sets, names))
        some = [slice(i, i + 1) for i in range(len(queries))]
        parts = np.concatenate([model.scores(queries[i], sets[i], names[i])[0] for i in some])
    else:
        whole, parts = model.predict(NEW), [model.predict(NEW[i : i + 1])[0] for i in range(len(NEW))]
    if problem not in ("links", "pairs") and np.asarray(whole).dtype.kind == "O":
        parts = np.fromiter(parts, dtype=object, count=len(parts))
    check_same(parts, whole, "one input at a time", LOOSE if problem == "vectors" else TIGHT * 10)


def candidates_agree(cls: type, problem: str) -> None:
    """rank, predict, distances and scores say the same, for candidates in any order, repeated or not."""
    if not hasattr(cls, "rank") or not hasattr(cls, "distances"):
        return
    model = build(cls, problem).fit(**_data(cls, problem))
    candidates = PROBLEMS[problem][2]["candidates"]
    order, values = model.rank(NEW, candidates)
    table = plain(model.distances(NEW, candidates))
    check_same(np.sort(table, axis=1), np.take_along_axis(table, plain(order), axis=1), "rank sorts distances", 1e-9)
    check_same(values, np.take_along_axis(table, plain(order), axis=1), "values of rank", 1e-9)
    check_same(model.distances(NEW, take(candidates, ORDER)), table[:, ORDER], "candidates in another order")
    check_same(
        model.distances(NEW, take(candidates, np.r_[ORDER, ORDER])), table[:, np.r_[ORDER, ORDER]], "candidates twice"
    )
    best = [table[i][int(j)] for i, j in enumerate(plain(order)[:, 0])]
    found = model.predict(NEW, candidates)
    check_same(np.diag(plain(model.distances(NEW, found))), best, "the predicted candidate is the nearest", 1e-8)


MODELS = {
    "fitted twice": fitted_twice,
    "copies": model_copies,
    "data untouched": untouched,
    "rows reordered": rows_reordered,
    "rows in halves": halves,
    "one by one": by_rows,
    "candidates agree": candidates_agree,
}


def renamed(cls: type, rename: Names, as_array: bool) -> None:
    """Other names for the labels: the same predictions under these names."""
    code = {label: k for k, label in enumerate(sorted(set(LABELS)))}
    names = {label: rename(k) for label, k in code.items()}
    y = [names[label] for label in LABELS]
    if as_array:
        if isinstance(y[0], tuple):  # NumPy would take the entries for rows
            return
        y = np.array(y)
        if y.ndim != 1 or list(y) != [names[label] for label in LABELS]:
            return
    model = build(cls, "labels").fit(X, LABELS)
    other = build(cls, "labels").fit(X, y)
    expected = [names[label] for label in model.predict(NEW)]
    check_same(
        np.fromiter(list(other.predict(NEW)), dtype=object, count=len(NEW)),
        np.fromiter(expected, dtype=object, count=len(NEW)),
        "predictions",
    )
    pool = [names[label] for label in code]
    pool = np.array(pool) if as_array else pool
    check_same(other.score(X, y, candidates=pool), model.score(X, LABELS, candidates=list(code)), "score")
    check_same(other.rank(NEW, pool)[0], model.rank(NEW, list(code))[0], "rank")


def inputs_shifted(cls: type, s: float) -> None:
    """The default kernel sees differences alone."""
    far, new = X + s, NEW + s
    expected = build(cls, "vectors").fit(far - s, Y).predict(new - s)
    tol = 1e-9 if cls.__name__ not in UNSTABLE else LOOSE
    tol = 1e-4 if cls.__name__ in SINGLE else tol
    check_same(build(cls, "vectors").fit(far, Y).predict(new), expected, f"inputs shifted by {s:g}", tol)


def outputs_scaled(cls: type, c: int) -> None:
    """Outputs in other units: predictions in these units."""
    if "Boosting" in cls.__name__ or cls.__name__ in UNITS:
        return
    expected = plain(build(cls, "vectors").fit(X, Y).predict(NEW)) * 2.0**c
    check_same(build(cls, "vectors").fit(X, Y * 2.0**c).predict(NEW), expected, f"outputs times 2**{c}", 1e-9)
