"""A case in a child of its own: forked from a process that has imported everything, with limits of time and memory."""

from __future__ import annotations

import faulthandler
import json
import math
import os
import resource
import select
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from pathlib import Path

from attack.judge import Case, Outcome, judge

__all__ = ["attempt", "serve"]

MEMORY = 2 << 30  # bytes that a case may take beyond what the server holds
PATIENCE = 15  # seconds on the clock for one of the processor: a busy machine is no hang


def attempt(case: Case, memory: int = MEMORY, patience: float = PATIENCE) -> Outcome:
    """The outcome of a case, in a child: killed when it takes too long, refused memory beyond the limit.

    `case.seconds` are seconds of the processor; the clock is asked only for what waits and does nothing.
    """
    if case.prepare is not None:
        try:
            case.prepare()
        except BaseException as error:
            return Outcome("broken", f"the valid call fails: {type(error).__name__}: {error}"[:400])
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _in_child(case, writer, memory)
    os.close(writer)
    deadline, received, late = time.monotonic() + patience * case.seconds, b"", False
    while not late:
        ready, _, _ = select.select([reader], [], [], max(deadline - time.monotonic(), 0.0))
        late = not ready
        part = b"" if late else os.read(reader, 1 << 16)
        received += part
        if not part:
            break
    os.close(reader)
    if late:
        os.kill(child, signal.SIGKILL)
    _, status = os.waitpid(child, 0)
    if received:
        return Outcome(**json.loads(received))
    if late:
        return Outcome("hang", f"no answer after {patience * case.seconds:g} s, most of them idle")
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL):
        return Outcome("hang", f"no answer after {case.seconds:g} s of the processor")
    return Outcome("crash", f"the process ended with status {status}")


def _in_child(case: Case, writer: int, memory: int) -> None:
    """Judge the case and send the outcome; never returns."""
    code = 1
    try:
        faulthandler.disable()
        size = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
        resource.setrlimit(resource.RLIMIT_AS, (size + memory, size + memory))
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        seconds = math.ceil(case.seconds)
        resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds + 5))
        quiet = os.open(os.devnull, os.O_RDWR)
        os.dup2(quiet, 1)
        os.dup2(quiet, 2)
        with tempfile.TemporaryDirectory() as folder:
            os.chdir(folder)
            outcome = judge(case)
            os.chdir("/")
        os.write(writer, json.dumps(asdict(outcome)).encode())
        code = 0
    finally:
        os._exit(code)


def serve(cases: list[Case], jobs: int = 1, done: Callable[[int, Outcome], None] = lambda i, o: None) -> list[Outcome]:
    """The outcomes of all cases, in order: `jobs` servers, each taking the next group of one callable."""
    groups = list(_grouped(cases))
    outcomes: list[Outcome] = [Outcome("crash", "the server was lost")] * len(cases)
    todo_reader, todo_writer = os.pipe()
    readers = {}
    for _ in range(jobs):
        reader, writer = os.pipe()
        server = os.fork()
        if server == 0:
            try:
                os.close(reader)
                os.close(todo_writer)
                with os.fdopen(writer, "w") as out:
                    while len(token := os.read(todo_reader, 4)) == 4:
                        for i in groups[int.from_bytes(token, "big")]:
                            out.write(json.dumps([i, asdict(attempt(cases[i]))]) + "\n")
                            out.flush()
            except BaseException as error:
                sys.stderr.write(f"server: {error!r}\n")
            finally:
                os._exit(0)
        os.close(writer)
        readers[reader] = (server, b"")
    os.close(todo_reader)
    os.write(todo_writer, b"".join(g.to_bytes(4, "big") for g in range(len(groups))))
    os.close(todo_writer)
    while readers:
        ready, _, _ = select.select(list(readers), [], [])
        for reader in ready:
            part = os.read(reader, 1 << 16)
            server, held = readers[reader]
            if not part:
                os.close(reader)
                os.waitpid(server, 0)
                del readers[reader]
                continue
            *lines, rest = (held + part).split(b"\n")
            readers[reader] = (server, rest)
            for line in lines:
                i, fields = json.loads(line)
                outcomes[i] = Outcome(**fields)
                done(i, outcomes[i])
    return outcomes


def _grouped(cases: Iterable[Case], size: int = 60) -> Iterator[list[int]]:
    """Indices of consecutive cases of one callable, at most `size` of them: they share what was prepared."""
    group: list[int] = []
    last = None
    for i, case in enumerate(cases):
        if group and (case.callable != last or len(group) >= size):
            yield group
            group = []
        group.append(i)
        last = case.callable
    if group:
        yield group
