"""One fit on a CUDA device through torch, compared with the bare arithmetic in torch."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from iokr import IOKR
from iokr.kernels.vectors import RBF
from iokr_lab.bench.base import Benchmark, Contender, Question, Target, sized

__all__ = ["BENCHMARK", "one_fit"]


def one_fit(*, seed: int = 0, n: int = 30_000, p: int = 50, q: int = 256) -> Question:
    """C = (K + αI)⁻¹ Y for one α, float64."""
    torch = _torch()
    generator = torch.Generator().manual_seed(seed)
    X = torch.randn(n, p, dtype=torch.float64, generator=generator)
    Y = torch.sin(X @ torch.randn(p, q, dtype=torch.float64, generator=generator) / p**0.5)
    X = X.cuda()
    Y = Y.cuda()
    gamma = 1.0 / p
    alpha = 0.5
    ours = IOKR(RBF(gamma), alpha=alpha, intercept=False)

    def synchronized(work: Callable[[], Any]) -> Callable[[], Any]:
        def timed() -> Any:
            answer = work()
            torch.cuda.synchronize()
            return answer

        return timed

    def floor() -> Any:
        norms = (X * X).sum(1)
        K = X @ (2 * gamma * X).T
        K -= gamma * norms[:, None]
        K -= gamma * norms
        K.exp_()
        K.diagonal().add_(alpha)
        return torch.cholesky_solve(Y, torch.linalg.cholesky(K))

    return Question(
        f"one fit, n = {n}, q = {q}, {torch.cuda.get_device_name()}",
        (
            Contender("IOKR", synchronized(lambda: ours.fit(X, Y)), lambda m: {"C": m.solution_.C.cpu()}, "ours"),
            Contender("floor", synchronized(floor), lambda C: {"C": C.cpu()}, "floor"),
        ),
        (Target("floor", at_most=1.3),),
        note="Floor: Gram + Cholesky + two triangular solves in torch, float64, synchronised.",
    )


def _torch() -> Any:
    """torch with a device; otherwise a `ValueError`."""
    try:
        import torch
    except ImportError:
        raise ValueError("this benchmark needs torch and a CUDA device; torch is not installed.") from None
    if not torch.cuda.is_available():
        raise ValueError("this benchmark needs a CUDA device, and torch finds none.")
    return torch


BENCHMARK = Benchmark("One fit on a GPU", sized({"one_fit": {"n": 2000, "q": 16}}, one_fit))
