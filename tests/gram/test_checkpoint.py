"""Moments in a folder: whole or not there, of one fit."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

from iokr import IOKR, IOKRCV, Stream
from iokr.gram.checkpoint import Checkpoint, fingerprint
from iokr.gram.moments import moments_of
from iokr.kernels import RBF, Nystroem
from iokr.solvers import LowRank

rng = np.random.default_rng(0)
X, Y = rng.normal(size=(300, 3)), rng.normal(size=(300, 2))
K = Nystroem(RBF(0.3), 15)


def test_gives_back_what_was_kept(tmp_path):
    part = moments_of(X, Y, None, 0.5)
    Checkpoint(tmp_path, "one").save(3, part)
    again = Checkpoint(tmp_path, "one").load(3)
    for name in ("G", "B", "s", "n", "weight", "left"):
        assert_array_equal(getattr(again, name), getattr(part, name))
    assert Checkpoint(tmp_path, "one").load(4) is None


def test_another_fit_and_other_files_are_refused(tmp_path):
    Checkpoint(tmp_path / "a", "one")
    with pytest.raises(ValueError, match="another fit"):
        Checkpoint(tmp_path / "a", "two")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "note.txt").write_text("mine")
    with pytest.raises(ValueError, match="contains other files"):
        Checkpoint(tmp_path / "b", "one")


def test_a_half_written_file_is_not_taken_for_whole(tmp_path):
    kept = Checkpoint(tmp_path, "one")
    (tmp_path / ".00000003.npz.part").write_bytes(b"half")
    assert kept.load(3) is None


def test_the_hash_says_what_a_fit_is():
    same = [fingerprint(Nystroem(RBF(0.3), 15).fit(X), [100, 200]) for _ in range(2)]
    assert same[0] == same[1]
    assert fingerprint(Nystroem(RBF(0.3), 15).fit(X), [100, 100]) != same[0]
    assert fingerprint(Nystroem(RBF(0.31), 15).fit(X), [100, 200]) != same[0]


def test_a_stream_that_broke_off_is_taken_up(tmp_path):
    def model():
        return IOKR(K, alpha=0.1, solver=LowRank(checkpoint=tmp_path / "kept"))

    def broken():
        for start in range(0, 300, 50):
            if start == 200:
                raise OSError("the disk is gone")
            yield X[start : start + 50], Y[start : start + 50]

    with pytest.raises(OSError, match="disk"):
        model().fit(Stream(broken))
    assert len(list((tmp_path / "kept").glob("*.npz"))) == 4

    resumed = model().fit(Stream((X, Y), rows=50))
    whole = IOKR(K, alpha=0.1).fit(Stream((X, Y), rows=50))
    assert_array_equal(resumed.predict(X), whole.predict(X))
    with pytest.raises(ValueError, match="another fit"):
        model().fit(Stream((X + 1, Y), rows=50))
    folds = IOKRCV(K, cv=3, solver=LowRank(checkpoint=tmp_path / "kept")).fit(Stream((X, Y), rows=50))
    assert_array_equal(folds.cv_errors_, IOKRCV(K, cv=3).fit(Stream((X, Y), rows=50)).cv_errors_)
