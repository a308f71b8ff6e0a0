"""min_θ Σ_i ½‖f_θ(x_i) − z_i‖²: a network as a regressor, through torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import KW_ONLY
from itertools import pairwise
from threading import Lock
from typing import Any

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from iokr._array import exponent, to_numpy, unwarned
from iokr._component import Component, component
from iokr._validation.arguments import (
    check_integer,
    check_number,
    check_numbers,
    check_same_length,
    check_vectors,
    check_weight,
)
from iokr.estimators.inputs import check_inputs
from iokr.kernels.vectors import Linear

__all__ = ["NeuralRegressor"]

_FASTEST = 1e30  # step of the optimizer, in float32
_SEEDING = Lock()  # torch has one source of random numbers for all threads


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError("`NeuralRegressor` needs torch; install `iokr[torch]`.") from error
    return torch


@component
class NeuralRegressor(RegressorMixin, Component):  # type: ignore[misc]  # scikit-learn is untyped
    """min_θ Σ_i ½‖f_θ(x_i) − z_i‖² by Adam in mini-batches, stopped when a held-out part gets no better.

    A network with fully connected layers and rectifiers, or a module of one's own, for `Surrogate` and wherever
    scikit-learn takes a regressor. For few rows a kernel does better and faster; a network is for far more than ten
    thousand, or for raw inputs without a kernel. Computes in float32; a seed makes it repeatable on one machine. The
    network of `hidden` layers sees columns of X with mean 0 and deviation 1, and outputs of mean 0 and deviation 1 over
    all columns, so that units and origins do not matter; a `module` of one's own sees the data as they are.

    Parameters
    ----------
    module : callable or torch module, default=None
        A function of the numbers of inputs and outputs that makes a module, or a module whose last layer fits; None is
        a network with `hidden` layers.
    hidden : sequence of int, default=(512, 512)
        Widths of the hidden layers.
    epochs : int, default=200
        Passes over the data, at most.
    batch_size : int, default=128
    lr : float, default=1e-3
        Step size of Adam.
    weight_decay : float, default=1e-4
        Larger shrinks the weights more.
    validation : float, default=0.1
        The fraction of rows held out to say when to stop; 0 runs all epochs.
    patience : int, default=10
        Epochs without a smaller held-out loss after which training stops; the best weights are kept.
    device : str or torch.device, default=None
        Such as "cuda"; None is that of a torch X, else the CPU.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    losses_ : list of float
        Mean held-out loss after each epoch, of the training rows where nothing is held out.
    scaling_ : tuple of arrays or None
        Means and deviations of the inputs and of the outputs at the first call; None for a `module` of one's own.
    state_ : dict of arrays
        The weights.

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import NeuralRegressor
    >>> X = np.linspace(-1, 1, 64)[:, None]
    >>> model = NeuralRegressor(hidden=(16,), epochs=3, random_state=0)
    >>> model.fit(X, X).predict(X).shape  # doctest: +SKIP
    (64, 1)
    """

    module: Any = None
    _: KW_ONLY
    hidden: Sequence[int] = (512, 512)
    epochs: int = 200
    batch_size: int = 128
    lr: float = 1e-3
    weight_decay: float = 1e-4
    validation: float = 0.1
    patience: int = 10
    device: Any = None
    random_state: Any = None

    def fit(self, X: Any, y: Any) -> NeuralRegressor:
        """Train from the beginning.

        Parameters
        ----------
        X : array of shape (n, p)
        y : array of shape (n,) or (n, q)
        """
        self._check()
        rows, targets = self._read(X, y, reset=True)
        rng = check_random_state(self.random_state)
        n = len(rows)
        held_out = rng.permutation(n)[: int(self.validation * n)]
        kept = np.setdiff1d(np.arange(n), held_out)
        self.losses_: list[float] = []
        net = self._build(int(rng.randint(2**31 - 1)), X)
        torch, best, waited = _torch(), np.inf, 0
        state, optimizer = deepcopy(net.state_dict()), self._optimizer(net)
        for _ in range(self.epochs):
            loss = self._epoch(net, optimizer, rows[kept], targets[kept], rng)
            if len(held_out):
                with torch.no_grad():
                    loss = self._loss(net, rows[held_out], targets[held_out])
            self.losses_.append(self._unit * loss)
            if loss < best:
                best, waited, state = loss, 0, deepcopy(net.state_dict())
            elif len(held_out):
                waited += 1
                if waited >= self.patience:
                    break
        self._keep(state if len(held_out) else net.state_dict())
        return self

    def partial_fit(self, X: Any, y: Any) -> NeuralRegressor:
        """One more pass over these rows, from the weights as they are; nothing is held out."""
        first = not hasattr(self, "state_")
        if first:
            self._check()
        rows, targets = self._read(X, y, reset=first)
        rng = check_random_state(self.random_state)
        net = self._build(int(rng.randint(2**31 - 1)), X) if first else self._restored()
        loss = self._epoch(net, self._optimizer(net), rows, targets, rng)
        self.losses_ = [*getattr(self, "losses_", []), self._unit * loss]
        self._keep(net.state_dict())
        return self

    def predict(self, X: Any) -> np.ndarray:
        """f_θ(x), (m, q), or (m,) for single numbers."""
        check_is_fitted(self)
        rows = self._scaled(self._rows(X, reset=False), 0, "X")
        torch, net = _torch(), self._restored()
        net.eval()
        with torch.no_grad():
            parts = [
                net(self._tensor(rows[a : a + 4096])).cpu().numpy().reshape(-1, self._width)
                for a in range(0, len(rows), 4096)
            ]
        found = np.concatenate(parts)
        if self.scaling_ is not None:
            mean, deviation = self.scaling_[2:]
            found = found * deviation + mean
        return found[:, 0] if self._flat else found

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """R², the mean over the outputs, as scikit-learn's; in units of y, whose squares may be beyond all numbers."""
        from sklearn.metrics import r2_score  # not loaded with the estimators

        truth, predicted = check_numbers(y, "y"), self.predict(X)
        check_same_length(predicted, truth, "X", "y")
        if truth.size != predicted.size:
            raise ValueError(f"`y` must have shape {predicted.shape}, as predictions have, got {truth.shape}.")
        weight = check_weight(sample_weight, len(truth), truth)
        k = exponent(float(np.max(np.abs(truth), initial=0.0)))
        return float(r2_score(np.ldexp(truth, -k), np.ldexp(predicted, -k), sample_weight=weight))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check(self) -> None:
        check_integer(self.epochs, "epochs", minimum=1)
        check_integer(self.batch_size, "batch_size", minimum=1)
        check_integer(self.patience, "patience", minimum=1)
        if check_number(self.lr, "lr", minimum=0.0, strict=True) > _FASTEST:
            raise ValueError(f"`lr` must be at most {_FASTEST:g}, got {self.lr:g}: steps would leave all numbers.")
        check_number(self.weight_decay, "weight_decay", minimum=0.0)
        if not 0 <= check_number(self.validation, "validation") < 1:
            raise ValueError(f"`validation` must be at least 0 and below 1, got {self.validation!r}.")
        if not (self.device is None or isinstance(self.device, str) or hasattr(self.device, "type")):
            raise TypeError(f"`device` must be a name such as 'cpu' or 'cuda', or None, got {self.device!r:.60}.")
        if isinstance(self.hidden, (str, int)) or not hasattr(self.hidden, "__len__"):
            raise TypeError(f"`hidden` must be a sequence of widths, got {self.hidden!r:.60}.")
        for width in self.hidden:
            check_integer(width, "hidden", minimum=1)

    def _rows(self, X: Any, *, reset: bool) -> np.ndarray:
        return to_numpy(check_vectors(check_inputs(self, X, Linear(), reset=reset), sparse=False))

    def _scaled(self, values: np.ndarray, first: int, name: str) -> np.ndarray:
        """What the network sees of X (`first` 0) or of y (2), as float32."""
        if self.scaling_ is not None:
            mean, deviation = self.scaling_[first : first + 2]
            with unwarned():
                values = (values - mean) / deviation
        with unwarned():
            found = values.astype(np.float32)
        if not np.all(np.isfinite(found)):
            raise ValueError(f"`{name}` contains numbers beyond float32, in which networks compute; scale it.")
        return found

    def _read(self, X: Any, y: Any, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        rows = self._rows(X, reset=reset)
        if y is None:
            raise ValueError("This estimator requires y to be passed, but the target y is None.")
        targets = check_numbers(y, "y")
        check_same_length(rows, targets)
        flat = targets.ndim == 1
        if targets.ndim not in (1, 2) or 0 in targets.shape:
            raise ValueError(f"`y` must be a number or a row of numbers for each object, got shape {targets.shape}.")
        targets = targets.reshape(len(targets), -1)
        if not np.all(np.isfinite(targets)):
            raise ValueError("`y` contains NaN or infinity; a network cannot learn these.")
        if reset:
            self._flat, self._width = flat, int(targets.shape[1])
            parts = (*_moments(rows), *_moments(targets, together=True))
            self.scaling_: tuple[np.ndarray, ...] | None = parts if self.module is None else None
        elif targets.shape[1] != self._width:
            raise ValueError(f"`y` has {targets.shape[1]} columns but had {self._width} at the first call.")
        return self._scaled(rows, 0, "X"), self._scaled(targets, 2, "y")

    def _build(self, seed: int, X: Any) -> Any:
        """A fresh network with seeded weights; the random numbers of others are left as they are."""
        torch = _torch()
        self._place = str(self.device if self.device is not None else getattr(X, "device", "cpu"))
        self._place = self._place if self._place.startswith(("cuda", "mps", "xpu")) or self.device else "cpu"
        try:
            torch.empty(0, device=self._place)
        except (RuntimeError, AssertionError) as error:
            raise ValueError(f"`device` {self._place!r} is not there: {str(error).splitlines()[0]}") from error
        with _SEEDING, torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            net = self._fresh(torch.nn)
        net = net.to(self._place)
        with torch.no_grad():
            try:
                found = tuple(net(torch.zeros((2, self.n_features_in_), device=self._place)).shape)
            except RuntimeError as error:
                raise ValueError(f"`module` does not take rows of {self.n_features_in_} numbers: {error}") from error
        if found != (2, self._width):
            raise ValueError(f"`module` gives shape {found[1:]} for one row, but targets have {self._width} columns.")
        return net

    def _fresh(self, nn: Any) -> Any:
        if isinstance(self.module, nn.Module):
            return deepcopy(self.module)
        if self.module is not None:
            if not callable(self.module):
                raise TypeError(
                    f"`module` must be a torch module or a function that makes one, got {self.module!r:.60}."
                )
            try:
                made = self.module(self.n_features_in_, self._width)
            except TypeError as error:
                raise TypeError(f"`module` must take the numbers of features and of targets: {error}") from error
            if not isinstance(made, nn.Module):
                raise TypeError(f"`module` must make a torch module, got {made!r:.60}.")
            return made
        widths = [self.n_features_in_, *self.hidden]
        layers: list[Any] = []
        for a, b in pairwise(widths):
            layers += [nn.Linear(a, b), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(widths[-1], self._width))

    def _tensor(self, rows: np.ndarray) -> Any:
        return _torch().tensor(rows, device=self._place)

    def _loss(self, net: Any, rows: np.ndarray, targets: np.ndarray) -> float:
        """Mean ½‖f(x) − z‖², of the outputs that the network sees."""
        net.eval()
        return float(0.5 * ((net(self._tensor(rows)) - self._tensor(targets)) ** 2).sum(dim=1).mean())

    @property
    def _unit(self) -> float:
        """σ² of the outputs, in which the network measures its loss."""
        deviation = 1.0 if self.scaling_ is None else float(self.scaling_[3])
        return deviation * deviation  # ** would be an error where this overflows

    def _epoch(self, net: Any, optimizer: Any, rows: np.ndarray, targets: np.ndarray, rng: Any) -> float:
        """One pass in random order; the mean loss on the way, of the outputs that the network sees."""
        net.train()
        order, total = rng.permutation(len(rows)), 0.0
        for a in range(0, len(rows), self.batch_size):
            some = order[a : a + self.batch_size]
            loss = 0.5 * ((net(self._tensor(rows[some])) - self._tensor(targets[some])) ** 2).sum(dim=1).mean()
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += float(loss.detach()) * len(some)
        mean = total / max(len(rows), 1)
        if not math.isfinite(mean):
            raise ValueError(f"The loss is {mean}: training diverged. Use a smaller `lr` than {self.lr:g}, or scale X.")
        return mean

    def _optimizer(self, net: Any) -> Any:
        return _torch().optim.Adam(net.parameters(), lr=self.lr, weight_decay=self.weight_decay)

    def _keep(self, state: dict[str, Any]) -> None:
        """The weights as arrays, which any file can hold."""
        self.state_ = {name: value.detach().cpu().numpy().copy() for name, value in state.items()}

    def _restored(self) -> Any:
        torch = _torch()
        net = self._fresh(torch.nn).to(self._place)
        net.load_state_dict({name: torch.tensor(value) for name, value in self.state_.items()})
        return net


def _moments(values: np.ndarray, *, together: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of every column, or one deviation for all; 1 where nothing varies. Any scale of numbers."""
    size = np.max(np.abs(values), axis=None if together else 0, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    unit = values / size
    mean = unit.mean(axis=0)
    variance = ((unit - mean) ** 2).mean(axis=None if together else 0)
    vary = np.sqrt(variance) > 4 * np.finfo(float).eps * np.max(np.abs(mean), axis=None if together else 0, initial=0.0)
    return mean * size, np.where(vary, np.sqrt(variance), 1.0) * size
