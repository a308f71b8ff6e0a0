"""`iokr.model_selection.tuning` on the sets of `iokr_lab.data.quantile`: the evidence helps, leave-one-out overfits."""

import numpy as np
import pytest

from iokr import IOKR, IOKRCV
from iokr.datasets.home import find_data
from iokr.kernels import ARD, RBF
from iokr.model_selection import tune
from iokr_lab.data.quantile import load_quantile

WIDTHS = ["kernel__gammas", "alpha"]


def draws(name, count=5):
    """Standardised by the training part, 70 % of the rows."""
    try:
        find_data(f"quantile/{name}.csv.gz")
    except FileNotFoundError:
        pytest.skip("the data are not there")
    data = load_quantile(name)
    for seed in range(count):
        order = np.random.default_rng(seed).permutation(len(data.y))
        train, test = np.split(order, [round(0.7 * len(order))])
        mean, scale = data.X[train].mean(axis=0), data.X[train].std(axis=0)
        X = (data.X - mean) / np.where(scale > 0, scale, 1.0)
        y = (data.y - data.y[train].mean()) / data.y[train].std()
        yield X[train], y[train], X[test], y[test]


def isotropic(X, y):
    gamma = RBF().fit(X).gamma_
    return IOKRCV([RBF(gamma * np.exp(k)) for k in range(-4, 5)]).fit(X, y)


def error(model, X, y):
    return float(np.mean((model.predict(X) - y) ** 2))


@pytest.mark.parametrize("name", ["sniffer", "BigMac2003", pytest.param("Boston", marks=pytest.mark.slow)])
def test_widths_by_the_evidence_are_no_worse_than_one(name):
    one, all_of_them = [], []
    for X, y, X_new, y_new in draws(name):
        one.append(error(isotropic(X, y), X_new, y_new))
        all_of_them.append(error(tune(IOKR(ARD()), X, y, WIDTHS), X_new, y_new))
    assert np.mean(all_of_them) <= np.mean(one)


def test_few_rows_get_a_prior_and_leave_one_out_shows_why():
    promised, found, one = [], [], []
    for X, y, X_new, y_new in draws("highway"):
        assert tune(IOKR(ARD()), X, y, WIDTHS).tuning_["prior"] == "sparse"
        with pytest.raises(ValueError, match=f"{X.shape[1]} widths and weights from 27 rows"):
            tune(IOKR(ARD()), X, y, WIDTHS, prior=None)
        model = tune(IOKR(ARD()), X, y, WIDTHS, by="loo", limit=None)
        promised.append(model.tuning_["path"].min() / len(y))
        found.append(error(model, X_new, y_new))
        one.append(error(isotropic(X, y), X_new, y_new))
    assert np.mean(promised) < np.mean(one) < np.mean(found)
