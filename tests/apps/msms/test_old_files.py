"""Model files of earlier versions of `iokr msms train` load and give the same answers.

Tests of `iokr.apps.msms.model`.
"""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest

pytest.importorskip("rdkit")

from iokr.apps import msms
from iokr.files import BadFile

GOLDEN = Path(__file__).parents[2] / "cli" / "golden" / "msms_train_1"


@pytest.mark.parametrize("name", ["compact", "whole"])
def test_a_file_of_format_1(name, tmp_path):
    """`compact` holds the data; `whole` the fitted matrices of a forward model with spectra without structures."""
    try:
        model = msms.load(GOLDEN / f"{name}.safetensors")
    except BadFile as error:
        if "RDKit" not in str(error):
            raise
        pytest.skip(str(error))  # another RDKit computes other fingerprints
    expected = pd.read_table(GOLDEN / f"{name}.tsv", keep_default_na=False)
    result = msms.identify(model, GOLDEN / "unknowns.mgf", GOLDEN / "candidates.tsv")
    table = result.table
    assert table["smiles"].tolist() == expected["smiles"].tolist()
    for column in ("score", "score_forward", "score_reverse", "score_library", "probability", "margin"):
        np.testing.assert_allclose(table[column], expected[column].astype(float), rtol=1e-5, atol=1e-7)
    assert table["evidence"].tolist() == expected["evidence"].tolist()
    model.save(tmp_path / "again.safetensors", compact=name == "compact")
    again = msms.identify(tmp_path / "again.safetensors", GOLDEN / "unknowns.mgf", GOLDEN / "candidates.tsv").table
    pd.testing.assert_frame_equal(again, table)
