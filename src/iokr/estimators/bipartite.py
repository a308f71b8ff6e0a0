"""f(x, z) = k₁(x, ·)ᵀ C k₂(z, ·): links between two kinds of nodes, from features of either kind."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from functools import partial
from itertools import product
from typing import Any, ClassVar, cast

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, asarray_like, gemm, is_array, is_sparse, matmul, same_home, to_numpy
from iokr._component import Limits, component
from iokr._system.memory import check_matrix
from iokr._validation.arguments import check_choice, check_computed, check_vectors, either, one_of
from iokr.data.frames import read
from iokr.data.objects import error_context, n_objects
from iokr.estimators.areas import SCORINGS, areas_of, score_of
from iokr.estimators.base import KernelModel
from iokr.estimators.inputs import adapt, check_scalar
from iokr.estimators.links.ranking import best_pairs, f1_threshold, lower_bound
from iokr.estimators.outputs import single_precision
from iokr.estimators.regression.base import fitted_problem
from iokr.estimators.regression.iokr import IOKR
from iokr.estimators.search.engine import Part, cv_results, forget_search, n_points, select
from iokr.estimators.search.result import Axis, Choice, check_values, largest, listed
from iokr.kernels.base import Kernel
from iokr.metrics.pairs import roc_auc_pairs
from iokr.operator_kernels.decomposable import Decomposable
from iokr.solvers.auto import Auto
from iokr.solvers.base import Solver

__all__ = ["BipartitePredictor"]


@component
class BipartitePredictor(KernelModel):
    """f(x, z) = Σ_ij k₁(x, x_i) C_ij k₂(z_j, z), C = U [(Uᵀ Y V)/(s tᵀ + λ)] Vᵀ: Kronecker ridge on two kinds of nodes.

    Rows are nodes of one kind, columns of the other, such as drugs and targets, and Y their links; K₁ = U diag(s) Uᵀ
    and K₂ = V diag(t) Vᵀ. Ridge with the kernel k₁ k₂ on all pairs costs O(n₁³ + n₂³) and not (n₁ n₂)³. Nothing within
    a kind is ever scored. Leaving out a row, or a column, has a closed form: how well are the links of a new node of
    that kind found? Entries of Y that are not known are NaN; where there are many, conjugate gradients take products
    with K₁ and K₂ alone.

    Parameters
    ----------
    kernel, partner_kernel : Kernel, or a list of them, default=None
        On rows and on columns; None is `RBF()` with the median bandwidth. Lists are searched. `Aligned` is weighted by
        the links, Y Yᵀ for rows and Yᵀ Y for columns, with 0 for what is not known, and keeps its weights when a row or
        a column is left out.
    alpha : float, or a sequence of them, default=1.0
        λ > 0: larger shrinks f more. Of a sequence the best is chosen.
    leave : {"row", "column", "both"}, default="both"
        What is left out to choose: new rows, new columns, or the mean of the two.
    scoring : {"roc_auc", "average_precision", "both"} or None, default=None
        None is "roc_auc" where Y has two values, else the squared error, negative.
    solver : Solver, default=None
        As in `IOKR`.

    Attributes
    ----------
    alpha_ : float
    kernel_, partner_kernel_ : Kernel
        Fitted.
    scores_ : array
        Axes kernel × partner kernel × alpha, where there was a choice.
    links_ : ndarray of shape (n1, n2)
        Y, NaN where it is not known.
    threshold_ : float
        After `best_threshold()`, which `predict_links` calls when it needs one: that of the largest F1 on leave-one-out
        scores of rows.
    row_model_, column_model_ : IOKR
        The same model seen from either kind, 𝒦 = k₁ K₂ on rows and k₂ K₁ on columns.
    n_features_in_ : int
        Of X, when it is an array.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import BipartitePredictor
    >>> X, Z = np.array([[0.0], [0.1], [5.0], [5.1]]), np.array([[0.0], [0.2], [5.0]])
    >>> links = (abs(X - Z.T) < 1).astype(float)
    >>> model = BipartitePredictor(alpha=(0.01, 0.1, 1.0)).fit(X, Z, links)
    >>> model.decision_function([[0.05]]).round(1)
    array([[1., 1., 0.]])
    >>> model.loo_decision_function("row").round(1)[2]
    array([0., 0., 1.])
    """

    kernel: Any = None
    partner_kernel: Any = None
    _: KW_ONLY
    alpha: Any = 1.0
    leave: str = "both"
    scoring: str | None = None
    solver: Solver | None = None

    limits: ClassVar[Limits] = {"leave": one_of("row", "column", "both"), "scoring": either(None, one_of(*SCORINGS))}
    cv_results_ = cv_results

    def _stored(self) -> dict[str, Any]:
        return {"partner_features": self._partner_features}

    def fit(self, X: Any, Z: Any, links: Any) -> BipartitePredictor:
        """Learn f.

        Parameters
        ----------
        X : array, sparse matrix, or sequence of n1 objects
            The rows.
        Z : the same of n2 objects
            The columns.
        links : array or sparse matrix of shape (n1, n2)
            1 for a link and 0 for none, or any numbers; NaN where it is not known.

        Returns
        -------
        self
        """
        self._check_components()
        alphas = check_values(np.atleast_1d(self.alpha), "alpha", strict=True)
        ones = [check_scalar(kernel, objects="X") for kernel in listed(self.kernel, "kernel")]
        partners = listed(self.partner_kernel, "partner_kernel")
        others = [check_scalar(kernel, "partner_kernel", objects="Z") for kernel in partners]
        single = single_precision(X)
        X = adapt(self, X, ones[0], reset=True).X
        Z = adapt(self, Z, others[0], reset=False, name="Z").X
        _check_home(X, Z, "X")
        Y = _links(links, n_objects(X), n_objects(Z, "Z"))
        ones = [_aligned(one, X, Y) for one in ones]
        others = [_aligned(other, Z, Y.T) for other in others]
        axes = (Axis("kernel", ones), Axis("partner_kernel", others), Axis("alpha", alphas))
        fitted: Any = None
        self.alpha_ = alphas[0]
        if n_points(axes) > 1:
            found = select(self, axes, self._evaluate(X, Z, Y, axes), rule=largest)
            fitted, self.alpha_ = found.solution
            one, other = found.best["kernel"], found.best["partner_kernel"]
        else:
            forget_search(self)
            one, other = ones[0], others[0]
        if fitted is None or self.alpha_ != alphas[0]:
            fitted = self._both_sides(X, Z, Y, one, other, self.alpha_)
        rows, columns = fitted
        self.__dict__.pop("threshold_", None)
        self.row_model_, self.column_model_, self.links_ = rows, columns, Y
        self.kernel_, self.partner_kernel_ = rows.kernel_.kernel_, columns.kernel_.kernel_
        self.R_fit_, self.S_fit_ = self.kernel_.represent(X), self.partner_kernel_.represent(Z)
        self._partner_features = int(Z.shape[1]) if len(getattr(Z, "shape", ())) == 2 else None
        self._single_precision = single
        return self

    def _both_sides(self, X: Any, Z: Any, Y: np.ndarray, one: Kernel, other: Kernel, alpha: float) -> tuple[IOKR, IOKR]:
        """The model of rows, 𝒦 = k₁ K₂, and that of columns, 𝒦 = k₂ K₁."""
        K = []
        for kernel, objects, name in ((one, X, "X"), (other, Z, "Z")):
            with error_context(name):
                fitted = clone(kernel).fit(objects)
                check_matrix(n_objects(objects), n_objects(objects), objects, 4.0)
                K.append(to_numpy(fitted(objects)))
        rows = IOKR(Decomposable(one, K[1]), alpha=alpha, solver=self.solver).fit(X, asarray_like(Y, X))
        with error_context("Z"):
            columns = IOKR(Decomposable(other, K[0]), alpha=alpha, solver=self.solver).fit(Z, asarray_like(Y.T, Z))
        return rows, columns

    def _evaluate(self, X: Any, Z: Any, Y: np.ndarray, axes: Sequence[Axis]) -> Iterator[Part]:
        """Scores along the alphas for every two kernels; parts solve to the models at the first alpha, and the best."""
        ones, others, alphas = (axis.values for axis in axes)
        sides = {"row": (0,), "column": (1,), "both": (0, 1)}[self.leave]
        for (i, one), (j, other) in product(enumerate(ones), enumerate(others)):
            fitted = self._both_sides(X, Z, Y, one, other, alphas[0])
            found = [self._path_scores(Y, fitted[side], side, alphas) for side in sides]
            yield Part((i, j), np.mean(found, axis=0), solve=partial(_with_alpha, fitted))

    def _path_scores(self, Y: np.ndarray, model: IOKR, side: int, alphas: Sequence[float]) -> list[float]:
        """The score of leave-one-out along the alphas, of rows (side 0) or of columns."""
        problem = fitted_problem(model)
        path = Auto().closed_form(problem, loo=True).path(problem)
        left_out = [to_numpy(problem.targets - path.loo_residuals(problem.Psi, alpha)) for alpha in alphas]
        return [self._measure(Y, H if side == 0 else H.T) for H in left_out]

    def _measure(self, Y: np.ndarray, H: np.ndarray) -> float:
        seen = ~np.isnan(Y)
        values = np.unique(Y[seen])
        if self.scoring is None and len(values) != 2:
            return -float(np.mean((Y[seen] - H[seen]) ** 2))
        if len(values) != 2:
            raise ValueError(f"Areas under curves need two different values in `links`, got {len(values)}.")
        return float(score_of(self.scoring or "roc_auc", areas_of(Y[seen] == values[1], H[seen])))

    # ------------------------------------------------------------------------------------------------------- scores

    def _side(self, objects: Any, partner: bool) -> Array:
        """k(new, fitted) for one kind; None is the nodes of `fit`."""
        kernel, R = (self.partner_kernel_, self.S_fit_) if partner else (self.kernel_, self.R_fit_)
        if objects is None:
            return kernel.block(R, R)
        name = "Z" if partner else "X"
        checked = adapt(self, objects, kernel, reset=False, name=name).X
        if partner and self._partner_features not in (None, *getattr(checked, "shape", (None, None))[1:]):
            raise ValueError(f"Z has {checked.shape[1]} features, but {self._partner_features} at fit.")
        if kernel.numeric:
            _check_home(self.row_model_.solution_.C, checked, "the arrays of `fit`", name)
        with error_context(name):
            return kernel.block(kernel.represent(checked), R)

    def decision_function(self, X: Any = None, Z: Any = None) -> Array:
        """f(x, z), (m1, m2), for rows x of X and columns z of Z; None is those of `fit`, in their order."""
        check_is_fitted(self)
        left = matmul(self._side(X, False), self.row_model_.solution_.C)
        right = asarray_like(self._side(Z, True), left)
        return self._cast(check_computed(gemm(left, right), "Row", "f(x, z)"))

    def loo_decision_function(self, leave: str = "row") -> Array:
        """f₋ᵢ(x_i, z_j), (n1, n2): each row, or each column, scored by the model without it, in closed form.

        Without a row means without all that is known of its links. "row" tells how well links of new rows to known
        columns are found, "column" those of new columns.
        """
        check_is_fitted(self)
        check_choice(leave, "leave", ("row", "column"))
        if leave == "row":
            return self._cast(self.row_model_.loo_decision_function())
        H = self.column_model_.loo_decision_function()
        return self._cast(asarray_like(to_numpy(H).T.copy(), H))

    def best_threshold(self) -> float:
        """θ above which a pair is called a link: the largest F1 on leave-one-out scores of rows.

        Computed at the first call and kept as `threshold_`.
        """
        check_is_fitted(self)
        if "threshold_" not in vars(self):
            seen = ~np.isnan(self.links_)
            linked = self.links_[seen] > 0
            if not linked.any():
                raise ValueError("No link is known, so there is no threshold; give `threshold` or `top`.")
            self.threshold_ = f1_threshold(linked, to_numpy(self.loo_decision_function("row"))[seen])
        return self.threshold_

    def predict_links(
        self,
        X: Any = None,
        Z: Any = None,
        *,
        threshold: float | None = None,
        top: int | None = None,
        known: bool = False,
    ) -> tuple[Array, Array]:
        """The pairs of a row and a column most likely to be linked, best first.

        Parameters
        ----------
        X, Z : rows and columns, default=None
            None is those of `fit`.
        threshold : float, default=None
            Only pairs with a larger score; None is `best_threshold()`, or no threshold when `top` is given.
        top : int, default=None
            The largest number of pairs.
        known : bool, default=False
            Whether to list the links that `fit` was given, too.

        Returns
        -------
        pairs : array of shape (k, 2)
            A row, and a column.
        scores : array of shape (k,)
            Descending.
        """
        check_is_fitted(self)
        above = lower_bound(threshold, top, known, self.best_threshold)
        left = matmul(self._side(X, False), self.row_model_.solution_.C)
        right = asarray_like(self._side(Z, True), left)
        left_out = None if known or X is not None or Z is not None else np.argwhere(self.links_ > 0)
        pairs, scores = best_pairs(left, right, top=top, above=above, known=left_out)
        return asarray_like(pairs, left), self._cast(asarray_like(scores, left))

    def score(self, X: Any, Z: Any, links: Any) -> float:
        """ROC area of the pairs of X and Z whose links are known: the fraction of (link, other pair) in this order."""
        check_is_fitted(self)
        Y = _links(links, n_objects(X), n_objects(Z, "Z"))
        seen = ~np.isnan(Y)
        linked = Y[seen] > 0
        if not linked.any() or linked.all():
            raise ValueError("The ROC area needs links and other pairs among `links`.")
        return roc_auc_pairs(linked, to_numpy(self.decision_function(X, Z))[seen])


def _aligned(kernel: Kernel, objects: Any, Y: np.ndarray) -> Kernel:
    """A kernel that learns from outputs, taught by the Gram Y Yᵀ of the links of its objects; any other as it is."""
    if not kernel.supervised:
        return kernel
    known = np.where(np.isnan(Y), 0.0, Y)
    learned: Any = clone(kernel).fit(objects, asarray_like(known @ known.T, objects))
    return cast(Kernel, learned.fixed())


def _check_home(one: Any, other: Any, what: str, name: str = "Z") -> None:
    """Two arrays of one library, on one device; other objects are compatible with any library."""
    if is_array(one) and is_array(other) and not same_home(one, other):
        raise TypeError(
            f"{name} is an array of another library or device than {what}; nothing is moved silently: convert {name}."
        )


def _links(links: Any, n: int, m: int) -> np.ndarray:
    """Y as numbers, (n1, n2), NaN where it is not known."""
    with error_context("links"):
        links = read(links, matrix=True)
    links = check_vectors(links, "links", missing=True)
    Y = np.asarray(links.toarray() if is_sparse(links) else to_numpy(links), dtype=np.float64)
    if Y.shape != (n, m):
        raise ValueError(f"`links` must have the shape ({n}, {m}), rows of X and rows of Z, got {Y.shape}.")
    if np.isnan(Y).all():
        raise ValueError("`links` knows nothing: every entry is NaN.")
    return Y


def _with_alpha(fitted: tuple[IOKR, IOKR], choice: Choice) -> tuple[tuple[IOKR, IOKR], float]:
    """The models of both kinds, and the alpha to fit them at."""
    return fitted, choice.value
