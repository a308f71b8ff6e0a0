"""`reduced-rank`: all ranks at once equal single models; the page.

Tests of `iokr_lab.ranks.reduced_rank` and `iokr_lab.ranks.values`.
"""

import numpy as np
import pytest

from iokr import IOKR
from iokr.kernels import Linear
from iokr.kernels.structured.sets import Tanimoto
from iokr.solvers import ReducedRank
from iokr_lab.data.msms import Spectra
from iokr_lab.ranks import values
from iokr_lab.ranks.reduced_rank import ALPHAS, BIBTEX, PLANS, STUDY, Data, Draw, Fold, Model, ranks_of
from iokr_lab.ranks.reduced_rank import Test as Official
from iokr_lab.study import Results

RNG = np.random.default_rng(0)
N = 40
WORDS = RNG.normal(size=(60, 6))
SETS = (WORDS @ RNG.normal(size=(6, 5)) + 0.5 * RNG.normal(size=(60, 5)) > 0).astype(float)


def data():
    X = RNG.normal(size=(400, 8))
    return Data(WORDS, SETS, N, Spectra(X @ X.T + np.eye(400), (RNG.normal(size=(400, 12)) > 0).astype(float)))


@pytest.mark.parametrize("p", [2, 5])
def test_every_rank_is_the_model_with_that_rank(p):
    Y = SETS[:N]
    candidates = np.unique(Y, axis=0)
    Z, S = values.coordinates(Y, candidates)
    np.testing.assert_allclose(Z @ Z.T, Tanimoto()(Y), atol=1e-10)
    D = np.linalg.solve(WORDS[:N].T @ WORDS[:N] + 0.3 * np.eye(6), WORDS[:N].T @ Z)
    split = values.Values(WORDS[:N] @ D, WORDS[N:] @ D, Z, S, np.ones(len(candidates)))
    (_, best) = values.nearest_by_rank(split, split.fitted_directions(), [1, p], 3)
    model = IOKR(Linear(), output_kernel=Tanimoto(), alpha=0.3, solver=ReducedRank(p)).fit(WORDS[:N], Y)
    np.testing.assert_array_equal(best, model.rank(WORDS[N:], candidates, k=3)[0])


def test_cells_and_page():
    pytest.importorskip("matplotlib")
    some, plan = data(), PLANS["short"]
    fold, test, draw = Fold(0.3, 0), Official(0.3), Draw(0)
    found = {case: STUDY.work(case, plan, some) for case in (fold, test, draw, Model(0.3))}
    assert found[test]["fitted values"][-1] == found[test]["outputs"][-1]  # full rank is full rank
    np.testing.assert_allclose(found[test]["fitted values"][-1], found[Model(0.3)]["full"]["f1"])
    cells = {}
    for case in STUDY.cases(plan, some):
        same = {Fold: fold, Official: test, Draw: draw}.get(type(case), case)
        cells[case] = found[same]
    assert len({str(case) for case in cells}) == len(cells)
    page = STUDY.page(Results(cells), plan, some)
    assert "a tenth of the coordinates" in page.summary and len(page.tables) == 3
    assert len(page.tables[0].rows) == len(ranks_of(10)) and ALPHAS[BIBTEX][1] == 0.3
