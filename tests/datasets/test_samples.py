"""Samples: seeded, of the length asked for, of the kind their domain promises."""

import numpy as np
import pytest

import iokr.kernels
from iokr.datasets import DOMAINS, sample
from iokr.kernels.base import Kernel


@pytest.mark.parametrize("domain", sorted(DOMAINS))
def test_length_and_seed(domain):
    first, again, other = sample(domain, 7, seed=1), sample(domain, 7, seed=1), sample(domain, 7, seed=2)
    assert len(first) == 7
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)
    assert len(sample(domain, 1)) == 1


def test_every_domain_of_a_kernel_has_a_sample():
    members = [getattr(iokr.kernels, name) for name in iokr.kernels.__all__]
    kernels = [member for member in members if isinstance(member, type) and issubclass(member, Kernel)]
    domains = {kernel.domain for kernel in kernels if isinstance(kernel.domain, str)}  # else that of a wrapped kernel
    assert {"vectors", "fingerprints", "labels"} <= domains <= set(DOMAINS)


def test_kinds():
    assert sample("vectors", 3).dtype == float and sample("vectors", 3).ndim == 2
    assert set(np.unique(sample("fingerprints", 9))) == {0.0, 1.0}
    assert sorted(sample("indices", 5)) == [0, 1, 2, 3, 4]
    assert all(isinstance(word, str) for word in sample("strings", 5))
    assert all(sorted(ranking) == [0, 1, 2, 3, 4] for ranking in sample("rankings", 5))
    assert all(isinstance(items, frozenset) for items in sample("sets", 5))
    assert len({type(item) for item in sample("any", 6)}) == 3
    for domain in ("labels", "strings", "sequences", "sets", "rankings", "any"):
        objects = sample(domain, 6)
        assert objects.dtype == object and objects.ndim == 1
        assert all(hash(item) is not None for item in objects)


def test_bad_arguments_are_named():
    with pytest.raises(ValueError, match="`domain` must be one of any, bags, curves, fingerprints"):
        sample("cats")
    with pytest.raises(ValueError, match="`n` must be an integer of at least 1"):
        sample("vectors", 0)
