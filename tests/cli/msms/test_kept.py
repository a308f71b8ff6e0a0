"""Finished parts of a run are kept, whatever ends it."""

from iokr.cli.msms.kept import Kept


def test_parts_are_there_again(tmp_path):
    path = tmp_path / "run.partial" / "parts.jsonl"
    Kept(path, "a").put("1", {"x": [1, 2.5]})
    again = Kept(path, "a")
    assert again.parts == {"1": {"x": [1, 2.5]}}
    assert Kept(path, "b").parts == {}
    again.forget()
    assert not path.parent.exists()


def test_half_a_line_is_no_part(tmp_path):
    path = tmp_path / "parts.jsonl"
    Kept(path, "a").put("1", 1)
    with path.open("a") as file:
        file.write('{"key": "a", "name": "2", "va')
    assert Kept(path, "a").parts == {"1": 1}
