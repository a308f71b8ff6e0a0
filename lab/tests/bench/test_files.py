"""Contenders of `files` agree on a small model."""

import pytest

from iokr_lab.bench import base, files


@pytest.mark.parametrize("name", ["saving", "loading", "mapping"])
def test_all_contenders_agree(name):
    question = getattr(files, name)(seed=1, **files.SMALL[name])
    table, verdicts = base.ask(question, 1, lambda what: None)
    assert len(table.rows) == len(question.contenders)
    assert len(verdicts) == len(question.targets)
