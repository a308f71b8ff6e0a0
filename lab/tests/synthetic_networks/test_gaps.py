"""Printed numbers, and the gaps to them."""

import numpy as np

from iokr_lab.synthetic_networks.gaps import MIXTURES, RANDOM, gaps_of, printed


def test_printed_numbers():
    assert len(RANDOM) == 12 and len(MIXTURES) == 16
    assert RANDOM["0.01, 95 %"]["components"].mean == 227
    row = [str(printed(("0.01", fraction), "ridge", "roc_auc")) for fraction in (0.05, 0.1, 0.2)]
    assert row == ["90.6 ± 1.0", "95.4 ± 0.4", "98.0 ± 0.3"]
    assert str(printed(("0.03, 0.001", 0.2), "margin", "average_precision", 100)) == "4.0 ± 0.1"


def test_gaps_are_ours_minus_the_printed_mean():
    areas = [{"roc_auc": 91.0, "average_precision": 16.0}, {"roc_auc": 92.0, "average_precision": 20.0}]
    found = gaps_of("ridge", lambda cell: areas, [("0.01", 0.05), ("0.01", 0.2)])
    np.testing.assert_allclose(found.pairs, [(0.9, 2.3), (-6.5, -21.2)])
    assert found.within == [True, False] and found.count == "1 of 2"
    assert (found.worst(0), found.worst(1)) == (-6.5, -21.2)
    assert [found.text(i) for i in range(2)] == ["+0.9, +2.3", "−6.5, −21.2 ✗"]
