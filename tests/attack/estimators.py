"""Targets of estimators: constructor arguments, the arguments of `fit` and of every method, methods before `fit`."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

from sklearn.exceptions import NotFittedError

from attack.containers import Variant
from attack.judge import TIGHT, Case, Wrong, plain
from attack.problems import COMMON, GIVEN, PROBLEMS, UNLABELED, estimators, fitting, methods
from attack.targets import Target, parameters
from attack.values import SCALARS
from iokr import IOKR, Conformal
from iokr.decoders import Candidates
from iokr.kernels import RBF, Linear
from iokr.losses import Huber
from iokr.manifolds import Laplacian
from iokr.solvers import Cholesky

__all__ = ["answer", "arguments", "build", "estimator_cases"]

REFUSED = {  # outputs are mixed, so there are no weights; a full conformal set is no band
    *((name, "weights") for name in ("MultiTask", "MultiTaskCV", "Functional", "FunctionalCV")),
    ("Conformal", "band"),
}
NUMERIC = ("vectors", "numbers", "links", "pairs", "bipartite", "classes")  # problems of numbers (and labels) alone
QUICK = {
    "n_estimators": 4,
    "random_state": 0,
    "max_iter": 5,
    "alphas": (0.1, 1.0),
    "manifold_weights": (0.1, 0.5),
    "n_components": 3,
}


def build(cls: type, problem: str, **given: Any) -> Any:
    """A quick valid model for a problem."""
    known = parameters(cls)
    options = {"kernel": RBF(0.5), "alpha": 0.5, **QUICK, **PROBLEMS[problem][0]}
    if cls.__name__ in ("IOKRCV", "LinkPredictorCV"):
        options.pop("manifold_weights")
    options |= {
        name: value for name, value in GIVEN.items() if name in known and known[name].default is known[name].empty
    }
    options = {name: value for name, value in options.items() if name in known}
    return cls(**{**options, **given})


def answer(model: Any, problem: str) -> Any:
    """What a fitted model says: scores of links, or of new inputs."""
    if problem == "links" and type(model).__name__ == "LocalModels":  # no score for two nodes without known links
        return plain(model.decision_function())[model.labeled_]
    if problem in ("links", "bipartite"):
        return model.decision_function()
    if problem == "pairs":
        return model.decision_function(PROBLEMS["pairs"][1]["pairs"])
    if problem == "bags":
        return model.decision_function(PROBLEMS[problem][2]["sets"])
    if problem == "spectra":
        more = PROBLEMS[problem][2]
        return model.scores(more["X"], more["candidates"], more["candidate_groups"])
    if problem in ("vectors", "numbers", "classes"):
        return getattr(model, "decision_function", model.predict)(COMMON["X"])
    return model.distances(COMMON["X"], PROBLEMS[problem][2]["candidates"])


def arguments(cls: type, method: Any, problem: str) -> dict[str, Any] | None:
    """Valid arguments of a method, or None where one of them is not known."""
    values = {**COMMON, **PROBLEMS[problem][2]}
    found = {}
    for name, p in parameters(method).items():
        if name in values:
            found[name] = values[name]
        elif p.default is p.empty:
            return None
    if problem == "pairs" and "X" in found:
        found["X"] = COMMON["X"]
    return found


def estimator_cases() -> Iterator[Case]:
    """All of them."""
    for name, cls in estimators().items():
        for problem in fitting(cls):
            yield from _fit_cases(name, cls, problem)
            yield from _method_cases(name, cls, problem)
        if name == "Conformal":
            yield from _relative_cases()
        if problems := fitting(cls):
            yield from _parameter_cases(name, cls, problems[0])


def _relative_cases() -> Iterator[Case]:
    """Scores that compare y with candidates."""
    data, more = PROBLEMS["vectors"][1:]
    given = {"X": COMMON["X"], "y": more["y"], "candidates": more["candidates"]}
    for method in ("contains", "p_values", "predict_set"):
        valid = {argument: value for argument, value in given.items() if argument != "y" or method != "predict_set"}

        def call(_method: str = method, **given: Any) -> Any:
            model = Conformal(IOKR(RBF(0.5), alpha=0.5), method="split", conformity="relative", random_state=0)
            options = {} if _method == "p_values" else {"coverage": 0.5}
            return getattr(model.fit(data["X"], data["y"]), _method)(**given, **options)

        target = Target(f"Conformal/relative {method}", call, valid, ("y", "candidates")[method == "predict_set" :])
        target.skip = ("torch", "strict")
        yield from target.cases()


def _fit_cases(name: str, cls: type, problem: str) -> Iterator[Case]:
    known = parameters(cls.fit)
    valid = {argument: value for argument, value in PROBLEMS[problem][1].items() if argument in known}

    def call(**given: Any) -> Any:
        return answer(build(cls, problem).fit(**given), problem)

    lenient = problem not in (*NUMERIC, "fingerprints")
    names = ("adjacency", "labeled", "kernel", "output_kernel", "candidates", "index", "node", "nodes", "task")
    for argument in valid:
        loose = lenient and argument == {"spectra": "X", "bags": "sets"}.get(problem, "y")
        tol = 1e-4 if name == "NeuralRegressor" else TIGHT  # it computes in float32
        target = Target(f"{name}/fit {problem}", call, valid, (argument,), tol, lenient=loose, names=names)
        yield from target.cases()
    if "X_unlabeled" in known and problem == "vectors":

        def semi(**given: Any) -> Any:
            return answer(build(cls, problem, manifold=Laplacian(0.5)).fit(**given), problem)

        more = {**valid, "X_unlabeled": UNLABELED}
        yield from Target(f"{name}/fit {problem}", semi, more, ("X_unlabeled",), names=names).cases()


def _method_cases(name: str, cls: type, problem: str) -> Iterator[Case]:
    fitted: list[Any] = []

    def model() -> Any:
        if not fitted:
            known = parameters(cls.fit)
            valid = {argument: value for argument, value in PROBLEMS[problem][1].items() if argument in known}
            if cls.__name__ == "LocalModels":
                valid.pop("labeled")  # nodes without known links have no score among themselves
            fitted.append(build(cls, problem).fit(**valid))
            if hasattr(cls, "calibrate"):
                fitted[0].calibrate(*(PROBLEMS[problem][2][name] for name in ("scores", "truth", "groups")))
        return fitted[0]

    for method, function in methods(cls).items():
        valid = arguments(cls, function, problem)
        there = hasattr(build(cls, problem), method)  # some are available for outputs with a kernel alone
        if valid is None or not there or (cls.__name__, method) in REFUSED:
            continue
        if cls.__name__.startswith("Functional") and method == "score":
            valid.pop("candidates")  # an integrated R²
        if cls.__name__ == "Conformal" and method in ("contains", "p_values"):
            valid.pop("candidates")  # for `conformity="relative"` alone
        if (cls.__name__, method) == ("LocalModels", "decision_function"):
            valid = {"X1": valid["X1"]}

        def call(_method: str = method, **given: Any) -> Any:
            found = getattr(model(), _method)(**given)
            if _method == "calibrate":
                return [found.temperature_, found.calibration_, found.best_scores_]
            if "plot" in _method:
                return None
            return list(found) if inspect.isgenerator(found) else found

        def early(_method: str = method, _valid: dict[str, Any] = valid) -> None:
            try:
                found = getattr(build(cls, problem), _method)(**_valid)
                list(found) if inspect.isgenerator(found) else None
            except NotFittedError:
                return
            raise Wrong("a model that was not fitted answered")

        if problem in (*NUMERIC, "spectra", "bags"):
            yield Case(f"{name}/{method} before fit", early, tuple(valid))
        names = ("X", "X1", "X2", "y", "candidates", "fit", "kernel", "output_kernel", "nodes", "node", "index")
        for argument in valid:
            if problem not in (*NUMERIC, "spectra", "bags") and argument not in ("candidates", "y"):
                continue
            loose = problem == "labels" or (
                argument in ("candidates", "y") and problem not in ("vectors", "numbers", "fingerprints", "spectra")
            )
            loose |= (problem, argument) in (("spectra", "X"), ("bags", "sets"))
            target = Target(f"{name}/{method} {problem}", call, valid, (argument,), lenient=loose, names=names)
            # inputs and candidates stay in the library that the model was fitted in
            target.skip = ("torch", "strict") if argument in ("X", "X1", "X2", "candidates", "y") else ()
            yield from target.cases()


def _parameter_cases(name: str, cls: type, problem: str) -> Iterator[Case]:
    known = parameters(cls.fit)
    valid = {argument: value for argument, value in PROBLEMS[problem][1].items() if argument in known}
    others = [
        Variant(word, lambda _, part=part: part, "any")
        for word, part in {
            "a loss": Huber(),
            "a kernel": Linear(),
            "a class": RBF,
            "a manifold": Laplacian(),
            "a solver": Cholesky(),
            "a decoder": Candidates(),
            "kernels": [RBF(0.5), Linear()],
            "a kernel and None": [RBF(0.5), None],
        }.items()
    ]
    for parameter in parameters(cls):

        def call(_parameter: str = parameter, **given: Any) -> Any:
            return answer(build(cls, problem, **given).fit(**valid), problem)

        target = Target(f"{name}/parameter", call, {parameter: None}, names=(parameter,))
        for variant in [*SCALARS, *others]:
            yield Case(
                f"{name}/parameter {parameter}={variant.name}"[:160],
                lambda t=target, p=parameter, v=variant: t.run(p, v),
                (parameter, *valid),
            )
