"""A file is whole or what it was: errors, full disks, links, two writers."""

import os
import stat
import subprocess
import sys
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from iokr._system.files import abandon, exchange, locked, refuse_name, remove_unfinished, write_atomically

posix = pytest.mark.skipif(os.name != "posix", reason="locks and links of POSIX")

HOLD = """
import sys, pathlib
from iokr._system.files import locked
with locked(pathlib.Path(sys.argv[1]), "busy"):
    print("held", flush=True)
    sys.stdin.read()
"""


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def test_a_file_is_replaced_at_the_end_of_the_block(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    with write_atomically(path) as file:
        file.write(b"ne")
        assert path.read_bytes() == b"old"
        file.write(b"w")
    assert path.read_bytes() == b"new" and names(tmp_path) == ["model"]


@pytest.mark.parametrize("there", [True, False])
@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_leaves_what_was(tmp_path, there, error):
    path = tmp_path / "model"
    if there:
        path.write_bytes(b"old")
    with pytest.raises(error), write_atomically(path) as file:
        file.write(b"half")
        raise error
    assert names(tmp_path) == (["model"] if there else []) and (not there or path.read_bytes() == b"old")


@posix
@pytest.mark.parametrize("failing", ["fsync", "replace"])
def test_a_full_disk_leaves_what_was_and_names_the_file(tmp_path, monkeypatch, failing):
    path = tmp_path / "model"
    path.write_bytes(b"old")

    def full(*args):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, failing, full)
    with pytest.raises(OSError, match="No space left") as caught, write_atomically(path) as file:
        file.write(b"half")
    assert caught.value.filename == str(path)
    assert names(tmp_path) == ["model"] and path.read_bytes() == b"old"


@posix
def test_a_file_size_limit_leaves_what_was(tmp_path):
    """A write that the system refuses, in a process of its own."""
    path = tmp_path / "model"
    path.write_bytes(b"old")
    code = """
import resource, signal, sys
from iokr._system.files import write_atomically
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000))
with write_atomically(sys.argv[1]) as file:
    file.write(b"x" * 100000)
"""
    run = subprocess.run([sys.executable, "-c", code, str(path)], capture_output=True, text=True, check=False)
    assert run.returncode == 1 and "File too large" in run.stderr and str(path) in run.stderr
    assert names(tmp_path) == ["model"] and path.read_bytes() == b"old"


@posix
def test_links_are_not_written_through(tmp_path):
    outside, link = tmp_path / "outside", tmp_path / "link"
    link.symlink_to(outside)
    for _ in range(2):
        with pytest.raises(FileExistsError, match="symbolic link to"), write_atomically(link):
            pass
        outside.write_text("mine")
    assert outside.read_text() == "mine"
    (tmp_path / ".model.iokr-new").symlink_to(outside)
    with write_atomically(tmp_path / "model") as file:
        file.write(b"new")
    assert outside.read_text() == "mine" and (tmp_path / "model").read_bytes() == b"new"


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="is a folder"), write_atomically(tmp_path):
        pass


@posix
def test_the_mode_is_kept_and_what_a_dead_process_left_is_used_again(tmp_path):
    path = tmp_path / "model"
    path.write_bytes(b"old")
    path.chmod(0o640)
    (tmp_path / ".model.iokr-new").write_bytes(b"left by a process that was killed")
    with write_atomically(path) as file:
        file.write(b"new")
    assert path.read_bytes() == b"new" and stat.S_IMODE(path.stat().st_mode) == 0o640
    assert names(tmp_path) == ["model"]


@posix
def test_a_second_writer_is_rejected(tmp_path):
    def second():
        with pytest.raises(BlockingIOError, match="model is being written"), write_atomically(tmp_path / "model"):
            pass

    with write_atomically(tmp_path / "model") as file, ThreadPoolExecutor() as pool:
        file.write(b"first")
        pool.submit(second).result()
    assert (tmp_path / "model").read_bytes() == b"first" and names(tmp_path) == ["model"]


def test_two_names_are_exchanged_in_one_step(tmp_path):
    for name in "ab":
        (tmp_path / name).mkdir()
        (tmp_path / name / name).touch()
    if not exchange(tmp_path / "a", tmp_path / "b"):
        pytest.skip("this system cannot")
    assert names(tmp_path / "a") == ["b"] and names(tmp_path / "b") == ["a"]


@posix
def test_a_lock_is_for_one_process_and_ends_with_it(tmp_path):
    path = tmp_path / "x.lock"
    other = subprocess.Popen(
        [sys.executable, "-c", HOLD, str(path)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    with other:
        assert other.stdout.readline() == "held\n"
        with pytest.raises(BlockingIOError, match="busy"), locked(path, "busy"):
            pass
        other.kill()
        other.wait()
    assert path.exists(), "it was killed"
    with locked(path, "busy"), locked(path, "busy"):
        assert path.exists()
    assert names(tmp_path) == []


@posix
def test_a_lock_is_for_one_thread(tmp_path):
    found = []

    def other():
        try:
            with locked(tmp_path / "x.lock", "busy"):
                found.append("held")
        except BlockingIOError as error:
            found.append(str(error))

    with locked(tmp_path / "x.lock", "busy"):
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert found == ["busy"]


def test_a_process_that_ends_without_unwinding_leaves_nothing(tmp_path):
    code = """
import os, sys, pathlib
from iokr._system.files import abandon, locked, write_atomically
with locked(pathlib.Path("x.lock"), "busy"), write_atomically("model") as file:
    file.write(b"half")
    abandon()
    os._exit(7)
"""
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=False)
    assert run.returncode == 7 and names(tmp_path) == []
    abandon()  # nothing is under way here


def test_what_a_killed_process_left_is_removed_and_what_is_being_written_is_not(tmp_path):
    path, new = tmp_path / "a.txt", tmp_path / ".a.txt.iokr-new"
    new.write_bytes(b"half")
    remove_unfinished(path)
    assert not new.exists()
    with write_atomically(path) as file, ThreadPoolExecutor() as pool:
        pool.submit(remove_unfinished, path).result()
        assert new.exists()
        file.write(b"whole")
    assert path.read_bytes() == b"whole"


@pytest.mark.parametrize("name", ["aux", "NUL.tsv", "com1", "lpt9.old.txt", "a:b", "what?", "end.", "end ", "con .txt"])
def test_names_that_windows_does_not_have(name, tmp_path):
    with pytest.raises(ValueError, match="not a valid name of a file or folder on Windows"):
        refuse_name(tmp_path / name, windows=True)
    refuse_name(tmp_path / name, windows=False)


@pytest.mark.parametrize("name", ["auxiliary.tsv", "com10", "console", "a.b.c", "λ.tsv", ".hidden", "com"])
def test_names_that_it_has(name, tmp_path):
    refuse_name(tmp_path / name, windows=True)


@posix
def test_a_process_that_was_rejected_discards_nothing(tmp_path):
    code = """
from iokr._system.files import abandon, write_atomically
try:
    with write_atomically("model"):
        pass
except BlockingIOError:
    abandon()
"""
    with write_atomically(tmp_path / "model") as file:
        subprocess.run([sys.executable, "-c", code], cwd=tmp_path, check=True)
        file.write(b"whole")
    assert (tmp_path / "model").read_bytes() == b"whole"
