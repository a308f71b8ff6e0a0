"""All cases, and a sample of them."""

from __future__ import annotations

from zlib import crc32

from attack.judge import Case

__all__ = ["cases", "sample"]


def cases() -> list[Case]:
    """Every case, those of one callable together."""
    from attack.commands import command_cases
    from attack.components import component_targets
    from attack.estimators import estimator_cases
    from attack.functions import function_cases
    from attack.relations import relation_cases

    found = [*component_targets(), *estimator_cases(), *function_cases(), *relation_cases(), *command_cases()]
    unique = {case.name: case for case in found}
    return sorted(unique.values(), key=lambda case: case.callable)


def sample(chosen: list[Case], n: int) -> list[Case]:
    """About n cases: relations first, and of every callable its share, drawn by a hash of the name."""
    from attack.relations import relation_cases

    relations = {case.name for case in relation_cases()}
    first = [case for case in chosen if case.name in relations]
    rest = [case for case in chosen if case.name not in relations]
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
        rows = sorted(rows, key=lambda case: crc32(case.name.encode("utf-8", "replace")))
        found += rows[: max(1, round(n * len(rows) / len(chosen)))]
    return found
