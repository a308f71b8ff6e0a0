"""Scores of candidates by the model without the training data of their own group."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, blocks, take_rows, to_numpy
from iokr._validation.arguments import check_choice, check_groups
from iokr.data.candidates import CandidateSets, flatten_sets, shared_sequence
from iokr.data.objects import as_objects, keys, n_objects, rows_by_name, take
from iokr.decoders.candidates import compare_sets

__all__ = ["groups_of_sets", "scores_without_own"]

_GROUPS = 256  # whose candidates are scored together
_ROWS = 1024  # of values whose norms are computed together


def scores_without_own(
    model: Any,
    X: Any,
    candidates: Any,
    groups: Any,
    candidate_groups: Any,
    *,
    by: str = "candidates",
    cosine: bool = False,
) -> Any:
    """⟨h₋ₛ(x), ψ(y)⟩ with S the training rows of the group of y: scores without the candidate's own training data.

    A candidate that is a training output has a score that its own rows raise, while a new true output has none. Leaving
    its rows out removes that advantage. It is the exact refit without S at the same alpha, in closed form:

        h₋ₛ(x) = h(x) − Σ_{s ∈ S} β_s(x) r_s,   r_S = (Q_SS)⁻¹ c_S,   Q = (K + αI)⁻¹,   β(x) = Q k_x.

    Values estimated from the data (bandwidths, centring) are not refitted.

    Parameters
    ----------
    model : IOKR or IOKRCV, fitted
        With the square loss, a scalar kernel and complete outputs.
    X : array or sequence of m objects
    candidates : sequence of c outputs, `SharedCandidates` or `CandidateSets`
    groups : sequence of n names
        The group of each training row: the spectra of one molecule.
    candidate_groups : sequence of c names, or a list of them for each set
        The group of each candidate; None, or a name that is not among `groups`, for a candidate of no training group.
        With ``by="inputs"`` the group of each row of X.
    by : {"candidates", "inputs"}, default="candidates"
        Whose groups are left out. "inputs" is for a reverse model, which maps molecules to spectra: its inputs are the
        candidates of the question.
    cosine : bool, default=False
        Divide by ‖h₋ₛ(x)‖, so that scores are comparable across inputs of a reverse model.

    Returns
    -------
    scores : array of shape (m, c), or a list of m arrays for `CandidateSets`

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import IOKR
    >>> from iokr.kernels import RBF, Delta
    >>> from iokr.model_selection import scores_without_own
    >>> X, y = np.array([[0.0], [0.1], [1.0]]), ["a", "a", "b"]
    >>> model = IOKR(RBF(1.0), output_kernel=Delta(), alpha=0.1).fit(X, y)
    >>> candidates = ["a", "b", "c"]
    >>> model.scores([[0.5]], candidates).round(2)
    array([[0.6 , 0.48, 0.  ]])
    >>> np.abs(scores_without_own(model, [[0.5]], candidates, groups=y, candidate_groups=candidates)).round(2)
    array([[0., 0., 0.]])
    """
    check_choice(by, "by", ("candidates", "inputs"))
    check_choice(cosine, "cosine", (True, False))
    refit = _GroupRefit(model, groups)
    values = refit.at(X)
    m = int(values.H.shape[0])
    if by == "inputs":
        values = values.without(_group_names(candidate_groups, m, "X"))
        return values.scores(candidates, cosine)
    if isinstance(candidates, CandidateSets):
        Y, starts = flatten_sets(candidates, m, refit.embedding)
        names = groups_of_sets(candidate_groups, starts)
        owner = np.repeat(np.arange(m), np.diff(starts))
        plain = [to_numpy(s) for s in compare_sets(values.H, refit.embedding, candidates, by="score")]
        flat = values.corrected(np.concatenate(plain)[None, :], Y, names, owner, cosine)[0]
        return [values.cast(flat[a:b]) for a, b in pairwise(starts)]
    Y = shared_sequence(candidates, refit.embedding)
    names = _group_names(candidate_groups, n_objects(Y), "`candidates`")
    inner = to_numpy(refit.embedding.inner(values.H, refit.embedding.represent(Y, "candidates")))
    return values.cast(values.corrected(inner, Y, names, None, cosine))


class _GroupRefit:
    """A fitted model, and the residuals r_S that take a group S of its rows out of it."""

    def __init__(self, model: Any, groups: Any) -> None:
        wanted = ("weights", "loo_decision_function", "decision_function", "embedding_", "targets_")
        if isinstance(model, type) or not all(hasattr(model, name) for name in wanted):
            raise TypeError(f"`model` must be a fitted `IOKR` or `IOKRCV`, got {model!r:.60}.")
        self.model = model
        self.embedding = model.embedding_
        self.groups = check_groups(groups, model.targets_.n, rows="the model")
        if getattr(model.kernel_, "spans", False):
            raise ValueError("Rows cannot be left out with a covariance operator, which mixes the outputs; use k·I.")
        probe = asarray_like(np.zeros((1, model.targets_.n)), model.solution_.C)
        if self.embedding.span(probe) is not probe:
            raise ValueError(f"{self.embedding!r} projects the outputs; use `Implicit()` or `Eigen()`.")
        weight = model.targets_.weight
        names = enumerate(keys(groups))
        labeled = [(i, name) for i, name in names if weight is None or weight[i] > 0]  # others have no residual
        self.rows = rows_by_name(labeled)
        self._all_residuals: np.ndarray | None = None

    def residuals(self, rows: np.ndarray) -> np.ndarray:
        """r_S = ψ_S − h₋ₛ(x_S), (|S|, q), in the coordinates of the embedding."""
        model = self.model
        if self.embedding.is_identity and model.manifold is None:  # C is Q itself
            C = to_numpy(take_rows(model.solution_.C, rows))
            return np.asarray(np.linalg.solve(C[:, rows], C))
        if self._all_residuals is None:
            loo = to_numpy(model.loo_decision_function(groups=self.groups)).astype(float)
            Psi = model.targets_.Psi
            targets = np.eye(len(loo)) if Psi is None else to_numpy(Psi)
            self._all_residuals = targets - loo
        return np.asarray(self._all_residuals[rows])

    def at(self, X: Any) -> _Values:
        """β and h at new inputs."""
        B = self.model.weights(X)
        H = B if self.embedding.is_identity else self.model.decision_function(X)
        return _Values(self, to_numpy(B).astype(float), H, H.dtype)


class _Values:
    """β(x) and h(x) of m inputs, and their scores with groups left out."""

    def __init__(self, refit: _GroupRefit, B: np.ndarray, H: Array, dtype: Any) -> None:
        xp = array_namespace(H)
        self.refit = refit
        self.B = B
        self.H = xp.astype(H, xp.float64, copy=False)
        self.dtype = dtype

    def cast(self, values: Any) -> Array:
        """In the library, the device and the precision of h."""
        found = asarray_like(values, self.H)
        return array_namespace(found).astype(found, self.dtype, copy=False)

    def without(self, names: list[Hashable]) -> _Values:
        """h₋ₛ(x) of every input, S the group of the input."""
        H = to_numpy(self.H).copy()
        for name, inputs in self._trained(names).items():
            S = self.refit.rows[name]
            H[inputs] -= self.B[np.ix_(inputs, S)] @ self.refit.residuals(S)
        return _Values(self.refit, self.B, asarray_like(H, self.H), self.dtype)

    def scores(self, candidates: Any, cosine: bool) -> Any:
        """⟨h, ψ(y)⟩ of all candidates, or of the set of each input, divided by ‖h‖ if `cosine`."""
        E = self.refit.embedding
        norms = self._norms(self.H, cosine)
        if isinstance(candidates, CandidateSets):
            found = compare_sets(self.H, E, candidates, by="score")
            return [self.cast(to_numpy(s) / norm) for s, norm in zip(found, norms, strict=True)]
        S = E.represent(shared_sequence(candidates, E), "candidates")
        return self.cast(to_numpy(E.inner(self.H, S)) / norms[:, None])

    def _norms(self, H: Array, cosine: bool) -> np.ndarray:
        """‖h‖, with 1 for h = 0, whose scores are 0; all 1 without `cosine`."""
        if not cosine:
            return np.ones(int(H.shape[0]))
        parts = [to_numpy(self.refit.embedding.sq_norms_of(H[rows, :])) for rows in blocks(int(H.shape[0]), _ROWS)]
        norms = np.sqrt(np.clip(np.concatenate(parts), 0.0, None))
        return np.asarray(np.where(norms > 0, norms, 1.0))

    def corrected(
        self, plain: np.ndarray, Y: Any, names: list[Hashable], owner: np.ndarray | None, cosine: bool
    ) -> np.ndarray:
        """Scores with the rows of each candidate's group left out, from the scores of the model, `plain`.

        They have shape (m, c); with `owner`, the input of each candidate, shape (1, c).
        """
        E = self.refit.embedding
        norms = self._norms(self.H, cosine)
        values: np.ndarray = plain / (norms[:, None] if owner is None else norms[owner][None, :])
        for block, columns in self._training_groups(names):
            residuals = [self.refit.residuals(self.refit.rows[name]) for name in block]
            S = E.represent(take(Y, np.concatenate(columns)), "candidates")
            inner = to_numpy(E.inner(asarray_like(np.concatenate(residuals), self.H), S))  # ⟨r_s, ψ(y)⟩
            top = left = 0
            for name, r, own in zip(block, residuals, columns, strict=True):
                T = inner[top : top + len(r), left : left + len(own)]
                top += len(r)
                left += len(own)
                inputs = np.arange(len(self.B)) if owner is None else owner[own]
                B = self.B[np.ix_(inputs, self.refit.rows[name])]
                # ‖h₋ₛ(x)‖ and ⟨h₋ₛ(x), ψ(y)⟩ = ⟨h(x), ψ(y)⟩ − Σ_s β_s(x) ⟨r_s, ψ(y)⟩
                if owner is None:
                    moved = plain[:, own] - B @ T
                    values[:, own] = moved / self._moved_norms(inputs, B, r, cosine)[:, None]
                else:
                    moved = plain[0, own] - np.einsum("ij,ji->i", B, T)
                    values[0, own] = moved / self._moved_norms(inputs, B, r, cosine)
        return values

    def _moved_norms(self, inputs: np.ndarray, B: np.ndarray, r: np.ndarray, cosine: bool) -> np.ndarray:
        """‖h₋ₛ(x)‖ of some inputs."""
        if not cosine:
            return np.ones(len(inputs))
        return self._norms(asarray_like(to_numpy(self.H)[inputs] - B @ r, self.H), cosine)

    def _training_groups(self, names: list[Hashable]) -> Iterator[tuple[list[Hashable], list[np.ndarray]]]:
        """The training groups among the candidates, some at a time, each with its candidates."""
        columns = self._trained(names)
        groups = list(columns)
        for block in blocks(len(groups), _GROUPS):
            yield groups[block], [columns[name] for name in groups[block]]

    def _trained(self, names: list[Hashable]) -> dict[Hashable, np.ndarray]:
        """The numbers of each name that is a training group."""
        return rows_by_name((i, name) for i, name in enumerate(names) if name in self.refit.rows)


def _group_names(given: Any, count: int, whose: str) -> list[Hashable]:
    """A name, or None, for each of `count` objects."""
    found = n_objects(given, "candidate_groups")
    if found != count:
        raise ValueError(f"`candidate_groups` has {found} entries but {whose} has {count} objects; it needs one each.")
    return keys(given)


def groups_of_sets(given: Any, starts: np.ndarray) -> list[Hashable]:
    """A name, or None, for each candidate of each set."""
    found = n_objects(given, "candidate_groups")
    if found != len(starts) - 1:
        raise ValueError(f"`candidate_groups` has {found} lists but there are {len(starts) - 1} sets; give one each.")
    names: list[Hashable] = []
    for i, (part, (a, b)) in enumerate(zip(as_objects(given), pairwise(starts), strict=True)):
        names += _group_names(part, int(b - a), f"candidate set {i}")
    return names
