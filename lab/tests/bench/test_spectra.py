"""The benchmark `spectra`: its contenders agree, on made spectra."""

import numpy as np
import pytest

from iokr_lab.bench.base import check_agreement
from iokr_lab.bench.spectra import exponentials, fingerprints, gram, library, made_spectra, touched, without_numba


@pytest.fixture(autouse=True)
def made(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))


@pytest.mark.parametrize("make", [gram, without_numba, fingerprints])
def test_contenders_agree(make):
    asked = make(n=40)
    given = {c.name: c.answers(c.run()) for c in asked.present}
    assert len(given) >= 2
    check_agreement(given, asked.rtol)


def test_library_runs():
    (ours, shifted) = [c.run() for c in library(n=8).contenders[:2]]
    assert ours.shape == shifted.shape == (8, 8)


def test_the_floor_counts_what_is_touched():
    spectra = made_spectra(5)
    near = np.abs(np.subtract.outer(spectra.mz, spectra.mz)) <= 12 * 0.005
    assert touched(spectra) == (near.sum() + len(spectra.mz)) // 2
    assert exponentials(5, np.array([0.0, np.log(2.0)])) == pytest.approx(1 + 0.5 + 1 + 0.5 + 1)
