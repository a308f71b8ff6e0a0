"""A valid call, and every case that comes of spoiling or repacking one of its arguments."""

from __future__ import annotations

import copy
import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from pkgutil import iter_modules
from typing import Any

import numpy as np
from scipy import sparse

import iokr
from attack.containers import Variant, repacked
from attack.judge import TIGHT, Case, Wrong, check_finite, check_same
from attack.values import (
    ANYTHING,
    SCALARS,
    spoiled_indices,
    spoiled_labels,
    spoiled_matrix,
    spoiled_objects,
    spoiled_vector,
    spoiled_weight,
)
from iokr.data.objects import as_objects

__all__ = ["Target", "folders", "grid", "parameters", "public", "variants"]

INSIDE = ("extend", "problem", "gram", "data", "apps", "cli", "estimators")  # documented as inside, or shown elsewhere
HOOKS = {
    "state",
    "from_state",
    "keep",
    "learn",
    "compare",
    "check_parameters",
    "input_kernel",
    "output_gram",
    "get_metadata_routing",
    "get_params",
    "set_params",
    "set_callbacks",
    "set_output",
}


def folders() -> list[Any]:
    """`iokr` and its public folders and modules with an `__all__`, those of tomorrow among them."""
    names = [module.name for module in iter_modules(iokr.__path__) if not module.name.startswith("_")]
    names = [f"iokr.{name}" for name in names if name not in INSIDE]
    modules = [import_module(name) for name in (*names, "iokr.apps.readers", "iokr_lab.baselines")]
    return [iokr, *(module for module in modules if hasattr(module, "__all__"))]


def public(folder: Any) -> dict[str, Any]:
    """The classes and functions of a folder, without abstract classes and errors."""
    found = {name: getattr(folder, name) for name in sorted(folder.__all__)}
    return {
        name: member
        for name, member in found.items()
        if callable(member)
        and not inspect.isabstract(member)
        and not (inspect.isclass(member) and issubclass(member, BaseException))
    }


def parameters(function: Any) -> dict[str, inspect.Parameter]:
    """The named parameters of a callable, without self."""
    return {
        name: p
        for name, p in inspect.signature(function).parameters.items()
        if name != "self" and p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)
    }


def grid(X: Any) -> np.ndarray:
    """Multiples of 1/8, so that halves and singles hold the same numbers."""
    return np.round(8 * np.clip(np.asarray(X, dtype=float), -3, 3)) / 8


def variants(argument: str, value: Any) -> list[Variant]:
    """What to pass for an argument, by its name and its valid value."""
    if argument == "sample_weight":
        return [*repacked(value), *spoiled_weight()]
    if isinstance(value, np.ndarray) and value.dtype.kind in "iu":
        same = [
            v
            for v in repacked(value)
            if v.name not in ("float32", "float16", "long double", "uint8", "int8")
            and v.reference is None
            and "sparse" not in v.name
            and "_" not in v.name
        ]
        return [*same, *spoiled_indices()]
    if isinstance(value, np.ndarray) and value.dtype.kind in "bf":
        return [*repacked(value), *(spoiled_matrix if value.ndim == 2 else spoiled_vector)(argument)]
    if sparse.issparse(value):
        return [*repacked(value), *ANYTHING]
    if isinstance(value, iokr.CandidateSets):
        return _variants_of_sets(argument, value)
    if isinstance(value, np.ndarray):
        spoiled = spoiled_labels() if all(isinstance(x, str) for x in value) else []
        return [*repacked(value), *spoiled, *spoiled_objects()]
    return SCALARS


def _variants_of_sets(argument: str, value: iokr.CandidateSets) -> list[Variant]:
    """One of the sets spoiled or repacked, and all of them."""

    def inside(change: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda sets: iokr.CandidateSets([sets.sets[0], change(sets.sets[1]), *sets.sets[2:]])

    one = [
        Variant(f"set 1: {v.name}", inside(v.make), v.expect, None if v.reference is None else inside(v.reference))
        for v in variants(argument, value.sets[1])
    ]
    whole = [
        Variant("sets in a tuple", lambda sets: iokr.CandidateSets(tuple(sets.sets))),
        Variant("sets in sets", iokr.CandidateSets),
        Variant("sets in an array", lambda sets: iokr.CandidateSets(as_objects(sets.sets))),
        Variant("one set for all", lambda sets: sets.sets[1], "any"),
        Variant("a plain list of sets", lambda sets: sets.sets, "any"),
        Variant("shared", lambda sets: iokr.SharedCandidates(sets.sets[1]), "any"),
        Variant("one set fewer", lambda sets: sets[:-1], "refuse"),
        Variant("no set", lambda sets: iokr.CandidateSets([]), "refuse"),
        *(
            Variant(f"sets of {v.name}", lambda sets, v=v: iokr.CandidateSets(v.make(sets.sets)), "any")
            for v in ANYTHING
        ),
    ]
    return [*one, *whole, *ANYTHING]


@dataclass(eq=False)
class Target:
    """`call(**valid)` is right; `attacked` are the arguments to spoil, None: all."""

    name: str
    call: Callable[..., Any]
    valid: dict[str, Any]
    attacked: tuple[str, ...] | None = None
    tol: float = TIGHT
    lenient: bool = False  # objects of any kind are taken, so that nothing has to be refused
    names: tuple[str, ...] = ()  # further words that a refusal may use
    skip: tuple[str, ...] = field(default=())

    @cached_property
    def answer(self) -> Any:
        """Of the valid call."""
        return self.call(**{name: copy.deepcopy(value) for name, value in self.valid.items()})

    def cases(self) -> Iterator[Case]:
        """A case for every argument and every other value of it."""
        for argument in self.valid if self.attacked is None else self.attacked:
            seen = set()
            for variant in variants(argument, self.valid[argument]):
                if variant.name in seen or variant.name in self.skip:
                    continue
                seen.add(variant.name)
                yield Case(
                    f"{self.name}/{argument}={variant.name}"[:160],
                    lambda a=argument, v=variant: self.run(a, v),
                    (*self.valid, *self.names),
                    seconds=60.0 if variant.name == "a million rows" else 20.0,  # a million objects may be read
                    prepare=lambda: self.answer,
                )

    def run(self, argument: str, variant: Variant) -> None:
        """Call with one argument spoiled, and compare where the answer is known."""
        valid = copy.deepcopy(self.valid)
        with np.errstate(all="ignore"):  # of ours, not of the library
            odd = variant.make(valid[argument])
        before = odd.copy() if isinstance(odd, np.ndarray) and odd.nbytes < 1 << 20 else None
        answer = self.call(**{**valid, argument: odd})
        if before is not None and before.dtype.kind != "O" and before.tobytes() != odd.tobytes():
            raise Wrong(f"`{argument}` was changed")
        if variant.expect == "refuse" and not self.lenient:
            raise Wrong(f"`{argument}` with {variant.name} was accepted: {str(answer)[:80]}")
        if variant.expect == "same":
            if answer is None and self.answer is None:
                return
            reference = variant.reference
            expected = (
                self.answer if reference is None else self.call(**{**valid, argument: reference(self.valid[argument])})
            )
            tol = max(self.tol, {"float32": 2e-5, "float16": 2e-3}.get(variant.name, 0.0))
            check_same(answer, expected, f"{argument}={variant.name}", tol)
        else:
            check_finite(answer)
