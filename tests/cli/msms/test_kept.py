"""Finished parts of a run are kept, whatever ends it."""

import pytest

from iokr.apps.msms.kept import Kept

DAMAGED = [
    b"[]",
    b"null",
    b"\xff\xfe",
    b'{"key": "k", "name": "b", "value": {"a',
    b'{"key": 1, "name": "b", "value": {}}',
    b"7",
]


def kept(path, key="k"):
    return Kept(path / "out.partial" / "folds.jsonl", key)


def test_parts_are_found_again_and_those_of_other_runs_are_not(tmp_path):
    first = kept(tmp_path)
    first.put("a", {"x": [1.5, float("inf")]})
    first.put("lone \ud800", {"x": "\ud800"})
    assert kept(tmp_path).parts == first.parts
    assert kept(tmp_path, "other").parts == {}
    kept(tmp_path).forget()
    assert not (tmp_path / "out.partial").exists()


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_line_is_set_aside_and_takes_no_other_with_it(tmp_path, damage):
    kept(tmp_path).put("a", {"x": 1})
    file = tmp_path / "out.partial" / "folds.jsonl"
    file.write_bytes(damage + b"\n" + file.read_bytes() + damage)  # the last one without an end, as after a kill
    with pytest.warns(UserWarning, match=r"2 lines are damaged and set aside in .*folds.damaged"):
        again = kept(tmp_path)
    assert again.parts == {"a": {"x": 1}}
    again.put("b", {"x": 2})  # not glued to half a line
    assert kept(tmp_path).parts == {"a": {"x": 1}, "b": {"x": 2}}
    assert damage in (tmp_path / "out.partial" / "folds.damaged").read_bytes()
    again.forget()
    assert not (tmp_path / "out.partial").exists()


def test_a_linked_folder_is_refused(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "out.partial").symlink_to(tmp_path / "outside")
    with pytest.raises(FileExistsError, match="symbolic link"):
        kept(tmp_path)


def test_words_are_said_only_of_what_there_is(tmp_path):
    parts = kept(tmp_path)
    assert parts.words("folds") == ""
    parts.put("a", {})
    assert parts.words("folds") == "1 folds are kept; the same command goes on from there."
