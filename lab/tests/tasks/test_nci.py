"""B16 Figures 6 and 7 on a few made-up molecules: the protocol, checked against the estimators.

Tests of `iokr_lab.tasks.figures` and `iokr_lab.tasks.protocol`.
"""

import itertools

import numpy as np
import pytest
from scipy.sparse import csr_array

from iokr import IOKRCV, MultiTask
from iokr.apps.report import Figure
from iokr.chem import molecule_graph
from iokr.datasets import DataNotFound
from iokr.kernels import Paths, Precomputed, Tanimoto
from iokr.manifolds import Given, IteratedLaplacian
from iokr_lab import find
from iokr_lab.data import NCICancer, load_nci_cancer
from iokr_lab.study import Plan, run
from iokr_lab.tasks import figures, protocol
from iokr_lab.tasks import nci as page
from iokr_lab.tasks.protocol import ALONE, LEARNED, METHODS, OWN, SIMILAR, Comparison, Data, FromStructures, Sweep


def made_up(n=60, d=5, seed=0):
    rng = np.random.default_rng(seed)
    paths = (rng.uniform(size=(n, 30)) < 0.3).astype(float)
    shared = paths @ rng.normal(size=(30, 1))
    score = 60 + 8 * shared + 4 * rng.normal(size=(n, d))
    return NCICancer(csr_array(paths), score, np.arange(n), tuple("ABCDE"[:d]), ("lung",) * d)


@pytest.fixture
def small(monkeypatch):
    """Half the molecules labelled, few neighbours and grid points."""
    monkeypatch.setattr(protocol, "NEIGHBORS", 6)
    for module in (protocol, page, figures):
        monkeypatch.setattr(module, "FRACTIONS", (0.3, 0.5))
        monkeypatch.setattr(module, "LAMBDA2", (0.0, 1e-3, 1e-2))
    monkeypatch.setattr(protocol, "ALPHAS", (0.1, 1.0, 10.0))
    monkeypatch.setattr(protocol, "COUPLINGS", (0.0, 0.3, 0.8))
    return made_up()


def graph_penalty(K, rows, others, task_weight):
    """L⁵ of the six nearest neighbours among all molecules (ties as in the data), labelled ones first."""
    index = np.arange(len(K))
    L = IteratedLaplacian(power=5, n_neighbors=6).penalty(index, Precomputed(K).fit(index).gram(index))
    order = np.concatenate([rows, others])
    return Given(task_weight, L[np.ix_(order, order)])


def test_splits_are_nested_and_repeat():
    rows, others = protocol.split(100, 0.05, 3)
    more, _ = protocol.split(100, 0.2, 3)
    assert len(rows) == 5 and set(rows) | set(others) == set(range(100)) and set(rows) < set(more)
    assert not np.array_equal(rows, protocol.split(100, 0.05, 4)[0])
    assert [round(fraction * 2304) for fraction in (0.05, 0.10, 0.20)] == [115, 230, 461]


@pytest.mark.parametrize("lam2", [0.0, 1e-3, 1e-2])
@pytest.mark.parametrize("mu_t", [0.0, 0.8])
def test_modes_predict_what_the_estimator_does(small, lam2, mu_t):
    """One decomposition for all splits gives the model that is fitted with this split's own graph."""
    modes = protocol.molecules(small)
    np.testing.assert_allclose(modes.K, Tanimoto()(small.paths), atol=1e-12)
    Y = protocol.outputs(small, "score")
    rows, others = protocol.split(len(Y), 0.3, 0)
    model = MultiTask(
        Precomputed(modes.K),
        task_weight=mu_t,
        alpha=protocol.LAMBDA1,
        manifold=graph_penalty(modes.K, rows, others, 2 * lam2),
        intercept=False,
    ).fit(rows, Y[rows], X_unlabeled=others)
    found = modes.predict(rows, Y[rows], others, 2 * lam2, model.A_)
    np.testing.assert_allclose(found, model.predict(others), rtol=1e-7, atol=1e-7)


@pytest.mark.parametrize("mu", [1e-3, 1.0])
def test_interpolated_kernels_are_the_exact_ones(mu):
    rng = np.random.default_rng(0)
    modes = protocol.Modes(np.eye(30), rng.normal(size=(30, 30)), 10.0 ** rng.uniform(-9, 6, size=30))
    rows = np.arange(10)
    x = np.append(np.sort(10 ** rng.uniform(0, 1.2, size=40))[::-1], 1e-3)
    found = list(modes.kernels(rows, x, mu))
    assert len(found) == 41
    for value, K in zip(x, found, strict=True):
        exact = (modes.Z[rows] / (value + mu * modes.w)) @ modes.Z[rows].T
        np.testing.assert_allclose(K, exact, atol=1e-9 * np.abs(exact).max())


