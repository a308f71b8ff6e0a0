"""Folds of a library that keep molecules, scaffolds or groups of similar molecules together."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from iokr.apps.msms.library import Library
from iokr.data.bits import Bits

__all__ = ["fold_numbers", "held_out_groups"]

_HELD_OUT = 0.2  # fraction of the groups that split calibration holds out
_BLOCK = 1024  # molecules whose similarities are computed together


def fold_numbers(
    library: Library, folds: int, *, group: str, column: str | None = None, similarity: float = 0.7, seed: int = 0
) -> NDArray[np.intp]:
    """The fold of each spectrum; no molecule is in two folds."""
    if column is None:
        fold = _balanced(_groups(library, group, similarity), folds, group, seed)
    else:
        fold = _folds_of_column(library, column)
    seen: dict[str, int] = {}
    for number, name in zip(fold.tolist(), library.identities, strict=True):
        if seen.setdefault(name, number) != number:
            raise ValueError(f"The molecule {name} is in two folds; every molecule must be in one.")
    return fold


def _folds_of_column(library: Library, column: str) -> NDArray[np.intp]:
    """Folds by the values of a field of the spectra."""
    values = library.files.spectra.values(column)
    for i, value in enumerate(values):
        if value is None:
            raise ValueError(f'`folds_from="{column}"`: spectrum {library.files.ids[i]} does not have this field.')
    names, fold = np.unique([str(value) for value in values], return_inverse=True)
    if len(names) < 2:
        raise ValueError(
            f'`folds_from="{column}"`: all spectra have the value {str(names[0])!r}; at least two are needed.'
        )
    return fold


def _groups(library: Library, group: str, similarity: float) -> list[str]:
    """The group of each spectrum, by name."""
    if group == "scaffold":
        return [molecule.scaffold or f"acyclic {molecule.identity}" for molecule in library.molecules]
    if group == "similarity":
        return _similar_groups(library.bits, library.identities, similarity)
    return library.identities


def _similar_groups(bits: Bits, identities: Sequence[str], threshold: float) -> list[str]:
    """Single linkage: molecules connected by a chain of Tanimoto similarities of at least `threshold` are one group."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    from iokr.kernels.structured.sets import Tanimoto

    first = {name: i for i, name in reversed(list(enumerate(identities)))}  # the first spectrum of each molecule
    rows = np.array(list(first.values()), dtype=np.intp)
    kernel = Tanimoto()
    R = kernel.represent(bits[rows])
    sources: list[NDArray[Any]] = []
    targets: list[NDArray[Any]] = []
    for start in range(0, len(rows), _BLOCK):
        similar = np.asarray(kernel.block(R[start : start + _BLOCK], R)) >= threshold
        i, j = np.nonzero(similar)
        sources.append(i + start)
        targets.append(j)
    ends = (np.concatenate(sources), np.concatenate(targets))
    graph = coo_array((np.ones(len(ends[0])), ends), shape=(len(rows), len(rows)))
    _, labels = connected_components(graph, directed=False)
    group_of = dict(zip(first, labels.tolist(), strict=True))
    return [f"group {group_of[name]}" for name in identities]


def _balanced(groups: Sequence[str], folds: int, group: str, seed: int) -> NDArray[np.intp]:
    """Groups, the largest first, each into the fold with the fewest spectra; the seed orders groups of one size."""
    sizes = Counter(groups)
    if len(sizes) < folds:
        raise ValueError(f"`folds` must be at most the number of groups by {group}, {len(sizes)}, got {folds}.")
    order = sorted(sizes)
    np.random.default_rng(seed).shuffle(order)
    order.sort(key=lambda name: -sizes[name])  # stable
    filled = np.zeros(folds)
    fold_of: dict[str, int] = {}
    for name in order:
        fold_of[name] = int(np.argmin(filled))
        filled[fold_of[name]] += sizes[name]
    return np.array([fold_of[name] for name in groups])


def held_out_groups(library: Library, *, group: str, similarity: float = 0.7, seed: int = 0) -> NDArray[np.intp]:
    """0 for the spectra of a random fifth of the groups, 1 for all others."""
    groups = _groups(library, group, similarity)
    names = sorted(set(groups))
    np.random.default_rng(seed).shuffle(names)
    held_out = set(names[: max(1, round(_HELD_OUT * len(names)))])
    return np.array([0 if name in held_out else 1 for name in groups])
