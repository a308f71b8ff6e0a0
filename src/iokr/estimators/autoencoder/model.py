"""f₂(f₁(x)) ≈ ψ(y) with f₁(x) ∈ ℝᵈ: few numbers between two layers of kernels."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import KW_ONLY, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh
from scipy.optimize import minimize
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, asarray_like, matmul, to_numpy
from iokr._component import component
from iokr._system.memory import check_matrix
from iokr._validation.arguments import check_integer, check_number, check_random, check_vectors
from iokr.data.frames import as_frame
from iokr.data.objects import error_context, n_objects
from iokr.decoders.base import Decoder
from iokr.embeddings.base import Embedding
from iokr.estimators.autoencoder.layers import TwoLayers
from iokr.estimators.base import StructuredEstimator
from iokr.estimators.inputs import Border, check_kernel
from iokr.estimators.outputs import as_fitted, encode
from iokr.estimators.progress import begin, end, with_callbacks
from iokr.estimators.regression.posing import check_data
from iokr.kernels.base import Kernel
from iokr.kernels.vectors import RBF, Linear
from iokr.losses.base import Loss

__all__ = ["KernelAutoencoder"]

_RANK = 1e-10  # eigenvalues of K₁ below this part of the largest are rounding


@component  # the mixins of scikit-learn are untyped
class KernelAutoencoder(ClassNamePrefixFeaturesOutMixin, TransformerMixin, StructuredEstimator):  # type: ignore[misc]
    """min Σ_i ℓ(f₂(f₁(x_i)), ψ(y_i)) + (α/2)‖f₂‖² + (α₁/2)‖f₁‖², f₁ into ℝᵈ, f₂ into the features of the outputs.

    Codes f₁(x) = Σ_i k₁(x, x_i) a_i of d numbers, from which the outputs are predicted: f₂(z) = Σ_i k₂(z, z_i) c_i with
    z_i = f₁(x_i). Without y the outputs are the inputs themselves: an autoencoder, of vectors, or of any objects with
    an output kernel. Given the codes f₂ is kernel ridge regression in closed form, so what is searched is f₁ alone, by
    L-BFGS with exact gradients. The problem is not convex: the answer is the best of a few local minima. With linear
    kernels and small α, α₁ the codes span the first d principal components. An evaluation costs n³/3 + 2n²(q + d), a
    search some hundred of them: for a thousand objects or two.

    Parameters
    ----------
    kernel : Kernel, default=None
        k₁ on the inputs; None is `RBF()` with the median bandwidth.
    n_components : int, default=2
        d, the numbers in a code. More keep more.
    code_kernel : RBF or Linear, default=None
        k₂ on codes; None is `RBF(1.0)`. A Gaussian needs its gamma: codes take the scale that suits it.
    output_kernel : Kernel, default=None
        On the outputs; None takes them as vectors, ψ(y) = y.
    embedding : Embedding, default=None
        How ψ is held; None is exact.
    decoder : Decoder, default=None
        Pre-image; None is `Identity()` without an output kernel, else `Candidates()`.
    loss : Loss, default=None
        ℓ; None is the square. Others, such as `EpsilonSquare(0.4)`, have no closed form: each evaluation is a fit of
        `IOKR` to the codes, to a gap of 1e-10.
    alpha : float, default=1.0
        α > 0: larger makes f₂ smoother.
    code_alpha : float, default=0.1
        α₁ > 0: larger makes codes smaller and f₁ smoother. It is weighed against errors in the units of the outputs.
    n_starts : int, default=5
        Searches: from the principal components of the outputs, and from random codes. The one that ends lowest counts.
    max_iter : int, default=500
        Steps of L-BFGS in each, at most.
    tol : float, default=1e-7
        Steps end when one lowers the objective by less than this part of it.
    random_state : int, RandomState or None, default=None
        For the random codes.

    Attributes
    ----------
    codes_ : array of shape (n, d)
        f₁(x_i).
    objectives_ : array of shape (n_starts,)
        The objective at the end of each search.
    n_iter_ : int
        Steps of the search that ended lowest.
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

    @with_callbacks  # type: ignore[untyped-decorator]  # scikit-learn is untyped
    def fit(self, X: Any, y: Any = None) -> KernelAutoencoder:
        """Find codes of the inputs that tell the outputs.

        Parameters
        ----------
        X : array, sparse matrix, or sequence of n objects that the kernel takes
        y : array, sparse matrix, or sequence of n outputs that the output kernel takes, default=None
            None is X.
        """
        progress = begin(self, 0, X=X, y=y)
        kernel, code_kernel = self._check()
        if y is None and kernel.pairwise:
            raise ValueError("`Precomputed()` knows no inputs to give back; give the outputs as y.")
        given = check_data(self, X, X if y is None else y, None, None, kernel)
        n = n_objects(given.y)
        if self.n_components > n:
            raise ValueError(f"`n_components` must be at most n_samples = {n}, got {self.n_components}.")
        check_matrix(n, n, given.X, 6.0, "The kernels on inputs, codes and outputs")
        outputs, targets = encode(given.y, None, frame=given.frame, **self._output_parts())
        if targets.mask is not None:
            raise ValueError("`y` contains NaN, which codes cannot be made from; drop these rows, or use `IOKR`.")
        if not outputs.loss.calibrated:
            raise ValueError(f"`loss` must fix the length of h(x), and {outputs.loss!r} does not; use `Huber()`.")
        if outputs.decoder is not None and outputs.decoder.weighted:
            raise ValueError(f"{outputs.decoder!r} needs weights of the training outputs, which this model has not.")
        self._keep_outputs(outputs)
        self._single_precision = given.single
        with error_context("X"):
            self.kernel_ = clone(kernel).fit(given.X)
            self.points_ = self.kernel_.represent(np.arange(n) if kernel.pairwise else given.X)
        K = self.kernel_.gram(self.points_).dense()
        Psi: Any = np.eye(n) if targets.Psi is None else targets.Psi
        T = to_numpy(outputs.embedding.euclidean(Psi)).astype(np.float64)
        self._search(to_numpy(K).astype(np.float64), T, asarray_like(Psi, K), code_kernel)
        end(progress, self, X=X, y=y)
        return self

    def _check(self) -> tuple[Kernel, Kernel]:
        """The kernels of both layers; parameters are numbers."""
        self._check_components()
        kernel = check_kernel(self.kernel)
        if not isinstance(kernel, Kernel):
            raise TypeError(f"`kernel` must be a component of `iokr.kernels`, got {kernel!r:.60}.")
        check_integer(self.n_components, "n_components", minimum=1)
        check_integer(self.n_starts, "n_starts", minimum=1)
        check_integer(self.max_iter, "max_iter", minimum=1)
        for name in ("alpha", "code_alpha", "tol"):
            check_number(getattr(self, name), name, minimum=0.0, strict=True)
        if self.tol >= 1:
            raise ValueError(f"`tol` must be below 1, got {self.tol!r}.")
        check_random(self.random_state)
        code_kernel = RBF(1.0) if self.code_kernel is None else self.code_kernel
        if not isinstance(code_kernel, (RBF, Linear)) or getattr(code_kernel, "gamma", 1.0) is None:
            raise ValueError(
                f"`code_kernel` must be `RBF(gamma)` with a number, or `Linear()`, whose gradients are known, "
                f"got {code_kernel!r:.60}."
            )
        return kernel, clone(code_kernel)

    def _search(self, K: np.ndarray, T: np.ndarray, Psi: Array, code_kernel: Kernel) -> None:
        """Codes by L-BFGS, the best of a few searches."""
        s, U = eigh(K)
        kept = s > _RANK * max(float(s[-1]), 0.0)
        if not kept.any():
            raise ValueError("`kernel` is zero for all inputs, which then have no codes; choose another one.")
        s, U = s[kept], U[:, kept]
        B = U * np.sqrt(s)
        layers = TwoLayers(B, T, code_kernel, self.loss_, float(self.alpha), float(self.code_alpha))
        options: Any = {"maxiter": int(self.max_iter), "ftol": float(self.tol), "gtol": 0.0}
        ends = [
            minimize(layers, start.ravel(), jac=True, method="L-BFGS-B", options=options)
            for start in self._starts(U, B, T)
        ]
        best = min(ends, key=lambda end: float(end.fun))
        if best.nit >= self.max_iter:
            warnings.warn(
                f"Codes still change after `max_iter={self.max_iter}` steps; more may help.", ConvergenceWarning, 2
            )
        W = best.x.reshape(B.shape[1], -1)
        self.objectives_, self.n_iter_ = np.array([float(end.fun) for end in ends]), int(best.nit)
        codes = B @ W
        if self.loss_.quadratic:
            layers = replace(layers, T=to_numpy(Psi))  # from here on in the embedding's own coordinates
        C = layers.outer(codes)[1]
        self.codes_, self._inner, self._outer = (asarray_like(a, Psi) for a in (codes, (U / np.sqrt(s)) @ W, C))
        self.code_kernel_ = code_kernel.fit(self.codes_)
        self._n_features_out = int(self.n_components)

    def _starts(self, U: np.ndarray, B: np.ndarray, T: np.ndarray) -> Iterator[np.ndarray]:
        """W of the principal components of the outputs, then of random codes of unit variance.

        Codes K₁^½ ε are those of a Gaussian process, with a number ε for each object: the basis U plays no part.
        """
        yield _principal(B, T, self.n_components, float(self.code_alpha))
        rng = check_random(self.random_state)
        scale = np.sqrt(len(B)) / np.linalg.norm(B)
        for _ in range(self.n_starts - 1):
            yield scale * U.T @ rng.normal(size=(len(U), self.n_components))

    def _coded(self, X: Any) -> Array:
        """f₁(x), float64."""
        check_is_fitted(self)
        border = Border(self.kernel_, self._inner)
        R = border.represent(border.check(self, X))
        return matmul(asarray_like(self.kernel_.gram(R, self.points_).dense(), self._inner), self._inner)

    def transform(self, X: Any) -> Array:
        """The codes f₁(x), (m, d)."""
        return self._cast(self._coded(X))

    def inverse_transform(self, Z: Any) -> Any:
        """The outputs of codes: f₂(z), decoded."""
        check_is_fitted(self)
        Z = check_vectors(Z, "Z")
        d = int(self.codes_.shape[1])
        if len(Z.shape) != 2 or Z.shape[1] != d:
            raise ValueError(f"`Z` must have {d} columns, the numbers of a code, got shape {tuple(Z.shape)}.")
        H = self._from_codes(asarray_like(to_numpy(Z).astype(np.float64), self.codes_))
        decoded = self.decoder_.decode(H, self.embedding_)
        return as_frame(as_fitted(self._cast(decoded), self.outputs_.shape), self.outputs_.frame, Z)

    def _from_codes(self, Z: Array) -> Array:
        return matmul(asarray_like(self.code_kernel_(Z, self.codes_), self._outer), self._outer)

    def _values(self, X: Any) -> Array:
        return self._from_codes(self._coded(X))

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
        tags.target_tags.multi_output = True
        tags.input_tags.sparse = True
        tags.input_tags.pairwise = bool(getattr(self.kernel, "pairwise", False))
        return tags


def _principal(B: np.ndarray, T: np.ndarray, d: int, code_alpha: float) -> np.ndarray:
    """W of ridge regression of the first d principal components of the outputs, scaled to unit variance, on the inputs.

    Where the outputs have fewer, the rest are the first directions of the inputs.
    """
    n, r = B.shape
    U, sigma, _ = np.linalg.svd(T, full_matrices=False)
    kept = int(np.sum(sigma > _RANK * max(float(sigma[0]), 0.0))) if len(sigma) else 0
    targets = np.sqrt(n) * U[:, : min(d, kept)]
    gram = np.sum(B * B, axis=0)  # Bᵀ B is diagonal
    W = (B.T @ targets) / (gram + max(code_alpha, _RANK * float(gram.max())))[:, None]
    more = np.zeros((r, d - W.shape[1]))
    for k in range(min(more.shape[1], r)):
        more[r - 1 - k, k] = 1.0 / np.sqrt(gram[r - 1 - k] / n)
    return np.hstack([W, more])
