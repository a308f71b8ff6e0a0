"""Newton steps on the fixed point of ADMM, for small problems and small tolerances."""

from __future__ import annotations

from typing import cast

import numpy as np

from iokr._array import Array, asarray_like, to_numpy
from iokr.losses.radial import RadialLoss, distances
from iokr.solvers.iterative.reduced import CentredKernel, LabeledKernel, LabeledProblem, SpectralKernel

__all__ = ["fits", "newton"]

_LIMIT = 3000  # unknowns of the dense system


def fits(problem: LabeledProblem) -> bool:
    """Whether the dense system is small enough."""
    return bool(problem.Psi.shape[0] * problem.Psi.shape[1] <= _LIMIT)


def newton(problem: LabeledProblem, kernel: LabeledKernel, z: Array, rho: float) -> tuple[Array, Array] | None:
    """One step on Φ(z) = u − v(2u − z) = 0, u = prox(z), v = H: [(I − H)P + H(I − P)]δz = −Φ, P = ∂u/∂z.

    Returns the new z and u, or None if the system is too large or the loss has no radial derivative.
    """
    n, q = z.shape
    spectral = kernel.base if isinstance(kernel, CentredKernel) else kernel  # a rest has no such block
    if not fits(problem) or not isinstance(spectral, SpectralKernel) or not problem.loss.radial:
        return None
    constant = np.zeros((n, n))
    if problem.U is not None:
        U = to_numpy(problem.U)
        constant = U @ U.T  # of H for an intercept
    if problem.mask is not None and problem.operator.E is not None:
        return None  # the mask is not diagonal in the eigenbasis of A
    c = problem.lam / rho
    targets = problem.targets(z)
    t = rho / problem.weight
    tau, radial = (to_numpy(x) for x in cast("RadialLoss", problem.loss).shrinkage(distances(z, targets), t))
    u = problem.loss.prox(z, targets, t)
    phi = u - kernel.resolve(2 * u - z, c)[1]

    # In the eigenbasis of A, H is a block for each output, and P couples the outputs of a row.
    operator = problem.operator
    direction = to_numpy(operator.rotate(z - targets))
    length = np.sqrt((direction**2).sum(axis=1, keepdims=True))
    unit = np.divide(direction, length, out=np.zeros_like(direction), where=length > 0)
    free = np.zeros((n, q)) if problem.mask is None else 1.0 - to_numpy(problem.mask)
    system = np.zeros((q, n, q, n))
    for V, G, group in spectral.blocks:
        basis, gamma = to_numpy(V), np.broadcast_to(to_numpy(G), (n, len(group)))
        for k, j in enumerate(group):
            H = (basis * (gamma[:, k] / (gamma[:, k] + c))) @ basis.T + constant
            rest = (basis * (c / (gamma[:, k] + c))) @ basis.T - constant
            for m in range(q):
                P = (radial - tau) * unit[:, j] * unit[:, m]
                if m == j:
                    P = np.where(free[:, j] > 0, 1.0, P + tau)
                system[j, :, m, :] = rest * P + H * ((m == j) - P)
    right = -to_numpy(operator.rotate(phi)).T.ravel()
    matrix = system.reshape(n * q, n * q)
    try:
        step = np.linalg.solve(matrix, right)
    except np.linalg.LinAlgError:
        step, *_ = np.linalg.lstsq(matrix, right, rcond=None)
    z = z + operator.unrotate(asarray_like(step.reshape(q, n).T, z))
    return z, problem.loss.prox(z, problem.targets(z), t)
