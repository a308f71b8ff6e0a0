"""SIGINT and SIGTERM at any moment: a line, exit code 130 or 143, no traceback, no partially written file.

The handler raises no exception: between two arbitrary instructions an exception is lost in destructors and callbacks,
replaced by another one in imports, and a traceback at shutdown. It removes temporary files
(`iokr._system.files.abandon`) and ends the process.
"""

import contextlib
import os
import signal
import sys
from collections.abc import Callable, Iterator
from types import FrameType

__all__ = ["INTERRUPTED", "closing_words", "end_at_signals"]

INTERRUPTED = "iokr: interrupted."
_NAMES = {signal.SIGINT: INTERRUPTED, signal.SIGTERM: "iokr: terminated."}
_words: list[Callable[[], str]] = []


def end_at_signals() -> None:
    """End this process at SIGINT and SIGTERM, unless they are ignored, as by `nohup`."""
    for number in _NAMES:
        with contextlib.suppress(ValueError):  # not in the main thread, which alone receives signals
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _end)


@contextlib.contextmanager
def closing_words(words: Callable[[], str]) -> Iterator[None]:
    """Append `words()` to the message if a signal arrives inside this block."""
    _words.append(words)
    try:
        yield
    finally:
        _words.remove(words)


def _end(number: int, frame: FrameType | None) -> None:
    for other in _NAMES:
        signal.signal(other, signal.SIG_IGN)
    lines = ["\x1b[?25h"] if sys.stderr is not None and sys.stderr.isatty() else []  # bars hide the cursor
    with contextlib.suppress(Exception):  # the process ends in any case
        files = sys.modules.get("iokr._system.files")
        if files is not None:
            files.abandon()
        lines += [_NAMES[signal.Signals(number)], *(words() for words in _words)]
        os.write(2, (" ".join(line for line in lines if line) + "\n").encode(errors="backslashreplace"))
    os._exit(128 + number)
