"""Baselines for identification: library search, ridge regression of each fingerprint bit, precursor mass."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import KW_ONLY
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import to_numpy
from iokr._component import component
from iokr._validation.arguments import check_choice, check_groups, check_integer, check_same_length
from iokr.chem.similarities import modified_cosine
from iokr.chem.spectra import read_spectra
from iokr.data.candidates import CandidateSets, flatten_sets
from iokr.data.objects import keys, n_objects, rows_by_name, take
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.vectors import Linear

__all__ = ["BitwiseRidge", "LibrarySearch", "mass_nearness"]

_NEWTON_STEPS = 25
_NEWTON_TOLERANCE = 1e-6
_SLOPE_PENALTY = 1e-3  # of (a − 1)²/2
_LARGEST_STEPS = (10.0, 5.0)  # of the slope and of the offset: longer steps leave the basin of the minimum


class _Baseline(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Training spectra with the molecule of each, compared with candidates that may be among these molecules."""

    def _keep(self, X: Any, y: Any, groups: Any) -> np.ndarray:
        """Keep the rows of each molecule; the number of the molecule of each row."""
        n = check_same_length(X, y)
        names = keys(y) if groups is None else keys(groups)
        self.rows_ = rows_by_name(enumerate(names))
        return check_groups(names, n)

    def _queries(self, X: Any, candidates: Any, groups: Any, own: str) -> Iterator[tuple[Any, list[np.ndarray]]]:
        """For each spectrum its candidates, and the training rows that are left out for each candidate."""
        check_is_fitted(self)
        check_choice(own, "own", ("leave-out", "count"))
        if not isinstance(candidates, CandidateSets):
            raise TypeError(f"`candidates` must be `CandidateSets`, a set for each spectrum, got {candidates!r:.60}.")
        Y, starts = flatten_sets(candidates, n_objects(X))
        names = keys(Y) if groups is None else [name for some in groups for name in keys(some)]
        if len(names) != starts[-1]:
            raise ValueError(f"`candidate_groups` has {len(names)} names for {starts[-1]} candidates; give one each.")
        nothing = np.empty(0, dtype=int)
        rows = [self.rows_.get(name, nothing) if own == "leave-out" else nothing for name in names]
        for a, b in pairwise(starts):
            yield take(Y, np.arange(a, b)), rows[a:b]


