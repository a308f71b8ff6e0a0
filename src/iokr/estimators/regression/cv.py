"""Selection of kernel, strength and alpha: exact leave-one-out in closed form, or K-fold."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, cast

import numpy as np

from iokr._array import Array, asarray_like, to_numpy
from iokr._objects import take
from iokr._progress import begin, end, track, with_callbacks
from iokr._validation import check_number
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.estimators.inputs import check_kernel, fresh_solver
from iokr.estimators.outputs import as_outputs
from iokr.estimators.regression.iokr import IOKR, KernelRegression
from iokr.kernels.base import Kernel
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.operator_kernels.base import OperatorKernel
from iokr.problem import Problem, Solution
from iokr.solvers.auto import Auto
from iokr.solvers.base import ClosedForm, Path, Solver
from iokr.solvers.closed_form.spectral import SpectralPath

__all__ = ["IOKRCV"]

_ALPHAS = tuple(float(f"{a:.6g}") for a in np.logspace(-6, 3, 19))


class IOKRCV(KernelRegression):
    """argmin over kernel, μ and α of (1/n) Σ_i ‖ψ(y_i) − h₋ᵢ(x_i)‖², exact leave-one-out in closed form.

    One factorisation per kernel (and, with a strong manifold penalty, per strength) serves every alpha. What is
    estimated from data (`gamma_`, centring, covariance operators) is held fixed in leave-one-out; `cv=5` refits
    everything on each fold instead.

    Parameters
    ----------
    kernel : Kernel, OperatorKernel, or a list of them, default=None
        As in `IOKR`; a list is searched.
    alphas : sequence of float
        Values of λ; 19 from 1e-6 to 1e3 by default.
    strengths : sequence of float, default=None
        Values of the manifold's μ; None is its own `strength`.
    cv : int, splitter or None, default=None
        None is leave-one-out in closed form (quadratic losses); an integer is K-fold.
    output_kernel, embedding, loss, manifold, decoder, solver :
        As in `IOKR`.

    Attributes
    ----------
    alpha_, strength_ : float
        The selected values.
    loo_errors_ : array
        Mean leave-one-out error, axes kernel × strength × alpha, axes of length one dropped (`cv_errors_` with `cv`).
    best_index_ : tuple of int
        Where the smallest error stands.
    kernel_, output_kernel_, embedding_, decoder_, solution_, solver_, n_features_in_ :
        As in `IOKR`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKRCV
    >>> X = np.linspace(0, 6, 40)[:, None]
    >>> model = IOKRCV(alphas=(1e-3, 1.0, 1e3)).fit(X, np.sin(X[:, 0]))
    >>> model.alpha_, model.loo_errors_.shape
    (0.001, (3,))
    """

    def __init__(
        self,
        kernel: Any = None,
        *,
        alphas: Sequence[float] = _ALPHAS,
        strengths: Sequence[float] | None = None,
        cv: Any = None,
        output_kernel: Kernel | None = None,
        embedding: Embedding | None = None,
        loss: Loss | None = None,
        manifold: Manifold | None = None,
        decoder: Decoder | None = None,
        solver: Solver | None = None,
    ) -> None:
        self.kernel = kernel
        self.alphas = alphas
        self.strengths = strengths
        self.cv = cv
        self.output_kernel = output_kernel
        self.embedding = embedding
        self.loss = loss
        self.manifold = manifold
        self.decoder = decoder
        self.solver = solver

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None) -> IOKRCV:
        """Select and learn h.

        Parameters
        ----------
        X : array, sparse matrix, or sequence of n objects that the kernel takes
        y : array, sparse matrix, or sequence of n outputs that the output kernel takes
        sample_weight : array of shape (n,), default=None
        X_unlabeled : as X, or `Unlabeled(X)`, default=None

        Returns
        -------
        self
        """
        from sklearn.model_selection import check_cv

        for stale in ("loo_errors_", "cv_errors_"):
            self.__dict__.pop(stale, None)
        self._check_components()
        kernels = self._kernels()
        alphas = _grid(self.alphas, "alphas", strict=True)
        strengths = self._strengths()
        folds = 1 if self.cv is None else check_cv(self.cv).get_n_splits(_index(X), y)
        progress = begin(self, len(kernels) * (len(strengths) if self.cv is None else folds), X=X, y=y)
        data = self._check_data(X, y, sample_weight, X_unlabeled, kernels[0])
        if self.cv is None:
            if not self.loss_.quadratic:
                raise ValueError(
                    f"Leave-one-out has a closed form for quadratic losses only, not {self.loss_!r}; set `cv=5`."
                )
            errors = self._by_leave_one_out(data, kernels, strengths, alphas, progress)
        else:
            raw = (X, y, sample_weight, X_unlabeled)
            errors = self._by_folds(raw, data, kernels, strengths, alphas, progress)
        kept = tuple(s for s in errors.shape if s > 1)
        squeezed = errors.reshape(kept)
        setattr(self, "loo_errors_" if self.cv is None else "cv_errors_", squeezed)
        self.best_index_ = tuple(int(i) for i in np.unravel_index(np.argmin(squeezed), kept)) if kept else ()
        end(progress, self, X=X, y=y)
        return self

    # -------------------------------------------------------------------------------------------- the grid

    def _kernels(self) -> list[Kernel | OperatorKernel]:
        kernels = list(self.kernel) if isinstance(self.kernel, (list, tuple)) else [self.kernel]
        if not kernels:
            raise ValueError("`kernel` is an empty list; give at least one kernel.")
        kernels = [check_kernel(kernel) for kernel in kernels]
        if len({kernel.pairwise for kernel in kernels}) > 1:
            raise ValueError(
                "`kernel` mixes `Precomputed()`, for which X is a Gram matrix, with kernels on objects; "
                "give the Gram matrices as `Precomputed(matrix)` and row numbers as X."
            )
        return kernels

    def _strengths(self) -> list[float]:
        if self.strengths is None:
            return [0.0 if self.manifold is None else self.manifold.strength]
        if self.manifold is None:
            raise ValueError("`strengths` was given but `manifold` is None; set `manifold`.")
        return _grid(self.strengths, "strengths", strict=False)

    def _solver_for(self, problem: Problem, n_alphas: int, n_strengths: int) -> ClosedForm:
        self.solver_ = fresh_solver(self.solver)
        if isinstance(self.solver_, Auto):
            return self.solver_.closed_form(problem, n_alphas=n_alphas, n_strengths=n_strengths, loo=True)
        if not isinstance(self.solver_, ClosedForm):
            raise ValueError(
                f"`solver` {self.solver_!r} has no closed form for leave-one-out; use `Auto()`, or set `cv=5`."
            )
        return self.solver_

    # --------------------------------------------------------------------------------------- leave-one-out

    def _by_leave_one_out(
        self, data: Any, kernels: list[Any], strengths: list[float], alphas: list[float], progress: Any
    ) -> np.ndarray:
        errors = np.empty((len(kernels), len(strengths), len(alphas)))
        targets = None  # the outputs in orthonormal coordinates, where errors are sums of squares
        tasks = track(progress, self, self._paths(data, kernels, strengths, alphas), "strength")
        for i, j, path, Psi in tasks:
            if path.operator.oblique:  # errors in F come from Ψ and K_Y themselves
                errors[i, j] = self._loo_errors(path, Psi, alphas)
            else:
                targets = self.embedding_.euclidean(Psi) if targets is None else targets
                errors[i, j] = self._loo_errors(path, targets, alphas)
            if not np.all(np.isfinite(errors[i, j])):
                raise ValueError(
                    f"Leave-one-out errors are not finite for {kernels[i]!r}; scale the data or raise the alphas."
                )
            best = int(np.argmin(errors[i, j]))
            if errors[i, j, best] < np.min(np.append(errors[:i].ravel(), errors[i, :j].ravel()), initial=np.inf):
                self._keep(Solution(path.coefficients(Psi, alphas[best])), alphas[best], strengths[j])
        self._restore()
        return errors

    def _loo_errors(self, path: Path, targets: Array, alphas: list[float]) -> np.ndarray:
        """What is minimised, for each alpha. May be overridden."""
        return path.loo_errors(targets, alphas)

    def _paths(
        self, data: Any, kernels: list[Any], strengths: list[float], alphas: list[float]
    ) -> Iterator[tuple[int, int, Path, Array]]:
        """A closed-form path per kernel and strength, and the targets."""
        path: Path | None = None
        for i, kernel in enumerate(kernels):
            shared = self._same_inputs(kernels[i - 1], kernel) if i else False
            K = cast(Path, path).gram.K if shared else None
            problem = replace(self._pose(data, kernel, K), strength=strengths[0])
            if shared and isinstance(path, SpectralPath) and path.operator.oblique == problem.operator.oblique:
                path = path.with_operator(problem)
                yield i, 0, path, problem.Psi
                continue
            solver = self._solver_for(problem, len(alphas), len(strengths))
            for j, path in enumerate(solver.paths(problem, strengths)):
                yield i, j, path, problem.Psi

    def _same_inputs(self, before: Any, kernel: Any) -> bool:
        """Whether two operators stand on one scalar kernel, so that its eigendecomposition serves both."""
        scalar = getattr(kernel, "scalar", None)
        return scalar is not None and scalar is getattr(before, "scalar", None) and self.manifold is None

    def _keep(self, solution: Solution, alpha: float, strength: float) -> None:
        """Remember the best model so far."""
        self._best = (self.kernel_, self.R_fit_, self.solver_, solution, alpha, strength)

    def _restore(self) -> None:
        """Become the best model."""
        self.kernel_, self.R_fit_, self.solver_, solution, self.alpha_, self.strength_ = self._best
        self._solved(solution, self.alpha_, self.strength_)
        del self._best

    # ---------------------------------------------------------------------------------------------- K-fold

    def _by_folds(
        self,
        raw: tuple[Any, ...],
        data: Any,
        kernels: list[Any],
        strengths: list[float],
        alphas: list[float],
        progress: Any,
    ) -> np.ndarray:
        from sklearn.model_selection import check_cv

        X, y, _, X_unlabeled = raw
        n = data.Psi.shape[0]
        w = np.ones(n) if data.weight is None else data.weight
        splits = list(check_cv(self.cv).split(_index(X), y))
        errors = np.zeros((len(kernels), len(strengths), len(alphas)))
        tasks = [(i, fold) for i in range(len(kernels)) for fold in splits]
        for i, (train, test) in track(progress, self, tasks, "fold"):
            part = self._model(kernels[i])
            pairwise = kernels[i].pairwise
            X_train = _square(X, train, train) if pairwise else take(X, train)
            X_test = _square(X, test, train) if pairwise else take(X, test)
            fitted = part._check_data(X_train, take(y, train), w[train], X_unlabeled, kernels[i])
            problem = replace(part._pose(fitted, kernels[i]), strength=strengths[0])
            S = part.embedding_.represent(_outputs(y, test, self.output_kernel))
            for j, k, C in self._grid_solutions(problem, strengths, alphas):
                part.solution_ = Solution(C)
                errors[i, j, k] += float(w[test] @ to_numpy(part._errors(part._values(X_test), S)))
        tested = np.zeros(n)
        for _, test in splits:
            tested[test] += 1
        share = w if data.mask is None else w * data.mask.mean(axis=1)  # a row counts by its observed entries
        errors /= float(share @ tested)
        best_kernel, best_strength, best_alpha = (int(b) for b in np.unravel_index(np.argmin(errors), errors.shape))
        self.alpha_, self.strength_ = alphas[best_alpha], strengths[best_strength]
        problem = replace(self._pose(data, kernels[best_kernel]), alpha=self.alpha_, strength=self.strength_)
        self.solver_ = fresh_solver(self.solver)
        self._solved(self.solver_.solve(problem), self.alpha_, self.strength_)
        return errors

    def _grid_solutions(
        self, problem: Problem, strengths: list[float], alphas: list[float]
    ) -> Iterator[tuple[int, int, Array]]:
        """(j, k, C) for every strength and alpha: a closed-form path, or warm starts from the largest alpha down."""
        if problem.loss.quadratic:
            solver = self._solver_for(problem, len(alphas), len(strengths))
            for j, path in enumerate(solver.paths(problem, strengths)):
                for k, alpha in enumerate(alphas):
                    yield j, k, path.coefficients(problem.Psi, alpha)
            return
        iterative = fresh_solver(self.solver)
        for j, strength in enumerate(strengths):
            solution = None
            for k in sorted(range(len(alphas)), key=lambda k: -alphas[k]):
                solution = iterative.solve(replace(problem, alpha=alphas[k], strength=strength), solution)
                yield j, k, solution.C

    def _model(self, kernel: Any) -> IOKR:
        """An `IOKR` with the same components."""
        shared = ("output_kernel", "embedding", "loss", "manifold", "decoder", "solver")
        return IOKR(kernel, **{name: getattr(self, name) for name in shared})


def _grid(values: Any, name: str, *, strict: bool) -> list[float]:
    """A non-empty list of (strictly) positive numbers."""
    try:
        items = [] if isinstance(values, (str, bytes)) else [v.item() if hasattr(v, "item") else v for v in values]
        if isinstance(values, (str, bytes)):
            raise TypeError
    except (TypeError, ValueError):
        raise TypeError(f"`{name}` must be a sequence of numbers, got {values!r}.") from None
    if not items:
        raise ValueError(f"`{name}` is empty; give at least one value.")
    return [check_number(v, name, minimum=0.0, strict=strict) for v in items]


def _index(X: Any) -> np.ndarray:
    from iokr._objects import n_objects

    return np.zeros((n_objects(X), 1))


def _square(X: Any, rows: np.ndarray, columns: np.ndarray) -> Array:
    return asarray_like(to_numpy(X)[np.ix_(rows, columns)], X)


def _outputs(y: Any, rows: np.ndarray, output_kernel: Kernel | None) -> Any:
    return take(as_outputs(y, output_kernel), rows)
