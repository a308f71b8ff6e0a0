"""What a reader walks through to follow a call: the functions that it enters, and what they hold.

Run as `python tools/walk.py`, with the beginnings of names of calls to select. Every function and method of every
module of the library is counted, once, from its first line to its last; what is defined inside it belongs to it.
`--list` prints the functions in the order of their first call.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections.abc import Callable
from functools import cache
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

import numpy as np
from check_house import FUNCTIONS, Cost, cost, length

import iokr
from iokr import IOKR, IOKRCV, LinkPredictor
from iokr.apps import links
from iokr.kernels import RBF
from iokr.losses import Huber

ROOT = Path(iokr.__file__).parent


def walk(call: Callable[[], Any]) -> list[CodeType]:
    """The functions of the library that `call` enters, in the order of their first call."""
    seen: dict[CodeType, None] = {}

    def enter(frame: FrameType, event: str, argument: Any) -> None:
        code = frame.f_code
        if event == "call" and code.co_filename.startswith(str(ROOT)) and "<" not in code.co_qualname:
            seen[code] = None

    sys.setprofile(enter)
    try:
        call()
    finally:
        sys.setprofile(None)
    return list(seen)


@cache
def functions_of(file: str) -> dict[int, Cost]:
    """The cost of each function of a file, by the line on which it begins, decorators included."""
    found = {}
    for node in ast.walk(ast.parse(Path(file).read_text(encoding="utf-8"))):
        if isinstance(node, FUNCTIONS):
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            found[first] = cost(node, length(node))
    return found


def total(codes: list[CodeType]) -> Cost:
    """What these functions hold together; generated methods, as those of tuples, have no source."""
    found = Cost()
    for code in codes:
        found = found.plus(functions_of(code.co_filename).get(code.co_firstlineno, Cost()))
    return found


def calls() -> dict[str, Callable[[], Any]]:
    """Calls on small data, by name."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(50, 3))
    Y = rng.normal(size=(50, 2))
    A = (rng.random((50, 50)) < 0.2).astype(float)
    A = np.triu(A, 1) + np.triu(A, 1).T
    data = links.read(X, np.argwhere(np.triu(A)))
    fitted = IOKR(RBF(), output_kernel=RBF()).fit(X, Y)
    return {
        "IOKR.fit": lambda: IOKR(RBF()).fit(X, Y),
        "IOKR.fit, output kernel": lambda: IOKR(RBF(), output_kernel=RBF()).fit(X, Y),
        "IOKR.predict": lambda: fitted.predict(X[:5]),
        "IOKR.fit, Huber loss": lambda: IOKR(RBF(), loss=Huber()).fit(X, Y),
        "IOKRCV.fit": lambda: IOKRCV(RBF()).fit(X, Y),
        "LinkPredictor.fit": lambda: LinkPredictor(RBF()).fit(X, A),
        "links.predict": lambda: links.predict(data),
    }


def main() -> None:
    """A line for each call."""
    parser = argparse.ArgumentParser(description="What a reader walks through to follow a call.")
    parser.add_argument("names", nargs="*", help="calls whose names begin like this; all by default")
    parser.add_argument("--list", action="store_true", help="the functions that each call enters")
    options = parser.parse_args()
    print(f"{'call':26}" + "".join(f"{name:>13}" for name in ("functions", "files", *Cost._fields)))
    for title, call in calls().items():
        if options.names and not title.startswith(tuple(options.names)):
            continue
        call()  # imports what is needed
        codes = walk(call)
        files = {code.co_filename for code in codes}
        print(f"{title:26}" + "".join(f"{number:13}" for number in (len(codes), len(files), *total(codes))))
        if options.list:
            print(*(f"    {Path(code.co_filename).relative_to(ROOT)}: {code.co_qualname}" for code in codes), sep="\n")


if __name__ == "__main__":
    main()
