"""f₂(f₁(x)) ≈ ψ(y) with f₁(x) ∈ ℝᵈ: codes of a few numbers between two layers of kernels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY, replace
from typing import Any, ClassVar

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, asarray_like, matmul, to_numpy
from iokr._component import Limits, component
from iokr._system.memory import check_matrix
from iokr._validation.arguments import COUNT, DECAY, POSITIVE, check_random, check_vectors
from iokr.data.frames import as_frame
from iokr.data.objects import n_objects
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.estimators.autoencoder.layers import CODE_GRADIENTS, TwoLayers
from iokr.estimators.base import StructuredEstimator
from iokr.estimators.inputs import InputAdapter, check_scalar, fit_points
from iokr.estimators.outputs import FittedOutputs, Targets, as_fitted, encode
from iokr.estimators.progress import begin, end, with_callbacks
from iokr.estimators.regression.posing import check_data
from iokr.kernels.base import Kernel
from iokr.kernels.vectors import RBF
from iokr.losses.base import Loss

__all__ = ["KernelAutoencoder"]

_RANK = 1e-10  # eigenvalues and singular values below this fraction of the largest are rounding


@component  # the mixins of scikit-learn are untyped
class KernelAutoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, StructuredEstimator):  # type: ignore[misc]
    """min Σ_i ℓ(f₂(f₁(x_i)), ψ(y_i)) + (α/2)‖f₂‖² + (α₁/2)‖f₁‖², f₁ into ℝᵈ, f₂ into the features of the outputs.

    Codes f₁(x) = Σ_i k₁(x, x_i) a_i of d numbers, from which the outputs are predicted: f₂(z) = Σ_i k₂(z, z_i) c_i with
    z_i = f₁(x_i). Without y the outputs are the inputs themselves: an autoencoder, of vectors, or of any objects with
    an output kernel. Given the codes, f₂ is kernel ridge regression in closed form, so only f₁ is optimised, by L-BFGS
    with exact gradients. The problem is not convex: the result is the best of a few local minima. With linear kernels
    and small α, α₁ the codes span the first d principal components. An evaluation costs n³/3 + 2n²(q + d) flops, and
    an optimisation several hundred evaluations: suitable for up to about two thousand objects.

    Parameters
    ----------
    kernel : Kernel, default=None
        k₁ on the inputs; None is `RBF()` with the median bandwidth.
    n_components : int, default=2
        d, the number of coordinates of a code; larger reconstructs more.
    code_kernel : RBF or Linear, default=None
        k₂ on codes; None is `RBF(1.0)`. A Gaussian needs a value of gamma: the scale of the codes adapts to it.
    output_kernel : Kernel, default=None
        On the outputs; None takes them as vectors, ψ(y) = y.
    embedding : Embedding, default=None
        The coordinates of ψ; None is exact.
    decoder : Decoder, default=None
        Pre-image; None is `Identity()` without an output kernel, else `Candidates()`.
    loss : Loss, default=None
        ℓ; None is the square. Others, such as `EpsilonSquare(0.4)`, have no closed form: each evaluation is a fit of
        `IOKR` to the codes, to a gap of 1e-10.
    alpha : float, default=1.0
        α > 0: larger makes f₂ smoother.
    code_alpha : float, default=0.1
        α₁ > 0: larger makes codes smaller and f₁ smoother. Errors are in the units of the outputs, and so is α₁.
    n_starts : int, default=5
        Starting points: the principal components of the outputs, then random codes. The lowest minimum is used.
    max_iter : int, default=500
        The largest number of steps of L-BFGS from each.
    tol : float, default=1e-7
        Relative decrease of the objective below which L-BFGS stops.
    random_state : int, RandomState or None, default=None
        For the random codes.

    Attributes
    ----------
    codes_ : array of shape (n, d)
        f₁(x_i).
    objectives_ : array of shape (n_starts,)
        The minimum reached from each starting point.
    n_iter_ : int
        Steps to the lowest of them.
    kernel_, code_kernel_, output_kernel_, embedding_, decoder_ : fitted components
    n_features_in_ : int
        When X is an array.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import KernelAutoencoder
    >>> from iokr.kernels import RBF
    >>> t = np.linspace(0, 2 * np.pi, 30)
    >>> circle = np.column_stack([np.cos(t), np.sin(t)])
    >>> model = KernelAutoencoder(RBF(2.0), 1, random_state=0).fit(circle)
    >>> model.transform(circle[:5]).shape
    (5, 1)
    >>> bool(model.score(circle) > 0.8)  # one principal component has 0.5
    True

    References
    ----------
    Laforgue, Clémençon and d'Alché-Buc, "Autoencoding any data through kernel autoencoders", AISTATS 2019.
    """

    kernel: Kernel | None = None
    n_components: int = 2
    _: KW_ONLY
    code_kernel: Kernel | None = None
    output_kernel: Kernel | None = None
    embedding: Embedding | None = None
    decoder: Decoder | None = None
    loss: Loss | None = None
    alpha: float = 1.0
    code_alpha: float = 0.1
    n_starts: int = 5
    max_iter: int = 500
    tol: float = 1e-7
    random_state: Any = None

    manifold = None
    solver = None
    limits: ClassVar[Limits] = {
        "n_components": COUNT,
        "n_starts": COUNT,
        "max_iter": COUNT,
        "alpha": POSITIVE,
        "code_alpha": POSITIVE,
        "tol": DECAY,
    }

    def _stored(self) -> dict[str, Any]:
        return {"inner": self._inner, "outer": self._outer, "n_features_out": self._n_features_out}

    @with_callbacks  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def fit(self, X: Any, y: Any = None) -> KernelAutoencoder:
        """Find codes of the inputs from which the outputs can be predicted.

        Parameters
        ----------
        X : array, sparse matrix, or sequence of n objects that the kernel takes
        y : array, sparse matrix, or sequence of n outputs that the output kernel takes, default=None
            None is X.
        """
        progress = begin(self, 0, X=X, y=y)
        kernel, code_kernel = self._check_parameters()
        if y is None and kernel.pairwise:
            raise ValueError("`Precomputed()` has no inputs to reconstruct; give the outputs as y.")
        given = check_data(self, X, X if y is None else y, None, None, kernel)
        n = n_objects(given.y)
        if self.n_components > n:
            raise ValueError(f"`n_components` must be at most n_samples = {n}, got {self.n_components}.")
        check_matrix(n, n, given.X, 6.0, "The kernels on inputs, codes and outputs")
        outputs, targets = encode(given.y, None, frame=given.frame, **self._output_parts())
        _check_outputs(outputs, targets)
        self._set_outputs(outputs)
        self._single_precision = given.single
        self.kernel_, self.points_ = fit_points(kernel, given.X)
        K = self.kernel_.gram(self.points_).dense()
        Psi: Any = np.eye(n) if targets.Psi is None else targets.Psi
        T = to_numpy(outputs.embedding.euclidean(Psi)).astype(np.float64)
        self._learn_codes(to_numpy(K).astype(np.float64), T, asarray_like(Psi, K), code_kernel)
        end(progress, self, X=X, y=y)
        return self

    def _check_parameters(self) -> tuple[Kernel, Kernel]:
        """The kernels of both layers."""
        self._check_components()
        kernel = check_scalar(self.kernel)
        code_kernel: Any = RBF(1.0) if self.code_kernel is None else self.code_kernel
        kind = type(code_kernel)
        if kind not in CODE_GRADIENTS or (kind is RBF and code_kernel.gamma is None):
            raise ValueError(
                f"`code_kernel` must be `RBF(gamma)` with a number, or `Linear()`, whose gradients are known, "
                f"got {code_kernel!r:.60}."
            )
        return kernel, clone(code_kernel)

    def _learn_codes(self, K: np.ndarray, T: np.ndarray, Psi: Array, code_kernel: Kernel) -> None:
        """Codes by L-BFGS from several starting points, and the outer layer on the best of them."""
        s, U = eigh(K)
        positive = s > _RANK * max(float(s[-1]), 0.0)
        if not positive.any():
            raise ValueError("`kernel` is zero for all inputs, so there are no codes; choose another one.")
        s = s[positive]
        U = U[:, positive]
        B = U * np.sqrt(s)  # K₁ = B Bᵀ
        layers = TwoLayers(B, T, code_kernel, self.loss_, float(self.alpha), float(self.code_alpha))
        options: Any = {"maxiter": int(self.max_iter), "ftol": float(self.tol), "gtol": 0.0}
        minima = [
            minimize(layers, start.ravel(), jac=True, method="L-BFGS-B", options=options)
            for start in self._starts(U, B, T)
        ]
        best = min(minima, key=lambda minimum: float(minimum.fun))
        if best.nit >= self.max_iter:
            warnings.warn(
                f"Codes still change after `max_iter={self.max_iter}` steps; more may help.", ConvergenceWarning, 2
            )
        self.objectives_ = np.array([float(minimum.fun) for minimum in minima])
        self.n_iter_ = int(best.nit)
        W = best.x.reshape(B.shape[1], -1)
        codes = B @ W
        if self.loss_.quadratic:
            layers = replace(layers, T=to_numpy(Psi))  # from here on in the embedding's own coordinates
        _, C, _ = layers.outer(codes)
        self.codes_ = asarray_like(codes, Psi)
        self._inner = asarray_like((U / np.sqrt(s)) @ W, Psi)  # a_i of f₁
        self._outer = asarray_like(C, Psi)  # c_i of f₂
        self.code_kernel_ = code_kernel.fit(self.codes_)
        self._n_features_out = int(self.n_components)

    def _starts(self, U: np.ndarray, B: np.ndarray, T: np.ndarray) -> Iterator[np.ndarray]:
        """W of the principal components of the outputs, then of random codes of unit variance.

        The random codes K₁^½ ε, with a number ε for each object, are those of a Gaussian process, for any basis U.
        """
        yield _principal(B, T, self.n_components, float(self.code_alpha))
        rng = check_random(self.random_state)
        scale = np.sqrt(len(B)) / np.linalg.norm(B)
        for _ in range(self.n_starts - 1):
            yield scale * U.T @ rng.normal(size=(len(U), self.n_components))

    def _codes(self, X: Any) -> Array:
        """f₁(x), float64."""
        check_is_fitted(self)
        R = InputAdapter(self.kernel_, self._inner).read(self, X)
        return matmul(asarray_like(self.kernel_.gram(R, self.points_).dense(), self._inner), self._inner)

    def transform(self, X: Any) -> Array:
        """The codes f₁(x), (m, d)."""
        return self._cast(self._codes(X))

    def inverse_transform(self, Z: Any) -> Any:
        """The outputs of codes: f₂(z), decoded."""
        check_is_fitted(self)
        Z = check_vectors(Z, "Z")
        d = int(self.codes_.shape[1])
        if len(Z.shape) != 2 or Z.shape[1] != d:
            raise ValueError(f"`Z` must have {d} columns, the length of a code, got shape {tuple(Z.shape)}.")
        H = self._from_codes(asarray_like(to_numpy(Z).astype(np.float64), self.codes_))
        decoded = self.decoder_.decode(H, self.embedding_)
        return as_frame(as_fitted(self._cast(decoded), self.outputs_.shape), self.outputs_.frame, Z)

    def _from_codes(self, Z: Array) -> Array:
        return matmul(asarray_like(self.code_kernel_(Z, self.codes_), self._outer), self._outer)

    def _values(self, X: Any) -> Array:
        return self._from_codes(self._codes(X))

    def score(self, X: Any, y: Any = None, sample_weight: Any = None, candidates: Any = None) -> float:
        """R² in the output feature space, of X itself without y; with candidates, how often the best one is right.

        Parameters
        ----------
        X : array or sequence of m objects
        y : array or sequence of m outputs, default=None
            None is X.
        sample_weight : array of shape (m,), default=None
        candidates : sequence of outputs, `SharedCandidates` or `CandidateSets`, default=None
        """
        return super().score(X, X if y is None else y, sample_weight, candidates)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = False
        return tags


def _check_outputs(outputs: FittedOutputs, targets: Targets) -> None:
    """Complete outputs, a loss that fixes h(x), and a decoder of h(x)."""
    if targets.mask is not None:
        raise ValueError("`y` contains NaN, which codes cannot be made from; drop these rows, or use `IOKR`.")
    if not outputs.loss.calibrated:
        raise ValueError(f"`loss` must fix the length of h(x), and {outputs.loss!r} does not; use `Huber()`.")
    if outputs.decoder is not None and outputs.decoder.weighted:
        raise ValueError(f"{outputs.decoder!r} needs weights of the training outputs, which this model does not have.")


def _principal(B: np.ndarray, T: np.ndarray, d: int, code_alpha: float) -> np.ndarray:
    """W of ridge regression of the first d principal components of the outputs, scaled to unit variance, on the inputs.

    Where the outputs have fewer, the others are the first directions of the inputs.
    """
    n, r = B.shape
    U, sigma, _ = np.linalg.svd(T, full_matrices=False)
    rank = int(np.sum(sigma > _RANK * max(float(sigma[0]), 0.0))) if len(sigma) else 0
    targets = np.sqrt(n) * U[:, : min(d, rank)]
    gram = np.sum(B * B, axis=0)  # Bᵀ B is diagonal
    W = (B.T @ targets) / (gram + max(code_alpha, _RANK * float(gram.max())))[:, None]
    others = np.zeros((r, d - W.shape[1]))
    for k in range(min(others.shape[1], r)):
        others[r - 1 - k, k] = 1.0 / np.sqrt(gram[r - 1 - k] / n)  # eigenvalues ascend: the largest is the last
    return np.hstack([W, others])
