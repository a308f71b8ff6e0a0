"""h(x) = A Cᵀ k_x: what models of kernel regression share."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, array_namespace, matmul, take_rows
from iokr._validation.arguments import check_choice, check_groups
from iokr.data.chunks import row_blocks
from iokr.embeddings.base import Embedding
from iokr.estimators.base import StructuredEstimator
from iokr.estimators.inputs import InputAdapter, represent
from iokr.estimators.outputs import FittedOutputs, Targets, encode
from iokr.estimators.regression.posing import Data, Fit, FittedInputs, TrainingSet, warn_centred
from iokr.estimators.regression.probability import candidate_probabilities
from iokr.estimators.regression.variance import variances
from iokr.gram.operators import IdentityMatrix
from iokr.manifolds.base import Manifold
from iokr.problem import Problem, Solution
from iokr.solvers.auto import Auto
from iokr.solvers.base import Solver
from iokr.solvers.closed_form.paths import ClosedForm

__all__ = ["KernelRegression", "fitted_problem", "left_out_values"]


def has_probabilities(model: Any) -> bool:
    """Whether outputs are compared by a kernel; if not, the error names the remedy."""
    if model.output_kernel is None:
        raise AttributeError("Probabilities of candidates need an `output_kernel`; for vectors that is `Linear()`.")
    return True


class KernelRegression(StructuredEstimator):
    """What `IOKR` and `IOKRCV` share: the fitted state, h(x), leave-one-out, weights, variances."""

    kernel: Any
    manifold: Manifold | None
    solver: Solver | None
    intercept: bool | None = None

    inputs_: FittedInputs
    targets_: Targets
    solution_: Solution
    solver_: Solver
    _at: tuple[float, float]  # the alpha and manifold weight of the solution

    def _stored(self) -> dict[str, Any]:
        return {"regularisation": self._at}

    def _encode_outputs(self, rows: TrainingSet, **parts: Any) -> Data:
        """The training set with its outputs encoded, by the components of the model unless others are passed."""
        outputs, targets = encode(rows.y, rows.weight, frame=rows.frame, **{**self._output_parts(), **parts})
        return Data(rows, outputs, targets, self._has_intercept(outputs))

    def _has_intercept(self, outputs: FittedOutputs) -> bool:
        """Whether h has an intercept: by default for vector outputs, and not with an output kernel or a margin."""
        given = check_choice(self.intercept, "intercept", (None, True, False))
        if given is None:
            return outputs.kernel is None and outputs.loss.calibrated
        return bool(given)

    def _set_fit(self, data: Data, fit: Fit) -> None:
        """Keep outputs, inputs and coefficients, and the (alpha, manifold_weight) that they were found at."""
        self.__dict__.pop("partial_", None)
        self._set_outputs(data.outputs)
        self._single_precision = data.rows.single
        self.kernel_ = fit.inputs.kernel
        self.inputs_ = fit.inputs
        self.targets_ = data.targets
        self.solver_ = fit.solver
        self.solution_ = replace(fit.solution, state=None)
        if not fit.inputs.streamed:
            self.solution_ = fit.inputs.by_features(self.solution_)
        if self.solution_.D is not None:
            self.inputs_ = fit.inputs.without_features(data.rows.X)
        self._at = fit.alpha, fit.manifold_weight

    def _check_solved(self) -> None:
        """Raise unless the model is fitted. May be overridden: solve first."""
        check_is_fitted(self)

    def _values(self, X: Any, solution: Solution | None = None) -> Array:
        """h(x) = A Cᵀ k_x + b, of the solution of the model unless another is given."""
        self._check_solved()
        solution = self.solution_ if solution is None else solution
        X = InputAdapter(self.kernel_, self.solution_.C).check(self, X)
        inputs, width = self.inputs_, int(solution.C.shape[0])
        if solution.D is not None:
            width = int(solution.D.shape[0])
        else:
            inputs = inputs.with_points()
        parts = row_blocks(X, width)
        if parts is None:
            return inputs.values(represent(self.kernel_, X), solution)
        found = [inputs.values(represent(self.kernel_, take_rows(X, rows)), solution) for rows in parts]
        return array_namespace(found[0]).concat(found, axis=0)

    def _require_rows(self, what: str) -> None:
        if self.inputs_.streamed:
            raise ValueError(
                f"{what} needs the training rows, which a model fitted in chunks does not keep; fit a part in memory."
            )

    def _for_candidates(self, X: Any) -> tuple[Array, Embedding]:
        """After `ReducedRank`, Vᵀh(x) and candidates in the p learned directions."""
        self._check_solved()
        reduced = self.solver_.reduced
        if reduced is None or reduced.coefficients is None:
            return super()._for_candidates(X)
        along = self.embedding_.along(reduced.directions)
        if along is None:
            return super()._for_candidates(X)
        D = self.solution_.D
        within = Solution(reduced.coefficients, D=None if D is None else matmul(D, reduced.directions))
        return self._values(X, within), along

    @property
    def projected(self) -> bool:
        """Whether h is a projection on directions that were learned from the labels, as with `ReducedRank`."""
        return self.solver_.reduced is not None

    def _require_all_directions(self, what: str) -> None:
        if self.projected:
            raise ValueError(
                f"{what} needs h in all directions, but {self.solver_!r:.60} keeps those that it learned from the "
                "labels; fit with another solver."
            )

    def _closed_form(self, problem: Problem, what: str) -> ClosedForm:
        if not self.loss_.quadratic:
            raise ValueError(f"{what} has a closed form for quadratic losses only; `loss` is {self.loss_!r}.")
        if isinstance(self.solver_, ClosedForm):
            return self.solver_
        return Auto().closed_form(problem, loo=True)

    def loo_decision_function(self, groups: Any = None) -> Array:
        """h₋ᵢ(x_i), (n, q), for the training rows, each without its own label, in closed form.

        Estimates from the data (`gamma_`, centring, covariance operators) are held fixed, and with unlabelled points
        x_i stays in the graph: only its label is left out.

        Parameters
        ----------
        groups : sequence of n names, default=None
            Rows of one group are left out together: spectra of one molecule, visits of one patient.
        """
        return self._cast(left_out_values(self, groups))

    def weights(self, X: Any) -> Array:
        """β (m, n) with h(x) = Σ_i β_i(x) ψ(y_i).

        With an intercept they sum to one, unless A is a covariance about zero.
        """
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
        if not self.loss_.quadratic or spans:  # h lies in the span of the ψ(y_i): the least-norm weights of it
            H, Psi = self._values(X), problem.Psi
            xp = array_namespace(Psi)
            means = not spans or getattr(self.kernel_, "centered", False)  # whether A Cᵀk has weights that sum to zero
            if self.inputs_.constants is not None and means:  # least among those that sum to one
                H, Psi = (xp.concat([values, xp.ones_like(values[:, :1])], axis=1) for values in (H, Psi))
            return self._cast(matmul(H, xp.linalg.pinv(Psi)))
        # β(x) = k_xᵀ(K + αI)⁻¹: h with Ψ = I
        scalar = replace(problem, Psi=IdentityMatrix(problem.n_labeled, problem.like))
        solution = self._closed_form(scalar, "The weights").path(scalar).solution(scalar.Psi, scalar.alpha)
        return self._cast(self.embedding_.span(self._values(X, self.inputs_.by_features(solution))))

    def _weights(self, X: Any) -> Array:
        return self.weights(X)

    def variance(self, X: Any, full: bool = False) -> Array:
        """k(x, x) − k_xᵀ(K + αI)⁻¹k_x, (m,): the variance of h(x) given the training inputs, in units of the prior.

        h is taken as a Gaussian process with this kernel and noise of variance α. Times σ̂² = tr(Ψᵀ(K + αI)⁻¹Ψ)/(nq)
        it is the variance of h(x), and with α added that of a new ψ(y). It does not depend on the outputs, and is
        largest far from all inputs, where it is k(x, x), plus the variance of an intercept. Of this nothing is known
        beforehand.

        Parameters
        ----------
        X : array or sequence of m objects
        full : bool, default=False
            Return covariances between the coordinates of h(x), too.

        Returns
        -------
        variance : array of shape (m,)
            For a scalar kernel, the same for all coordinates. (m, q), a column per coordinate, for an operator kernel
            or with missing targets; (m, q, q) with `full`.
        """
        self._check_solved()
        inputs = self.inputs_.with_points()
        problem = fitted_problem(self, inputs)
        self._require_all_directions("The variance")
        full = check_choice(full, "full", (True, False))
        self._closed_form(problem, "The variance")
        R = InputAdapter(self.kernel_, self.solution_.C).read(self, X)
        implicit = self.embedding_.is_identity
        if implicit and (full or problem.operator.oblique):
            raise ValueError(
                "The variance of coordinates needs outputs in coordinates, but with this `embedding` they are known "
                "through their kernel only; set `embedding=Eigen()`."
            )
        return self._cast(variances(problem, inputs, R, full=full, implicit=implicit))

    @available_if(has_probabilities)  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def predict_proba(self, X: Any, candidates: Any = None) -> Any:
        """exp(−‖h(x) − ψ(y)‖²/T) / Σ_y' exp(−‖h(x) − ψ(y')‖²/T), (m, c): a probability for every candidate.

        T is the temperature whose leave-one-out probabilities of the training outputs have the smallest log loss, over
        the same candidates and y_i itself (for `CandidateSets`, row i takes set i, cyclically). The probabilities are
        calibrated on average if the true output is among the candidates; for a guarantee use `Conformal`. Needs an
        output kernel, which for vectors is `Linear()`.

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
            raise ValueError(
                f"Probabilities need a loss that fixes the length of h, such as `Square()`, got {self.loss_!r}."
            )
        if candidates is None:
            candidates = self.decoder_.Y_fit_
            if candidates is None:
                raise ValueError(f"{self.decoder_!r} does not keep candidates; give `candidates`.")
        return candidate_probabilities(
            self.embedding_, self.targets_, left_out_values(self), candidates, partial(self.distances, X)
        )


def fitted_problem(model: KernelRegression, inputs: FittedInputs | None = None) -> Problem:
    """The problem that a fitted model solved, rebuilt from its inputs: models do not keep their Gram matrix."""
    model._check_solved()
    alpha, manifold_weight = model._at
    inputs = model.inputs_ if inputs is None else inputs
    problem: Problem = inputs.problem(model.targets_, model.loss_, solver=model.solver)
    return replace(problem, alpha=alpha, manifold_weight=manifold_weight)


def left_out_values(model: KernelRegression, groups: Any = None) -> Array:
    """h₋ᵢ(x_i), (n, q), in the embedding's coordinates, float64: where leave-one-out values are computed."""
    problem = fitted_problem(model)
    model._require_rows("Leave-one-out")
    warn_centred(problem, model.embedding_)
    together = None if groups is None else check_groups(groups, problem.n_labeled)
    path = model._closed_form(problem, "Leave-one-out").path(problem)
    return problem.targets - path.loo_residuals(problem.Psi, problem.alpha, together)
