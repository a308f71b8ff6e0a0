"""How far two right answers may be apart: bounds from size and condition, so that no test depends on the processor.

Every BLAS adds in its own order, and each order rounds differently. Solving a system of n unknowns by a backward
stable method moves the answer by at most

    c · n · eps · κ        relative to its size,

κ the condition number of what is solved and c a small constant: Cholesky and symmetric eigendecompositions have
backward errors of c · n · eps, in practice nearer to √n · eps (Higham 2002, chapters 10 and 19). Tests state the κ of
their problem, and a comparison above c = 1 is a defect, not an unlucky machine.
"""

import numpy as np
from numpy.typing import NDArray

EPS = float(np.finfo(float).eps)


def rounding(n: int, condition: float, c: float = 1.0) -> float:
    """c · n · eps · κ, at least n · eps: what `n` additions alone may do."""
    return EPS * n * max(c * condition, 1.0)


def ridge_condition(K: NDArray, alpha: float, A: NDArray | None = None) -> float:
    """κ(K ⊗ A + αI) ≤ 1 + s_max γ_max/α, for whatever part of K ⊗ A is observed."""
    size = float(np.linalg.norm(K, 2)) * (1.0 if A is None else float(np.linalg.norm(A, 2)))
    return 1.0 + size / alpha


def deformed_condition(K: NDArray, n: int, alpha: float, L: NDArray, mu: float, A: NDArray | None = None) -> float:
    """The same for the kernel that the penalty deforms, K̃ = J K (I + (μγ/α) L K)⁻¹ Jᵀ, on the n labelled points.

    A strong penalty makes K̃ nearly constant, whose norm is that of K: it is α, not μ/α, by which digits are lost.
    """
    gammas = [1.0] if A is None else [float(gamma) for gamma in np.linalg.eigvalsh(A)]
    eye = np.eye(len(K))
    return max(
        ridge_condition(np.linalg.solve((eye + mu * gamma / alpha * L @ K).T, K)[:n, :n] * gamma, alpha)
        for gamma in gammas
    )
