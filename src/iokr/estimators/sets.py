"""f(p) = mean of g(x) over x ∈ p: labels of sets, learned from their members."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, asarray_like, is_array, is_numpy, matmul, to_numpy
from iokr._component import component
from iokr._system.memory import check_matrix
from iokr._validation.arguments import (
    check_choice,
    check_computed,
    check_home,
    check_number,
    check_numbers,
    check_same_length,
    check_weight,
)
from iokr.data.frames import read
from iokr.data.objects import error_context, n_objects, take
from iokr.estimators.base import KernelModel
from iokr.estimators.inputs import check_scalar
from iokr.estimators.outputs import code_labels, single_precision
from iokr.kernels.base import Kernel, check_gram
from iokr.kernels.structured.bags import Bags, SetKernel, averages
from iokr.losses.base import Loss
from iokr.losses.margin import MaxMargin
from iokr.losses.square import Square
from iokr.problem import Problem, Solution
from iokr.solvers.auto import Auto
from iokr.solvers.iterative.set_qp import minimize_sets

__all__ = ["SetModel"]

_TOL = 1e-6  # relative duality gap of the maximum loss
_STEPS = 200  # towards it, at most


@component
class SetModel(KernelModel):
    """min_g Σ_p (1/|p|) Σ_{x∈p} ℓ(g(x), y_p) + (α/2)‖g‖², f(p) = mean of g(x) over x ∈ p: labels of sets of objects.

    Multi-instance data: a label belongs to a set, a molecule with several conformers or a slide with many patches, and
    not to its members. Every member is an example with the label of its set and the weight 1/|p|, so that a large set
    counts as much as a small one; for the square loss (K + α diag(|p|)) c = y over all members. Which members matter is
    seen from `member_values`. `IOKR(SetKernel(kernel))` instead takes the loss of the mean, ℓ(f(p), y_p): a set is
    right when its mean is, even if some of its members are not. With `worst=True` the loss of a set is that of its
    worst member, max_{x∈p} ℓ(g(x), y_p): every member has to be right.

    Parameters
    ----------
    kernel : Kernel, default=None
        k on the members; None is `RBF()` with the median bandwidth.
    loss : Loss, default=None
        None is `Square()`, and `MaxMargin()` with `worst`. `MaxMargin()` needs two labels.
    alpha : float, default=1.0
        λ > 0: larger shrinks g more.
    worst : bool, default=False
        Whether the loss of a set is the largest of its members' losses and not their mean; with `MaxMargin()`.

    Attributes
    ----------
    kernel_ : Kernel
        On members.
    classes_ : ndarray of shape (2,)
        The two labels of a binary y, coded −1 and 1.
    solution_ : Solution
        `C` has a coefficient per member; `gap` is the certified relative duality gap.
    sizes_ : ndarray
        |p| of the sets that were learned from, those of weight zero left out.

    Notes
    -----
    With N members of all sets a fit costs about N³/3 flops and N² numbers of memory; `worst` some 10 to 30 times that:
    its dual, min ½aᵀQa − 1ᵀa over a ≥ 0, Σ_{x∈p} a_x ≤ w_p, Q_xz = y_x y_z k(x, z)/α, is solved by an interior point.

    References
    ----------
    Hue, Vert, On learning with kernels for unordered pairs, ICML 2010, Sec. 2 to 5: strategy 2, and the loss L_∞.

    Examples
    --------
    >>> from iokr import SetModel
    >>> sets = [[[0.0], [0.2]], [[0.1], [0.3], [0.2]], [[3.0]], [[3.1], [2.9]]]
    >>> model = SetModel(alpha=0.1).fit(sets, ["near", "near", "far", "far"])
    >>> model.predict([[[0.1], [0.0]], [[2.8], [3.2], [3.0]]])
    array(['near', 'far'], dtype='<U4')
    >>> SetModel(alpha=0.1, worst=True).fit(sets, [1, 1, 0, 0]).decision_function(sets).round(2)
    array([ 1.08,  1.04, -1.04, -1.04])
    """

    kernel: Kernel | None = None
    _: KW_ONLY
    loss: Loss | None = None
    alpha: float = 1.0
    worst: bool = False

    def _stored(self) -> dict[str, Any]:
        return {
            "empty": self._weightless,
            "target": self._target,
            "weight": self._weight,
            "fitted_alpha": self._alpha,
            "at_empty": self._at_weightless,
        }

    def fit(self, sets: Any, y: Any, sample_weight: Any = None) -> SetModel:
        """Learn g.

        Parameters
        ----------
        sets : sequence of n sets, each a sequence or an array of members that the kernel takes
            None may be empty.
        y : array of shape (n,)
            Two labels of any kind, or numbers; one for each set.
        sample_weight : array of shape (n,), default=None
            A weight of 2 is the set twice.

        Returns
        -------
        self
        """
        self._check_components()
        alpha = check_number(self.alpha, "alpha", minimum=0.0, strict=True)
        loss = self._checked_loss()
        kernel = check_scalar(self.kernel)
        n = check_same_length(sets, y, "sets")
        target, classes, _ = code_labels(y, "set", binary=isinstance(loss, MaxMargin))
        weight = check_weight(sample_weight, n, sets)
        if weight is None:
            weight = np.ones(n)
        # A set of weight zero is not learned from, but `loo_decision_function` has a value for it.
        self._weightless = weight == 0
        rows = np.flatnonzero(weight > 0)
        learned = take(sets, rows) if self._weightless.any() else sets
        with error_context("sets"):
            self.sets_ = SetKernel(kernel).fit(learned)
            bags = self.sets_.represent(learned)
        self.loss_ = loss
        self.kernel_ = self.sets_.base_
        self.__dict__.pop("classes_", None)
        if classes is not None:
            self.classes_: np.ndarray = classes
        self.members_ = bags.members
        self.sizes_ = np.diff(bags.starts)
        self._single_precision = single_precision(_an_array(learned))
        self._target = target[rows]
        self._weight = weight[rows]
        self._alpha = alpha
        gram = self.kernel_.gram(self.members_)
        check_gram(gram, self.kernel_.trusted, "kernel")
        if self.worst:
            self.solution_ = self._worst_members(gram, bags.starts[:-1])
        else:
            self.solution_ = replace(Auto().solve(self._problem(gram)), state=None)
        self._at_weightless = np.empty(0)
        if self._weightless.any():
            self._at_weightless = to_numpy(self.decision_function(take(sets, np.flatnonzero(self._weightless))))
        return self

    def _checked_loss(self) -> Loss:
        """A copy of `loss`, or the default."""
        check_choice(self.worst, "worst", (True, False))
        if self.loss is None:
            return MaxMargin() if self.worst else Square()
        if self.worst and not isinstance(self.loss, MaxMargin):
            raise ValueError(f"`worst=True` needs `loss=MaxMargin()` or None, got {self.loss!r:.60}.")
        return clone(self.loss)  # type: ignore[no-any-return]  # scikit-learn is untyped

    def _problem(self, gram: Any) -> Problem:
        """Members as examples, each of weight w_p/|p|."""
        Psi = asarray_like(np.repeat(self._target, self.sizes_)[:, None], gram.diagonal())
        return Problem(gram, Psi, self.loss_, self._alpha, weight=np.repeat(self._weight / self.sizes_, self.sizes_))

    def _worst_members(self, gram: Any, starts: np.ndarray) -> Solution:
        """g = Σ_x a_x y_x k(x, ·)/α, a from the dual; the members of set p are those from starts[p] on."""
        N = int(gram.shape[0])
        check_matrix(N, N, gram.diagonal(), 5.0, "The maximum loss")
        K = gram.dense()
        y = np.repeat(self._target, self.sizes_)
        Q = np.ascontiguousarray(to_numpy(K) * (y[:, None] * y[None, :] / self._alpha))
        a, steps, gap = minimize_sets(Q, starts, self._weight, _TOL, _STEPS)
        if not gap <= _TOL:
            warnings.warn(
                f"`SetModel(worst=True)` stopped after {steps} steps at a relative duality gap of {gap:.1e}; scale the "
                "data, raise `alpha`, or accept the stated gap.",
                ConvergenceWarning,
                stacklevel=3,
            )
        return Solution(asarray_like((a * y / self._alpha)[:, None], K), steps, gap, gap <= _TOL)

    def _bags(self, sets: Any) -> Bags:
        """Sets, checked and represented."""
        check_is_fitted(self)
        if n_objects(sets, "sets") == 0:
            raise ValueError("`sets` is empty; at least one set is needed.")
        if self.kernel_.numeric:
            check_home(self.solution_.C, _an_array(sets), "The sets of `fit` and these `sets`")
        with error_context("sets"):
            return self.sets_.represent(sets)

    def _members(self, bags: Bags) -> Array:
        """g(x) of all members, one after the other."""
        check_matrix(int(bags.starts[-1]), int(self.sizes_.sum()), self.solution_.C, 2.0)
        g = matmul(self.kernel_.block(bags.members, self.members_), self.solution_.C)[:, 0]
        return check_computed(g, "Member", "g(x)")

    def decision_function(self, sets: Any) -> Array:
        """f(p) = mean of g(x) over x ∈ p, (m,), for sets as in `fit`."""
        bags = self._bags(sets)
        return self._cast(_means(self._members(bags), np.diff(bags.starts)))

    def member_values(self, sets: Any) -> list[Array]:
        """g(x) of every member, an array for each set: which members make the label."""
        bags = self._bags(sets)
        g = self._cast(self._members(bags))
        return [g[start:stop] for start, stop in zip(bags.starts[:-1], bags.starts[1:], strict=True)]

    def loo_decision_function(self) -> Array:
        """f₋ₚ(p), (n,), of the training sets, each by the model without it, in closed form; square loss.

        The model without a set of weight zero is the model itself.
        """
        check_is_fitted(self)
        if not self.loss_.quadratic:
            raise ValueError(f"Leaving out has a closed form for quadratic losses only, not {self.loss_!r}.")
        problem = self._problem(self.kernel_.gram(self.members_))
        groups = np.repeat(np.arange(len(self.sizes_)), self.sizes_)
        path = Auto().closed_form(problem, loo=True).path(problem)
        left_out = problem.targets - path.loo_residuals(problem.Psi, problem.alpha, groups)
        means = to_numpy(_means(left_out[:, 0], self.sizes_))
        weightless = getattr(self, "_weightless", np.zeros(len(means), dtype=bool))  # older files do not have it
        f = np.empty(len(weightless))
        f[~weightless] = means
        if weightless.any():
            f[weightless] = self._at_weightless
        return self._cast(asarray_like(f, left_out))

    def predict(self, sets: Any) -> Any:
        """The label on the side of f(p); numbers f(p) where y was not binary."""
        f = self.decision_function(sets)
        if not hasattr(self, "classes_"):
            return f
        return self.classes_[(to_numpy(f) > 0).astype(int)]

    def score(self, sets: Any, y: Any, sample_weight: Any = None) -> float:
        """The fraction of sets with the right label; R² for numbers."""
        from sklearn.metrics import r2_score

        check_is_fitted(self)
        weight = check_weight(sample_weight, check_same_length(sets, y, "sets"), sets)
        truth = to_numpy(y) if is_array(y) else np.asarray(read(y))
        if truth.ndim != 1:
            raise ValueError(f"`y` must have one label for each set, got shape {truth.shape}.")
        predicted = to_numpy(self.predict(sets))
        if not hasattr(self, "classes_"):
            return float(r2_score(check_numbers(y, "y"), predicted, sample_weight=weight))
        if not np.all(np.isin(truth, self.classes_)):
            raise ValueError(f"`y` must hold the labels of `fit`, {self.classes_.tolist()}, and has others.")
        return float(np.average(truth == predicted, weights=weight))


def _an_array(sets: Any) -> Any:
    """An array with the library and the precision of the members: that of all sets, or the first set."""
    return sets if is_array(sets) else sets[0]


def _means(g: Array, sizes: np.ndarray) -> Array:
    """The mean of each set's values, which stand one after the other."""
    if is_numpy(g):
        return np.bincount(np.repeat(np.arange(len(sizes)), sizes), g, minlength=len(sizes)) / sizes
    return matmul(averages(sizes, g), g[:, None])[:, 0]
