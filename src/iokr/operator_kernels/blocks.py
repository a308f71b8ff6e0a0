"""Operator-valued kernels 𝒦(x, z) ∈ ℝ^{d×d} that do not separate into a scalar kernel and a matrix."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.base import clone

from iokr._array import Array, array_namespace, asarray_like, eye_like, gemm, is_array, is_sparse, take_rows, unwarned
from iokr._component import component
from iokr._state import Stateful
from iokr._validation.arguments import check_number, check_vectors
from iokr._validation.matrices import check_psd
from iokr.data.frames import read
from iokr.data.objects import as_objects, is_numeric, n_objects
from iokr.gram.base import Gram
from iokr.gram.blocks import BlockGram
from iokr.kernels.base import Kernel
from iokr.operator_kernels.base import OperatorKernel, OperatorSum

__all__ = ["BlockKernel", "Diagonal", "Transformable", "check_blocks", "diagonal_regularization"]

_CHECKED = 2000  # rows of a sample whose matrix is checked to be positive semi-definite


def check_dim(kernel: OperatorKernel, d: int, Psi: Array | None) -> None:
    """The outputs have d coordinates."""
    if Psi is not None and Psi.shape[1] != d:
        raise ValueError(
            f"`{type(kernel).__name__}` has blocks of {d} × {d} but the outputs have {Psi.shape[1]} coordinates."
        )


def check_blocks(gram: Gram, trusted: bool) -> None:
    """Reject blocks that overflow, or, unless trusted, are not positive semi-definite on a sample of the points."""
    with unwarned():
        diagonal = gram.diagonal()
    xp = array_namespace(diagonal)
    if not bool(xp.all(xp.isfinite(diagonal))):
        raise ValueError("`kernel` overflows on these objects: 𝒦(x, x) is not finite; divide the data by a constant.")
    if not trusted:
        N = gram.shape[0]
        some = max(1, _CHECKED * N // gram.size)
        sample = gram if some >= N else gram.restrict(np.unique(np.linspace(0, N - 1, some).astype(int)))
        check_psd(sample.flat.dense(), "kernel (its matrix of blocks 𝒦(x_i, x_j), with 𝒦(x, z) = 𝒦(z, x)ᵀ)")


@component
class BlockKernel(OperatorKernel):
    """𝒦(x_i, z_j) = f(X, Z)[i, j], any operator-valued kernel on ℝ^d, from a function.

    The blocks need not be symmetric, only 𝒦(x, z) = 𝒦(z, x)ᵀ; h(x) = Σ_i 𝒦(x, x_i) c_i, in this order.
    A fit solves a system of nd unknowns: (nd)³/3 flops and (nd)² numbers if these fit in memory, else conjugate
    gradients.

    Parameters
    ----------
    f : callable
        f(X, Z) → array of shape (n, m, d, d) with [i, j] = 𝒦(x_i, z_j). To pickle the model, f must be importable.

    Attributes
    ----------
    dim_ : int
        d.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.operator_kernels import BlockKernel
    >>> def turned(X, Z):
    ...     angle = X[:, None, 0] - Z[None, :, 0]
    ...     rotation = np.stack([np.cos(angle), -np.sin(angle), np.sin(angle), np.cos(angle)], axis=-1)
    ...     return rotation.reshape(*angle.shape, 2, 2)
    >>> X = np.linspace(0, 1, 6)[:, None]
    >>> Y = np.column_stack([np.cos(X[:, 0]), np.sin(X[:, 0])])  # turns with x
    >>> IOKR(BlockKernel(turned), alpha=1e-6).fit(X, Y).predict([[2.0]]).round(3)
    array([[-0.416,  0.909]])
    """

    f: Callable[[Any, Any], Array]

    trusted = False

    def fit(self, X: Any, Psi: Array | None = None) -> BlockKernel:
        """Learn d from one block."""
        if not callable(self.f):
            raise TypeError(f"`f` must be a function f(X, Z) → (n, m, d, d), got {self.f!r:.60}.")
        one = take_rows(self.represent(X), slice(0, 1))
        self.dim_ = int(self._called(one, one, None).shape[2])
        check_dim(self, self.dim_, Psi)
        return self

    def represent(self, X: Any) -> Any:
        """A matrix of numbers as it is, other objects as a 1-D array."""
        n_objects(X)
        X = read(X, matrix=True)
        if not is_sparse(X) and not is_array(X):
            try:
                values = np.asarray(X)
            except ValueError:  # rows of different lengths
                return as_objects(X)
            if values.ndim != 2 or not is_numeric(values):
                return as_objects(X)
            X = values
        if is_numeric(X) and len(X.shape) == 2:
            return check_vectors(X)
        return X

    def _block(self, R: Any, S: Any) -> Array:
        return self._called(R, S, self.dim_)

    def _called(self, R: Any, S: Any, d: int | None) -> Array:
        """f(R, S), checked to have blocks of d × d, of any size for None."""
        blocks = self.f(R, S)
        if not is_array(blocks):
            blocks = np.asarray(blocks)
        if d is None and blocks.ndim == 4:
            d = int(blocks.shape[-1])
        n = int(R.shape[0])
        m = int(S.shape[0])
        if blocks.ndim != 4 or tuple(blocks.shape) != (n, m, d, d):
            size = "" if d is None else f" with d = {d}"
            raise ValueError(
                f"`f` must return an array of shape (n, m, d, d), here ({n}, {m}, d, d){size}, "
                f"got {tuple(blocks.shape)}."
            )
        xp = array_namespace(blocks)
        if not bool(xp.all(xp.isfinite(blocks))):
            raise ValueError("`f` returned values that are not finite; a kernel is finite.")
        return xp.astype(blocks, xp.float64)

    def gram(self, R: Any, S: Any = None) -> BlockGram:
        """C ↦ (Σ_j 𝒦(x_i, z_j) c_j)_i."""
        return BlockGram(self._block, R, S, self.dim_)


@component
class Transformable(OperatorKernel):
    """[𝒦(x, z)]_pq = k(S_p x, S_q z): outputs that depend on the input through different transformations S_p.

    Output p is one function of the RKHS of k, shared by all outputs, at S_p x. The blocks are not symmetric.

    Parameters
    ----------
    kernel : Kernel
        Scalar kernel on vectors.
    transforms : sequence of d matrices or functions
        S_p as a matrix (S_p x), or as a function of X that returns as many rows; all of the same width.

    Attributes
    ----------
    kernel_ : Kernel
        The fitted scalar kernel.

    Notes
    -----
    Caponnetto, Micchelli, Pontil and Ying 2008. A fit costs as much as `BlockKernel`'s.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF
    >>> from iokr.operator_kernels import Transformable
    >>> X = np.linspace(0, 4, 9)[:, None]
    >>> Y = np.column_stack([np.sin(X[:, 0]), np.sin(X[:, 0] + 1)])  # one curve, seen with a delay
    >>> model = IOKR(Transformable(RBF(1.0), [lambda X: X, lambda X: X + 1]), alpha=1e-4).fit(X, Y)
    >>> bool(np.abs(model.predict([[1.7]]) - [[np.sin(1.7), np.sin(2.7)]]).max() < 0.01)
    True
    """

    kernel: Kernel
    transforms: Sequence[Any]

    domain = "vectors"

    @property
    def trusted(self) -> bool:  # type: ignore[override]
        """That of the scalar kernel."""
        return self._checked_kernel.trusted

    @property
    def _checked_kernel(self) -> Kernel:
        if not isinstance(self.kernel, Kernel) or not self.kernel.numeric:
            raise TypeError(f"`kernel` of Transformable must be a scalar kernel on vectors, got {self.kernel!r:.60}.")
        return self.kernel

    def fit(self, X: Any, Psi: Array | None = None) -> Transformable:
        """Fit a clone of the scalar kernel to the transformed inputs."""
        kernel = clone(self._checked_kernel)
        check_dim(self, len(self.transforms), Psi)
        self.kernel_ = kernel.fit(_rows(self.represent(X)))
        return self

    def represent(self, X: Any) -> Array:
        """S_p x for every p, shape (n, d, p')."""
        X = check_vectors(X)
        X = X.toarray() if is_sparse(X) else X
        views: list[Array] = []
        for p, transform in enumerate(self.transforms):
            view = transform(X) if callable(transform) else _product(X, transform, p)
            view = asarray_like(view, X)
            if view.ndim != 2 or view.shape[0] != X.shape[0] or (views and view.shape[1] != views[0].shape[1]):
                raise ValueError(
                    f"`transforms[{p}]` must map {X.shape[0]} rows to as many rows, of the same width for all outputs, "
                    f"got an array of shape {tuple(view.shape)}."
                )
            views.append(view)
        return array_namespace(X).stack(views, axis=1)

    def _block(self, R: Array, S: Array) -> Array:
        xp = array_namespace(R)
        n, d = R.shape[:2]
        m = S.shape[0]
        k = self.kernel_
        K = k.block(k.represent(_rows(R)), k.represent(_rows(S)))
        return xp.permute_dims(xp.reshape(K, (n, d, m, d)), (0, 2, 1, 3))

    def gram(self, R: Any, S: Any = None) -> BlockGram:
        """C ↦ (Σ_j 𝒦(x_i, z_j) c_j)_i."""
        return BlockGram(self._block, R, S, len(self.transforms))


def _rows(R: Array) -> Array:
    """(n, d, p) as (nd, p), point-major."""
    return array_namespace(R).reshape(R, (-1, R.shape[2]))


def _product(X: Array, S: Any, p: int) -> Array:
    S = asarray_like(np.asarray(S, dtype=float), X)
    if S.ndim != 2 or S.shape[1] != X.shape[1]:
        raise ValueError(
            f"`transforms[{p}]` must be a matrix with {X.shape[1]} columns, one per feature, got {tuple(S.shape)}."
        )
    return X @ S.T


def diagonal_regularization(mix: float, kernel: Kernel | None = None) -> OperatorKernel:
    """J((x, y), (x', y')) = (1 − mix) k(x, x')⟨y, y'⟩ + mix Σ_i x_i x'_i y_i y'_i: output i depends most on input i.

    The operator-valued kernel is 𝒦(x, x') = (1 − mix) k(x, x') I + mix diag(x ∘ x'), for outputs with as many
    coordinates as the inputs, such as the pixels of a damaged and of the restored image.

    Parameters
    ----------
    mix : float
        In [0, 1]: 0 is the tensor product with k, 1 a separate regression of each output on the same input.
    kernel : Kernel, default=None
        k, on vectors; None is linear, ⟨x, x'⟩.

    Returns
    -------
    kernel : BlockKernel, or OperatorSum if `kernel` is given

    Examples
    --------
    >>> import numpy as np
    >>> from iokr.operator_kernels import diagonal_regularization
    >>> kernel = diagonal_regularization(0.5).fit(np.array([[1.0, 2.0]]))
    >>> kernel.gram(kernel.represent([[1.0, 2.0]])).flat.dense()
    array([[3. , 0. ],
           [0. , 4.5]])
    """
    if not 0 <= check_number(mix, "mix") <= 1:
        raise ValueError(f"`mix` must be between 0 and 1, got {mix!r}.")
    if kernel is None:
        return BlockKernel(Diagonal(float(mix)))
    if not isinstance(kernel, Kernel):
        raise TypeError(f"`kernel` must be a scalar kernel on vectors, got {kernel!r:.60}.")
    own = BlockKernel(Diagonal(float(mix), shared=False))
    return own if mix == 1 else OperatorSum((1.0 - mix) * kernel, own)


@dataclass(eq=False)
class Diagonal(Stateful):
    """(X, Z) ↦ (1 − mix) ⟨x, z⟩ I + mix diag(x ∘ z); the second part alone unless `shared`."""

    mix: float
    shared: bool = True

    def __call__(self, X: Array, Z: Array) -> Array:
        X = X.toarray() if is_sparse(X) else X
        Z = Z.toarray() if is_sparse(Z) else Z
        Z = asarray_like(Z, X)
        xp = array_namespace(X)
        identity = eye_like(X.shape[1], X)
        blocks = (self.mix * X[:, None, :] * Z[None, :, :])[:, :, :, None] * identity
        if self.shared:
            blocks = blocks + (1 - self.mix) * gemm(X, Z)[:, :, None, None] * identity
        return xp.astype(blocks, xp.float64)

    def __repr__(self) -> str:
        return f"diagonal_regularization({self.mix:g})"
