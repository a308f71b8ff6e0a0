"""`python -m iokr_lab.bench.scale WORDS ...`: sections by words of their titles, as text, without `iokr.cli`."""

from __future__ import annotations

import sys

from iokr_lab.bench import run

if __name__ == "__main__":
    quick = "--quick" in sys.argv
    words = [word for word in sys.argv[1:] if word != "--quick"]
    report = run("scale", quick=quick, sections=words or None, progress=lambda done, total, what: print("#", what))
    print(report.table_text("tsv"), *report.notes, report.info, sep="\n")