@component
class LibrarySearch(_Baseline):
    """b(x, y) = Σ_{i ∈ N(x)} c_i t(y, y_i) / Σ_{i ∈ N(x)} c_i, N(x) the spectra of the largest similarity c to x.

    The library is searched by spectrum, and candidates are ranked by the similarity of their molecules to the hits.
    With `own="leave-out"` the neighbours of x are spectra of other molecules than y.

    Parameters
    ----------
    similarity : callable, default=None
        (X, Z) ↦ similarities (n, m); None is `iokr.chem.modified_cosine`.
    n_neighbors : int, default=10
    output_kernel : Kernel, default=None
        t; None is `Tanimoto()`.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import CandidateSets
    >>> from iokr.apps.msms.baselines import LibrarySearch
    >>> library = [([77.0, 105.0], [1.0, 1.0], 122.0), ([43.0, 58.0], [1.0, 1.0], 59.0)]
    >>> search = LibrarySearch(n_neighbors=1).fit(library, np.array([[1, 1, 0], [0, 0, 1]]))
    >>> sets = CandidateSets([np.array([[1, 0, 0], [0, 1, 1]])])
    >>> search.scores([([77.0, 91.0], [1.0, 0.5], 108.0)], sets)
    [array([0.5       , 0.33333333])]
    """

    similarity: Any = None
    _: KW_ONLY
    n_neighbors: int = 10
    output_kernel: Any = None

    def fit(self, X: Any, y: Any, groups: Any = None) -> LibrarySearch:
        """Store the library: spectra, their molecules, and the names of the molecules in `groups`."""
        check_integer(self.n_neighbors, "n_neighbors", minimum=1)
        if self.similarity is not None and not callable(self.similarity):
            raise TypeError(f"`similarity` must be a function of two lists of spectra, got {self.similarity!r:.60}.")
        self._keep(X, y, groups)
        self.X_fit_ = X
        self.output_kernel_ = clone(self.output_kernel or Tanimoto()).fit(y)
        self.S_fit_ = self.output_kernel_.represent(y)
        return self

    def scores(
        self, X: Any, candidates: Any, candidate_groups: Any = None, *, own: str = "leave-out"
    ) -> list[np.ndarray]:
        """b(x, y) of each candidate of each x; arguments as in `Identification.scores`."""
        queries = list(self._queries(X, candidates, candidate_groups, own))
        similarity = modified_cosine if self.similarity is None else self.similarity
        C = np.clip(to_numpy(similarity(X, self.X_fit_)), 0.0, None)
        kernel = self.output_kernel_
        found = []
        for c, (Y, left_out) in zip(C, queries, strict=True):
            # enough neighbours, for every set of left-out rows
            n = self.n_neighbors + max(len(rows) for rows in left_out)
            order = np.argsort(-c, kind="stable")[:n]
            t = to_numpy(kernel.block(kernel.represent(Y), self.S_fit_[order]))
            values = np.zeros(len(left_out))
            for j, rows in enumerate(left_out):
                near = np.flatnonzero(~np.isin(order, rows))[: self.n_neighbors]
                weights = c[order[near]]
                if weights.sum() > 0:
                    values[j] = weights @ t[j, near] / weights.sum()
            found.append(values)
        return found


def mass_nearness(X: Any, Z: Any = None) -> np.ndarray:
    """1 / (1 + |M_x − M_z|), M the m/z of the precursors: with one neighbour, a library search by mass alone.

    Examples
    --------
    >>> from iokr.apps.msms.baselines import mass_nearness
    >>> mass_nearness([([77.0], [1.0], 122.0)], [([43.0], [1.0], 121.0)])
    array([[0.5]])
    """
    ions = read_spectra(X).precursor_mz
    others = ions if Z is None else read_spectra(Z).precursor_mz
    return np.asarray(np.nan_to_num(1 / (1 + np.abs(ions[:, None] - others[None, :]))))


