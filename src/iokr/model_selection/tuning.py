"""Kernel parameters by gradients in closed form: one inverse N = (K + αI)⁻¹ for all of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular
from scipy.linalg.blas import dsymm, dsyrk
from scipy.linalg.lapack import dpotrf, dpotri
from sklearn.base import clone

from iokr._array import to_numpy
from iokr._validation.arguments import check_choice, check_number, check_numbers
from iokr.kernels.base import Kernel
from iokr.kernels.gradients import log_gradients

__all__ = ["Search", "evidence", "press", "tune"]

_ALPHA = "alpha"
_WIDTHS = ("gamma", "gammas")
_FOLD = 8.0  # widths, weights and alpha stay within e^±8 of where they start
_SCALES = np.arange(-4.0, 5.0)  # of all widths together, in e-folds, before each has its own
_RATIOS = tuple(10.0**k for k in range(-4, 2))  # alpha over the mean of k(x, x)

Criterion = Callable[..., tuple[float, np.ndarray | None, float]]
"""(K, Y, alpha, gradient) ↦ f, M with df = ⟨M, dK⟩ by its lower triangle (None without `gradient`), and df/dα."""


def tune(model: Any, X: Any, y: Any, parameters: Sequence[str], by: str = "evidence", limit: float | None = 0.2) -> Any:
    """argmin_θ of −log evidence (or of the leave-one-out error) over widths, weights and alpha, by exact gradients.

    All parameters together cost one inverse: about n³ flops for a value and its gradient, and 2n²p for p widths. The
    search, L-BFGS on logarithms, starts from the best common scale of all widths and alpha.

    Leave-one-out *overfits* widths: it falls while the error on new data rises. So the evidence is the default, and
    more widths and weights than a fifth of the rows are refused. Either way the model has seen its own error:
    leave-one-out of a tuned model is optimistic; report folds within which it is tuned anew.

    Parameters
    ----------
    model : IOKR
        With a scalar kernel, the square loss and no manifold. Kernels that can be tuned: `ARD`, `RBF`, and sums,
        products and multiples of these and others.
    X, y : as in `IOKR.fit`; no missing targets
    parameters : sequence of str
        Names as `get_params` has them: "kernel__gammas", "kernel__left__factor", "alpha".
    by : {"evidence", "loo"}, default="evidence"
        What is minimised: f = (nq/2) log σ̂² + (q/2) log det(K + αI) with σ̂² = tr(YᵀNY)/(nq), the model taken as a
        Gaussian process; or Σ_i ‖ψ(y_i) − h₋ᵢ(x_i)‖². With an output kernel q is the numerical rank of K_Y.
    limit : float or None, default=0.2
        Widths and weights (alpha not counted) per row, at most; None: no limit.

    Returns
    -------
    model : IOKR
        A clone with what was found, fitted. `tuning_` is a dictionary: "by", "values" (name to value), "start", "path"
        (the criterion at every evaluation) and "off" (for the widths of `ARD`, whether each fell to e⁻⁸ of its start,
        so that its feature plays no role).

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.kernels import ARD
    >>> from iokr.model_selection import tune
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 3))
    >>> y = np.sin(2 * X[:, 0]) + 0.1 * rng.normal(size=60)  # two features play no role
    >>> model = tune(IOKR(ARD()), X, y, ["kernel__gammas", "alpha"])
    >>> model.kernel_.gammas_.argmax(), bool((model.kernel_.gammas_[1:] < 0.05).all())
    (np.int64(0), True)
    """
    check_choice(by, "by", ("evidence", "loo"))
    names = [parameters] if isinstance(parameters, str) else parameters
    fitted = clone(model).fit(X, y)
    search = Search.of(evidence if by == "evidence" else press, fitted, X, list(names))
    search.check(fitted, limit)
    start = search.start()
    found, path = search.descend(start)
    tuned = clone(model).set_params(**search.named(found)).fit(X, y)
    tuned.tuning_ = {
        "by": by,
        "values": search.named(found),
        "start": search.named(start),
        "path": np.array(path),
        "off": search.off(found, start),
    }
    return tuned


@dataclass(frozen=True, eq=False)
class Search:
    """The criterion as a function of z, the logarithms of all parameters one after the other."""

    criterion: Criterion
    kernel: Kernel
    X: Any
    Y: np.ndarray  # (n, q), the outputs in orthonormal coordinates
    alpha: float
    names: list[str]
    first: dict[str, np.ndarray]  # the values that the model came with

    @classmethod
    def of(cls, criterion: Criterion, fitted: Any, X: Any, names: list[str]) -> Search:
        """Of a fitted model."""
        _check_model(fitted, names)
        Psi = fitted.targets_.Psi
        Y = fitted.embedding_.euclidean(np.empty(0) if Psi is None else Psi)
        if not np.any(to_numpy(Y)):
            raise ValueError("`y` is zero throughout, so nothing can be tuned by it.")
        first = {name: _value(fitted, name) for name in names}
        kernel = clone(fitted.kernel_)
        return cls(criterion, kernel, X, np.asfortranarray(to_numpy(Y)), float(fitted.alpha), names, first)

    def check(self, fitted: Any, limit: float | None) -> None:
        """Every parameter can be learned, and there are not too many."""
        R = fitted.kernel_.represent(self.X)
        K = np.ones((len(self.Y), len(self.Y)), order="F")
        known = [_ALPHA, *(f"kernel__{name}" for name in log_gradients(fitted.kernel_, R, K, K))]
        for name in self.names:
            if name not in known:
                raise ValueError(
                    f"`parameters` names {name!r}, which has no gradient here; there is {', '.join(known)}."
                )
            if np.any(self.first[name] <= 0):
                raise ValueError(f"`{name}` must start from positive numbers, as their logarithms are searched.")
        count = sum(len(self.first[name]) for name in self.names if name != _ALPHA)
        if limit is not None and count > check_number(limit, "limit", minimum=0.0) * len(self.Y):
            raise ValueError(
                f"{count} widths and weights from {len(self.Y)} rows are more than {limit:g} per row: they would fit "
                "the noise. Tune fewer, for example one `RBF` width, or pass `limit=None` and check on other data."
            )

    def parts(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """The logarithms of each parameter."""
        ends = np.cumsum([len(self.first[name]) for name in self.names])
        return dict(zip(self.names, np.split(z, ends[:-1]), strict=True))

    def named(self, z: np.ndarray) -> dict[str, Any]:
        """Values as the model takes them: a list for the widths of `ARD`, else a number."""
        values = {name: np.exp(part) for name, part in self.parts(z).items()}
        return {name: v.tolist() if name.endswith("gammas") else float(v[0]) for name, v in values.items()}

    def __call__(self, z: np.ndarray, gradient: bool = True) -> tuple[float, np.ndarray]:
        """f and ∂f/∂z."""
        values = self.named(z)
        alpha = values.pop(_ALPHA, self.alpha)
        kernel = clone(self.kernel).set_params(**{name.partition("__")[2]: v for name, v in values.items()}).fit(self.X)
        R = kernel.represent(self.X)
        K = np.asarray(to_numpy(kernel.gram(R).detach()), dtype=float).T  # Fortran order, which LAPACK takes
        f, M, slope = self.criterion(K, self.Y, alpha, gradient)
        if M is None:
            return f, np.zeros(len(z))
        found = log_gradients(kernel, R, K, M) if values else {}
        parts = [np.array([alpha * slope]) if name == _ALPHA else found[name.partition("__")[2]] for name in self.names]
        return f, np.concatenate(parts)

    def start(self) -> np.ndarray:
        """The best common scale of all widths, and alpha."""
        first = {name: np.log(value) for name, value in self.first.items()}
        widths = [name for name in self.names if name.rpartition("__")[2] in _WIDTHS]
        kernel = clone(self.kernel).fit(self.X)
        size = float(np.mean(to_numpy(kernel.diag(kernel.represent(self.X)))))
        best, lowest = np.concatenate(list(first.values())), np.inf
        for scale in _SCALES if widths else [0.0]:
            for alpha in [np.log(ratio * size) for ratio in _RATIOS] if _ALPHA in first else [0.0]:
                moved = {name: first[name] + scale * (name in widths) for name in self.names}
                if _ALPHA in first:
                    moved[_ALPHA] = np.array([alpha])
                z = np.concatenate(list(moved.values()))
                f, _ = self(z, gradient=False)
                if f < lowest:
                    best, lowest = z, f
        return best

    def descend(self, start: np.ndarray) -> tuple[np.ndarray, list[float]]:
        """L-BFGS within e^±8 of the start, and the criterion at every evaluation."""
        from scipy.optimize import minimize

        path: list[float] = []

        def evaluate(z: np.ndarray) -> tuple[float, np.ndarray]:
            f, gradient = self(z)
            path.append(f)
            return f, gradient

        bounds = [(v - _FOLD, v + _FOLD) for v in start]
        return np.asarray(minimize(evaluate, start, jac=True, method="L-BFGS-B", bounds=bounds).x), path

    def off(self, z: np.ndarray, start: np.ndarray) -> dict[str, list[bool]]:
        """Which widths of `ARD` fell to e⁻⁸ of their start, or nearly: their features play no role."""
        before, after = self.parts(start), self.parts(z)
        names = [name for name in self.names if name.endswith("gammas")]
        return {name: (after[name] - before[name] < -0.99 * _FOLD).tolist() for name in names}


def evidence(
    K: np.ndarray, Y: np.ndarray, alpha: float, gradient: bool = True
) -> tuple[float, np.ndarray | None, float]:
    """f = (nq/2) log σ̂² + (q/2) log det(K + αI) with N = (K + αI)⁻¹, B = NY, σ̂² = tr(YᵀB)/(nq); M = ½(qN − BBᵀ/σ̂²).

    K is in Fortran order and kept; M has its lower triangle alone. df/dα = tr M.
    """
    n, q = Y.shape
    L, log_det = _factor(K, alpha)
    if L is None:
        return np.inf, None, 0.0
    if not gradient:
        Z = solve_triangular(L, Y, lower=True, check_finite=False)
        return float(n * q * np.log(np.sum(Z * Z) / (n * q)) / 2 + q * log_det / 2), None, 0.0
    N, _ = dpotri(L, lower=1, overwrite_c=1)
    B = dsymm(1.0, N, Y, lower=1)
    variance = float(np.sum(Y * B)) / (n * q)
    f = n * q * np.log(variance) / 2 + q * log_det / 2
    M = dsyrk(-1 / (2 * variance), B, beta=q / 2, c=N, lower=1, overwrite_c=1)
    return float(f), M, float(np.trace(M))


def press(K: np.ndarray, Y: np.ndarray, alpha: float, gradient: bool = True) -> tuple[float, np.ndarray | None, float]:
    """f = Σ_i ‖r_i‖² with r_i = b_i/N_ii; M = −2N diag(1/N_ii) R Bᵀ + 2N diag(‖r_i‖²/N_ii) N, symmetrised."""
    L, _ = _factor(K, alpha)
    if L is None:
        return np.inf, None, 0.0
    N, _ = dpotri(L, lower=1, overwrite_c=1)
    N = np.tril(N) + np.tril(N, -1).T
    B, d = N @ Y, np.diagonal(N)
    r = B / d[:, None]
    squares = np.sum(r * r, axis=1)
    if not gradient:
        return float(squares.sum()), None, 0.0
    M = N @ ((squares / d)[:, None] * N) - (N @ (r / d[:, None])) @ B.T
    M = np.asfortranarray(M + M.T)
    return float(squares.sum()), M, float(np.trace(M))


def _factor(K: np.ndarray, alpha: float) -> tuple[np.ndarray | None, float]:
    """L Lᵀ = K + αI, and the logarithm of the determinant; None where it is not positive definite."""
    A = K.copy(order="F")
    A.ravel(order="K")[:: len(A) + 1] += alpha
    L, info = dpotrf(A, lower=1, overwrite_a=1, clean=0)
    if info or not np.all(np.isfinite(diagonal := np.diagonal(L))):
        return None, np.inf
    return L, float(2 * np.log(diagonal).sum())


def _check_model(fitted: Any, names: list[str]) -> None:
    """Refuse what has no closed form here."""
    if not hasattr(fitted, "targets_"):
        raise TypeError(f"`model` must be an `IOKR`, got {type(fitted).__name__}.")
    if not isinstance(fitted.kernel_, Kernel) or fitted.kernel_.pairwise or fitted.kernel_.supervised:
        raise ValueError(f"`kernel` must be a scalar kernel that learns nothing from y, got {fitted.kernel_!r:.60}.")
    if not fitted.loss_.quadratic or fitted.manifold is not None:
        raise ValueError("`tune` needs the square loss and no manifold: only these have the closed forms.")
    if fitted.targets_.mask is not None:
        raise ValueError("`y` has missing entries, for which `tune` has no closed form; drop these rows.")
    known = fitted.get_params()
    if not names:
        raise ValueError("`parameters` is empty; give at least one name.")
    for name in names:
        if name not in known:
            raise ValueError(f"`parameters` names {name!r}, which the model does not have; see `model.get_params()`.")


def _value(fitted: Any, name: str) -> np.ndarray:
    """A parameter of a fitted model, as it is in use where it was left to be estimated."""
    if name == _ALPHA:
        return np.array([float(fitted.alpha)])
    part: Any = fitted
    *path, last = name.split("__")
    for step in path:
        part = getattr(part, f"{step}_", None)
    value = getattr(part, f"{last}_", getattr(part, last, None))
    return np.atleast_1d(check_numbers(value, name))
