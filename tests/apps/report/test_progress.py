"""Progress that nobody watches says nothing."""

from iokr.apps.report import silent


def test_silent(capsys):
    assert silent(1, 3, "working") is None
    assert capsys.readouterr().out == ""