@component
class BitwiseRidge(_Baseline):
    """Σ_b log p_b(y_b), p_b = σ(a_b z_b(x) + c_b), z_b kernel ridge regression of bit b: bits predicted one by one.

    The sigmoid of each bit is fitted to leave-one-molecule-out values, as Platt's.

    Parameters
    ----------
    kernel : Kernel
        On the spectra.
    alphas : sequence of float
        Chosen by leave-one-molecule-out on `selection` rows.
    selection : int, default=1500

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import CandidateSets
    >>> from iokr.kernels import RBF
    >>> from iokr.apps.msms.baselines import BitwiseRidge
    >>> X = np.arange(6.0)[:, None]
    >>> Y = (X < 3).astype(int) * [1, 0] + (X >= 3) * [0, 1]
    >>> ridge = BitwiseRidge(RBF(0.5)).fit(X, Y, groups=range(6))
    >>> scores = ridge.scores([[0.5]], CandidateSets([np.array([[1, 0], [0, 1]])]))
    >>> bool(scores[0][0] > scores[0][1])
    True

    References
    ----------
    Heinonen, Shen, Zamboni, Rousu, "Metabolite identification and molecular fingerprint prediction through machine
    learning", Bioinformatics 28, 2012; the score after Dührkop et al., PNAS 112, 2015 (without its covariances).
    """

    kernel: Any = None
    _: KW_ONLY
    alphas: Sequence[float] = (0.01, 0.03, 0.1, 0.3, 1.0, 3.0)
    selection: int = 1500

    def fit(self, X: Any, y: Any, groups: Any = None) -> BitwiseRidge:
        """Fit ridge regression of all bits, then a sigmoid for each bit."""
        molecule = self._keep(X, y, groups)
        bits = np.asarray(y, dtype=float)
        n = len(bits)
        chosen = np.unique(np.linspace(0, n - 1, min(n, self.selection)).astype(int))
        search = IOKRCV(self.kernel, output_kernel=Linear(), alphas=self.alphas)
        alpha = search.fit(take(X, chosen), bits[chosen], groups=molecule[chosen]).alpha_
        self.model_ = IOKR(self.kernel, output_kernel=Linear(), alpha=alpha).fit(X, bits)
        self.bits_ = bits
        left_out = to_numpy(self.model_.loo_decision_function(groups=molecule)) @ bits
        self.slope_, self.offset_ = _sigmoids(left_out, bits)
        return self

    def scores(
        self, X: Any, candidates: Any, candidate_groups: Any = None, *, own: str = "leave-out"
    ) -> list[np.ndarray]:
        """Σ_b log p_b(y_b) of each candidate of each x; arguments as in `Identification.scores`."""
        queries = list(self._queries(X, candidates, candidate_groups, own))
        B = to_numpy(self.model_.decision_function(X))
        Q = to_numpy(self.model_.solution_.C)
        found = []
        for beta, z, (Y, left_out) in zip(B, B @ self.bits_, queries, strict=True):
            y = np.asarray(Y, dtype=float)
            values = self._log_likelihood(y, z)
            for j, rows in enumerate(left_out):
                if len(rows):
                    # z without the rows S of the molecule: z − β_S Q_SS⁻¹ (Q y)_S
                    residuals = np.linalg.solve(Q[np.ix_(rows, rows)], Q[rows] @ self.bits_)
                    values[j] = self._log_likelihood(y[j], z - beta[rows] @ residuals)
            found.append(values)
        return found

    def _log_likelihood(self, y: np.ndarray, z: np.ndarray) -> Any:
        """Σ_b log p_b(y_b) = Σ_b y_b l_b + log(1 − p_b), of the logits l_b = log p_b/(1 − p_b)."""
        logits = self.slope_ * z + self.offset_
        return y @ logits - float(np.logaddexp(0.0, logits).sum())


def _sigmoids(Z: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(a, c) of σ(a z + c) for every column, by Newton's method on the log loss with Platt's targets."""
    ones = Y.sum(axis=0)
    high = (ones + 1) / (ones + 2)
    low = 1 / (len(Y) - ones + 2)
    T = np.where(Y > 0, high, low)
    a = np.ones(Y.shape[1])
    c = np.log((ones + 1) / (len(Y) - ones + 1))
    for _ in range(_NEWTON_STEPS):
        P = 1 / (1 + np.exp(-np.clip(a * Z + c, -500, 500)))
        W = P * (1 - P) + 1e-12
        D = P - T
        gradient_a = (D * Z).sum(axis=0) + _SLOPE_PENALTY * (a - 1)
        gradient_c = D.sum(axis=0)
        # the Hessian [[aa, ac], [ac, cc]] of each column, and its determinant
        aa = (W * Z * Z).sum(axis=0) + _SLOPE_PENALTY
        ac = (W * Z).sum(axis=0)
        cc = W.sum(axis=0) + 1e-9
        determinant = aa * cc - ac**2
        step_a = (cc * gradient_a - ac * gradient_c) / determinant
        step_c = (aa * gradient_c - ac * gradient_a) / determinant
        damping = np.maximum(np.abs(step_a) / _LARGEST_STEPS[0], np.abs(step_c) / _LARGEST_STEPS[1]).clip(1.0)
        a = a - step_a / damping
        c = c - step_c / damping
        if max(np.abs(step_a).max(), np.abs(step_c).max()) < _NEWTON_TOLERANCE:
            break
    return a, c
