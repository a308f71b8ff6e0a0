"""max over a_1 … a_T of Σ_t s_t(a_t) + Σ_t p_t(a_t, a_t+1): dynamic programming along a sequence."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

__all__ = ["best_paths"]


def best_paths(
    single: Callable[[int], np.ndarray], step: Callable[[int], np.ndarray], length: int
) -> tuple[np.ndarray, Callable[[np.ndarray], list[list[int]]]]:
    """(totals, paths): the best sum for each length, (m, T), and a function from lengths to the letters.

    single(t) is s_t, (m, letters), and step(t) is p_t, (m, letters, letters). The best path to a letter continues the
    best path to some letter before it: letters² steps for each position. Ties go to the first letter.
    """
    best = single(0)
    totals = [best.max(axis=1)]
    ends = [best.argmax(axis=1)]
    came_from: list[np.ndarray] = []
    for t in range(1, length):
        through = best[:, :, None] + step(t - 1)
        before = through.argmax(axis=1)
        came_from.append(before)
        best = np.take_along_axis(through, before[:, None, :], axis=1)[:, 0] + single(t)
        totals.append(best.max(axis=1))
        ends.append(best.argmax(axis=1))

    def paths(lengths: np.ndarray) -> list[list[int]]:
        found = []
        for i, size in enumerate(lengths.tolist()):
            letters = [int(ends[size - 1][i])]
            for t in range(size - 2, -1, -1):
                letters.append(int(came_from[t][i, letters[-1]]))
            found.append(letters[::-1])
        return found

    return np.stack(totals, axis=1), paths
