"""Nothing is timed in earnest: no pause and no garbage collection between the runs of contenders."""

import pytest

from iokr_lab.bench import base


@pytest.fixture(autouse=True)
def at_once(monkeypatch):
    monkeypatch.setattr(base, "_PAUSE", 0.0)
    monkeypatch.setattr(base.gc, "collect", lambda: 0)