def test_model_one_is_measured_in_its_metric_and_predicts_as_model_zero(small):
    data = Data(small, protocol.molecules(small))
    cell = protocol.work(Sweep("±1", 0.3, 2), Plan(), data)
    found = {tuple(point): (on_y, published) for *point, on_y, published in cell["errors"]}
    Y = protocol.outputs(small, "±1")
    rows, others = protocol.split(len(Y), 0.3, 2)
    model = MultiTask(
        Precomputed(data.modes.K),
        coupling="output",
        task_weight=0.8,
        manifold=graph_penalty(data.modes.K, rows, others, 2e-3),
        intercept=False,
    ).fit(rows, Y[rows], X_unlabeled=others)
    in_metric = np.mean(np.diag(model.distances(others, Y[others])))
    on_y = protocol.mse(model.predict(others), Y[others])
    assert found[1, 1e-3, 0.8] == pytest.approx((on_y, in_metric), rel=1e-6)
    assert found[2, 1e-3, 0.0][0] == pytest.approx(on_y, rel=1e-6)


def test_centred_outputs_are_predicted_around_their_mean(small):
    data = Data(small, protocol.molecules(small))
    rows, others = protocol.split(len(small.score), 0.3, 0)
    Y = protocol.outputs(small, "score")
    mean = Y[rows].mean(axis=0)
    expected = [
        protocol.mse(data.modes.predict(rows, Y[rows] - mean, others, 2 * lam2, np.eye(5)) + mean, Y[others])
        for lam2 in protocol.LAMBDA2
    ]
    assert protocol.work(Sweep("score", 0.3, 0), Plan(), data)["centred"] == pytest.approx(expected)
    assert protocol.work(Sweep("score", 0.5, 0), Plan(), data)["centred"] == []


def test_methods_choose_on_the_labelled_alone(small):
    data = Data(small, protocol.molecules(small))
    cell = protocol.work(Comparison("score", True, 0.3, 1), Plan(), data)
    Y, K = protocol.outputs(small, "score"), Precomputed(data.modes.K)
    rows, others = protocol.split(len(Y), 0.3, 1)
    alone = IOKRCV(K, alphas=protocol.ALPHAS, intercept=True).fit(rows, Y[rows])
    assert cell["error"][ALONE] == pytest.approx(protocol.mse(alone.predict(others), Y[others]), rel=1e-8)
    assert (cell["alpha"][ALONE], cell["task_weight"][ALONE]) == (alone.alpha_, 0.0)
    own = np.column_stack(
        [
            IOKRCV(K, alphas=protocol.ALPHAS, intercept=True).fit(rows, Y[rows, j]).predict(others)
            for j in range(Y.shape[1])
        ]
    )
    assert cell["error"][OWN] == pytest.approx(protocol.mse(own, Y[others]), rel=1e-8)
    for case in protocol.cases(Plan(repeat=2), data):
        if isinstance(case, Comparison) and case.fraction == 0.3:
            cell = protocol.work(case, Plan(repeat=2), data)
            assert set(cell["best"]) == {ALONE, SIMILAR}
            assert all(best <= cell["error"][method] + 1e-9 for method, best in cell["best"].items())


def test_shuffled_targets_of_the_unlabelled_change_no_choice(small):
    modes = protocol.molecules(small)
    rows, others = protocol.split(len(small.score), 0.3, 0)
    other = small.score.copy()
    other[others] = other[np.random.default_rng(1).permutation(others)]
    changed = NCICancer(small.paths, other, small.nsc, small.cell_line, small.tissue)
    for kind, centred in page.SETTINGS:
        case = Comparison(kind, centred, 0.3, 0)
        first, second = (protocol.work(case, Plan(), Data(data, modes)) for data in (small, changed))
        assert (first["alpha"], first["task_weight"]) == (second["alpha"], second["task_weight"])
    assert len(rows) == 18


def test_it_is_in_the_list():
    assert find("nci").data == ("nci_cancer",)


SMILES = [
    "".join(atoms)
    for atoms in itertools.product(("C", "N", "O"), ("C", "C=", "CC"), ("C", "N", "O", "CC", "C#C", "S", "F"))
]


