"""Losses without a closed form: time to a relative duality gap of 1e-6, from the inputs to the coefficients.

(a) Huber, (b) ε-ridge and (c) ε-SVR, compared with the gradient methods of the literature on the dual, with the ridge
fit as the unit. (d) The margin, compared with general solvers of quadratic programs, with its Gram matrix as the unit.
(e) How a sweep of the margin's coordinate descent grows with n. A tenth of the outputs are outliers;
λ is the largest eigenvalue of K over 800, κ and ε are the length of the noise.

The baselines are written out below as one would write them in NumPy and SciPy. All stop at the same gap, from the
same formula; the products that they need for a step give it too, so that looking at it costs next to nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from importlib import util

from iokr_lab.bench.base import Benchmark, Question
from iokr_lab.bench.losses.data import NOISE, RATIO, TOL
from iokr_lab.bench.losses.margin import margin, sweeps
from iokr_lab.bench.losses.norms import epsilon_insensitive, epsilon_square, huber

__all__ = ["BENCHMARK", "epsilon_insensitive", "epsilon_square", "huber", "margin", "sweeps"]

_SMALL = {"n": 120, "q": 5, "p": 3}
_SETTING = (
    f"λ = s_max/{RATIO:g}, s_max the largest eigenvalue of K; κ and ε are the length of the noise, {NOISE:g}√q; "
    f"a tenth of the outputs are outliers. All contenders begin with X and stop at a relative duality gap of {TOL:g}."
)


_COMPILED = [True, False] if util.find_spec("numba") else [False]
_PLAIN = "Numba is not installed (extra `fast`): the margin was solved without compiled loops only."


def _questions(seed: int, quick: bool) -> list[Callable[[], Question]]:
    sizes: list[dict[str, int]] = [_SMALL] if quick else [{"n": 1000}, {"n": 2000}]
    return [
        *(partial(ask, seed=seed, **size) for ask in (huber, epsilon_square, epsilon_insensitive) for size in sizes),
        *(partial(margin, seed=seed, compiled=way, **size) for way in _COMPILED for size in sizes),
        partial(sweeps, seed=seed, **({"n": 100, "p": 3, "q": 5} if quick else {})),
    ]


BENCHMARK = Benchmark("Losses", _questions, notes=(_SETTING, *([_PLAIN] if len(_COMPILED) == 1 else [])))
