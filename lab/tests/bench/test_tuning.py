"""The benchmark `tuning`: its contenders agree."""

from iokr_lab.bench.base import check_agreement
from iokr_lab.bench.tuning import evaluation


def test_contenders_agree():
    asked = evaluation(n=80, p=3)
    given = {contender.name: contender.answers(contender.run()) for contender in asked.contenders}
    assert set(given) == {"Search", "bare calls"}
    check_agreement(given, asked.rtol)
