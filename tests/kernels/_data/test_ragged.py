"""Objects end to end in one array beside lists of arrays."""

import numpy as np
import pytest

from iokr.data.ragged import LANES, Ragged, pair_tiles, side_by_side

rng = np.random.default_rng(0)
OBJECTS = [rng.integers(0, 9, size=size) for size in (3, 0, 5, 1, 4)]


def ragged(objects):
    return Ragged.of(np.concatenate(objects), [len(x) for x in objects])


def listed(R):
    return [R.values[start : start + length].tolist() for start, length in zip(R.starts, R.lengths, strict=True)]


def test_slices_and_joins_are_those_of_lists():
    R = ragged(OBJECTS)
    assert len(R) == 5 and listed(R) == [x.tolist() for x in OBJECTS]
    rows = np.array([4, 0, 2])
    assert listed(R[rows]) == [OBJECTS[i].tolist() for i in rows]
    assert listed(R[rows].concat(R[1:3])) == [OBJECTS[i].tolist() for i in (4, 0, 2, 1, 2)]
    np.testing.assert_array_equal(R[rows].gathered(), np.concatenate([OBJECTS[i] for i in rows]))


def test_shorter_objects_are_filled_up():
    padded = ragged(OBJECTS).padded(-1)
    assert padded.shape == (5, 5)
    assert [[int(v) for v in row if v >= 0] for row in padded] == [x.tolist() for x in OBJECTS]


@pytest.mark.parametrize("flat", [False, True])
def test_tiles_cover_every_pair_once(flat):
    objects = [rng.integers(0, 9, size=size) for size in rng.integers(1, 60, size=90)]
    R, S = ragged(objects[:50]), ragged(objects[50:])

    def sums(x, z):
        return np.array([sum(a) * 1000 + sum(b) for a, b in zip(listed(x), listed(z), strict=True)])

    expected = [[sum(x) * 1000 + sum(z) for z in objects[50:]] for x in objects[:50]]
    np.testing.assert_array_equal(pair_tiles(R, S, sums, flat=flat), expected)
    diagonal = pair_tiles(R, R, sums, paired=True, flat=flat)
    np.testing.assert_array_equal(diagonal[:, 0], [sum(x) * 1001 for x in objects[:50]])


def test_side_by_side_holds_every_object_in_order_of_length():
    objects = [rng.integers(0, 9, size=size) for size in rng.integers(0, 7, size=LANES + 5)]
    order, values, lengths = side_by_side(ragged(objects), -1)
    assert (np.diff([len(objects[i]) for i in order]) >= 0).all()
    starts = np.cumsum(lengths) - lengths
    for k, i in enumerate(order):
        group, lane = divmod(k, LANES)
        column = values[starts[group] : starts[group] + lengths[group], lane]
        assert column[column >= 0].tolist() == objects[i].tolist()
