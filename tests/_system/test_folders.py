"""A folder of results is the old one or the new one, and files of others stay in it."""

import itertools
import os
import shutil
import stat
from pathlib import Path

import pytest

from iokr._system import folders as _folders
from iokr._system.folders import ResultFolder

pytestmark = pytest.mark.skipif(os.name != "posix", reason="folders of POSIX")

OLD = {"table.tsv": "old table", "run.json": "old run", "gone.csv": "old"}
NEW = {"table.tsv": "new table", "run.json": "new run", "edges.tsv": "new edges"}


def texts(folder):
    return {str(path.relative_to(folder)): path.read_text() for path in folder.rglob("*") if path.is_file()}


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def write(folder, contents, **more):
    result = ResultFolder(folder)
    with result.reserved():
        result.write(contents, **more)


@pytest.fixture(params=["exchange", "no exchange", "inside"])
def way(request, monkeypatch):
    """Every way in which a folder is replaced."""
    if request.param == "no exchange":
        monkeypatch.setattr(_folders, "exchange", lambda one, other: False)
    if request.param == "inside":
        monkeypatch.setattr(os.path, "ismount", lambda path: Path(path).name == "run")
    return request.param


def test_the_new_one_replaces_the_old_one_and_files_of_others_stay(tmp_path, way):
    folder = tmp_path / "run"
    write(folder, OLD)
    (folder / "notes.txt").write_text("mine")
    (folder / "deep" / "er").mkdir(parents=True)
    (folder / "deep" / "er" / "x").write_text("mine too")
    (folder / "link").symlink_to("/nowhere")
    (folder / "deep").chmod(0o555)
    inode = (folder / "notes.txt").stat().st_ino
    folder.chmod(0o750)
    write(folder, NEW, dropped=["gone.csv"])
    assert texts(folder) == NEW | {"notes.txt": "mine", "deep/er/x": "mine too"}
    assert os.readlink(folder / "link") == "/nowhere"
    assert (folder / "notes.txt").stat().st_ino == inode and stat.S_IMODE(folder.stat().st_mode) == 0o750
    assert names(tmp_path) == ["run"]
    (folder / "deep").chmod(0o755)


def test_without_hard_links_files_of_others_are_copied(tmp_path, monkeypatch):
    def refuse(*args, **options):
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(os, "link", refuse)
    write(tmp_path / "run", OLD)
    (tmp_path / "run" / "notes.txt").write_text("mine")
    write(tmp_path / "run", NEW, dropped=["gone.csv"])
    assert texts(tmp_path / "run") == NEW | {"notes.txt": "mine"}


SYSTEM = ["mkdir", "rename", "replace", "fsync", "link", "rmdir", "unlink"]


@pytest.mark.parametrize("call", SYSTEM)
def test_whatever_the_system_refuses_the_folder_is_whole(tmp_path, monkeypatch, way, call):
    """Every call of its kind fails in turn; the folder is the old one or, when only tidying fails, the new one."""
    folder, original = tmp_path / "run", getattr(os, call)
    for failing in itertools.count():
        shutil.rmtree(folder, ignore_errors=True)
        write(folder, OLD)
        (folder / "notes.txt").write_text("mine")
        calls = itertools.count()

        def full(*args, calls=calls, failing=failing, **options):
            if next(calls) == failing:
                raise OSError(28, "No space left on device")
            return original(*args, **options)

        with monkeypatch.context() as patched:
            patched.setattr(os, call, full)
            try:
                write(folder, NEW)
                failed = False
            except OSError as error:
                failed = True
                assert error.filename and ".iokr-" not in str(error.filename)
        with ResultFolder(folder).reserved():  # as the next run does, whatever it is
            pass
        assert texts(folder) in (OLD | {"notes.txt": "mine"}, OLD | NEW | {"notes.txt": "mine"})
        assert names(tmp_path) == ["run"]
        if next(calls) <= failing:
            break
        assert failed or call in ("mkdir", "link", "rmdir", "unlink")  # what is then done in another way


def test_a_killed_run_is_put_right_at_any_moment(tmp_path, way):
    """A child is ended, as by SIGKILL, before its k-th call of the system; the next run finds old or new."""
    folder, seen = tmp_path / "run", set()
    for k in itertools.count():
        shutil.rmtree(folder, ignore_errors=True)
        write(folder, OLD)
        (folder / "notes.txt").write_text("mine")
        child = os.fork()
        if child == 0:
            calls = itertools.count()

            def ended(*args, original, calls=calls, k=k, **options):
                if next(calls) == k:
                    os._exit(9)
                return original(*args, **options)

            for call in SYSTEM:
                original = getattr(os, call)
                setattr(
                    os, call, lambda *args, original=original, **options: ended(*args, original=original, **options)
                )
            try:
                write(folder, NEW)
            except BaseException:  # an assertion of the parent would be lost
                os._exit(1)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        assert code in (0, 9)
        before = texts(folder) if folder.exists() else None
        if way == "exchange":
            assert before in (OLD | {"notes.txt": "mine"}, OLD | NEW | {"notes.txt": "mine"})
        with ResultFolder(folder).reserved():
            pass
        after = texts(folder)
        assert after in (OLD | {"notes.txt": "mine"}, OLD | NEW | {"notes.txt": "mine"}), (k, after)
        assert names(tmp_path) == ["run"]
        seen.add("edges.tsv" in after)
        if code == 0:
            break
    assert seen == {False, True}


def test_where_we_stand_the_folder_stays_the_same_one(tmp_path, monkeypatch):
    write(tmp_path / "run", OLD)
    inode = (tmp_path / "run").stat().st_ino
    monkeypatch.chdir(tmp_path / "run")
    write(Path(), NEW, dropped=["gone.csv"])
    assert texts(Path()) == NEW and (tmp_path / "run").stat().st_ino == inode


def test_a_link_to_a_folder_is_followed_and_stays(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "real" / "notes.txt").write_text("mine")
    (tmp_path / "link").symlink_to("real")
    write(tmp_path / "link", NEW)
    assert os.readlink(tmp_path / "link") == "real" and texts(tmp_path / "real") == NEW | {"notes.txt": "mine"}
    (tmp_path / "dangling").symlink_to("nowhere")
    with pytest.raises(FileExistsError, match="symbolic link to nowhere, which does not exist"):
        write(tmp_path / "dangling", NEW)
    assert names(tmp_path) == ["dangling", "link", "real"]


def test_two_runs_are_told_apart(tmp_path):
    folder = tmp_path / "a" / "run"
    with ResultFolder(folder).reserved():
        child = os.fork()
        if child == 0:
            try:
                write(folder, NEW)
            except BlockingIOError as error:
                os._exit(3 if str(error).startswith(f"another run is writing to {folder};") else 4)
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 3
    assert names(tmp_path) == [], "nothing was written, so nothing is left"


@pytest.mark.parametrize("name", ["../x", "a/b", ".iokr-lock", ""])
def test_only_files_of_the_folder_are_written(tmp_path, name):
    with pytest.raises(ValueError, match="not the name of a file"):
        write(tmp_path / "run", {name: "x"})


def test_the_root_is_no_folder_for_results():
    with pytest.raises(ValueError, match="root of the file system"), ResultFolder(Path("/")).reserved():
        pass
