"""Compare the numbers of two runs: `python tools/compare_metrics.py OLD/metrics.json NEW/metrics.json`.

Tables are matched by title and order, rows by order, cells by column. Times are ignored: columns, titles or rows that
speak of seconds, and notes. Differences of numbers beyond 1e-9, relative, and of texts are listed; the exit code is 1
when there are any. `--reworded` compares tables by order alone and columns by order, for pages whose words changed.
"""

import argparse
import json
import math
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

TIMES = re.compile(r"second|minutes|hours|running time|processor|^run$", re.IGNORECASE)


def differences(old: Any, new: Any, where: str = "", *, tol: float = 1e-9) -> Iterator[str]:
    """A line for everything that is not the same."""
    if isinstance(old, dict) and isinstance(new, dict):
        for name in dict.fromkeys([*old, *new]):
            if TIMES.search(name):
                continue
            if name not in old or name not in new:
                yield f"{where}/{name}: only in the {'new' if name in new else 'old'} run"
            else:
                yield from differences(old[name], new[name], f"{where}/{name}", tol=tol)
    elif isinstance(old, list) and isinstance(new, list):
        if len(old) != len(new):
            yield f"{where}: {len(old)} entries, now {len(new)}"
        for i, (one, other) in enumerate(zip(old, new, strict=False)):
            yield from differences(one, other, f"{where}[{i}]", tol=tol)
    elif _number(old) and _number(new):
        if not math.isclose(old, new, rel_tol=tol, abs_tol=1e-12):
            yield f"{where}: {old!r}, now {new!r}"
    elif old != new:
        yield f"{where}: {old!r}, now {new!r}"


def _number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def tables(metrics: dict[str, Any], *, reworded: bool) -> dict[str, Any]:
    """Title, or number, of each table that is not about times, and its rows."""
    found = {}
    for i, table in enumerate(metrics["tables"]):
        if not TIMES.search(table["title"]):
            rows = [row for row in table["rows"] if not any(TIMES.search(str(cell)) for cell in row.values())]
            found[f"table {i}" if reworded else f"{table['title']} [{i}]"] = [_cells(row, reworded) for row in rows]
    return found


def _cells(row: dict[str, Any], reworded: bool) -> Any:
    kept = {name: cell for name, cell in row.items() if not TIMES.search(name)}
    return [cell for cell in kept.values() if not isinstance(cell, str)] if reworded else kept


def main() -> int:
    """Print what differs."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("old", type=Path)
    parser.add_argument("new", type=Path)
    parser.add_argument("--reworded", action="store_true")
    parser.add_argument("--tol", type=float, default=1e-9)
    options = parser.parse_args()
    old, new = (
        tables(json.loads(path.read_text(encoding="utf-8")), reworded=options.reworded)
        for path in (options.old, options.new)
    )
    found = list(differences(old, new, tol=options.tol))
    print("\n".join(found) or f"{options.old} and {options.new}: {len(new)} tables with the same numbers")
    return bool(found)


if __name__ == "__main__":
    sys.exit(main())
