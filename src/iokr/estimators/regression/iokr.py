"""h(x) = A Cᵀ k_x: input output kernel regression."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace
from functools import partial
from typing import Any

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, array_namespace, eye_like, matmul, take_rows
from iokr._component import component
from iokr._validation.arguments import check_choice, check_groups, check_number, check_same_length, check_weight
from iokr.data.chunks import as_source, row_blocks
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.estimators.base import StructuredEstimator
from iokr.estimators.inputs import InputAdapter, adapt, check_kernel, is_pairwise
from iokr.estimators.outputs import Targets, check_columns, encode
from iokr.estimators.progress import begin, end, track, with_callbacks
from iokr.estimators.regression.posing import Data, Fit, FittedInputs, check_data, solve
from iokr.estimators.regression.probability import candidate_probabilities
from iokr.estimators.regression.streaming import (
    SOLVED,
    PartialFit,
    begin_partial,
    check_alone,
    chunk_moments,
    fit_chunks,
    solve_moments,
    takes_chunks,
)
from iokr.estimators.regression.variance import column_variances, covariances
from iokr.gram.operators import IdentityMatrix
from iokr.kernels.base import Kernel
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.operator_kernels.base import OperatorKernel
from iokr.problem import Problem, Solution
from iokr.solvers.auto import Auto
from iokr.solvers.base import Solver
from iokr.solvers.closed_form.paths import ClosedForm

__all__ = ["IOKR", "KernelRegression", "fitted_alpha", "fitted_problem", "left_out_values"]


def has_probabilities(model: Any) -> bool:
    """Whether outputs are compared by a kernel; where they are not, an error says what to do."""
    if model.output_kernel is None:
        raise AttributeError("Probabilities of candidates need an `output_kernel`; for vectors that is `Linear()`.")
    return True


class KernelRegression(StructuredEstimator):
    """What `IOKR` and `IOKRCV` share: the fit that is kept, h(x), leave-one-out, weights."""

    kernel: Any
    manifold: Manifold | None
    solver: Solver | None

    inputs_: FittedInputs
    targets_: Targets
    solution_: Solution
    solver_: Solver
    _at: tuple[float, float]  # the alpha and manifold weight of the solution

    def _set_fit(self, data: Data, fit: Fit) -> None:
        """Keep outputs, inputs and coefficients, and the (alpha, manifold_weight) that they were found at."""
        self.__dict__.pop("partial_", None)
        self._set_outputs(data.outputs)
        self._single_precision = data.given.single
        self.kernel_ = fit.inputs.kernel
        self.inputs_ = fit.inputs
        self.targets_ = data.targets
        self.solver_ = fit.solver
        self.solution_ = replace(fit.solution, state=None)
        self._at = fit.alpha, fit.manifold_weight

    def _check_solved(self) -> None:
        """Raise unless the model is fitted. May be overridden: solve first."""
        check_is_fitted(self)

    def _values(self, X: Any, C: Array | None = None) -> Array:
        """h(x) = A Cᵀ k_x, with the coefficients of the solution unless others are given."""
        self._check_solved()
        C = self.solution_.C if C is None else C
        adapter = InputAdapter(self.kernel_, self.solution_.C)
        X = adapter.check(self, X)
        parts = row_blocks(X, int(self.inputs_.points.shape[0]))
        if parts is None:
            return self.inputs_.values(adapter.represent(X), C)
        found = [self.inputs_.values(adapter.represent(take_rows(X, rows)), C) for rows in parts]
        return array_namespace(found[0]).concat(found, axis=0)

    def _require_rows(self, what: str) -> None:
        if self.inputs_.streamed:
            raise ValueError(
                f"{what} needs the training rows, and a model of rows in chunks keeps none; fit a part in memory."
            )

    def _for_candidates(self, X: Any) -> tuple[Array, Embedding]:
        """After `ReducedRank`, Vᵀh(x) and candidates by p numbers each."""
        self._check_solved()
        reduced = self.solver_.reduced
        if reduced is None or reduced.coefficients is None:
            return super()._for_candidates(X)
        along = self.embedding_.along(reduced.directions)
        if along is None:
            return super()._for_candidates(X)
        return self._values(X, reduced.coefficients), along

    @property
    def projected(self) -> bool:
        """Whether h is a projection on directions that were learned from the labels, as with `ReducedRank`."""
        return self.solver_.reduced is not None

    def _require_all_directions(self, what: str) -> None:
        if self.projected:
            raise ValueError(
                f"{what} is that of h in all directions, and {self.solver_!r:.60} keeps those that it learned from the "
                "labels; fit with another solver."
            )

    def _closed_form(self, problem: Problem, what: str) -> ClosedForm:
        if not self.loss_.quadratic:
            raise ValueError(f"{what} has a closed form for quadratic losses only, and `loss` is {self.loss_!r}.")
        if isinstance(self.solver_, ClosedForm):
            return self.solver_
        return Auto().closed_form(problem, loo=True)

    def loo_decision_function(self, groups: Any = None) -> Array:
        """h₋ᵢ(x_i), (n, q), for the training rows, each without its own label, in closed form.

        What is estimated from data (`gamma_`, centring, covariance operators) is held fixed, and with unlabelled
        points x_i stays in the graph: only its label leaves.

        Parameters
        ----------
        groups : sequence of n names, default=None
            Rows of one group leave together: spectra of one molecule, visits of one patient.
        """
        return self._cast(left_out_values(self, groups))

    def weights(self, X: Any) -> Array:
        """β (m, n) with h(x) = Σ_i β_i(x) ψ(y_i)."""
        problem = fitted_problem(self)
        self._require_rows("A weight for each training output")
        self._require_all_directions("A weight for each training output")
        if self.targets_.mask is not None:
            raise ValueError(
                "With missing targets each coordinate has its own weights, so h is not a sum Σ β_i(x) ψ(y_i)."
            )
        spans = self.kernel_.spans
        operator = problem.gram.operator
        if (operator is None or operator.scale is None) and not spans:
            raise ValueError("With `A` other than a·I the outputs are mixed, so h is not a sum Σ β_i(x) ψ(y_i).")
        if self.loss_.entrywise:
            raise ValueError(
                f"With {self.loss_!r} each coordinate has its own weights, so h is not a sum Σ β_i(x) ψ(y_i)."
            )
        if self.embedding_.is_identity:
            return self.decision_function(X)
        if not self.loss_.quadratic or spans:  # h lies in the span of the ψ(y_i): the least weights that give it
            return self._cast(matmul(self._values(X), array_namespace(problem.Psi).linalg.pinv(problem.Psi)))
        scalar = replace(problem, Psi=IdentityMatrix(problem.n_labeled, problem.like))
        C = self._closed_form(scalar, "The weights").path(scalar).coefficients(scalar.Psi, scalar.alpha)
        return self._cast(self.embedding_.span(self._values(X, C)))

    def _weights(self, X: Any) -> Array:
        return self.weights(X)

    def variance(self, X: Any, full: bool = False) -> Array:
        """k(x, x) − k_xᵀ(K + αI)⁻¹k_x, (m,): the variance of h(x) given the training inputs, in units of the prior.

        h as a Gaussian process with this kernel and noise of variance α. Times σ̂² = tr(Ψᵀ(K + αI)⁻¹Ψ)/(nq) it is
        the variance of h(x), and with α added that of a new ψ(y). It does not depend on the outputs, and is largest far
        from all inputs, where it is k(x, x).

        Parameters
        ----------
        X : array or sequence of m objects
        full : bool, default=False
            Covariances between the coordinates of h(x), too.

        Returns
        -------
        variance : array of shape (m,)
            Of any coordinate, for a scalar kernel. (m, q), a column per coordinate, for an operator kernel or with
            missing targets; (m, q, q) with `full`.
        """
        problem = fitted_problem(self)
        self._require_all_directions("The variance")
        full = check_choice(full, "full", (True, False))
        self._closed_form(problem, "The variance")
        adapter = InputAdapter(self.kernel_, self.solution_.C)
        R = adapter.represent(adapter.check(self, X))
        operator = problem.gram.operator
        implicit = self.embedding_.is_identity
        if implicit and (full or problem.operator.oblique):
            raise ValueError(
                "Outputs known through their kernel alone have no coordinates to give a variance to; "
                "set `embedding=Eigen()`."
            )
        xp, q = array_namespace(problem.like), int(problem.Psi.shape[1])
        if operator is None or (problem.mask is not None and operator.E is not None):
            S = covariances(problem, self.inputs_, R)
            return self._cast(S if full else xp.clip(xp.linalg.diagonal(S), min=0.0))
        V, gamma = column_variances(problem, self.inputs_, R)
        E = operator.E
        if full:
            V = xp.broadcast_to(V, (V.shape[0], q))
            basis = eye_like(q, V) if E is None else E
            return self._cast(matmul(basis[None, :, :] * V[:, None, :], basis.T))
        if E is not None:
            return self._cast(matmul(V, (E * E).T))
        if V.shape[1] == 1 and isinstance(self.kernel_, OperatorKernel) and not implicit:
            return self._cast(xp.broadcast_to(V, (V.shape[0], q)))
        return self._cast(V[:, 0] if len(gamma) == 1 and problem.mask is None else V)

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def predict_proba(self, X: Any, candidates: Any = None) -> Any:
        """exp(−‖h(x) − ψ(y)‖²/T) / Σ_y' exp(−‖h(x) − ψ(y')‖²/T), (m, c): a probability for every candidate.

        T is the one whose leave-one-out probabilities of the training outputs have the smallest log loss, over the
        same candidates and y_i itself (for `CandidateSets`, row i takes set i, in turn). Calibrated on average, as far
        as the truth is among the candidates; nothing is guaranteed for a single input (`Conformal`). Needs an output
        kernel; for vectors that is `Linear()`.

        Parameters
        ----------
        X : array or sequence of m objects
        candidates : sequence of c outputs, `SharedCandidates`, or `CandidateSets`, default=None
            None is the distinct outputs of `fit`, in the order of their first rows (`decoder_.Y_fit_`).

        Returns
        -------
        probabilities : array of shape (m, c), or a list of arrays for `CandidateSets`
            Each row sums to one.
        """
        check_is_fitted(self)
        if not self.loss_.calibrated:
            raise ValueError(f"{self.loss_!r} does not fix the length of h, so distances to h(x) have no scale.")
        if candidates is None:
            candidates = self.decoder_.Y_fit_
            if candidates is None:
                raise ValueError(f"{self.decoder_!r} does not keep candidates; give `candidates`.")
        H = left_out_values(self)
        return candidate_probabilities(self.embedding_, self.targets_, H, candidates, partial(self.distances, X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = is_pairwise(self.kernel)
        return tags


@component
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

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, X_unlabeled: Any = None) -> IOKR:
        """Learn h.

        Parameters
        ----------
        X : array, sparse matrix, or sequence of n objects that the kernel takes
            Or rows in chunks, for a kernel with few features such as `Nystroem`: a `Stream`, whose chunks bring y and
            weights, or a Dask array.
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
            given = check_data(self, X, y, sample_weight, X_unlabeled, kernel)
            data = Data(given, *encode(given.y, given.weight, frame=given.frame, **self._output_parts()))
            self._set_fit(data, solve(data, kernel, alpha, manifold=self.manifold, solver=self.solver))
        end(progress, self, X=X, y=y)
        return self

    @available_if(takes_chunks)  # type: ignore[untyped-decorator]
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


def fitted_alpha(model: KernelRegression) -> float:
    """The alpha that the coefficients were found at."""
    return float(model._at[0])


def fitted_problem(model: KernelRegression) -> Problem:
    """The problem that the coefficients of a fitted model solve, rebuilt from the points, so that models stay small."""
    model._check_solved()
    alpha, manifold_weight = model._at
    problem: Problem = model.inputs_.problem(model.targets_, model.loss_, solver=model.solver)
    return replace(problem, alpha=alpha, manifold_weight=manifold_weight)


def left_out_values(model: KernelRegression, groups: Any = None) -> Array:
    """h₋ᵢ(x_i), (n, q), in the embedding's coordinates, float64: what `loo_decision_function` answers with."""
    problem = fitted_problem(model)
    model._require_rows("Leave-one-out")
    together = None if groups is None else check_groups(groups, problem.n_labeled)
    path = model._closed_form(problem, "Leave-one-out").path(problem)
    return problem.targets - path.loo_residuals(problem.Psi, problem.alpha, together)
