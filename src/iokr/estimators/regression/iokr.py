"""h(x) = A Cᵀ k_x: input output kernel regression."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import (
    Array,
    array_namespace,
    asarray_like,
    empty_like,
    eye_like,
    is_array,
    is_sparse,
    matmul,
    take_rows,
    to_numpy,
)
from iokr._objects import concat, error_context, is_numeric
from iokr._progress import begin, end, with_callbacks
from iokr._validation import check_number, check_same_length, check_weight
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.estimators.base import StructuredEstimator
from iokr.estimators.inputs import Border, check_inputs, check_isotropic, check_kernel, check_unlabeled, fresh_solver
from iokr.estimators.outputs import positive_rows, require_y, row_numbers, single_precision
from iokr.gram.base import Gram
from iokr.gram.scalar import ScalarGram
from iokr.kernels.base import Kernel, check_gram
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.operator_kernels.base import OperatorKernel
from iokr.operator_kernels.blocks import check_blocks
from iokr.problem import Problem, Solution
from iokr.solvers.auto import Auto
from iokr.solvers.base import ClosedForm, Solver

__all__ = ["IOKR", "KernelRegression"]


@dataclass(frozen=True, eq=False)
class _Data:
    """What `fit` was given, checked."""

    X: Any
    Psi: Array
    weight: np.ndarray | None
    mask: np.ndarray | None
    X_unlabeled: Any


class KernelRegression(StructuredEstimator):
    """What `IOKR` and `IOKRCV` share: inputs in, the problem, h(x), leave-one-out, weights."""

    kernel: Any
    manifold: Manifold | None
    solver: Solver | None

    def _check_data(
        self, X: Any, y: Any, sample_weight: Any, X_unlabeled: Any, kernel: Kernel | OperatorKernel
    ) -> _Data:
        """Everything that `fit` is given, checked, and the outputs encoded."""
        require_y(y)
        self._single_precision = single_precision(X, y)
        X = check_inputs(self, X, kernel, reset=True)
        n = check_same_length(X, y)
        weight = check_weight(sample_weight, n, X)
        X_unlabeled = check_unlabeled(self, X_unlabeled, X, kernel, self.manifold)
        if is_array(X) and is_numeric(y) and not is_sparse(y) and not isinstance(y, np.ma.MaskedArray):
            y = asarray_like(y if is_array(y) else np.asarray(y), X)  # everything follows X
        Psi = self._encode(y, weight)
        if isinstance(kernel, OperatorKernel) and kernel.explicit_outputs and not self.embedding_.explicit:
            check_isotropic(kernel)
        Psi, mask = _split_missing(Psi)
        if mask is not None and not isinstance(kernel, OperatorKernel):
            _warn_of_unseen(mask)
        if mask is not None and isinstance(kernel, OperatorKernel) and kernel.spans:
            raise ValueError(
                f"`y` has missing entries, and {type(kernel).__name__} has no covariance of incomplete outputs; "
                "drop these rows, or use `Decomposable(kernel, A)`."
            )
        return _Data(X, Psi, weight, mask, X_unlabeled)

    def _pose(self, data: _Data, kernel: Kernel | OperatorKernel, K: ScalarGram | None = None) -> Problem:
        """Fit the kernel, represent the points and state the problem (at α = 1).

        `K` is the Gram of the scalar kernel on these points when another operator has been posed on it before.
        """
        known = data.X if kernel.pairwise else positive_rows(data.X, data.weight)
        with error_context("X", None if kernel.pairwise else row_numbers(data.weight)):
            if isinstance(kernel, OperatorKernel):
                explicit = data.Psi if self.embedding_.explicit else None
                self.kernel_: Any = clone(kernel).fit(known, explicit)
            elif kernel.supervised:
                self.kernel_ = clone(kernel).fit(known, self._target(data))
            else:
                self.kernel_ = clone(kernel).fit(known)
        R = self._represent(np.arange(data.Psi.shape[0]) if kernel.pairwise else data.X)
        if data.X_unlabeled is not None:
            R = concat(R, self._represent(data.X_unlabeled, "X_unlabeled"))
        self.R_fit_, self.sample_weight_, self.mask_ = R, data.weight, data.mask
        n = data.Psi.shape[0]
        labelled = self.kernel_.gram(R if data.X_unlabeled is None else take_rows(R, np.arange(n)))
        Psi = asarray_like(data.Psi, labelled.diagonal())  # everything follows the Gram, and that X
        gram: Gram | None = labelled if data.X_unlabeled is None else None
        if isinstance(self.kernel_, OperatorKernel) and labelled.operator is not None:
            identity = self.embedding_.is_identity
            K = labelled.K if K is None else K
            self.kernel_.adapt(K, None if identity else Psi, self.embedding_.gram if identity else None, data.weight)
            gram = self.kernel_.around(K) if data.X_unlabeled is None else None
        self.Psi_ = None if self.embedding_.is_identity else Psi  # ψ(y_i) implicit: Ψ = I is not worth storing
        self.manifold_ = None if self.manifold is None else clone(self.manifold)
        self._n, self._like = Psi.shape[0], empty_like((0, int(Psi.shape[1])), Psi)
        problem = self._problem(gram)
        if problem.gram.operator is not None:
            check_gram(problem.gram.K, self.kernel_.trusted, "kernel")
        else:
            check_blocks(problem.gram, self.kernel_.trusted)
        return problem

    def _target(self, data: _Data) -> Array:
        """K_Y of the rows that count, for a kernel that learns from outputs."""
        if data.mask is not None:
            raise ValueError(
                "`y` has missing entries, and `kernel` learns from the Gram of the outputs; drop these rows."
            )
        if not self.embedding_.is_identity:
            known = positive_rows(data.Psi, data.weight)
            return matmul(known, known.T)
        rows = np.arange(data.Psi.shape[0]) if data.weight is None else np.flatnonzero(data.weight > 0)
        return self.embedding_.gram.restrict(rows).dense()

    def _problem(self, gram: Gram | None = None) -> Problem:
        """The problem at α = 1, rebuilt from the represented points, so that models stay small."""
        gram = self.kernel_.gram(self.R_fit_) if gram is None else gram
        Psi = eye_like(self._n, self._like) if self.Psi_ is None else self.Psi_
        problem = Problem(gram, Psi, self.loss_, 1.0, weight=self.sample_weight_, mask=self.mask_)
        if self.manifold_ is None:
            return problem
        mu = check_number(self.manifold_.strength, "strength", minimum=0.0)
        solver = fresh_solver(self.solver)
        solver.check(replace(problem, penalty=Psi, strength=mu))  # the memory, before W takes its share
        return replace(problem, penalty=asarray_like(self.manifold_.penalty(self.R_fit_, gram), Psi), strength=mu)

    def _solved(self, solution: Solution, alpha: float, strength: float) -> None:
        """Keep the solution and where on the path it stands."""
        self.solution_, self._at = replace(solution, state=None), (alpha, strength)

    def _fitted_problem(self) -> Problem:
        """The problem that `solution_` solves."""
        alpha, strength = self._at
        return replace(self._problem(), alpha=alpha, strength=strength)

    # ----------------------------------------------------------------------------------------------- h(x)

    def _new_inputs(self, X: Any) -> Any:
        """X checked, and of the library and device of the fitted model."""
        return Border(self.kernel_, self.solution_.C).check(self, X)

    def _represent(self, X: Any, name: str = "X") -> Any:
        """The inputs as the kernel holds them."""
        with error_context(name):
            return self.kernel_.represent(X)

    def _values(self, X: Any) -> Array:
        check_is_fitted(self)
        X = self._new_inputs(X)
        G = self.kernel_.gram(self._represent(X), self.R_fit_)
        return G @ self.solution_.C

    def _closed_form(self, problem: Problem, what: str) -> ClosedForm:
        if not self.loss_.quadratic:
            raise ValueError(f"{what} has a closed form for quadratic losses only, and `loss` is {self.loss_!r}.")
        if isinstance(self.solver_, ClosedForm):
            return self.solver_
        return Auto().closed_form(problem, loo=True)

    def loo_decision_function(self) -> Array:
        """h₋ᵢ(x_i) for the training rows, each without its own label, in closed form.

        What is estimated from data (`gamma_`, centring, covariance operators) is held fixed, and with unlabelled
        points x_i stays in the graph: only its label leaves.

        Returns
        -------
        H : array of shape (n, q)
        """
        check_is_fitted(self)
        problem = self._fitted_problem()
        path = self._closed_form(problem, "Leave-one-out").path(problem)
        return self._cast(problem.Psi - path.loo_residuals(problem.Psi, problem.alpha))

    def weights(self, X: Any) -> Array:
        """β (m, n) with h(x) = Σ_i β_i(x) ψ(y_i).

        Parameters
        ----------
        X : array or sequence of m objects

        Returns
        -------
        beta : array of shape (m, n)
        """
        check_is_fitted(self)
        if self.mask_ is not None:
            raise ValueError("With missing targets each coordinate has its own weights, so h is no Σ β_i(x) ψ(y_i).")
        problem = self._fitted_problem()
        spans = getattr(self.kernel_, "spans", False)
        if (problem.gram.operator is None or problem.gram.operator.scale is None) and not spans:
            raise ValueError("With `A` other than a·I the outputs are mixed, so h is no Σ β_i(x) ψ(y_i).")
        if self.embedding_.is_identity:
            return self.decision_function(X)
        if not self.loss_.quadratic or spans:  # h lies in the span of the ψ(y_i): the least weights that give it
            return self._cast(matmul(self._values(X), array_namespace(problem.Psi).linalg.pinv(problem.Psi)))
        scalar = replace(problem, Psi=eye_like(problem.n_labeled, problem.Psi))
        C = self._closed_form(scalar, "The weights").path(scalar).coefficients(scalar.Psi, scalar.alpha)
        X = self._new_inputs(X)
        B = self.kernel_.gram(self._represent(X), self.R_fit_) @ C
        return self._cast(self.embedding_.span(B))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        kernel = self.kernel[0] if isinstance(self.kernel, (list, tuple)) and self.kernel else self.kernel
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = bool(getattr(kernel, "pairwise", False))
        return tags


class IOKR(KernelRegression):
    """min_h Σ_i ℓ(h(x_i), ψ(y_i)) + (α/2)‖h‖² + (μ/2) Σ_ij L_ij ⟨h(x_i), h(x_j)⟩: input output kernel regression.

    h maps inputs into the feature space of an output kernel, in the RKHS of an operator-valued kernel on the inputs;
    `predict` decodes h(x) into an output. With vector outputs and the squared loss this is kernel ridge regression.

    Parameters
    ----------
    kernel : Kernel or OperatorKernel, default=None
        On the inputs; None is `RBF()` with the median bandwidth.
    output_kernel : Kernel, default=None
        On the outputs; None takes outputs as vectors, ψ(y) = y.
    embedding : Embedding, default=None
        How ψ is held; None takes the exact one that loss and operator need.
    loss : Loss, default=None
        None is `Square()`.
    alpha : float, default=1.0
        λ > 0: larger shrinks h more.
    manifold : Manifold, default=None
        Penalty that uses `X_unlabeled`.
    decoder : Decoder, default=None
        Pre-image; None is `Identity()` without an output kernel, else `Candidates()`.
    solver : Solver, default=None
        None is `Auto()`; `print(model.solver_)` says what it chose and why.

    Attributes
    ----------
    kernel_, output_kernel_, embedding_, decoder_ : fitted components
    solution_ : Solution
        `C`, `n_iter`, `gap`, `converged`.
    solver_ : Solver
        What solved the problem.
    n_features_in_ : int
        When X is an array.

    Notes
    -----
    One fit costs about n³/3 flops and n² numbers of memory; h(x) = A Cᵀ k_x costs nq more per input. Missing targets
    are NaN entries of vector outputs. Paper: Brouard, Szafranski, d'Alché-Buc, JMLR 2016 (its λ₁ is `alpha`, its λ₂
    is half the manifold's `strength`).

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF, FromFunction
    >>> similar = FromFunction(lambda a, b: len(set(a) & set(b)))
    >>> model = IOKR(RBF(), output_kernel=similar, alpha=0.1)
    >>> model.fit([[0.0], [1.0], [2.0]], ["sun", "sea", "ice"]).predict([[1.9]])
    array(['ice'], dtype=object)
    """

    def __init__(
        self,
        kernel: Kernel | OperatorKernel | None = None,
        *,
        output_kernel: Kernel | None = None,
        embedding: Embedding | None = None,
        loss: Loss | None = None,
        alpha: float = 1.0,
        manifold: Manifold | None = None,
        decoder: Decoder | None = None,
        solver: Solver | None = None,
    ) -> None:
        self.kernel = kernel
        self.output_kernel = output_kernel
        self.embedding = embedding
        self.loss = loss
        self.alpha = alpha
        self.manifold = manifold
        self.decoder = decoder
        self.solver = solver

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None, X_unlabeled: Any = None) -> IOKR:
        """Learn h.

        Parameters
        ----------
        X : array, sparse matrix, or sequence of n objects that the kernel takes
        y : array, sparse matrix, or sequence of n outputs that the output kernel takes
            NaN entries of vector outputs are missing.
        sample_weight : array of shape (n,), default=None
            A weight of 2 is the row twice.
        X_unlabeled : as X, or `Unlabeled(X)`, default=None
            Inputs without outputs, for the manifold.

        Returns
        -------
        self
        """
        progress = begin(self, 0, X=X, y=y)
        self._check_components()
        alpha = check_number(self.alpha, "alpha", minimum=0.0, strict=True)
        kernel = check_kernel(self.kernel)
        data = self._check_data(X, y, sample_weight, X_unlabeled, kernel)
        problem = replace(self._pose(data, kernel), alpha=alpha)
        self.solver_ = fresh_solver(self.solver)
        self._solved(self.solver_.solve(problem), alpha, problem.strength)
        end(progress, self, X=X, y=y)
        return self


def _split_missing(Psi: Array) -> tuple[Array, np.ndarray | None]:
    """Ψ with zeros for NaN, and the mask of what is there; a row without entries is refused."""
    xp = array_namespace(Psi)
    missing = xp.isnan(Psi)
    if not bool(xp.any(missing)):
        return Psi, None
    mask = ~to_numpy(missing)
    empty = np.flatnonzero(~mask.any(axis=1))
    if len(empty):
        raise ValueError(
            f"`y` contains NaN: row {int(empty[0])} ({len(empty)} in all) has no target at all; "
            "pass such inputs as `X_unlabeled`, or drop them."
        )
    return xp.where(missing, 0.0, Psi), mask


def _warn_of_unseen(mask: np.ndarray) -> None:
    """An output that no row has is predicted as 0 unless an operator couples it to others."""
    unseen = np.flatnonzero(~mask.any(axis=0))
    if len(unseen):
        warnings.warn(
            f"Column {int(unseen[0])} of `y` ({len(unseen)} in all) has no entry but NaN: nothing is learned about it, "
            "and it is predicted as a constant. `MultiTask` couples outputs.",
            UserWarning,
            stacklevel=4,
        )
