"""min_θ Σ_i ½‖f_θ(x_i) − z_i‖²: a network as a regressor, through torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import KW_ONLY
from functools import partial
from itertools import pairwise
from threading import Lock
from typing import Any, ClassVar

import numpy as np
from sklearn.base import RegressorMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from iokr._array import blocks, home_of, is_array, to_numpy, unwarned
from iokr._component import Component, Limits, component
from iokr._validation.arguments import (
    COUNT,
    NOT_NEGATIVE,
    check_integer,
    check_number,
    check_numbers,
    check_same_length,
    check_vectors,
)
from iokr.data.frames import check_aligned
from iokr.estimators.inputs import adapt
from iokr.estimators.outputs import require_y
from iokr.kernels.vectors import Linear

__all__ = ["NeuralRegressor"]

_LARGEST_STEP = 1e30  # of the optimizer, in float32
_ROWS_AT_ONCE = 4096  # of a prediction
_ACCELERATORS = ("cuda", "mps", "xpu")
_INPUTS = slice(0, 2)
_OUTPUTS = slice(2, 4)  # mean and deviation in `scaling_`
_SEEDING = Lock()  # torch has one source of random numbers for all threads


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise ImportError("`NeuralRegressor` needs torch; install `iokr[torch]`.") from error
    return torch


@component
class NeuralRegressor(RegressorMixin, Component):  # type: ignore[misc]  # scikit-learn is untyped
    """min_θ Σ_i ½‖f_θ(x_i) − z_i‖² by Adam in mini-batches, with early stopping on held-out rows.

    A network of fully connected layers with rectifiers, or a torch module of your own, for `Surrogate` and wherever
    scikit-learn takes a regressor. On few rows a kernel predicts better and is faster; use a network for far more than
    ten thousand rows, or for raw inputs without a kernel. Computations are in float32; with a seed they are repeatable
    on one machine. For the network with `hidden` layers, columns of X are standardised, and outputs have mean 0 and,
    over all columns, deviation 1, so units and origins do not matter; a `module` of your own gets the data unchanged.

    Parameters
    ----------
    module : callable or torch module, default=None
        A function of the numbers of inputs and outputs that returns a module, or a module with as many outputs; None
        is a network with `hidden` layers.
    hidden : sequence of int, default=(512, 512)
        Widths of the hidden layers.
    epochs : int, default=200
        The largest number of passes over the data.
    batch_size : int, default=128
    lr : float, default=1e-3
        Learning rate of Adam.
    weight_decay : float, default=1e-4
        Larger shrinks the weights more.
    validation : float, default=0.1
        The fraction of rows held out for early stopping; with 0 all epochs are run.
    patience : int, default=10
        Training stops after this many epochs without a smaller held-out loss, and returns to the best weights.
    device : str or torch.device, default=None
        Such as "cuda"; None is that of a torch X, else the CPU.
    random_state : int, RandomState or None, default=None

    Attributes
    ----------
    losses_ : list of float
        Mean held-out loss after each epoch; the training loss where no rows are held out.
    scaling_ : tuple of arrays or None
        Means and deviations of the inputs and of the outputs at the first call; None for a `module` of your own.
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

    limits: ClassVar[Limits] = {
        "epochs": COUNT,
        "batch_size": COUNT,
        "patience": COUNT,
        "lr": partial(check_number, minimum=0.0, maximum=_LARGEST_STEP, strict=True),
        "weight_decay": NOT_NEGATIVE,
    }

    def _stored(self) -> dict[str, Any]:
        return {"flat": self._flat, "width": self._width, "place": self._place}

    def fit(self, X: Any, y: Any) -> NeuralRegressor:
        """Train from new weights.

        Parameters
        ----------
        X : array of shape (n, p)
        y : array of shape (n,) or (n, q)
        """
        self._check_parameters()
        rows, targets = self._training_data(X, y, reset=True)
        rng = check_random_state(self.random_state)
        n = len(rows)
        held_out = rng.permutation(n)[: int(self.validation * n)]
        training = np.setdiff1d(np.arange(n), held_out)
        self.losses_: list[float] = []
        net = self._build(int(rng.randint(2**31 - 1)), X)
        optimizer = self._optimizer(net)
        best = np.inf
        best_epoch = -1
        state = deepcopy(net.state_dict())
        for epoch in range(self.epochs):
            loss = self._epoch(net, optimizer, rows[training], targets[training], rng)
            if len(held_out):
                loss = self._held_out_loss(net, rows[held_out], targets[held_out])
            self.losses_.append(self._unit * loss)
            if loss < best:
                best = loss
                best_epoch = epoch
                state = deepcopy(net.state_dict())
            elif len(held_out) and epoch - best_epoch >= self.patience:
                break
        self._keep_weights(state if len(held_out) else net.state_dict())
        return self

    def partial_fit(self, X: Any, y: Any) -> NeuralRegressor:
        """One more pass over these rows, from the current weights; no rows are held out."""
        first = not hasattr(self, "state_")
        if first:
            self._check_parameters()
            self.losses_ = []
        rows, targets = self._training_data(X, y, reset=first)
        rng = check_random_state(self.random_state)
        net = self._build(int(rng.randint(2**31 - 1)), X) if first else self._restored()
        loss = self._epoch(net, self._optimizer(net), rows, targets, rng)
        self.losses_ = [*self.losses_, self._unit * loss]
        self._keep_weights(net.state_dict())
        return self

    def predict(self, X: Any) -> np.ndarray:
        """f_θ(x), (m, q), or (m,) for single numbers."""
        check_is_fitted(self)
        rows = self._scaled(self._rows(X, reset=False), _INPUTS, "X")
        net = self._restored()
        net.eval()
        with _torch().no_grad():
            parts = [net(self._tensor(rows[some])).cpu().numpy() for some in blocks(len(rows), _ROWS_AT_ONCE)]
        predicted = np.concatenate(parts).reshape(-1, self._width)
        if self.scaling_ is not None:
            mean, deviation = self.scaling_[_OUTPUTS]
            predicted = predicted * deviation + mean
        return predicted[:, 0] if self._flat else predicted

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def _check_parameters(self) -> None:
        self.check_parameters()
        if not 0 <= check_number(self.validation, "validation") < 1:
            raise ValueError(f"`validation` must be at least 0 and below 1, got {self.validation!r}.")
        if not (self.device is None or isinstance(self.device, str) or hasattr(self.device, "type")):
            raise TypeError(f"`device` must be a name such as 'cpu' or 'cuda', or None, got {self.device!r:.60}.")
        if isinstance(self.hidden, (str, int)) or not hasattr(self.hidden, "__len__"):
            raise TypeError(f"`hidden` must be a sequence of widths, got {self.hidden!r:.60}.")
        for width in self.hidden:
            check_integer(width, "hidden", minimum=1)

    def _rows(self, X: Any, *, reset: bool) -> np.ndarray:
        return to_numpy(check_vectors(adapt(self, X, Linear(), reset=reset).X, sparse=False))

    def _scaled(self, values: np.ndarray, part: slice, name: str) -> np.ndarray:
        """The data as the network gets them, float32; `part` of `scaling_` is that of inputs or of outputs."""
        with unwarned():
            if self.scaling_ is not None:
                mean, deviation = self.scaling_[part]
                values = (values - mean) / deviation
            scaled = values.astype(np.float32)
        if not np.all(np.isfinite(scaled)):
            raise ValueError(f"`{name}` contains numbers beyond float32, in which networks compute; scale it.")
        return scaled

    def _training_data(self, X: Any, y: Any, *, reset: bool) -> tuple[np.ndarray, np.ndarray]:
        """Inputs and targets, checked and scaled; with `reset`, their width and scale are kept."""
        check_aligned(X, y)
        rows = self._rows(X, reset=reset)
        require_y(y)
        targets = check_numbers(y, "y")
        check_same_length(rows, targets)
        flat = targets.ndim == 1
        if targets.ndim not in (1, 2) or 0 in targets.shape:
            raise ValueError(f"`y` must be a number or a row of numbers for each object, got shape {targets.shape}.")
        targets = targets.reshape(len(targets), -1)
        if not np.all(np.isfinite(targets)):
            raise ValueError("`y` contains NaN or infinity; a network cannot learn these.")
        if reset:
            self._flat = flat
            self._width = int(targets.shape[1])
            self.scaling_: tuple[np.ndarray, ...] | None = None
            if self.module is None:
                self.scaling_ = (*_moments(rows), *_moments(targets, together=True))
        elif targets.shape[1] != self._width:
            raise ValueError(f"`y` has {targets.shape[1]} columns but had {self._width} at the first call.")
        return self._scaled(rows, _INPUTS, "X"), self._scaled(targets, _OUTPUTS, "y")

    def _build(self, seed: int, X: Any) -> Any:
        """A new network with seeded weights, on its device, whose outputs have the right width."""
        torch = _torch()
        self._place = self._device_for(X)
        try:
            torch.empty(0, device=self._place)
        except (RuntimeError, AssertionError) as error:
            raise ValueError(f"`device` {self._place!r} is not available: {str(error).splitlines()[0]}") from error
        net = self._seeded_network(seed)
        with torch.no_grad():
            try:
                shape = tuple(net(torch.zeros((2, self.n_features_in_), device=self._place)).shape)
            except RuntimeError as error:
                raise ValueError(f"`module` does not take rows of {self.n_features_in_} numbers: {error}") from error
        if shape != (2, self._width):
            raise ValueError(f"`module` gives shape {shape[1:]} for one row, but targets have {self._width} columns.")
        return net

    def _device_for(self, X: Any) -> str:
        """The device given, else that of X if it is an accelerator, else the CPU."""
        if self.device is not None:
            return str(self.device)
        home = home_of(X) if is_array(X) else None  # library and device
        return home[1] if home is not None and home[1].startswith(_ACCELERATORS) else "cpu"

    def _seeded_network(self, seed: int) -> Any:
        """A network with seeded weights, on its device; the random state of torch stays as it was."""
        torch = _torch()
        with _SEEDING, torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            net = self._new_network(torch.nn)
        return net.to(self._place)

    def _new_network(self, nn: Any) -> Any:
        """The module given, or made by the function given, or the network with `hidden` layers."""
        if isinstance(self.module, nn.Module):
            return deepcopy(self.module)
        if self.module is not None:
            return self._made_module(nn)
        widths = [self.n_features_in_, *self.hidden]
        layers: list[Any] = []
        for a, b in pairwise(widths):
            layers += [nn.Linear(a, b), nn.ReLU()]
        return nn.Sequential(*layers, nn.Linear(widths[-1], self._width))

    def _made_module(self, nn: Any) -> Any:
        if not callable(self.module):
            raise TypeError(f"`module` must be a torch module or a function that returns one, got {self.module!r:.60}.")
        try:
            made = self.module(self.n_features_in_, self._width)
        except TypeError as error:
            raise TypeError(f"`module` must take the numbers of features and of targets: {error}") from error
        if not isinstance(made, nn.Module):
            raise TypeError(f"`module` must return a torch module, got {made!r:.60}.")
        return made

    def _tensor(self, rows: np.ndarray) -> Any:
        return _torch().tensor(rows, device=self._place)

    def _mean_loss(self, net: Any, rows: np.ndarray, targets: np.ndarray) -> Any:
        """Mean ½‖f(x) − z‖² of scaled outputs, a tensor."""
        residuals = net(self._tensor(rows)) - self._tensor(targets)
        return 0.5 * (residuals**2).sum(dim=1).mean()

    def _held_out_loss(self, net: Any, rows: np.ndarray, targets: np.ndarray) -> float:
        net.eval()
        with _torch().no_grad():
            return float(self._mean_loss(net, rows, targets))

    @property
    def _unit(self) -> float:
        """σ² of the outputs: the unit in which the network computes its loss."""
        deviation = 1.0 if self.scaling_ is None else float(self.scaling_[3])
        return deviation * deviation  # ** would raise where this overflows

    def _epoch(self, net: Any, optimizer: Any, rows: np.ndarray, targets: np.ndarray, rng: Any) -> float:
        """One pass in random order; the mean loss on the way, of scaled outputs."""
        net.train()
        order = rng.permutation(len(rows))
        total = 0.0
        for some in blocks(len(rows), self.batch_size):
            batch = order[some]
            loss = self._mean_loss(net, rows[batch], targets[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += float(loss.detach()) * len(batch)
        mean = total / max(len(rows), 1)
        if not math.isfinite(mean):
            raise ValueError(f"The loss is {mean}: training diverged. Use a smaller `lr` than {self.lr:g}, or scale X.")
        return mean

    def _optimizer(self, net: Any) -> Any:
        return _torch().optim.Adam(net.parameters(), lr=self.lr, weight_decay=self.weight_decay)

    def _keep_weights(self, state: dict[str, Any]) -> None:
        """Keep the weights as NumPy arrays, which any file can hold."""
        self.state_ = {name: value.detach().cpu().numpy().copy() for name, value in state.items()}

    def _restored(self) -> Any:
        """The network with the weights that it has learned."""
        torch = _torch()
        net = self._seeded_network(0)  # layers draw weights when they are made; these are then replaced
        net.load_state_dict({name: torch.tensor(value) for name, value in self.state_.items()})
        return net


def _moments(values: np.ndarray, *, together: bool = False) -> tuple[np.ndarray, np.ndarray]:
    """Mean and deviation of every column, or one deviation for all; 1 where a column does not vary.

    Columns are divided by their largest entry first: numbers may have any scale.
    """
    axis = None if together else 0
    size = np.max(np.abs(values), axis=axis, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    unit = values / size
    mean = unit.mean(axis=0)
    deviation = np.sqrt(((unit - mean) ** 2).mean(axis=axis))
    rounding = 4 * np.finfo(float).eps * np.max(np.abs(mean), axis=axis, initial=0.0)
    return mean * size, np.where(deviation > rounding, deviation, 1.0) * size
