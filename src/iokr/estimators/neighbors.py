"""h(x) = Σ_i β_i(x) ψ(y_i), β from the nearest training inputs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, asarray_like, blocks, matmul, take_rows, to_numpy
from iokr._component import component
from iokr._system.memory import check_matrix
from iokr._validation.arguments import check_choice, check_integer
from iokr.data.objects import n_objects
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.estimators.base import StructuredEstimator
from iokr.estimators.inputs import InputAdapter, check_scalar, fit_points
from iokr.estimators.outputs import encode, known_rows
from iokr.estimators.progress import begin, end, with_callbacks
from iokr.estimators.regression.posing import check_data
from iokr.estimators.search.engine import Part, cv_results, forget_search, select
from iokr.estimators.search.result import Axis
from iokr.kernels.base import Kernel
from iokr.kernels.vectors import RBF

__all__ = ["Neighbors"]

_ENTRIES = 1 << 22  # of a block of kernel values


@component
class Neighbors(StructuredEstimator):
    """h(x) = (1/k) Σ of ψ(y_i) over the k nearest x_i; or Σ_i k(x, x_i) ψ(y_i) / Σ_i k(x, x_i) (Nadaraya–Watson).

    Nearest in the features of the input kernel, ‖φ(x) − φ(x_i)‖², so inputs may be any objects; for a Gaussian kernel
    that is the usual distance. Of equally near inputs the first count. Nothing is solved: a baseline, and a good one
    where outputs jump. β(x) (`neighbor_weights`) is not negative and sums to one, which makes these the simplest
    weights for `MinimumRisk`.

    Parameters
    ----------
    n_neighbors : int, None, or a sequence of int, default=5
        k: larger is smoother. None takes all training inputs (with `weights="kernel"` only). Of a sequence the one
        with the smallest leave-one-out error Σ_i ‖ψ(y_i) − h₋ᵢ(x_i)‖² is taken.
    weights : {"uniform", "kernel"}, default="uniform"
        The k nearest equally, or in proportion to k(x, x_i), which must not be negative. Where all of these vanish, far
        from the training inputs, the nearest one counts alone.
    kernel : Kernel, default=None
        On the inputs; None is `RBF()` with the median bandwidth.
    output_kernel : Kernel, default=None
        On the outputs; None takes outputs as vectors, ψ(y) = y.
    embedding : Embedding, default=None
        How ψ is held; None is exact.
    decoder : Decoder, default=None
        Pre-image; None is `Identity()` without an output kernel, else `Candidates()`.

    Attributes
    ----------
    n_neighbors_ : int
        The k that is used.
    loo_errors_ : array
        Mean leave-one-out error of each k of a sequence.
    kernel_, output_kernel_, embedding_, decoder_ : fitted components
    n_features_in_ : int
        When X is an array.

    Examples
    --------
    >>> from iokr import Neighbors
    >>> from iokr.kernels import Delta
    >>> model = Neighbors(2, output_kernel=Delta()).fit([[0.0], [1.0], [5.0], [6.0]], ["a", "a", "b", "b"])
    >>> model.predict([[0.4], [5.2]])
    array(['a', 'b'], dtype=object)
    >>> model.neighbor_weights([[0.4]])
    array([[0.5, 0.5, 0. , 0. ]])

    References
    ----------
    Nadaraya, "On estimating regression", Theory of Probability and its Applications 1964.
    """

    n_neighbors: int | Sequence[int] | None = 5
    _: KW_ONLY
    weights: str = "uniform"
    kernel: Kernel | None = None
    output_kernel: Kernel | None = None
    embedding: Embedding | None = None
    decoder: Decoder | None = None

    loss = None  # the square: a mean of the ψ(y_i)

    cv_results_ = cv_results

    def _stored(self) -> dict[str, Any]:
        return {"known": self._known}

    @with_callbacks  # type: ignore[untyped-decorator]
    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Neighbors:
        """Keep the training inputs and outputs; choose k where there is a choice.

        Parameters
        ----------
        X : array, sparse matrix, or sequence of n objects that the kernel takes
        y : array, sparse matrix, or sequence of n outputs that the output kernel takes
        sample_weight : array of shape (n,), default=None
            A weight of 2 is the row twice: the nearest count until their weights sum to k, the last one in part.
        """
        progress = begin(self, 0, X=X, y=y)
        self._check_components()
        check_choice(self.weights, "weights", ("uniform", "kernel"))
        kernel = check_scalar(self.kernel)
        given = check_data(self, X, y, sample_weight, None, kernel, solves=False)
        rows, _ = known_rows(np.arange(n_objects(given.y)), given.weight)
        choices = self._choices(len(rows), given.weight)
        outputs, targets = encode(given.y, given.weight, frame=given.frame, **self._output_parts())
        if targets.mask is not None:
            raise ValueError("`y` contains NaN, which has no mean; drop these rows, or use `IOKR`.")
        self._set_outputs(outputs)
        self._single_precision, self.targets_ = given.single, targets
        self.kernel_, self.points_ = fit_points(kernel, given.X, given.weight)
        self.squares_ = self.kernel_.gram(self.points_).diagonal()  # ‖φ(x_i)‖²
        self._known, self.n_neighbors_ = rows, choices[-1]
        forget_search(self)
        if len(choices) > 1:
            found = select(self, [Axis("n_neighbors", choices)], self._evaluate(choices))
            self.n_neighbors_ = found.best["n_neighbors"]
        end(progress, self, X=X, y=y)
        return self

    def _choices(self, n: int, weight: np.ndarray | None) -> list[int]:
        """The numbers of neighbours to try."""
        if self.n_neighbors is None:
            if self.weights != "kernel":
                raise ValueError(
                    "`n_neighbors=None` takes all inputs, which needs `weights='kernel'` to tell them apart."
                )
            return [n if weight is None else int(np.ceil(weight.sum()))]
        several = isinstance(self.n_neighbors, (list, tuple, range, np.ndarray))
        given = list(self.n_neighbors) if several else [self.n_neighbors]  # type: ignore[arg-type]
        if not given:
            raise ValueError("`n_neighbors` is empty; give at least one number.")
        choices = [check_integer(k, "n_neighbors", minimum=1) for k in given]
        most = n - 1 if len(choices) > 1 else n  # one is left out to choose
        if max(choices) > most and weight is None:
            raise ValueError(f"`n_neighbors` must be at most {most} where n_samples = {n}, got {max(choices)}.")
        return choices

    def _nearest(self, far: np.ndarray, K: np.ndarray, k: int) -> tuple[np.ndarray, np.ndarray]:
        """(columns, masses): of each row of distances the nearest inputs, nearest first, and what they weigh, k in all.

        With sample weights the last one may count in part, so that a weight of two is the row twice.
        """
        order = np.argsort(far, axis=1, kind="stable")
        if self.targets_.weight is None:
            order = order[:, :k]
            masses = np.ones(order.shape)
        else:
            w = self.targets_.weight[self._known][order]
            before = np.cumsum(np.minimum(w, k), axis=1) - np.minimum(w, k)  # a weight above k fills all that is left
            masses = np.clip(k - before, 0.0, w)
            width = max(1, int((masses > 0).sum(axis=1).max()))
            order, masses = order[:, :width], masses[:, :width]
        if self.weights == "kernel":
            values = np.take_along_axis(K, order, axis=1)
            if np.any(values < 0):
                raise ValueError(
                    f"`weights='kernel'` needs k(x, z) ≥ 0, and {self.kernel_!r} is negative; "
                    "use `RBF()`, or 'uniform'."
                )
            masses = masses * values
            masses[~(masses.max(axis=1) > 0), 0] = 1.0
        return order, masses

    def _evaluate(self, choices: list[int]) -> Iterator[Part]:
        """(1/Σw) Σ_i w_i ‖z_i − h₋ᵢ(x_i)‖² for each k, from one pass over the distances."""
        Psi: Any = np.eye(self.targets_.n) if self.targets_.Psi is None else self.targets_.Psi
        Z = to_numpy(self.embedding_.euclidean(Psi))[self._known]
        n = len(self._known)
        w = np.ones(n) if self.targets_.weight is None else self.targets_.weight[self._known]
        errors = np.zeros(len(choices))
        for some in blocks(n, max(1, _ENTRIES // max(n, max(choices) * Z.shape[1]))):
            own = np.arange(some.start, some.stop)
            far, K = self._against(take_rows(self.points_, self._known[some]), own)
            for j, k in enumerate(choices):
                order, masses = self._nearest(far, K, k)
                masses[order == own[:, None]] = 0.0
                H = np.einsum("ik,ikr->ir", masses, Z[order]) / masses.sum(axis=1, keepdims=True)
                errors[j] += w[own] @ ((Z[own] - H) ** 2).sum(axis=1)
        yield Part((), errors / w.sum())

    def _against(self, R: Any, own: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
        """How far inputs are, up to a constant a row, and k(x, x_i) up to a factor a row, over the inputs that count.

        A Gaussian's exponents tell far inputs apart, where its values are all zero. Numbers `own` of the inputs
        themselves are put last: an input is not a neighbour of itself.
        """
        gaussian = isinstance(self.kernel_, RBF)
        block = self.kernel_.log_block(R, self.points_) if gaussian else self.kernel_.gram(R, self.points_).dense()
        K = np.array(to_numpy(block)[:, self._known], dtype=np.float64)
        far = -K if gaussian else to_numpy(self.squares_)[self._known] - 2.0 * K
        if own is not None:
            far[np.arange(len(own)), own] = np.inf
        return far, np.exp(far.min(axis=1, keepdims=True) - far) if gaussian else K

    def neighbor_weights(self, X: Any) -> Array:
        """β (m, n) with h(x) = Σ_i β_i(x) ψ(y_i); none is negative, rows sum to one."""
        return self._cast(self._weights(X))

    def _weights(self, X: Any) -> Array:
        check_is_fitted(self)
        check_matrix(n_objects(X), self.targets_.n, X, 2.0, "A weight for every training output")
        R = InputAdapter(self.kernel_, self.squares_).read(self, X)
        m = int(R.shape[0])
        B = np.zeros((m, self.targets_.n))
        for some in blocks(m, max(1, _ENTRIES // self.targets_.n)):
            order, masses = self._nearest(*self._against(take_rows(R, some)), self.n_neighbors_)
            rows = np.arange(some.start, some.stop)[:, None]
            B[rows, self._known[order]] = masses / masses.sum(axis=1, keepdims=True)
        return asarray_like(B, self.squares_)

    def _values(self, X: Any) -> Array:
        B = self._weights(X)
        return B if self.targets_.Psi is None else matmul(B, asarray_like(self.targets_.Psi, B))
