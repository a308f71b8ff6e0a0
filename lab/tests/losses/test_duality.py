"""Laforgue et al. 2020 on made-up labels, checked against plain NumPy; and on the real ones where they are.

Tests of `iokr_lab.losses.duality_protocol` and `iokr_lab.losses.duality_stopping`.
"""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.model_selection import train_test_split

from iokr.apps.report import Figure
from iokr.datasets import DataNotFound
from iokr.losses import EpsilonInsensitive, EpsilonSquare, Huber, Square
from iokr.solvers import ADMM
from iokr_lab import find
from iokr_lab.data import MultiLabel, load_multilabel
from iokr_lab.losses import duality_protocol as protocol
from iokr_lab.losses import duality_stopping as stopping
from iokr_lab.losses.duality import STUDY
from iokr_lab.losses.duality_protocol import FAMILIES, LAMBDAS, Split


def labels(n: int = 45, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Inputs of equal length in many dimensions, as the real ones, and four labels that depend on them."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 20)) * np.linspace(2, 0.5, 20)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    return X, (X @ rng.normal(size=(20, 4)) + 0.2 * rng.normal(size=(n, 4)) > 0).astype(float)


@pytest.fixture
def split() -> Split:
    return protocol.their_splits(*labels())[0]


@pytest.fixture(scope="module")
def yeast() -> list[Split]:
    try:
        return protocol.their_splits(*protocol.first_rows(load_multilabel("yeast")))
    except DataNotFound as error:
        pytest.skip(str(error))


@pytest.fixture(scope="module")
def published():
    try:
        return protocol.published()
    except DataNotFound as error:
        pytest.skip(str(error))


# ----------------------------------------------------------------------------------------------------------- protocol


def test_grid_is_that_of_the_paper():
    assert (LAMBDAS[0], LAMBDAS[-1], len(LAMBDAS)) == (1e-8, 0.1, 20)
    for key in ("krr", "svr"):
        np.testing.assert_allclose(FAMILIES[key].values, np.arange(1, 11) / 10)
    assert len(FAMILIES["huber"].values) == 16 and FAMILIES["huber"].values[-1] == 10
    losses = [type(family.loss(0.5)) for family in FAMILIES.values()]
    assert losses == [EpsilonSquare, EpsilonInsensitive, Huber]


def test_their_splits_are_drawn_with_seeds_0_1_2():
    X, Y = labels(30)
    parts = protocol.their_splits(X, Y)
    assert len(parts) == 3
    for seed, part in enumerate(parts):
        X_train, X_test, Y_train, Y_test = train_test_split(X, Y, test_size=1 / 3, random_state=seed)
        drawn = (X_train, Y_train, X_test, Y_test)
        assert part.n == 20
        for ours, theirs in zip((part.X, part.Y, part.X_test, part.Y_test), drawn, strict=True):
            np.testing.assert_array_equal(ours, theirs)


def test_random_splits_have_the_same_sizes_and_repeat():
    X, Y = labels(30)
    first, again, other = ([protocol.random_split(X, Y, seed, i) for i in range(2)] for seed in (0, 0, 1))
    assert [part.n for part in first] == [20, 20] and len(first[0].X_test) == 10
    np.testing.assert_array_equal(first[0].X, again[0].X)
    assert not np.array_equal(first[0].X, other[0].X) and not np.array_equal(first[0].X, first[1].X)
    rows = np.vstack([first[0].X, first[0].X_test])
    np.testing.assert_array_equal(np.unique(rows, axis=0), np.unique(X, axis=0))


@pytest.mark.parametrize("seed", [None, 0])
def test_folds_test_every_row_once(seed):
    X, Y = labels(30)
    tested = np.vstack([part.X_test for part in protocol.folds(X, Y, seed)])
    assert np.array_equal(tested, X) is (seed is None)
    np.testing.assert_array_equal(np.unique(tested, axis=0), np.unique(X, axis=0))


def test_first_rows_are_in_the_order_of_the_other_file():
    X, Y = labels(400)
    order = np.random.default_rng(1).permutation(400)
    names = tuple("abcd")
    first = protocol.first_rows(MultiLabel(X, Y, 10, names, order))
    np.testing.assert_array_equal(first[0], X[order[:300]])
    np.testing.assert_array_equal(first[1], Y[order[:300]])
    with pytest.raises(ValueError, match="order_libsvm"):
        protocol.first_rows(MultiLabel(X, Y, 10, names))


def test_ridge_is_the_formula(split):
    """h(x) = Yᵀ (K + nΛ I)⁻¹ k_x, and the error sums over labels."""
    errors = protocol.ridge_errors([split])
    squares = ((split.X[:, None] - split.X) ** 2).sum(axis=2), ((split.X_test[:, None] - split.X) ** 2).sum(axis=2)
    K, k = np.exp(-squares[0]), np.exp(-squares[1])
    for i in (12, 19):
        H = k @ np.linalg.solve(K + split.n * LAMBDAS[i] * np.eye(split.n), split.Y)
        assert errors[i] == pytest.approx(np.mean([np.sum((y - h) ** 2) for y, h in zip(split.Y_test, H, strict=True)]))


@pytest.mark.parametrize("key", FAMILIES)
def test_grid_holds_certified_solutions(key, split):
    family = FAMILIES[key]
    column = protocol.column(split, family, 0.3)
    assert len(column["errors"]) == len(column["fractions"]) == 20
    assert 0 <= column["gap"] <= protocol.TOL
    i = 15
    tight = protocol.model_of(family.loss(0.3), split.n * LAMBDAS[i], ADMM(tol=1e-11))
    H = tight.fit(split.X, split.Y).decision_function(split.X_test)
    assert column["errors"][i] == pytest.approx(protocol.held_out_error(H, split.Y_test), rel=1e-4)


def test_fractions_at_their_limits(split):
    """ε beyond every output leaves nothing, ε = 0 everything; a small κ saturates every row, a large one none."""
    split = replace(split, Y=split.Y + 0.1)

    def fraction(key: str, value: float) -> float:
        model = protocol.model_of(FAMILIES[key].loss(value), 1.0).fit(split.X, split.Y)
        return protocol.fraction_of(FAMILIES[key], model, value)

    far = 1.01 * np.linalg.norm(split.Y, axis=1).max()
    assert fraction("krr", far) == fraction("svr", far) == 1
    assert fraction("krr", 0.0) == fraction("svr", 0.0) == 0
    assert fraction("huber", 1e-4) == 1 and fraction("huber", 100.0) == 0


def test_fraction_counts_rows(split):
    model = protocol.model_of(EpsilonInsensitive(0.9), 0.5, ADMM(tol=1e-11)).fit(split.X, split.Y)
    residuals = np.linalg.norm(model.decision_function(split.X) - split.Y, axis=1)
    counted = protocol.fraction_of(FAMILIES["svr"], model, 0.9)
    assert counted == np.mean(residuals < 0.9 * (1 - 1e-6)) > 0, "a row is zero where the error is within ε"


@pytest.mark.parametrize("loss", [Square(), EpsilonSquare(0.2), EpsilonInsensitive(0.2), Huber(0.2)], ids=str)
def test_parameters_are_chosen_without_the_test_part(monkeypatch, split, loss):
    monkeypatch.setattr(protocol, "CANDIDATE_LAMBDAS", LAMBDAS[14:17])
    changed = replace(split, Y_test=1 - split.Y_test)
    honest, other = (protocol.chosen_error(s, [loss]) for s in (split, changed))
    model = protocol.model_of(loss, 1.0)
    by_hand = []
    for alpha in split.n * LAMBDAS[14:17]:
        H = model.set_params(alpha=float(alpha)).fit(split.X, split.Y).decision_function(split.X_test)
        by_hand.append([protocol.held_out_error(H, Y) for Y in (split.Y_test, changed.Y_test)])
    assert [honest, other] in [pytest.approx(pair) for pair in by_hand], (
        "the same alpha is chosen whatever the test labels"
    )


# ------------------------------------------------------------------------------------------------------- rule to stop


@pytest.mark.parametrize("key", FAMILIES)
def test_their_algorithms_reach_our_solution_when_they_go_on(monkeypatch, key, split):
    monkeypatch.setitem(stopping.RULES, key, (0.0, 3000))
    i, j = 16, 2 if key != "huber" else 8
    value = float(FAMILIES[key].values[j])
    found = stopping.solved_as_published(key, LAMBDAS[i], value, [split])
    model = protocol.model_of(FAMILIES[key].loss(value), split.n * LAMBDAS[i], ADMM(tol=1e-11))
    H = model.fit(split.X, split.Y).decision_function(split.X_test)
    assert found.error == pytest.approx(protocol.held_out_error(H, split.Y_test), rel=1e-5)
    assert abs(found.gap) < 1e-7 and found.iterations > 10


@pytest.mark.parametrize("key", FAMILIES)
def test_their_rule_stops_early_and_leaves_a_gap(key, split):
    value = float(FAMILIES[key].values[2 if key != "huber" else 8])
    found = stopping.solved_as_published(key, LAMBDAS[14], value, [split])
    assert found.iterations < stopping.RULES[key][1]
    assert found.gap > 1e-6


# --------------------------------------------------------------------------------------------------------------- page


def write(folder, X, Y, sizes):
    order = np.arange(len(X))
    indptr = np.concatenate([[0], np.cumsum(Y.sum(axis=1))]).astype(int)
    for name in ("multilabel", "duality2020_results"):
        (folder / name).mkdir()
    np.savez(
        folder / "multilabel" / "yeast.npz",
        shape=np.array([*X.shape, Y.shape[1]]),
        n_train=np.array(len(X)),
        label_names=np.array(list("abcd")),
        Y_indptr=indptr,
        Y_indices=np.nonzero(Y)[1],
        X=X,
        order_libsvm=order,
    )
    rng = np.random.default_rng(0)
    arrays = {f"yeast_{key}_MSEs": 1 + rng.random((20, n + 1)) for key, n in sizes.items()}
    arrays |= {f"yeast_{key}_Spar": rng.random((20, n)) for key, n in sizes.items()}
    np.savez(folder / "duality2020_results" / "results.npz", **arrays)
    return arrays


def test_page_has_the_authors_beside_ours(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    for key, family in FAMILIES.items():
        monkeypatch.setitem(FAMILIES, key, replace(family, values=np.array([0.2, 0.6]), candidates=(0.3,)))
    arrays = write(tmp_path, *labels(), dict.fromkeys(FAMILIES, 2))
    steps = []
    report = find("duality").run(seed=1, repeat=2, progress=lambda done, total, what: steps.append((done, total)))
    minima, stops, read, chosen, paired, *grids = report.tables
    assert [row["loss"] for row in minima.rows] == ["plain IOKR", "ε-ridge", "ε-SVR", "Huber"]
    for row, key in zip(minima.rows[1:], FAMILIES, strict=True):
        assert row["authors"] == arrays[f"yeast_{key}_MSEs"][:, :-1].min()
    assert minima.rows[0]["authors"] == arrays["yeast_krr_MSEs"][:, -1].min()
    assert [row["loss"] for row in stops.rows] == ["ε-ridge"] * 2 + ["ε-SVR"] * 2 + ["Huber"] * 2
    assert read.rows[2]["smallest error"].n == 10
    assert [row["test error"].n for row in chosen.rows] == [2] * 4
    for row, other in zip(paired.rows, chosen.rows[1:], strict=True):
        gap = other["test error"].mean - chosen.rows[0]["test error"].mean
        assert row["loss"] == other["loss"] and row["difference"].startswith(f"{gap:+.3f} ±")
    assert [len(grid.rows) for grid in grids] == [20, 20, 20]
    assert sum(isinstance(item, Figure) for item in report.items) == 10
    assert "gap" in report.html()
    assert steps[-1] == (15 + 18 + 8,) * 2, "15 curves, two values of three losses on three splits, two new splits"


def test_a_shorter_plan_takes_every_fifth_parameter(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    arrays = write(tmp_path, *labels(), {key: len(family.values) for key, family in FAMILIES.items()})
    data = protocol.load(STUDY.plan("short"))
    assert [len(family.values) for family in data.families.values()] == [2, 2, 4]
    for key, theirs in data.theirs.items():
        np.testing.assert_array_equal(theirs.errors, arrays[f"yeast_{key}_MSEs"][:, :-1:5])
        np.testing.assert_array_equal(theirs.fractions, arrays[f"yeast_{key}_Spar"][:, ::5])
        np.testing.assert_array_equal(theirs.ridge, arrays[f"yeast_{key}_MSEs"][:, -1])


@pytest.mark.parametrize("change", ["missing", "shape", "other"])
def test_results_of_something_else_are_named(monkeypatch, tmp_path, change):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    with pytest.raises(DataNotFound, match="duality2020_results"):
        protocol.published()
    arrays = write(tmp_path, *labels(), {key: len(family.values) for key, family in FAMILIES.items()})
    path = tmp_path / "duality2020_results" / "results.npz"
    protocol.published()
    if change == "missing":
        del arrays["yeast_svr_Spar"]
    elif change == "shape":
        arrays["yeast_svr_Spar"] = np.zeros((20, 9))
    np.savez(path, **arrays)
    if change == "other":
        path.write_bytes(b"not an archive")
    with pytest.raises(ValueError, match=r"results\.npz (is not a Laforgue et al\. 2020 results file|must have)"):
        protocol.published()


# ---------------------------------------------------------------------------------------------------------- real data


def test_plain_iokr_equals_the_authors_errors(yeast, published):
    np.testing.assert_allclose(protocol.ridge_errors(yeast), published["krr"].ridge, rtol=1e-12)


@pytest.mark.parametrize("key", FAMILIES)
def test_smallest_errors_are_the_authors_to_a_tenth_of_a_percent(key, yeast, published):
    errors = published[key].errors
    i, j = np.unravel_index(errors.argmin(), errors.shape)
    family, found = FAMILIES[key], []
    for split in yeast:
        loss = family.loss(float(family.values[j]))
        model = protocol.model_of(loss, split.n * LAMBDAS[i]).fit(split.X, split.Y)
        found.append(protocol.held_out_error(model.decision_function(split.X_test), split.Y_test))
    assert np.mean(found) == pytest.approx(errors.min(), rel=1e-3)


@pytest.mark.parametrize("key", FAMILIES)
def test_their_rule_to_stop_gives_the_authors_errors(key, yeast, published):
    """Where the error is smallest and at a corner of the grid, to rounding: nothing else is left."""
    errors = published[key].errors
    for i, j in (np.unravel_index(errors.argmin(), errors.shape), (18, 9)):
        found = stopping.solved_as_published(key, LAMBDAS[i], float(FAMILIES[key].values[j]), yeast)
        assert found.error == pytest.approx(errors[i, j], rel=1e-8)
