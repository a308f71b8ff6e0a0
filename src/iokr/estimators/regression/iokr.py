"""h(x) = A Cᵀ k_x: input output kernel regression."""

from __future__ import annotations

from dataclasses import KW_ONLY
from functools import partial
from typing import Any

from sklearn.utils.validation import check_is_fitted

from iokr._component import component
from iokr._validation.arguments import check_number, check_same_length, check_weight
from iokr.data.chunks import as_source
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.estimators.available import available_unless
from iokr.estimators.inputs import adapt, check_kernel
from iokr.estimators.outputs import check_columns
from iokr.estimators.progress import begin, end, track, with_callbacks
from iokr.estimators.regression.base import KernelRegression
from iokr.estimators.regression.posing import check_data, solve
from iokr.estimators.regression.streaming import (
    SOLVED,
    PartialFit,
    begin_partial,
    check_alone,
    chunk_moments,
    fit_chunks,
    solve_moments,
    why_no_chunks,
)
from iokr.kernels.base import Kernel
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.operator_kernels.base import OperatorKernel
from iokr.solvers.base import Solver

__all__ = ["IOKR"]


@component
class IOKR(KernelRegression):
    """min_h Σ_i ℓ(h(x_i), ψ(y_i)) + (α/2)‖h‖² + (μ/2) Σ_ij L_ij ⟨h(x_i), h(x_j)⟩: input output kernel regression.

    h maps inputs into the feature space of an output kernel, in the RKHS of an operator-valued kernel on the inputs;
    `predict` decodes h(x) into an output. With vector outputs and the squared loss this is kernel ridge regression with
    an intercept.

    Parameters
    ----------
    kernel : Kernel or OperatorKernel, default=None
        On the inputs; None is `RBF()` with the median bandwidth.
    output_kernel : Kernel, default=None
        On the outputs; None takes outputs as vectors, ψ(y) = y.
    embedding : Embedding, default=None
        Coordinates of ψ; None is the exact ones that the loss can use.
    loss : Loss, default=None
        None is `Square()`.
    alpha : float, default=1.0
        λ > 0: larger shrinks h more.
    manifold : Manifold, default=None
        Penalty on differences between neighbouring inputs, `X_unlabeled` included.
    decoder : Decoder, default=None
        Pre-image; None is `Identity()` without an output kernel, else `Candidates()`.
    solver : Solver, default=None
        None is `Auto()`; `print(model.solver_)` shows the choice and its reason.
    intercept : bool, default=None
        Whether h(x) = A Cᵀ k_x + b with b not penalised, so that a constant added to y is added to h. None is True for
        vector outputs, and False with an `output_kernel` and for `MaxMargin`.

    Attributes
    ----------
    kernel_, output_kernel_, embedding_, decoder_ : fitted components
    solution_ : Solution
        `C`, `n_iter`, `gap`, `converged`.
    solver_ : Solver
        The solver that was used.
    n_features_in_ : int
        If X is an array.

    Notes
    -----
    One fit costs about n³/3 flops and n²/2 numbers of memory; h(x) = A Cᵀ k_x costs nq more per input. Missing targets
    are NaN entries of vector outputs. Paper: Brouard, Szafranski, d'Alché-Buc, JMLR 2016 (its λ₁ is `alpha`, its λ₂
    is half the manifold's `weight`).

    Examples
    --------
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF, FromFunction
    >>> similar = FromFunction(lambda a, b: len(set(a) & set(b)))
    >>> model = IOKR(RBF(), output_kernel=similar, alpha=0.1)
    >>> model.fit([[0.0], [1.0], [2.0]], ["sun", "sea", "ice"]).predict([[1.9]])
    array(['ice'], dtype=object)
    """

    kernel: Kernel | OperatorKernel | None = None
    _: KW_ONLY
    output_kernel: Kernel | None = None
    embedding: Embedding | None = None
    loss: Loss | None = None
    alpha: float = 1.0
    manifold: Manifold | None = None
    decoder: Decoder | None = None
    solver: Solver | None = None
    intercept: bool | None = None

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, X_unlabeled: Any = None) -> IOKR:
        """Learn h.

        Parameters
        ----------
        X : array, sparse matrix, or sequence of n objects that the kernel takes
            For a kernel with few features, such as `Nystroem`, also rows in chunks: a `Stream`, whose chunks include y
            and weights, or a Dask array.
        y : array, sparse matrix, or sequence of n outputs that the output kernel takes
            NaN entries of vector outputs are missing.
        sample_weight : array of shape (n,), default=None
            A weight of 2 is the row twice.
        X_unlabeled : as X, or `Unlabeled(X)`, default=None
            Inputs without outputs, for the manifold.
        """
        source = as_source(X, y)
        progress = begin(self, 0 if source is None else None, X=X, y=y)
        self._check_components()
        alpha = check_number(self.alpha, "alpha", minimum=0.0, strict=True)
        kernel = check_kernel(self.kernel)
        if source is not None:
            check_alone(sample_weight, X_unlabeled)
            chunks = partial(track, progress, self, name="chunk")
            state, [moments] = fit_chunks(self, source, kernel, self._output_parts(), chunks)
            self._set_fit(*solve_moments(state.add(moments), alpha, self.solver))
        else:
            data = self._encode_outputs(check_data(self, X, y, sample_weight, X_unlabeled, kernel))
            self._set_fit(data, solve(data, kernel, alpha, manifold=self.manifold, solver=self.solver))
        end(progress, self, X=X, y=y)
        return self

    @available_unless(why_no_chunks)
    def partial_fit(self, X: Any, y: Any, sample_weight: Any = None) -> IOKR:
        """Learn from more rows; for kernels with few features, such as `Nystroem`.

        The first call fits kernel, landmarks and outputs to its rows, which have to represent the data; each call adds
        the moments of its rows. `finalize` solves for h; `predict` and all other methods call it where rows were added
        since. Equal to `fit` of all rows with the same landmarks, up to rounding. A model can be pickled and saved at
        any time, and continued later.

        Parameters
        ----------
        X, y, sample_weight :
            As in `fit`.
        """
        self._check_components()
        kernel = check_kernel(self.kernel)
        state: PartialFit | None = vars(self).get("partial_")
        if state is None:
            state = begin_partial(self, kernel, self._output_parts(), X, y, sample_weight)
            self._set_outputs(state.outputs)
            self.kernel_ = state.kernel
        else:
            X = adapt(self, X, state.kernel, reset=False).X
            check_columns(state.outputs.frame, y, "y")
        weight = check_weight(sample_weight, check_same_length(X, y), X)
        self.partial_ = state.add(chunk_moments(state, X, y, weight))
        for name in SOLVED:
            self.__dict__.pop(name, None)
        return self

    def finalize(self) -> IOKR:
        """Solve for h from the moments of `partial_fit`; then `solution_` and `solver_` are there.

        Methods that need h call this themselves. Call it before several threads share the model.
        """
        check_is_fitted(self)
        state: PartialFit | None = vars(self).get("partial_")
        if state is not None and "solution_" not in vars(self):
            alpha = check_number(self.alpha, "alpha", minimum=0.0, strict=True)
            self._set_fit(*solve_moments(state, alpha, self.solver))
            self.partial_ = state
        return self

    def _check_solved(self) -> None:
        """Raise unless the model is fitted; solve for h if rows were added since."""
        self.finalize()
