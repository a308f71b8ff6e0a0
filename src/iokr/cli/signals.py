"""SIGINT and SIGTERM at any moment: a line, exit code 130 or 143, no traceback, nothing half-written.

The handler raises nothing: an exception that comes between any two instructions is lost in destructors and callbacks,
becomes another one in imports, and a traceback when the interpreter shuts down. It tidies up what is being written
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
    """End this process at SIGINT and SIGTERM, unless whoever started it has them ignored."""
    for number in _NAMES:
        with contextlib.suppress(ValueError):  # not in the main thread: then nobody sends us signals
            if signal.getsignal(number) is not signal.SIG_IGN:
                signal.signal(number, _end)


@contextlib.contextmanager
def closing_words(words: Callable[[], str]) -> Iterator[None]:
    """`words()` follow the message, when a signal comes inside this block."""
    _words.append(words)
    try:
        yield
    finally:
        _words.remove(words)


def _end(number: int, frame: FrameType | None) -> None:
    for other in _NAMES:
        signal.signal(other, signal.SIG_IGN)
    lines = ["\x1b[?25h"] if sys.stderr is not None and sys.stderr.isatty() else []  # bars hide the cursor
    with contextlib.suppress(Exception):  # whatever is wrong, it ends
        files = sys.modules.get("iokr._system.files")
        if files is not None:
            files.abandon()
        lines += [_NAMES[signal.Signals(number)], *(words() for words in _words)]
        os.write(2, (" ".join(line for line in lines if line) + "\n").encode(errors="backslashreplace"))
    os._exit(128 + number)
