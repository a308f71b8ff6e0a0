"""Scores of candidates that are training outputs themselves, by the model that never saw them."""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from iokr._array import Array, array_namespace, asarray_like, blocks, to_numpy
from iokr._validation.arguments import check_choice, check_groups
from iokr.data.candidates import CandidateSets, flatten_sets, shared_sequence
from iokr.data.objects import as_objects, keys, n_objects, take
from iokr.decoders.candidates import compare_sets

__all__ = ["groups_of_sets", "scores_without_own"]

_GROUPS = 256  # whose candidates are evaluated together
_ROWS = 1024  # of values whose norms are taken together


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
    """⟨h₋ₛ(x), ψ(y)⟩ with S the training rows of the group of y: no candidate votes for itself.

    A candidate that is a training output has a score that its own rows raise, while the truth, if it is new, has none.
    Leaving its rows out takes that advantage away. It is the exact refit without S at the same alpha, with no refit:

        h₋ₛ(x) = h(x) − Σ_{s ∈ S} β_s(x) r_s,   r_S = (Q_SS)⁻¹ c_S,   Q = (K + αI)⁻¹,   β(x) = Q k_x.

    What is estimated from the data (bandwidths, centring) stays as it was.

    Parameters
    ----------
    model : IOKR or IOKRCV, fitted
        With the square loss, a scalar kernel and complete outputs.
    X : array or sequence of m objects
    candidates : sequence of c outputs, `SharedCandidates` or `CandidateSets`
    groups : sequence of n names
        Which training rows belong together: the spectra of one molecule.
    candidate_groups : sequence of c names, or a list of them for each set
        The group of each candidate; None, or a name that is not among `groups`, is no training group. With
        ``by="inputs"`` one for each row of X.
    by : {"candidates", "inputs"}, default="candidates"
        Whose groups leave. "inputs" is for the reverse model, which maps molecules to spectra: there the candidates of
        the question are the inputs of the model.
    cosine : bool, default=False
        Divide by ‖h₋ₛ(x)‖. Across the inputs of a reverse model this takes their length out: the distance favours
        bland ones and the score the others.

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
    left_out = _LeftOut(model, groups)
    own = left_out.at(X)
    m = int(own.H.shape[0])
    sets = candidates if isinstance(candidates, CandidateSets) else None
    if by == "inputs":
        own = own.moved(_groups_of(candidate_groups, m, "X"))
        return own.answer(candidates, sets, cosine)
    if sets is not None:
        Y, starts = flatten_sets(sets, m, left_out.embedding)
        given = groups_of_sets(candidate_groups, starts)
        owner = np.repeat(np.arange(m), np.diff(starts))
        flat = np.concatenate([to_numpy(s) for s in compare_sets(own.H, left_out.embedding, sets, by="score")])
        values = own.corrected(flat[None, :], Y, given, owner, cosine)[0]
        return [own.cast(values[a:b]) for a, b in pairwise(starts)]
    Y = shared_sequence(candidates, left_out.embedding)
    given = _groups_of(candidate_groups, n_objects(Y), "`candidates`")
    plain = to_numpy(left_out.embedding.inner(own.H, left_out.embedding.represent(Y, "candidates")))
    return own.cast(own.corrected(plain, Y, given, None, cosine))


class _LeftOut:
    """A fitted model, and the residuals of a group of its rows when the group leaves."""

    def __init__(self, model: Any, groups: Any) -> None:
        wanted = ("weights", "loo_decision_function", "decision_function", "embedding_", "targets_")
        if isinstance(model, type) or not all(hasattr(model, name) for name in wanted):
            raise TypeError(f"`model` must be a fitted `IOKR` or `IOKRCV`, got {model!r:.60}.")
        self.model, self.embedding = model, model.embedding_
        weight, self.groups = model.targets_.weight, check_groups(groups, model.targets_.n, rows="the model")
        if getattr(model.kernel_, "spans", False):
            raise ValueError("A covariance operator mixes the outputs, so rows cannot be left out of it; use k·I.")
        probe = asarray_like(np.zeros((1, model.targets_.n)), model.solution_.C)
        if self.embedding.span(probe) is not probe:
            raise ValueError(f"{self.embedding!r} projects the outputs; use `Implicit()` or `Eigen()`.")
        rows: dict[Hashable, list[int]] = {}
        for i, name in enumerate(keys(groups)):
            if weight is None or weight[i] > 0:  # the others have no label that could leave
                rows.setdefault(name, []).append(i)
        self.rows = {name: np.array(some) for name, some in rows.items()}
        self._all: np.ndarray | None = None

    def residuals(self, rows: np.ndarray) -> np.ndarray:
        """r_S = ψ_S − h₋ₛ(x_S), (|S|, q), in the coordinates of the embedding."""
        model = self.model
        if self.embedding.is_identity and model.manifold is None:  # C is Q itself
            C = to_numpy(model.solution_.C[int(rows[0]) : int(rows[0]) + 1, :]) if len(rows) == 1 else None
            C = to_numpy(model.solution_.C)[rows] if C is None else C
            return np.asarray(np.linalg.solve(C[:, rows], C))
        if self._all is None:
            loo = to_numpy(model.loo_decision_function(groups=self.groups)).astype(float)
            Psi = model.targets_.Psi
            self._all = (np.eye(len(loo)) if Psi is None else to_numpy(Psi)) - loo
        return np.asarray(self._all[rows])

    def at(self, X: Any) -> _Values:
        """β and h at new inputs."""
        B = self.model.weights(X)
        return _Values(
            self, to_numpy(B).astype(float), B if self.embedding.is_identity else self.model.decision_function(X)
        )


class _Values:
    """β(x) and h(x) of m inputs, and both with groups left out."""

    def __init__(self, left_out: _LeftOut, B: np.ndarray, H: Array) -> None:
        self.of, self.B, self.dtype = left_out, B, H.dtype
        xp = array_namespace(H)
        self.H = xp.astype(H, xp.float64, copy=False)

    def cast(self, values: Any) -> Array:
        """In the library, the device and the precision of h."""
        found = asarray_like(values, self.H)
        return array_namespace(found).astype(found, self.dtype, copy=False)

    def moved(self, given: list[Hashable]) -> _Values:
        """h₋ₛ(x) of every input, S its own group."""
        H = to_numpy(self.H).copy()
        inputs: dict[Hashable, list[int]] = {}
        for i, name in enumerate(given):
            if name in self.of.rows:
                inputs.setdefault(name, []).append(i)
        for name, some in inputs.items():
            S = self.of.rows[name]
            H[some] -= self.B[np.ix_(np.array(some), S)] @ self.of.residuals(S)
        found = _Values(self.of, self.B, asarray_like(H, self.H))
        found.dtype = self.dtype
        return found

    def answer(self, candidates: Any, sets: CandidateSets | None, cosine: bool) -> Any:
        """⟨h, ψ(y)⟩ of all candidates, or of each input's own, over ‖h‖ if asked for."""
        E = self.of.embedding
        norms = self._norms(self.H) if cosine else np.ones(int(self.H.shape[0]))
        if sets is not None:
            found = compare_sets(self.H, E, sets, by="score")
            return [self.cast(to_numpy(s) / norm) for s, norm in zip(found, norms, strict=True)]
        S = E.represent(shared_sequence(candidates, E), "candidates")
        return self.cast(to_numpy(E.inner(self.H, S)) / norms[:, None])

    def _norms(self, H: Array) -> np.ndarray:
        """‖h‖, and one where h = 0, whose scores are 0 anyway."""
        parts = [to_numpy(self.of.embedding.sq_norms_of(H[rows, :])) for rows in blocks(int(H.shape[0]), _ROWS)]
        norms = np.sqrt(np.clip(np.concatenate(parts), 0.0, None))
        return np.where(norms > 0, norms, 1.0)

    def corrected(
        self, plain: np.ndarray, Y: Any, given: list[Hashable], owner: np.ndarray | None, cosine: bool
    ) -> np.ndarray:
        """Scores with the rows of each candidate's group left out; (m, c), or (1, c) of each candidate's owner."""
        norms = self._norms(self.H) if cosine else np.ones(int(self.H.shape[0]))
        values = plain / (norms[:, None] if owner is None else norms[owner][None, :])
        for names, columns in self._known(given):
            stacked = [self.of.residuals(self.of.rows[name]) for name in names]
            some = np.concatenate(columns)
            S = self.of.embedding.represent(take(Y, some), "candidates")
            inner = to_numpy(self.of.embedding.inner(asarray_like(np.concatenate(stacked), self.H), S))
            top = left = 0
            for name, r, mine in zip(names, stacked, columns, strict=True):
                rows, T = self.of.rows[name], inner[top : top + len(r), left : left + len(mine)]
                top, left = top + len(r), left + len(mine)
                which = np.arange(len(self.B)) if owner is None else owner[mine]
                B = self.B[np.ix_(which, rows)]
                if owner is None:
                    moved = plain[:, mine] - B @ T
                    values[:, mine] = moved / self._moved_norms(which, B, r)[:, None] if cosine else moved
                else:
                    moved = plain[0, mine] - np.einsum("ij,ji->i", B, T)
                    values[0, mine] = moved / self._moved_norms(which, B, r) if cosine else moved
        return values

    def _moved_norms(self, which: np.ndarray, B: np.ndarray, r: np.ndarray) -> np.ndarray:
        """‖h₋ₛ(x)‖ of some inputs."""
        return self._norms(asarray_like(to_numpy(self.H)[which] - B @ r, self.H))

    def _known(self, given: list[Hashable]) -> Iterator[tuple[list[Hashable], list[np.ndarray]]]:
        """The training groups among the candidates, a few at a time, each with its candidates."""
        columns: dict[Hashable, list[int]] = {}
        for j, name in enumerate(given):
            if name in self.of.rows:
                columns.setdefault(name, []).append(j)
        names = list(columns)
        for some in blocks(len(names), _GROUPS):
            yield names[some], [np.array(columns[name]) for name in names[some]]


def _groups_of(given: Any, count: int, whose: str) -> list[Hashable]:
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
        names += _groups_of(part, int(b - a), f"candidate set {i}")
    return names
