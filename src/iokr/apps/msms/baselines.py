"""What molecules of spectra were guessed by before: library search, fingerprints bit by bit, precursor mass, chance."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import KW_ONLY
from itertools import pairwise
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import to_numpy
from iokr._component import component
from iokr._validation.arguments import check_choice, check_groups, check_integer, check_same_length
from iokr.chem.spectra import read_spectra
from iokr.data.candidates import CandidateSets, flatten_sets
from iokr.data.objects import keys, n_objects, take
from iokr.estimators.regression.cv import IOKRCV
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.structured.sets import Tanimoto
from iokr.kernels.vectors import Linear

__all__ = ["BitwiseRidge", "LibrarySearch", "mass_nearness"]

_STEPS = 25  # of Newton's method for the sigmoids, at most


class _Rival(BaseEstimator):  # type: ignore[misc]  # scikit-learn is untyped
    """Training rows with the molecule of each, and sets of candidates with theirs."""

    def _keep(self, X: Any, y: Any, groups: Any) -> None:
        n = check_same_length(X, y)
        names = keys(y) if groups is None else keys(groups)
        check_groups(names, n)
        self.rows_: dict[Hashable, np.ndarray] = {}
        for i, name in enumerate(names):
            self.rows_[name] = np.append(self.rows_.get(name, np.empty(0, dtype=int)), i)

    def _own(self, given: Any, starts: np.ndarray, Y: Any) -> list[np.ndarray]:
        """The training rows of each candidate's molecule; none for those that are not known."""
        names = keys(Y) if given is None else [name for some in given for name in keys(some)]
        if len(names) != starts[-1]:
            raise ValueError(f"`candidate_groups` has {len(names)} names for {starts[-1]} candidates; give one each.")
        nothing = np.empty(0, dtype=int)
        return [self.rows_.get(name, nothing) for name in names]


def _check_sets(candidates: Any, m: int) -> tuple[Any, np.ndarray]:
    if not isinstance(candidates, CandidateSets):
        raise TypeError(f"`candidates` must be `CandidateSets`, a set for each spectrum, got {candidates!r:.60}.")
    return flatten_sets(candidates, m)


@component
class LibrarySearch(_Rival):
    """b(x, y) = Σ_{i ∈ N(x)} c_i t(y, y_i) / Σ_{i ∈ N(x)} c_i, N(x) the most similar training spectra, c how similar.

    The library is searched by spectrum, and candidates are ranked by the likeness of their molecules to the hits. With
    `own="leave-out"` the neighbours of x are those of other molecules than y.

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
    >>> rival = LibrarySearch(n_neighbors=1).fit(library, np.array([[1, 1, 0], [0, 0, 1]]))
    >>> sets = CandidateSets([np.array([[1, 0, 0], [0, 1, 1]])])
    >>> rival.scores([([77.0, 91.0], [1.0, 0.5], 108.0)], sets)
    [array([0.5       , 0.33333333])]
    """

    similarity: Any = None
    _: KW_ONLY
    n_neighbors: int = 10
    output_kernel: Any = None

    def fit(self, X: Any, y: Any, groups: Any = None) -> LibrarySearch:
        """Keep the library: spectra, their molecules, and which spectra are of one."""
        check_integer(self.n_neighbors, "n_neighbors", minimum=1)
        if self.similarity is not None and not callable(self.similarity):
            raise TypeError(f"`similarity` must be a function of two lists of spectra, got {self.similarity!r:.60}.")
        self._keep(X, y, groups)
        self.X_fit_, self.output_kernel_ = X, clone(self.output_kernel or Tanimoto()).fit(y)
        self.S_fit_ = self.output_kernel_.represent(y)
        return self

    def scores(
        self, X: Any, candidates: Any, candidate_groups: Any = None, *, own: str = "leave-out"
    ) -> list[np.ndarray]:
        """b(x, y) of each candidate of each x; arguments as in `Identification.scores`."""
        check_is_fitted(self)
        check_choice(own, "own", ("leave-out", "count"))
        Y, starts = _check_sets(candidates, n_objects(X))
        mine = self._own(candidate_groups, starts, Y)
        similar = self.similarity
        if similar is None:
            from iokr.chem import modified_cosine as similar
        C = np.clip(to_numpy(similar(X, self.X_fit_)), 0.0, None)
        found = []
        for i, (a, b) in enumerate(pairwise(starts)):
            rows = [mine[j] if own == "leave-out" else np.empty(0, dtype=int) for j in range(a, b)]
            most = self.n_neighbors + max(len(r) for r in rows)
            order = np.argsort(-C[i], kind="stable")[:most]
            t = to_numpy(
                self.output_kernel_.block(self.output_kernel_.represent(take(Y, np.arange(a, b))), self.S_fit_[order])
            )
            values = np.empty(b - a)
            for j, out in enumerate(rows):
                near = (
                    np.flatnonzero(~np.isin(order, out))[: self.n_neighbors]
                    if len(out)
                    else np.arange(self.n_neighbors)
                )
                near = near[near < len(order)]
                c = C[i, order[near]]
                values[j] = float(c @ t[j, near] / c.sum()) if c.sum() > 0 else 0.0
            found.append(values)
        return found


