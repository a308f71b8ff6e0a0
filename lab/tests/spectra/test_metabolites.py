"""The experiment on MassBank, on a few molecules.

Tests of `iokr_lab.spectra.metabolites`, `iokr_lab.spectra.losses`, `iokr_lab.spectra.page`,
`iokr_lab.spectra.confidence`, `iokr_lab.spectra.ranks` and `iokr_lab.spectra.protocol`.
"""

import numpy as np
import pytest
from sklearn.base import clone

from iokr.chem.spectra import MassSpectra
from iokr_lab.data.massbank import MassBank
from iokr_lab.spectra import losses, metabolites
from iokr_lab.spectra.protocol import Data, Similarities, Spectra, split


def made(n=40, m=60):
    """Consistent spectra, molecules and kernels, small enough for a second."""
    rng = np.random.default_rng(0)
    packed = np.packbits(rng.uniform(size=(m, 4263)) < 0.1, axis=1)
    known = [{"id": str(i), "inchikey14": f"K{i}"} for i in range(n)]
    spectra = MassSpectra(np.full(n, 100.0), np.ones(n), np.arange(n + 1), np.full(n, 150.0) + np.arange(n), known)
    formulas = np.array([f"C{i % 12}" for i in range(m)])
    bank = MassBank(spectra, np.array(["C"] * m), formulas, packed, rng.uniform(size=n) < 0.5)
    bits = bank.bits(np.arange(m)).astype(float)
    both = bits @ bits.T
    T = both / (np.diag(both)[:, None] + np.diag(both) - both)
    Z = bits[:n, :40] + 0.3 * rng.normal(size=(n, 40))
    K = Z @ Z.T / np.sqrt(np.outer((Z**2).sum(1), (Z**2).sum(1)))
    fold = rng.permutation(np.arange(n) % 5)
    grams = {"P": K, "P + L": K, "six": K}
    return Data(
        bank,
        np.arange(n),
        grams,
        {"cosine": K, "modified": K, "mass": K},
        T[:, :n].astype("f4"),
        bank.candidates(),
        fold,
    )


def test_the_table_is_read_from_either_side_and_not_copied():
    data = made()
    kernel = Similarities(data.tanimoto)
    assert clone(kernel).matrix is data.tanimoto
    R, S = kernel.represent([50, 3]), kernel.represent([0, 1, 2])
    np.testing.assert_array_equal(kernel.block(R, S), kernel.block(S, R).T)


def test_folds_keep_molecules_apart_and_hold_the_truth():
    data = made()
    parts = [split(data, fold) for fold in range(5)]
    assert sorted(np.concatenate([part.test for part in parts])) == [i for i in range(40) if len(data.sets[i]) > 1]
    for part in parts:
        assert not set(part.train) & set(part.test)
        assert [some[t] for some, t in zip(part.candidates, part.truth, strict=True)] == part.test.tolist()


def test_the_page_has_every_method():
    from iokr_lab.study import Results

    pytest.importorskip("matplotlib")
    plan, data = Spectra(selection=20), made()
    cells = {case: metabolites._work(case, plan, data) for case in metabolites._cases(plan, data)}
    report = metabolites._page(Results(cells), plan, data)
    names = [row["method"] for row in report.tables[0].rows]
    assert names[0] == "reverse, six"
    assert {"forward, P", "library, cosine, best hit", "ridge on each bit, six", "chance"} <= set(names)
    best = report.tables[0].rows[0]
    assert best["top-20"] == 100.0  # no set is larger


def test_three_losses_at_two_penalties():
    from iokr_lab.study import Results

    plan, data = losses.Split80(rank=20), made()
    cells = {case: losses._work(case, plan, data) for case in losses._cases(plan, data)}
    report = losses._page(Results(cells), plan, data)
    assert [row["loss"] for row in report.tables[0].rows] == [
        "ridge",
        "ridge",
        "κ-Huber",
        "κ-Huber",
        "ε-ridge",
        "ε-ridge",
    ]
    assert all(cell["gap"] < 1e-3 for cell in cells.values())
