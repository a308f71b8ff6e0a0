"""The benchmark of pairs: its contenders agree, and the route without a compiler is taken."""

import numpy as np
import pytest

from iokr_lab.bench import pairs
from iokr_lab.bench.base import check_agreement

SMALL = {"m": 30, "n": 150, "p": 4}


@pytest.mark.parametrize("question", [pairs.ridge, pairs.ridge_plain])
def test_contenders_agree(question):
    pytest.importorskip("numba")
    asked = question(**SMALL)
    given = {contender.name: contender.answers(contender.run()) for contender in asked.contenders}
    assert len(given) >= 2
    check_agreement(given, asked.rtol)


def test_the_machines_rank_alike():
    asked = pairs.margin(**SMALL)
    ours, theirs = (np.asarray(contender.run()) for contender in asked.contenders)
    assert np.corrcoef(ours, theirs)[0, 1] > 0.9