def mass_nearness(X: Any, Z: Any = None) -> np.ndarray:
    """1 / (1 + |M_x − M_z|), M the precursors' m/z: with one neighbour, a library searched by mass alone.

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
class BitwiseRidge(_Rival):
    """Σ_b log p_b(y_b), p_b = σ(a_b z_b(x) + c_b), z_b kernel ridge of bit b: fingerprints predicted one by one.

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
    >>> rival = BitwiseRidge(RBF(0.5)).fit(X, Y, groups=range(6))
    >>> scores = rival.scores([[0.5]], CandidateSets([np.array([[1, 0], [0, 1]])]))
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
        """Ridge for all bits, then a sigmoid for each."""
        self._keep(X, y, groups)
        bits = np.asarray(y, dtype=float)
        n = len(bits)
        together = np.empty(n, dtype=int)
        for g, rows in enumerate(self.rows_.values()):
            together[rows] = g
        some = np.unique(np.linspace(0, n - 1, min(n, self.selection)).astype(int))
        search = IOKRCV(self.kernel, output_kernel=Linear(), alphas=self.alphas)
        alpha = search.fit(take(X, some), bits[some], groups=together[some]).alpha_
        self.model_ = IOKR(self.kernel, output_kernel=Linear(), alpha=alpha).fit(X, bits)
        self.bits_ = bits
        left_out = to_numpy(self.model_.loo_decision_function(groups=together)) @ bits
        self.slope_, self.offset_ = _sigmoids(left_out, bits)
        return self

    def scores(
        self, X: Any, candidates: Any, candidate_groups: Any = None, *, own: str = "leave-out"
    ) -> list[np.ndarray]:
        """Σ_b log p_b(y_b) of each candidate of each x; arguments as in `Identification.scores`."""
        check_is_fitted(self)
        check_choice(own, "own", ("leave-out", "count"))
        Y, starts = _check_sets(candidates, n_objects(X))
        mine = self._own(candidate_groups, starts, Y)
        B, Q = to_numpy(self.model_.decision_function(X)), to_numpy(self.model_.solution_.C)
        Z = B @ self.bits_
        found = []
        for i, (a, b) in enumerate(pairwise(starts)):
            y = np.asarray(take(Y, np.arange(a, b)), dtype=float)
            base = self._logits(Z[i])
            values = y @ base + self._empty(base)
            for j, rows in enumerate(mine[a:b]):
                if own == "leave-out" and len(rows):
                    r = np.linalg.solve(Q[np.ix_(rows, rows)], Q[rows] @ self.bits_)
                    moved = self._logits(Z[i] - B[i, rows] @ r)
                    values[j] = y[j] @ moved + self._empty(moved)
            found.append(values)
        return found

    def _logits(self, z: np.ndarray) -> np.ndarray:
        """log p/(1 − p) of every bit."""
        return np.asarray(self.slope_ * z + self.offset_)

    def _empty(self, logits: np.ndarray) -> float:
        """Σ_b log(1 − p_b)."""
        return -float(np.logaddexp(0.0, logits).sum())


def _sigmoids(Z: np.ndarray, Y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(a, c) of σ(a z + c) for every column, by Newton's method on the log loss with Platt's targets."""
    ones = Y.sum(axis=0)
    high, low = (ones + 1) / (ones + 2), 1 / (len(Y) - ones + 2)
    T = np.where(Y > 0, high, low)
    a, c = np.ones(Y.shape[1]), np.log((ones + 1) / (len(Y) - ones + 1))
    for _ in range(_STEPS):
        P = 1 / (1 + np.exp(-np.clip(a * Z + c, -500, 500)))
        W, D = P * (1 - P) + 1e-12, P - T
        ga, gc = (D * Z).sum(axis=0) + 1e-3 * (a - 1), D.sum(axis=0)
        haa, hac, hcc = (W * Z * Z).sum(axis=0) + 1e-3, (W * Z).sum(axis=0), W.sum(axis=0) + 1e-9
        det = haa * hcc - hac**2
        da, dc = (hcc * ga - hac * gc) / det, (haa * gc - hac * ga) / det
        size = np.maximum(np.abs(da) / 10, np.abs(dc) / 5).clip(1.0)  # long steps leave the basin
        a, c = a - da / size, c - dc / size
        if max(np.abs(da).max(), np.abs(dc).max()) < 1e-6:
            break
    return a, c