def test_kernel_of_structures_is_that_of_their_paths(small, monkeypatch):
    """The features are those of the structures: errors are the same, cell by cell, and the page says so."""
    pytest.importorskip("rdkit", reason="needs the extra chem")
    graphs = [molecule_graph(text) for text in SMILES[:60]]
    features = Paths(6).fit(graphs).represent(graphs).matrix
    data = NCICancer(features, small.score, small.nsc, small.cell_line, small.tissue)
    monkeypatch.setattr(protocol, "load_nci_cancer", lambda: data)
    monkeypatch.setattr(protocol, "load_nci_smiles", lambda nsc: [SMILES[i] for i in nsc])
    loaded = protocol.load(Plan())
    np.testing.assert_array_equal(loaded.structures, loaded.modes.K)
    for kind, centred in page.SETTINGS:
        ours = protocol.work(FromStructures(kind, centred, 1), Plan(), loaded)
        theirs = protocol.work(Comparison(kind, centred, 0.3, 1), Plan(), loaded)
        assert (ours["error"], ours["alpha"]) == (theirs["error"][ALONE], theirs["alpha"][ALONE])
    report = run(page.STUDY, page.STUDY.plan(repeat=2))
    table = next(table for table in report.tables if "source of the paths" in table.title)
    assert len(table.rows) == 4 and {row["largest difference on a split"] for row in table.rows} == {"0"}
    assert "the two kernels are identical" in report.html()


def test_other_structures_give_other_errors(small, monkeypatch):
    pytest.importorskip("rdkit", reason="needs the extra chem")
    monkeypatch.setattr(protocol, "load_nci_cancer", lambda: small)
    monkeypatch.setattr(protocol, "load_nci_smiles", lambda nsc: [SMILES[i] for i in nsc])
    report = run(page.STUDY, page.STUDY.plan(repeat=2))
    table = next(table for table in report.tables if "source of the paths" in table.title)
    assert all(float(row["largest difference on a split"]) > 0 for row in table.rows)
    assert "at most" in report.html() and "the two kernels are identical" not in report.html()


def test_page(small, monkeypatch):
    """Without structures the page says why, in a line, and the rest is as with them."""

    def none(nsc):
        raise DataNotFound("there is no smiles.tsv.gz")

    monkeypatch.setattr(protocol, "load_nci_cancer", lambda: small)
    monkeypatch.setattr(protocol, "load_nci_smiles", none)
    monkeypatch.setattr(protocol, "rdkit_version", lambda: "none is needed")
    steps = []
    plan = page.STUDY.plan(repeat=3)
    report = run(page.STUDY, plan, progress=lambda done, total, what: steps.append((done, total)))
    titles = [table.title for table in report.tables]
    paired, splits = report.tables[0], report.tables[1]
    assert len(paired.rows) == 8 and {row["coupled by"] for row in paired.rows} == {SIMILAR, LEARNED}
    assert [row["seed"] for row in splits.rows] == [0, 1, 2] * 4
    assert set(METHODS) <= set(splits.rows[0])
    for row in paired.rows:
        mine = [float(r[row["coupled by"]]) for r in splits.rows if r["outputs"] == row["outputs"]]
        assert row["coupled"].mean == pytest.approx(np.mean(mine), abs=0.01)
    assert any("Statements of the paper" in title for title in titles)
    assert sum(isinstance(item, Figure) for item in report.items) == 9
    assert "Holm" in report.html()
    assert "not computed from the structures of the molecules. there is no smiles.tsv.gz" in report.html()
    assert not any("source of the paths" in title for title in titles)
    assert steps[-1] == (36, 36), (
        "two outputs, two fractions, three splits; a sweep, a comparison, a comparison on centred outputs"
    )


def test_real_molecules_behave_as_when_the_data_was_checked():
    """Ridge 1, no coupling, 5 % labelled, ±1: 48.1 was measured beforehand."""
    try:
        data = load_nci_cancer()
    except DataNotFound as error:
        pytest.skip(str(error))
    K = Tanimoto()(data.paths)
    Y = protocol.outputs(data, "±1")
    errors = []
    for seed in range(3):
        rows, others = protocol.split(len(Y), 0.05, seed)
        H = K[np.ix_(others, rows)] @ np.linalg.solve(K[np.ix_(rows, rows)] + np.eye(len(rows)), Y[rows])
        errors.append(protocol.mse(H, Y[others]))
    assert np.mean(errors) == pytest.approx(48.1, abs=1.0)
