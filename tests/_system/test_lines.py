"""Files of records: appends are atomic, damaged lines are moved.

Tests of `iokr._system.lines`.
"""

import os
import subprocess
import sys

import pytest

from iokr._system.lines import append_line, read_lines, sound_record


def test_links_are_not_written_through(tmp_path):
    (tmp_path / "records.jsonl").symlink_to(tmp_path / "nowhere")
    with pytest.raises(FileExistsError, match="symbolic link"):
        append_line(tmp_path / "records.jsonl", b"x\n")


@pytest.mark.skipif(sys.platform == "win32", reason="has no limits of file sizes")
def test_a_full_disk_leaves_no_half_line(tmp_path):
    file = tmp_path / "records.jsonl"
    append_line(file, b'{"n": 1}\n')
    code = f"""
import resource, signal
from pathlib import Path
from iokr._system.lines import append_line
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (20, 20))
try:
    append_line(Path({str(file)!r}), b"x" * 100)
except OSError as error:
    print(error)
"""
    said = subprocess.run([sys.executable, "-c", code], env={**os.environ}, capture_output=True, text=True, check=True)
    assert "records.jsonl" in said.stdout
    assert [record for _, record in read_lines(file, lambda line: sound_record(line, n=int), file)] == [{"n": 1}]
