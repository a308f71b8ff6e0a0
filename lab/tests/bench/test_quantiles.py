"""The benchmark `quantiles`: its contenders agree.

Tests of `iokr_lab.bench.quantiles`.
"""

import pytest

from iokr_lab.bench.base import check_agreement
from iokr_lab.bench.quantiles import SMALL, crossing, plain


@pytest.mark.parametrize("make", [plain, crossing])
def test_contenders_agree(make):
    asked = make(**SMALL[make.__name__])
    given = {contender.name: contender.answers(contender.run()) for contender in asked.contenders}
    check_agreement(given, asked.rtol)
    assert sum(map(bool, given.values())) == 3
