"""`python -m attack`: run cases, count outcomes, write what failed; see tools/attack.py."""

from __future__ import annotations

import argparse
import fnmatch
import os
import sys
import time
from collections import Counter, defaultdict
from pathlib import Path
from zlib import crc32

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMBA_NUM_THREADS", "POLARS_MAX_THREADS"):
    os.environ[_name] = "1"  # a fork keeps one thread only
os.environ.setdefault("MPLBACKEND", "Agg")
if str(Path(__file__).parents[1]) not in sys.path:
    sys.path.insert(0, str(Path(__file__).parents[1]))


def main(arguments: list[str] | None = None) -> int:
    """Run the cases asked for; 1 when one of them failed."""
    parser = argparse.ArgumentParser(
        description="Odd inputs against every public callable, each in a process of its own."
    )
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="servers side by side")
    parser.add_argument("--sample", type=int, metavar="N", help="about N cases, well spread, always the same")
    parser.add_argument("--part", metavar="K/M", help="the K-th of M parts, for a run in pieces")
    parser.add_argument("--relations", action="store_true", help="the metamorphic relations alone")
    parser.add_argument("--only", metavar="PATTERN", help="cases whose name matches, as 'kernels.RBF/*'")
    parser.add_argument("--case", metavar="NAME", help="one case, in this process, with its traceback")
    parser.add_argument(
        "--output", type=Path, default=Path("attack-failures.tsv"), help="where failing cases are written"
    )
    parser.add_argument("--strict", action="store_true", help="fail for findings that are known and open, too")
    parser.add_argument("--all", action="store_true", help="the whole product, which takes hours")
    parser.add_argument("--list", action="store_true", help="the names of the cases, nothing more")
    options = parser.parse_args(arguments)

    from attack.allowed import is_open, reason
    from attack.catalogue import cases, relations, sample
    from attack.judge import BAD, judge
    from attack.server import serve

    chosen = cases()
    if options.relations:
        names = {case.name for case in relations()}
        chosen = [case for case in chosen if case.name in names]
    if options.case:
        [case] = [case for case in chosen if case.name == options.case]
        print(judge(case))
        case.run()
        return 0
    if options.only:
        chosen = [case for case in chosen if fnmatch.fnmatchcase(case.name, options.only)]
    if options.sample:
        chosen = sample(chosen, options.sample)
    if options.part:
        k, m = map(int, options.part.split("/"))
        chosen = [case for case in chosen if crc32(case.name.encode("utf-8", "replace")) % m == k - 1]
    if options.list:
        print("\n".join(case.name for case in chosen))
        return 0
    start, counts, by_callable = time.monotonic(), Counter(), defaultdict(Counter)
    failures, last = [], [start]

    def done(i: int, outcome: object) -> None:
        case, word = chosen[i], outcome.word
        if word in BAD and reason(case.name, outcome):
            word = "allowed"
        elif word in BAD and is_open(case.name, outcome):
            word = "open"
        elif word in BAD:
            failures.append((case.name, outcome))
            print(f"{word}: {case.name} ({outcome.where}) {outcome.what[:160]!a}", file=sys.stderr, flush=True)
        counts[word] += 1
        by_callable[case.callable][word] += 1
        now, finished = time.monotonic(), sum(counts.values())
        if now - last[0] > 10:
            last[0] = now
            left = (now - start) / finished * (len(chosen) - finished)
            bad = sum(counts[word] for word in BAD)
            print(
                f"{finished} of {len(chosen)} cases, {bad} failed, {left / 60:.1f} min left",
                file=sys.stderr,
                flush=True,
            )

    serve(chosen, options.jobs, done)
    words = ["right", "refused", "allowed", "open", *BAD]
    width = max(map(len, by_callable), default=0)
    print("callable".ljust(width), *(word.rjust(9) for word in words))
    for name, row in sorted(by_callable.items()):
        print(name.ljust(width), *(str(row[word] or "").rjust(9) for word in words))
    print("all".ljust(width), *(str(counts[word]).rjust(9) for word in words))
    print(f"{len(chosen)} cases in {time.monotonic() - start:.0f} s, {len(failures)} failed")
    lines = [
        "\t".join([outcome.word, name, outcome.where, " ".join(outcome.what.split())]) for name, outcome in failures
    ]
    options.output.write_text(
        "\n".join(["outcome\tcase\twhere\twhat", *sorted(lines)]) + "\n", encoding="utf-8", errors="replace"
    )
    if failures:
        print(f"wrote {options.output}; again with --case NAME")
    return 1 if failures or (counts["open"] and options.strict) else 0


if __name__ == "__main__":
    sys.exit(main())
