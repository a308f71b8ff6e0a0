"""Finished parts of a run are found again by the same run, however it ended."""

import pytest

from iokr.apps.msms import Checkpoint

DAMAGED = [
    b"[]",
    b"null",
    b"\xff\xfe",
    b'{"key": "k", "name": "b", "value": {"a',
    b'{"key": 1, "name": "b", "value": {}}',
    b"7",
]


def resumed(path, seed=0):
    checkpoint = Checkpoint(path / "out.partial" / "folds.jsonl")
    checkpoint.resume({"seed": seed})
    return checkpoint


def test_parts_of_the_same_run_are_found(tmp_path):
    first = resumed(tmp_path)
    first.put("a", {"x": [1.5, float("inf")]})
    first.put("lone \ud800", {"x": "\ud800"})
    assert resumed(tmp_path).parts == first.parts
    assert resumed(tmp_path, 1).parts == {}
    resumed(tmp_path).remove()
    assert not (tmp_path / "out.partial").exists()


@pytest.mark.parametrize("damage", DAMAGED)
def test_damaged_lines_are_set_aside(tmp_path, damage):
    resumed(tmp_path).put("a", {"x": 1})
    file = tmp_path / "out.partial" / "folds.jsonl"
    file.write_bytes(damage + b"\n" + file.read_bytes() + damage)  # the last one without an end, as after a kill
    with pytest.warns(UserWarning, match=r"2 lines are damaged and moved to .*folds.damaged"):
        again = resumed(tmp_path)
    assert again.parts == {"a": {"x": 1}}
    again.put("b", {"x": 2})  # on a line of its own
    assert resumed(tmp_path).parts == {"a": {"x": 1}, "b": {"x": 2}}
    assert damage in (tmp_path / "out.partial" / "folds.damaged").read_bytes()
    again.remove()
    assert not (tmp_path / "out.partial").exists()


def test_a_linked_folder_is_rejected(tmp_path):
    (tmp_path / "outside").mkdir()
    (tmp_path / "out.partial").symlink_to(tmp_path / "outside")
    with pytest.raises(FileExistsError, match="symbolic link"):
        resumed(tmp_path)


def test_without_a_file_parts_are_in_memory(tmp_path):
    checkpoint = Checkpoint()
    checkpoint.resume({})
    checkpoint.put("a", 1)
    checkpoint.remove()
    assert checkpoint.parts == {"a": 1}
