"""All cases, and a sample of them."""

from __future__ import annotations

from zlib import crc32

from attack.judge import Case

__all__ = ["cases", "relations", "sample"]


def cases() -> list[Case]:
    """Every case, those of one callable together."""
    from attack.apps import app_cases
    from attack.classes import class_cases
    from attack.commands import command_cases
    from attack.components import component_targets
    from attack.estimators import estimator_cases
    from attack.functions import function_cases
    from attack.parts import part_cases
    from attack.reports import report_cases

    found = [*component_targets(), *part_cases(), *estimator_cases(), *function_cases()]
    found += [*class_cases(), *app_cases(), *report_cases(), *relations(), *command_cases()]
    unique = {case.name: case for case in found}
    return sorted(unique.values(), key=lambda case: case.callable)


def relations() -> list[Case]:
    """Those that compare answers with each other."""
    from attack.relations import relation_cases
    from attack.states import state_cases
    from attack.units import unit_cases

    return [*relation_cases(), *unit_cases(), *state_cases()]


def sample(chosen: list[Case], n: int) -> list[Case]:
    """About n cases: relations first, and of every callable its share, drawn by a hash of the name."""
    compared = {case.name for case in relations()}
    first = [case for case in chosen if case.name in compared]
    rest = [case for case in chosen if case.name not in compared]
    if len(first) > n // 3:
        first = _drawn(first, n // 3)
    found = [*first, *_drawn(rest, n - len(first))]
    return sorted(found, key=lambda case: case.callable)


def _drawn(chosen: list[Case], n: int) -> list[Case]:
    by_callable: dict[str, list[Case]] = {}
    for case in chosen:
        by_callable.setdefault(case.callable, []).append(case)
    found = []
    for rows in by_callable.values():
        rows = sorted(rows, key=_hash)
        found += rows[: max(1, round(n * len(rows) / len(chosen)))]
    return found if n >= len(by_callable) else sorted(found, key=_hash)[:n]


def _hash(case: Case) -> int:
    return crc32(case.name.encode("utf-8", "replace"))
