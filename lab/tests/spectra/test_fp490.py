"""The page of 490 spectra, and what leaving own spectra out changes."""

import pytest

from iokr.datasets.home import DataNotFound, data_files
from iokr_lab import find


def test_leaving_own_spectra_out_helps():
    try:
        data_files("msms_fp490")
    except DataNotFound:
        pytest.skip("no data")
    report = find("msms-fp490").run(plan="short")
    rows = {(row["model"], row["output kernel"], row["λ"], row["own spectra"]): row for row in report.tables[0].rows}
    plain, own = (float(str(rows["forward", "Tanimoto", "0.1", w]["MRR"]).split()[0]) for w in ("included", "left out"))
    assert plain < 0.14 < 0.17 < own
