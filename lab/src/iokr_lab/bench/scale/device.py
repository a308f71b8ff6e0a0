"""Exact fits on a CUDA device through torch: one triangle, loops by hand, leave-one-out, mixed precision."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import util
from time import perf_counter
from typing import Any

from iokr import IOKR
from iokr.apps.report import Figure, Table
from iokr.kernels.vectors import RBF
from iokr.losses.square import Square
from iokr.problem import Problem
from iokr.solvers.closed_form.cholesky import Cholesky
from iokr.solvers.iterative.conjugate_gradient import ConjugateGradient
from iokr.solvers.iterative.mixed_precision import MixedPrecision
from iokr_lab.bench.base import Run, Section, Verdict
from iokr_lab.bench.scale.growth import growth_items

__all__ = ["ALPHA", "GAMMA", "SECTIONS", "P", "Q", "cuda_missing", "measured", "packed_floor", "vectors"]

P = 50
Q = 64
GAMMA = 0.02
ALPHA = 0.5
_SLAB = 32_768


def cuda_missing() -> str | None:
    """Why nothing can be run on a CUDA device, or None."""
    if util.find_spec("torch") is None:
        return "torch is not installed"
    import torch

    return None if torch.cuda.is_available() else "torch finds no CUDA device"


def vectors(n: int, seed: int, p: int = P, q: int = Q) -> tuple[Any, Any]:
    """Inputs, and smooth functions of them with noise, on the device."""
    import torch

    generator = torch.Generator("cuda").manual_seed(seed)
    X = torch.randn((n, p), dtype=torch.float64, device="cuda", generator=generator)
    B = torch.randn((p, q), dtype=torch.float64, device="cuda", generator=generator)
    noise = torch.randn((n, q), dtype=torch.float64, device="cuda", generator=generator)
    return X, torch.sin(X @ B / p**0.5) + 0.3 * noise


def measured(work: Callable[[], Any]) -> tuple[Any, float, int]:
    """The result of `work`, its seconds, and the bytes of the device at the peak, above those in use before."""
    import torch

    torch.cuda.synchronize()
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    start = perf_counter()
    result = work()
    torch.cuda.synchronize()
    return result, perf_counter() - start, torch.cuda.max_memory_allocated() - before


def packed_floor(X: Any, Y: Any, b: int = 4096) -> Any:
    """(K + αI)⁻¹ Y from block columns of the lower triangle, left-looking, in torch by hand."""
    import torch

    n = X.shape[0]
    norms = GAMMA * (X * X).sum(1)
    columns: list[Any] = []
    for j in range(0, n, b):
        C = X[j:] @ (2 * GAMMA * X[j : j + b]).T
        C -= norms[j:, None]
        C -= norms[None, j : j + b]
        C.exp_()
        w = C.shape[1]
        C[:w].diagonal().fill_(1 + ALPHA)
        for k, before in enumerate(columns):
            part = before[j - k * b :]
            C.addmm_(part, part[:w].T, alpha=-1)
        torch.linalg.cholesky(C[:w], out=C[:w])
        for s in range(w, C.shape[0], _SLAB):
            C[s : s + _SLAB] = torch.linalg.solve_triangular(C[:w].T, C[s : s + _SLAB], upper=True, left=False)
        columns.append(C)
    Z = Y.clone()
    for k, C in enumerate(columns):
        own = Z[k * b : k * b + C.shape[1]]
        rest = Z[k * b + C.shape[1] :]
        own.copy_(torch.linalg.solve_triangular(C[: C.shape[1]], own, upper=False))
        rest.addmm_(C[C.shape[1] :], own, alpha=-1)
    for k, C in reversed(list(enumerate(columns))):
        own = Z[k * b : k * b + C.shape[1]]
        rest = Z[k * b + C.shape[1] :]
        own.addmm_(C[C.shape[1] :].T, rest, alpha=-1)
        own.copy_(torch.linalg.solve_triangular(C[: C.shape[1]].T, own, upper=True))
    return Z


def _residual(model: Any, Y: Any) -> float:
    """‖Y − (K + αI)C‖/‖Y‖, K evaluated again."""
    C = model.solution_.C
    return float((model.kernel_.gram(model.inputs_.points) @ C + ALPHA * C - Y).norm() / Y.norm())


def _fit(X: Any, Y: Any, solver: Any = None) -> Any:
    return IOKR(RBF(GAMMA), alpha=ALPHA, solver=solver, intercept=False).fit(X, Y)


def _row(who: str, seconds: float, held: int, n: int, **more: Any) -> dict[str, Any]:
    return {"contender": who, "seconds": seconds, "GiB": held / 2**30, "n² doubles": held / (8 * n * n), **more}


def one_fit(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    """Fits of ours and of the floor in turns; the fastest of each counts."""
    tables = []
    verdicts = []
    growth = []
    for n, rounds in ((2000, 1), (3000, 1)) if run.quick else ((30_000, 2), (60_000, 3), (150_000, 1)):
        X, Y = vectors(n, run.seed)
        width = min(4096, n // 4) if n < 100_000 else 4096
        ours: list[tuple[Any, float, int]] = []
        floor: list[tuple[Any, float, int]] = []
        for _ in range(rounds):
            run.step(f"exact fit on the device, n = {n}")
            ours.append(measured(partial(_fit, X, Y)))
            floor.append(measured(partial(packed_floor, X, Y, width)))
        model = ours[-1][0]
        held = max(o[2] for o in ours)
        apart = float((model.solution_.C - floor[-1][0]).norm() / floor[-1][0].norm())
        seconds = min(o[1] for o in ours)
        least = min(f[1] for f in floor)
        residual = _residual(model, Y)
        rows = [
            _row("IOKR", seconds, held, n, residual=residual),
            _row("floor", least, max(f[2] for f in floor), n),
        ]
        tables.append(Table(f"exact fit on a GPU, n = {n}, q = {Q}", rows, f"The answers differ by {apart:.1e}."))
        growth.append({"n": n, "seconds": seconds, "bytes": held})
        bar = {60_000: 0.60, 150_000: 0.54}.get(n)
        if bar is not None:
            verdicts += [
                Verdict(f"exact fit on a GPU, n = {n}: time / floor", seconds / least, at_most=1.1),
                Verdict(f"exact fit on a GPU, n = {n}: n² doubles at the peak", held / (8 * n * n), at_most=bar),
                Verdict(f"exact fit on a GPU, n = {n}: residual", residual, at_most=1e-12),
            ]
    return [*tables, *growth_items("exact fits on a GPU", growth)], verdicts


def most(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    """170 000 points run."""
    n = 4000 if run.quick else 170_000
    run.step(f"exact fit on the device, n = {n}")
    X, Y = vectors(n, run.seed)
    model, seconds, held = measured(partial(_fit, X, Y))
    residual = _residual(model, Y)
    table = Table(f"exact fit on a GPU, n = {n}", [_row("IOKR", seconds, held, n, residual=residual)])
    return [table], [Verdict(f"exact fit on a GPU, n = {n}: residual", residual, at_most=1e-12)]


def leave_one_out(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    """h₋ᵢ(x_i) of every row, compared with the fit alone."""
    n = 2000 if run.quick else 60_000
    X, Y = vectors(n, run.seed)
    kernel = RBF(GAMMA).fit(X)
    gram = kernel.gram(kernel.represent(X))

    def path() -> Any:
        return Cholesky().path(Problem(gram, Y, Square(), ALPHA)).loo_residuals(Y, ALPHA)

    run.step(f"leave-one-out on the device, n = {n}")
    _, alone, _ = measured(partial(_fit, X, Y))
    residuals, seconds, held = measured(path)
    factor = gram.packed().factor(ALPHA)
    C = factor.solve(Y)
    own = factor.inverse_diagonal()
    apart = float((residuals - C / own[:, None]).norm() / residuals.norm())
    rows = [_row("leave-one-out", seconds, held, n), {"contender": "the fit alone", "seconds": alone}]
    return [Table(f"leave-one-out on a GPU, n = {n}", rows, f"Residuals differ from c_i/Q_ii by {apart:.1e}.")], [
        Verdict(f"leave-one-out on a GPU, n = {n}: time / fit", seconds / alone, at_most=2.2),
        Verdict(f"leave-one-out on a GPU, n = {n}: n² doubles at the peak", held / (8 * n * n), at_most=0.75),
    ]


def mixed(run: Run) -> tuple[Sequence[Table | Figure], Sequence[Verdict]]:
    """A float32 factor, and conjugate gradients with a preconditioner of low rank, compared with float64."""
    import torch

    n = 3000 if run.quick else 120_000
    X, Y = vectors(n, run.seed)
    before = torch.backends.cuda.matmul.allow_tf32
    rows = []
    times = {}
    residuals = {}
    solvers = (MixedPrecision(), ConjugateGradient(tol=1e-10, rank=n // 15), Cholesky())
    for solver in solvers:
        run.step(f"{solver!r} on the device, n = {n}")
        model, seconds, held = measured(partial(_fit, X, Y, solver))
        name = type(solver).__name__
        times[name] = seconds
        residuals[name] = _residual(model, Y)
        rows.append(_row(repr(solver), seconds, held, n, residual=residuals[name], found=model.solver_.explain()))
        del model
    few, small = (1000, 5) if run.quick else (20_000, 5)
    Z, T = vectors(few, run.seed, small, 4)
    run.step("a smooth kernel in mixed precision")
    smooth = IOKR(RBF(0.2), alpha=5e-5, solver=MixedPrecision(), intercept=False).fit(Z, T)
    exact = IOKR(RBF(0.2), alpha=5e-5, solver=Cholesky(), intercept=False).fit(Z, T)
    apart = float((smooth.solution_.C - exact.solution_.C).norm() / exact.solution_.C.norm())
    switched = torch.backends.cuda.matmul.allow_tf32 != before
    note = f"Smooth kernel, α = 5e-5, n = {few}: {smooth.solver_.explain()} Apart from float64: {apart:.1e}."
    return [Table(f"beyond a float64 triangle, n = {n}", rows, note)], [
        Verdict(f"MixedPrecision, n = {n}: time / float64", times["MixedPrecision"] / times["Cholesky"], at_most=0.5),
        Verdict(f"MixedPrecision, n = {n}: residual", residuals["MixedPrecision"], at_most=1e-10),
        Verdict("MixedPrecision, smooth kernel: apart from float64", apart, at_most=1e-8),
        Verdict("MixedPrecision: TF32 left switched", float(switched), at_most=0.0),
    ]


SECTIONS = (
    Section("exact fits on a GPU", one_fit, cuda_missing),
    Section("170 000 points on a GPU", most, cuda_missing),
    Section("leave-one-out on a GPU", leave_one_out, cuda_missing),
    Section("mixed precision and preconditioned gradients on a GPU", mixed, cuda_missing),
)
