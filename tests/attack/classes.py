"""Targets of public classes that are no estimators and no components of members.py, and of fits in several calls."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from importlib.util import find_spec
from itertools import chain
from typing import Any

import numpy as np

import iokr
import iokr.chem
import iokr_lab.baselines
import members
from attack.containers import Variant
from attack.judge import Case, Wrong
from attack.problems import NEW, PAIRS, WEIGHT, N, X, Y
from attack.targets import Target, folders, public
from attack.values import SCALARS
from iokr import IOKR, IOKRCV, PairModel, Stream
from iokr.data.objects import as_objects
from iokr.kernels import RBF, Nystroem

__all__ = ["class_cases", "unknown"]

SMILES = as_objects(["CCO", "c1ccccc1", "CC(=O)O", "CCN", "C#N", "OCC", "CC=O", "CCC", "CCCC", "CO", "C", "CCl"])
TEXTS = {
    "empty": "",
    "blanks": "  ",
    "an open ring": "C1CC",
    "too many bonds": "C(C)(C)(C)(C)C",
    "an unknown element": "[Xx]",
    "a wild card": "*",
    "two lines": "CCO\nCC",
    "NUL": "C\0C",
    "a name after it": "CCO ethanol",
    "a reaction": "CCO>>CC",
    "salts": "[Na+].[Cl-]",
    "3000 atoms": "C" * 3000,
    "a bad InChI": "InChI=1S/xx",
    "an InChI": "InChI=1S/CH4/h1H4",
    "another minus": "[O\u2212]",
    "a lone surrogate": "\ud800",
    "a number": 5,
    "None": None,
    "NaN": float("nan"),
    "bytes": b"CCO",
}
NAMES = ("X", "y", "open", "chunk", "kinds", "Molecule", "molecule", "structure", "kernel", "SMILES", "pairs")


def _needs_rdkit() -> bool:
    return find_spec("rdkit") is not None


def class_cases() -> Iterator[Case]:
    """All of them."""
    if _needs_rdkit():
        yield from _molecules()
    yield from _similarities()
    yield from _streams()
    yield from _several_calls()


def _molecules() -> Iterator[Case]:
    from iokr.chem import Fingerprints, Molecule

    def bits(X: Any, **given: Any) -> Any:
        return np.asarray(Fingerprints(**{"kinds": "maccs", **given}).fit_transform(X))

    yield from Target("chem.Fingerprints/molecules", bits, {"X": SMILES}, names=NAMES, lenient=True).cases()
    for parameter, value in (("kinds", "maccs"), ("cache", None)):
        target = Target(f"chem.Fingerprints/parameter {parameter}", bits, {"X": SMILES, parameter: value}, (parameter,))
        yield from target.cases()
    for word, text in TEXTS.items():
        odd = [*SMILES[:3], text]
        yield Case(f"chem.Fingerprints/molecules with {word}", lambda x=odd: bits(X=x), NAMES)
        yield Case(f"chem.Molecule/text {word}", lambda t=text: Molecule(t).mass, NAMES)

    def weigh(text: Any) -> Any:
        return Molecule(text).mass

    yield from Target("chem.Molecule/call", weigh, {"text": "CCO"}, names=NAMES).cases()
    yield Case("chem.Fingerprints/other forms of one molecule", _one_molecule)


def _one_molecule() -> None:
    found = np.asarray(iokr.chem.Fingerprints().fit_transform(["CCO", "OCC", "C(O)C", " CCO ", "CCO"]))
    if not np.all(found == found[0]):
        raise Wrong("one molecule has several fingerprints")


def _similarities() -> Iterator[Case]:
    from iokr.chem import PeakCosine

    spectra = members.objects("spectra", N)

    def call(X: Any = spectra, **given: Any) -> Any:
        return PeakCosine(**given)(X)

    yield from Target("chem.PeakCosine/spectra", call, {"X": spectra}, names=NAMES, lenient=True).cases()
    valid = {"tolerance": 0.01, "power": 0.5, "shifted": True}
    yield from Target("chem.PeakCosine/parameter", call, valid, names=NAMES).cases()


def _streams() -> Iterator[Case]:
    kernel = Nystroem(RBF(0.5), N, random_state=0)

    def fitted(X: Any = X, y: Any = Y, weight: Any = WEIGHT, **options: Any) -> Any:
        """Two chunks, of which the second is as given."""

        def chunks() -> Iterator[Any]:
            yield X_FIRST, Y_FIRST, WEIGHT
            yield X, y, weight

        return IOKR(kernel, alpha=0.5).fit(Stream(chunks, **options)).predict(NEW)

    names = (*NAMES, "sample_weight", "landmarks", "rows", "stream")
    for argument, value in (("X", X), ("y", Y), ("weight", WEIGHT)):
        skip = ("torch", "strict", *_other_type(argument))
        yield from Target(f"Stream/second {argument}", fitted, {argument: value}, names=names, skip=skip).cases()
    for parameter, value in (("landmarks", "first"), ("rows", None), ("y", None)):

        def parameters(_p: str = parameter, **given: Any) -> Any:
            return IOKR(kernel, alpha=0.5).fit(Stream((X, Y), **given)).predict(NEW)

        yield from Target(f"Stream/parameter {parameter}", parameters, {parameter: value}, names=names).cases()

    def opened(open: Any) -> Any:
        return IOKR(kernel, alpha=0.5).fit(Stream(open)).predict(NEW)

    for variant in [*SCALARS, *OPENED]:
        target = Target("Stream/open", opened, {"open": (X, Y)}, names=names)
        yield Case(f"Stream/open={variant.name}"[:160], lambda t=target, v=variant: t.run("open", v), names)
    yield Case("Stream/as one fit", lambda: _as_one_fit(kernel))


X_FIRST, Y_FIRST = X.copy(), Y.copy()
OPENED = [
    Variant("a generator of chunks", lambda _: iter([(X, Y)]), "refuse"),
    Variant("a list of chunks", lambda _: [(X, Y)], "refuse"),
    Variant("one array", lambda _: (X,), "refuse"),
    Variant("four arrays", lambda _: (X, Y, WEIGHT, X), "refuse"),
    Variant("no chunks", lambda _: lambda: iter([]), "refuse"),
    Variant("empty chunks", lambda _: lambda: iter([(X[:0], Y[:0])]), "refuse"),
    Variant("chunks of three words", lambda _: lambda: iter(["abc"]), "refuse"),
    Variant("rows that differ", lambda _: lambda: iter([(X, Y[:-1])]), "refuse"),
    Variant("columns that differ", lambda _: lambda: iter([(X, Y), (X[:, :2], Y)]), "refuse"),
    Variant("outputs that differ", lambda _: lambda: iter([(X, Y), (X, Y[:, :1])]), "refuse"),
    Variant("a function with arguments", lambda _: lambda a: a, "any"),
    Variant("a function that returns nothing", lambda _: lambda: None, "refuse"),
    Variant("the same iterator", lambda _: (lambda made: lambda: made)(iter([(X, Y), (X, Y)])), "any"),
    Variant("chunks in lists", lambda _: lambda: iter([[X, Y]])),
    Variant("two halves", lambda _: lambda: iter([(X[:6], Y[:6]), (X[6:], Y[6:])]), "any"),
]


def _other_type(argument: str) -> tuple[str, ...]:
    """All chunks are of one type and width, which the first one here has."""
    other = ("one column fewer", "one column more", "one column", "one axis", "transposed")
    return other if argument in ("X", "y") else ()


def _as_one_fit(kernel: Any) -> None:
    from attack.judge import check_same

    whole = IOKR(RBF(0.5), alpha=0.5).fit(X, Y).predict(NEW)
    check_same(IOKR(kernel, alpha=0.5).fit(Stream((X, Y), rows=12)).predict(NEW), whole, "in a stream", 1e-7)


def _several_calls() -> Iterator[Case]:
    """`partial_fit`: the first call and the second; `path`: a fit for each alpha."""

    def first(**given: Any) -> Any:
        return IOKR(Nystroem(RBF(0.5), 4, random_state=0), alpha=0.5).partial_fit(**given).predict(NEW)

    def second(**given: Any) -> Any:
        model = IOKR(Nystroem(RBF(0.5), 4, random_state=0), alpha=0.5).partial_fit(X, Y)
        return model.partial_fit(**given).predict(NEW)

    for word, call in (("first", first), ("second", second)):
        valid = {"X": X, "y": Y, "sample_weight": WEIGHT}
        yield from Target(f"IOKR/partial_fit {word}", call, valid, names=NAMES, skip=("torch", "strict")).cases()
    signs = np.where(PAIRS.sum(axis=1) % 2, 1.0, -1.0)

    def path(**given: Any) -> Any:
        valid = {"X": X, "pairs": PAIRS, "y": signs, "alphas": [1.0, 0.1], **given}
        return [model.decision_function(PAIRS[:5]) for model in PairModel(RBF(0.5)).path(**valid)]

    for argument, value in (("alphas", np.array([1.0, 0.1])), ("pairs", PAIRS), ("y", signs)):
        yield from Target(f"PairModel/path {argument}", path, {argument: value}, names=NAMES, skip=("bool",)).cases()

    def searched(alphas: Any) -> Any:
        return IOKRCV(RBF(0.5), alphas=alphas).fit(X, Y).predict(NEW)

    yield from Target("IOKRCV/alphas", searched, {"alphas": np.array([0.5, 1.0])}, names=(*NAMES, "alphas")).cases()


ATTACKED = {"Fingerprints", "PeakCosine", "Molecule", "Stream"}


def unknown() -> list[str]:
    """Public classes with `fit` outside of `iokr`, the rivals and members.py that nobody attacks: to be taught here."""
    known = {*ATTACKED, *chain.from_iterable(members.TABLES.values())}
    return [
        f"{folder.__name__}.{name}"
        for folder in folders()
        if folder not in (iokr, iokr_lab.baselines)
        for name, member in public(folder).items()
        if inspect.isclass(member) and hasattr(member, "fit") and name not in known
    ]
