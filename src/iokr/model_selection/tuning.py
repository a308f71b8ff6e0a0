"""Kernel parameters by gradients in closed form, all at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from iokr._array import to_numpy
from iokr._validation.arguments import check_choice, check_number, check_numbers
from iokr.kernels.base import Kernel
from iokr.kernels.gradients import log_gradients
from iokr.kernels.standardized import Standardized
from iokr.kernels.vectors import ARD
from iokr.model_selection.criteria import Criterion, evidence, press
from iokr.model_selection.relevance import select, unit_widths

__all__ = ["Search", "tune"]

_ALPHA = "alpha"
_WIDTHS = ("gamma", "gammas")
_FOLD = 8.0  # widths, weights and alpha stay within e^±8 of where they start
_SCALES = np.arange(-4.0, 5.0)  # of all widths together, in e-folds, before each has its own
_RATIOS = tuple(10.0**k for k in range(-4, 2))  # alpha over the mean of k(x, x)


def tune(
    model: Any,
    X: Any,
    y: Any,
    parameters: Sequence[str],
    by: str = "evidence",
    limit: float | None = 0.2,
    prior: str | None = "auto",
) -> Any:
    """argmin_θ of −log evidence (or of the leave-one-out error) over widths, weights and alpha, by exact gradients.

    All parameters together cost one inverse: about n³ flops for a value and its gradient, and 2n²p for p widths. The
    search, L-BFGS on logarithms, starts from the best common scale of all widths and alpha. Widths of `ARD` that the
    model leaves to be estimated start in units of the columns, 1/s_l² with s_l the standard deviation, so that other
    units of the columns give the same model.

    Leave-one-out *overfits* widths: it falls while the error on new data rises. So the evidence is the default. With
    more widths of columns than a fifth of the rows the evidence overfits them, too, and gets a prior that switches
    columns off. Either way the model has seen its own error: leave-one-out of a tuned model is optimistic; report folds
    within which it is tuned anew.

    Parameters
    ----------
    model : IOKR
        With a scalar kernel, the square loss and no manifold. Kernels that can be tuned: `ARD`, `RBF`, and sums,
        products and multiples of these and others, also `Standardized`.
    X, y : as in `IOKR.fit`; no missing targets
    parameters : sequence of str
        Names as `get_params` has them: "kernel__gammas", "kernel__left__factor", "alpha".
    by : {"evidence", "loo"}, default="evidence"
        What is minimised: f = (νq/2) log σ̂² + (q/2) log det(K + αI) with σ̂² = tr(YᵀNY)/(νq), ν = n, the model taken as
        a Gaussian process; or Σ_i ‖ψ(y_i) − h₋ᵢ(x_i)‖². An intercept has a flat prior: (q/2) log 1ᵀN1 is added,
        N − N11ᵀN/1ᵀN1 replaces N in σ̂², and ν = n − 1 (the restricted likelihood). With an output kernel q is the
        numerical rank of K_Y.
    limit : float or None, default=0.2
        Parameters per row, at most: without a prior widths and weights, alpha not counted; with it columns that play a
        role, and weights. None: no limit.
    prior : {"auto", "sparse"} or None, default="auto"
        "sparse" finds the columns that play a role, also with more columns than rows. Half of the prior is for one
        common width of all columns. The other half is for sets of k of the p columns, every k and every set of k
        columns equally: f + (k/2) log n + log C(p, k) + log(p + 1) is minimised, by including columns one after another
        until three in a row have not helped. About 4p values of f for each column included, on at most 500 rows. A
        column that matters only together with others may be missed. "auto": "sparse" for more widths of columns than
        `limit` allows, otherwise None: every column has its width.

    Returns
    -------
    model : IOKR
        A clone with what was found, fitted. `tuning_` is a dictionary: "by", "prior" (which was used), "values" (name
        to value), "start", "path" (the criterion at every evaluation; with the prior without a column, after each
        inclusion, and for one common width), "off" (for the widths of `ARD`, whether each is 0 or fell to e⁻⁸ of its
        start, so that its feature plays no role) and "columns" (with the prior, those that play a role, in the order of
        their inclusion; otherwise None).

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.kernels import ARD
    >>> from iokr.model_selection import tune
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(60, 100))
    >>> y = np.sin(2 * X[:, 7]) + 0.1 * rng.normal(size=60)  # all other columns play no role
    >>> model = tune(IOKR(ARD()), X, y, ["kernel__gammas", "alpha"])
    >>> model.tuning_["columns"]
    {'kernel__gammas': [7]}
    """
    check_choice(by, "by", ("evidence", "loo"))
    check_choice(prior, "prior", ("auto", "sparse", None))
    names = [parameters] if isinstance(parameters, str) else parameters
    if np.ndim(names) != 1:
        raise TypeError(f'`parameters` must be a list of names such as ["kernel__gammas", "alpha"], got {names!r:.60}.')
    fitted = clone(model).fit(X, y)
    search = Search.of(evidence if by == "evidence" else press, fitted, X, list(names))
    if prior == "auto":
        prior = "sparse" if by == "evidence" and search.exceeds(limit) else None
    search.check(fitted, limit, prior)
    if prior == "sparse":
        units = {name: unit_widths(_inputs(fitted, name, X)) for name in search.names if name.endswith("gammas")}
        most = len(search.Y) if limit is None else max(1, int(limit * len(search.Y)))
        chosen = select(search, units, most)
        start, found, path, columns = chosen.start, chosen.found, chosen.path, chosen.columns
    else:
        start = search.start()
        found, path = search.descend(start)
        columns = None
    tuned = clone(model).set_params(**search.named(found)).fit(X, y)
    tuned.tuning_ = {
        "by": by,
        "prior": prior,
        "values": search.named(found),
        "start": search.named(start),
        "path": np.array(path),
        "off": search.off(found, start),
        "columns": columns,
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
    intercept: bool = False

    @classmethod
    def of(cls, criterion: Criterion, fitted: Any, X: Any, names: list[str]) -> Search:
        """Of a fitted model."""
        _check_model(fitted, names)
        Psi = fitted.targets_.Psi
        Y = np.asfortranarray(to_numpy(fitted.embedding_.euclidean(np.empty(0) if Psi is None else Psi)))
        intercept = fitted.solution_.intercept is not None
        if not np.any(Y):
            raise ValueError("`y` is zero throughout, so nothing can be tuned by it.")
        if intercept:
            if np.all(Y[0] == Y):
                raise ValueError("`y` is constant, so nothing can be tuned by it.")
            Y = np.asfortranarray(Y - Y.mean(axis=0))  # changes no criterion, and keeps digits where a mean is large
        first = {name: _value(fitted, name, X) for name in names}
        kernel = clone(fitted.kernel_)
        return cls(criterion, kernel, X, Y, float(fitted.alpha), names, first, intercept)

    def exceeds(self, limit: float | None) -> bool:
        """Whether there are more widths of columns than `limit` per row."""
        if limit is None:
            return False
        count = sum(len(self.first[name]) for name in self.names if name.endswith("gammas"))
        return count > check_number(limit, "limit", minimum=0.0) * len(self.Y)

    def check(self, fitted: Any, limit: float | None, prior: str | None = None) -> None:
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
        chosen = [name for name in self.names if name.endswith("gammas")] if prior == "sparse" else []
        if prior == "sparse" and (self.criterion is not evidence or not chosen):
            raise ValueError(
                '`prior="sparse"` chooses columns by the evidence: set `by="evidence"`, and name the `gammas` of `ARD`.'
            )
        count = sum(len(self.first[name]) for name in self.names if name != _ALPHA and name not in chosen)
        if limit is not None and count > check_number(limit, "limit", minimum=0.0) * len(self.Y):
            raise ValueError(
                f"{count} widths and weights from {len(self.Y)} rows are more than {limit:g} per row: they would fit "
                "the noise. Tune fewer, for example one `RBF` width, choose columns by the evidence with "
                '`prior="sparse"`, or pass `limit=None` and check on other data.'
            )

    def parts(self, z: np.ndarray) -> dict[str, np.ndarray]:
        """The logarithms of each parameter, as views."""
        ends = np.cumsum([len(self.first[name]) for name in self.names])
        return dict(zip(self.names, np.split(z, ends[:-1]), strict=True))

    def named(self, z: np.ndarray) -> dict[str, Any]:
        """Values as the model takes them: a list for the widths of `ARD`, else a number."""
        values = {name: np.exp(part) for name, part in self.parts(z).items()}
        return {name: v.tolist() if name.endswith("gammas") else float(v[0]) for name, v in values.items()}

    def gram(self, z: np.ndarray) -> tuple[Kernel, Any, np.ndarray]:
        """The kernel with the values of z, the inputs as it represents them, and K in Fortran order."""
        values = {name.partition("__")[2]: value for name, value in self.named(z).items() if name != _ALPHA}
        kernel = clone(self.kernel).set_params(**values).fit(self.X)
        R = kernel.represent(self.X)
        return kernel, R, np.asarray(to_numpy(kernel.gram(R).detach()), dtype=float).T

    def alpha_at(self, z: np.ndarray) -> float:
        """alpha, as it is in z or else in the model."""
        return float(np.exp(self.parts(z)[_ALPHA][0])) if _ALPHA in self.names else self.alpha

    def __call__(self, z: np.ndarray, gradient: bool = True) -> tuple[float, np.ndarray]:
        """f and ∂f/∂z."""
        kernel, R, K = self.gram(z)
        alpha = self.alpha_at(z)
        f, M, slope = self.criterion(K, self.Y, alpha, gradient, self.intercept)
        if M is None:
            return f, np.zeros(len(z))
        found = log_gradients(kernel, R, K, M) if set(self.names) != {_ALPHA} else {}
        parts = [np.array([alpha * slope]) if name == _ALPHA else found[name.partition("__")[2]] for name in self.names]
        return f, np.concatenate(parts)

    def start(self) -> np.ndarray:
        """The best common scale of all widths, and alpha."""
        first = {name: np.log(value) for name, value in self.first.items()}
        widths = [name for name in self.names if name.rpartition("__")[2] in _WIDTHS]
        size = self.size()
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

    def size(self) -> float:
        """The mean of k(x, x)."""
        kernel = clone(self.kernel).fit(self.X)
        return float(np.mean(to_numpy(kernel.diag(kernel.represent(self.X)))))

    def descend(
        self,
        start: np.ndarray,
        bounds: np.ndarray | None = None,
        steps: int = 15000,
        groups: np.ndarray | None = None,
    ) -> tuple[np.ndarray, list[float]]:
        """L-BFGS within e^±8 of the start, or within `bounds`, and the criterion at every evaluation.

        Entries with the same number in `groups` move together. What starts at −∞ stays there.
        """
        from scipy.optimize import Bounds, minimize

        path: list[float] = []
        free = np.flatnonzero(np.isfinite(start))
        numbers = np.arange(len(start)) if groups is None else groups
        _, first, group = np.unique(numbers[free], return_index=True, return_inverse=True)
        leads = free[first]  # one entry of each group, by which all of it moves

        def moved(values: np.ndarray) -> np.ndarray:
            z = start.copy()
            z[free] += (values - start[leads])[group]
            return z

        def evaluate(values: np.ndarray) -> tuple[float, np.ndarray]:
            f, gradient = self(moved(values))
            path.append(f)
            return f, np.bincount(group, gradient[free])

        if bounds is None:
            bounds = np.stack([start - _FOLD, start + _FOLD], axis=1)
        box = Bounds(bounds[leads, 0], bounds[leads, 1])
        found = minimize(evaluate, start[leads], jac=True, method="L-BFGS-B", bounds=box, options={"maxiter": steps})
        return moved(np.asarray(found.x)), path

    def off(self, z: np.ndarray, start: np.ndarray) -> dict[str, list[bool]]:
        """Which widths of `ARD` are 0, or fell to e⁻⁸ of their start, or nearly: their features play no role."""
        before, after = self.parts(start), self.parts(z)
        found = {}
        for name in self.names:
            if name.endswith("gammas"):
                fell = np.exp(after[name]) < np.exp(before[name] - 0.99 * _FOLD)
                found[name] = (np.isneginf(after[name]) | fell).tolist()
        return found


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


def _value(fitted: Any, name: str, X: Any) -> np.ndarray:
    """A parameter of a fitted model, as it is in use where it was left to be estimated.

    The widths of `ARD` are then in units of the columns: 1/(2ps_l²), so that a search does not depend on these.
    """
    if name == _ALPHA:
        return np.array([float(fitted.alpha)])
    part, last = _part(fitted, name)
    if isinstance(part, ARD) and part.gammas is None and last == "gammas":
        units = unit_widths(_inputs(fitted, name, X))
        varies = np.isfinite(units)
        return np.asarray(np.where(varies, units, 1.0) / max(np.count_nonzero(varies), 1))
    value = getattr(part, f"{last}_", getattr(part, last, None))
    return np.atleast_1d(check_numbers(value, name))


def _part(fitted: Any, name: str) -> tuple[Any, str]:
    """The fitted part whose parameter it is, and the name of the parameter there."""
    part: Any = fitted
    *path, last = name.split("__")
    for step in path:
        part = getattr(part, f"{step}_", None)
    return part, last


def _inputs(fitted: Any, name: str, X: Any) -> Any:
    """What the part whose parameter it is sees of X."""
    part: Any = fitted
    for step in name.split("__")[:-1]:
        if isinstance(part, Standardized):
            X = part.standardized(X)
        part = getattr(part, f"{step}_")
    return X
