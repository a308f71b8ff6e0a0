"""Networks as regressors."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone

from iokr import NeuralRegressor, Surrogate
from iokr.kernels import Delta
from samples import vectors

torch = pytest.importorskip("torch", reason="needs the extra torch")

X = vectors(60, seed=1)
Y = X @ np.random.default_rng(0).normal(size=(X.shape[1], 2))
SMALL = {"hidden": (16,), "random_state": 0}


def test_an_epoch_on_linear_data_falls():
    model = NeuralRegressor(**SMALL, epochs=15, validation=0.0, lr=1e-2).fit(X, Y)
    assert model.losses_[-1] < 0.5 * model.losses_[0]
    assert model.predict(X).shape == (60, 2)
    assert NeuralRegressor(**SMALL, epochs=2).fit(X, Y[:, 0]).predict(X).shape == (60,)


def test_the_best_weights_are_kept():
    model = NeuralRegressor(**SMALL, epochs=40, patience=3, lr=0.05).fit(X, Y)
    rng = np.random.RandomState(0)
    held_out = rng.permutation(60)[:6]
    loss = 0.5 * np.mean(((model.predict(X[held_out]) - Y[held_out]) ** 2).sum(axis=1))
    assert loss == pytest.approx(min(model.losses_), rel=1e-4)


def test_a_seed_repeats_and_leaves_other_numbers_alone():
    torch.manual_seed(7)
    before = torch.rand(1)
    torch.manual_seed(7)
    first = NeuralRegressor(**SMALL, epochs=3).fit(X, Y)
    assert torch.equal(torch.rand(1), before)
    second = NeuralRegressor(**SMALL, epochs=3).fit(X, Y)
    np.testing.assert_array_equal(first.predict(X), second.predict(X))
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(first)).predict(X), first.predict(X))


def test_partial_fit_goes_on():
    model = NeuralRegressor(**SMALL)
    for _ in range(15):
        model.partial_fit(X, Y)
    assert model.losses_[-1] < model.losses_[0]
    with pytest.raises(ValueError, match="columns"):
        model.partial_fit(X, Y[:, :1])


def test_modules_of_ones_own():
    made = NeuralRegressor(lambda p, q: torch.nn.Linear(p, q), epochs=2, random_state=0).fit(X, Y)
    given = NeuralRegressor(torch.nn.Linear(X.shape[1], 2), epochs=2, random_state=0).fit(X, Y)
    assert made.predict(X).shape == given.predict(X).shape == (60, 2)
    with pytest.raises(ValueError, match="columns"):
        NeuralRegressor(torch.nn.Linear(X.shape[1], 3)).fit(X, Y)
    with pytest.raises(ValueError, match="does not take"):
        NeuralRegressor(torch.nn.Linear(X.shape[1] + 1, 2)).fit(X, Y)
    for module in (5, len, lambda p, q: q):
        with pytest.raises(TypeError, match="module"):
            NeuralRegressor(module).fit(X, Y)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"lr": 0.0}, "lr"),
        ({"epochs": 0}, "epochs"),
        ({"validation": 1.0}, "validation"),
        ({"hidden": (0,)}, "hidden"),
        ({"hidden": 5}, "hidden"),
        ({"device": "nowhere"}, "device"),
    ],
)
def test_bad_parameters(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        NeuralRegressor(**arguments).fit(X, Y)


def test_a_loss_that_diverges_is_named():
    with pytest.raises(ValueError, match="lr"):
        NeuralRegressor(**SMALL, lr=1e30, epochs=30, validation=0.0).fit(X, Y)


def test_targets_that_are_no_numbers():
    for bad in (np.full(60, np.nan), None, ["a"] * 60, Y[:5]):
        with pytest.raises((ValueError, TypeError)):
            NeuralRegressor(**SMALL, epochs=1).fit(X, bad)


def test_a_network_in_a_surrogate():
    labels = np.where(X[:, 0] > 0, "plus", "minus").astype(object)
    network = NeuralRegressor(hidden=(32,), epochs=100, lr=1e-2, validation=0.0, random_state=0)
    model = Surrogate(network, output_kernel=Delta()).fit(X, labels)
    assert np.mean(model.predict(X) == labels) > 0.9
    assert clone(model).regressor.epochs == 100


@pytest.mark.parametrize("k", [-900, -40, 40, 900])
def test_units_and_origins_do_not_matter(k):
    """f learned of 2ᵏ z is 2ᵏ f, and of x + c, 2ᵏ x it is f: the network sees what was standardised."""
    model = NeuralRegressor(hidden=(8,), epochs=5, random_state=0)
    near = model.fit(X, Y).predict(X)
    np.testing.assert_array_equal(model.fit(X, Y * 2.0**k).predict(X), near * 2.0**k)
    np.testing.assert_array_equal(model.fit(X * 2.0**k, Y).predict(X * 2.0**k), near)
    coarse = np.round(8 * X) / 8
    near = model.fit(coarse, Y).predict(coarse)
    np.testing.assert_allclose(model.fit(coarse + 2.0**20, Y).predict(coarse + 2.0**20), near, atol=1e-4)


def test_a_module_of_ones_own_sees_the_data_as_they_are():
    seen = []

    class Module(torch.nn.Linear):
        def forward(self, rows):
            seen.append(float(rows.max()))
            return super().forward(rows)

    NeuralRegressor(Module, epochs=1, validation=0.0).fit(X + 1000.0, Y)
    assert max(seen) > 900.0
    with pytest.raises(ValueError, match="beyond float32"):
        NeuralRegressor(Module, epochs=1).fit(X * 1e60, Y)


@pytest.mark.parametrize("y", [Y[:, :0], Y[:, :, None], np.zeros((0, 2))])
def test_outputs_are_numbers_or_rows(y):
    with pytest.raises(ValueError, match="y"):
        NeuralRegressor(**SMALL, epochs=1).fit(X, y)
