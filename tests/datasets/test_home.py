"""The folder of data, and errors for missing files."""

import sys
from pathlib import Path

import pytest

from iokr.datasets import DataNotFound, data_files, data_home, find_data


def test_environment_variable_comes_first(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    assert data_home() == tmp_path


def test_relative_and_home_paths_become_absolute(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IOKR_DATA", "here")
    assert data_home() == tmp_path / "here"
    monkeypatch.setenv("IOKR_DATA", "~/there")
    assert data_home() == Path.home() / "there"


@pytest.mark.parametrize(
    ("platform", "expected"),
    [("linux", ".cache/iokr"), ("darwin", "Library/Caches/iokr"), ("win32", "AppData/Local/iokr")],
)
def test_default_is_the_cache_of_the_platform(monkeypatch, tmp_path, platform, expected):
    for name in ("IOKR_DATA", "XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(sys, "platform", platform)
    monkeypatch.setattr(Path, "home", lambda: tmp_path)
    assert data_home() == tmp_path / expected


def test_an_empty_variable_is_no_variable(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", "")
    monkeypatch.setattr(sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert data_home() == tmp_path / "iokr"


def test_found(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    (tmp_path / "set" / "deep").mkdir(parents=True)
    (tmp_path / "set" / "b.txt").write_text("b")
    (tmp_path / "set" / "deep" / "a.txt").write_text("a")
    assert find_data("set/b.txt") == tmp_path / "set" / "b.txt"
    assert data_files("set") == [tmp_path / "set" / "b.txt", tmp_path / "set" / "deep" / "a.txt"]


def test_missing_is_one_line_that_says_what_where_and_how(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    with pytest.raises(DataNotFound) as caught:
        find_data("usps/usps.npz")
    message = str(caught.value)
    assert "\n" not in message
    for part in ("usps/usps.npz", str(tmp_path), "IOKR_DATA"):
        assert part in message
    assert isinstance(caught.value, FileNotFoundError)
