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
        kernels = [check_scalar(kernel, objects="X") for kernel in listed(self.kernel, "kernel")]
        partners = listed(self.partner_kernel, "partner_kernel")
        partners = [check_scalar(kernel, "partner_kernel", objects="Z") for kernel in partners]
        single = single_precision(X)
        X = adapt(self, X, kernels[0], reset=True).X
        Z = adapt(self, Z, partners[0], reset=False, name="Z").X
        _check_home(X, Z, "X")
        Y = _links(links, n_objects(X), n_objects(Z, "Z"))
        kernels = [_aligned(kernel, X, Y) for kernel in kernels]
        partners = [_aligned(kernel, Z, Y.T) for kernel in partners]
        axes = (Axis("kernel", kernels), Axis("partner_kernel", partners), Axis("alpha", alphas))
        if n_points(axes) > 1:
            found = select(self, axes, self._evaluate(X, Z, Y, axes), rule=largest)
            models, self.alpha_ = found.solution
            if self.alpha_ != alphas[0]:  # the search fits every two kernels at the first alpha
                models = self._both_sides(X, Z, Y, found.best["kernel"], found.best["partner_kernel"], self.alpha_)
        else:
            forget_search(self)
            self.alpha_ = alphas[0]
            models = self._both_sides(X, Z, Y, kernels[0], partners[0], self.alpha_)
        self.__dict__.pop("threshold_", None)
        self.row_model_, self.column_model_ = models
        self.links_ = Y
        self.kernel_ = self.row_model_.kernel_.kernel_
        self.partner_kernel_ = self.column_model_.kernel_.kernel_
        self.R_fit_ = self.kernel_.represent(X)
        self.S_fit_ = self.partner_kernel_.represent(Z)
        self._partner_features = _n_features(Z)
        self._single_precision = single
        return self

    def _both_sides(
        self, X: Any, Z: Any, Y: np.ndarray, kernel: Kernel, partner: Kernel, alpha: float
    ) -> tuple[IOKR, IOKR]:
        """The model of rows, 𝒦 = k₁ K₂, and that of columns, 𝒦 = k₂ K₁."""
        K_1 = _matrix(kernel, X, "X")
        K_2 = _matrix(partner, Z, "Z")
        parts: dict[str, Any] = {"alpha": alpha, "solver": self.solver, "intercept": False}
        rows = IOKR(Decomposable(kernel, K_2), **parts).fit(X, asarray_like(Y, X))
        with error_context("Z"):
            columns = IOKR(Decomposable(partner, K_1), **parts).fit(Z, asarray_like(Y.T, Z))
        return rows, columns

    def _evaluate(self, X: Any, Z: Any, Y: np.ndarray, axes: Sequence[Axis]) -> Iterator[Part]:
        """Scores along the alphas for every two kernels; parts solve to the models at the first alpha, and the best."""
        kernels, partners, alphas = (axis.values for axis in axes)
        sides = {"row": (0,), "column": (1,), "both": (0, 1)}[self.leave]
        for (i, kernel), (j, partner) in product(enumerate(kernels), enumerate(partners)):
            models = self._both_sides(X, Z, Y, kernel, partner, alphas[0])
            scores = [self._path_scores(Y, models[side], side, alphas) for side in sides]
            yield Part((i, j), np.mean(scores, axis=0), solve=partial(_with_alpha, models))

    def _path_scores(self, Y: np.ndarray, model: IOKR, side: int, alphas: Sequence[float]) -> list[float]:
        """The score of leave-one-out along the alphas, of rows (side 0) or of columns."""
        problem = fitted_problem(model)
        path = Auto().closed_form(problem, loo=True).path(problem)
        left_out = [to_numpy(problem.targets - path.loo_residuals(problem.Psi, alpha)) for alpha in alphas]
        return [self._measure(Y, H if side == 0 else H.T) for H in left_out]

    def _measure(self, Y: np.ndarray, H: np.ndarray) -> float:
        """The `scoring` of H on the known entries of Y."""
        seen = ~np.isnan(Y)
        values = np.unique(Y[seen])
        if self.scoring is None and len(values) != 2:
            return -float(np.mean((Y[seen] - H[seen]) ** 2))
        if len(values) != 2:
            raise ValueError(f"Areas under curves need two different values in `links`, got {len(values)}.")
        return float(score_of(self.scoring or "roc_auc", areas_of(Y[seen] == values[1], H[seen])))

    # ------------------------------------------------------------------------------------------------------- scores

    def _factors(self, X: Any, Z: Any) -> tuple[Array, Array]:
        """(A, B) with f(x, z) = ⟨a_x, b_z⟩: k₁(x, ·)ᵀ C and k₂(z, ·)."""
        A = matmul(self._block(X, self.kernel_, self.R_fit_, "X"), self.row_model_.solution_.C)
        return A, asarray_like(self._block(Z, self.partner_kernel_, self.S_fit_, "Z"), A)

    def _block(self, objects: Any, kernel: Kernel, R: Any, name: str) -> Array:
        """k(new, fitted) for one kind; None is the nodes of `fit`."""
        if objects is None:
            return kernel.block(R, R)
        checked = adapt(self, objects, kernel, reset=False, name=name).X
        if name == "Z" and self._partner_features not in (None, _n_features(checked)):
            raise ValueError(f"Z has {checked.shape[1]} features, but {self._partner_features} at fit.")
        if kernel.numeric:
            _check_home(self.row_model_.solution_.C, checked, "the arrays of `fit`", name)
        with error_context(name):
            return kernel.block(kernel.represent(checked), R)

    def decision_function(self, X: Any = None, Z: Any = None) -> Array:
        """f(x, z), (m1, m2), for rows x of X and columns z of Z; None is those of `fit`, in their order."""
        check_is_fitted(self)
        A, B = self._factors(X, Z)
        return self._cast(check_computed(gemm(A, B), "Row", "f(x, z)"))

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
        A, B = self._factors(X, Z)
        between_fitted = X is None and Z is None
        left_out = np.argwhere(self.links_ > 0) if between_fitted and not known else None
        pairs, scores = best_pairs(A, B, top=top, above=above, known=left_out)
        return asarray_like(pairs, A), self._cast(asarray_like(scores, A))

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
    """A kernel that learns from outputs, fitted to the Gram Y Yᵀ of the links of its objects; any other as it is."""
    if not kernel.supervised:
        return kernel
    known = np.where(np.isnan(Y), 0.0, Y)
    learned: Any = clone(kernel).fit(objects, asarray_like(known @ known.T, objects))
    return cast(Kernel, learned.fixed())


def _matrix(kernel: Kernel, objects: Any, name: str) -> np.ndarray:
    """K of all nodes of one kind."""
    with error_context(name):
        fitted = clone(kernel).fit(objects)
        check_matrix(n_objects(objects), n_objects(objects), objects, 4.0)
        return to_numpy(fitted(objects))


def _n_features(Z: Any) -> int | None:
    """The number of columns of vectors, None for other objects."""
    shape: tuple[int, ...] = getattr(Z, "shape", ())
    return int(shape[1]) if len(shape) == 2 else None


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


def _with_alpha(models: tuple[IOKR, IOKR], choice: Choice) -> tuple[tuple[IOKR, IOKR], float]:
    """The models of both kinds at the first alpha, and the alpha that was chosen."""
    return models, choice.value
