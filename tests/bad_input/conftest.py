"""What every test of bad input shares: a small problem, and the form of a good message."""

import contextlib
import re

import numpy as np
import pytest

from iokr import IOKR, IOKRCV
from iokr.data.objects import BadObject
from iokr.kernels import RBF


def speaks_of(message, word):
    """Whether `word` stands in the message; names of one letter and numbers must stand alone."""
    if len(word) == 1 or word.lstrip("-").isdigit():
        return re.search(rf"(?<![\w.]){re.escape(word)}(?!\w)", message) is not None
    return word.lower() in message.lower()


class Refusal:
    """`with refuses(ValueError, "alpha", "-1.0"):` the error and the words its message must hold."""

    @contextlib.contextmanager
    def __call__(self, error, *words):
        with pytest.raises(error) as caught:
            yield caught
        # A subclass such as LinAlgError, UnicodeError or NotFittedError is not one of our own words; BadObject is.
        assert isinstance(caught.value, BadObject) or type(caught.value) in (
            error if isinstance(error, tuple) else (error,)
        )
        message = str(caught.value)
        missing = [word for word in words if not speaks_of(message, word)]
        assert not missing, f"the message does not speak of {missing}: {message}"


@pytest.fixture
def refuses():
    return Refusal()


@pytest.fixture
def data():
    """X (12, 3) and Y (12, 2)."""
    rng = np.random.default_rng(0)
    return rng.normal(size=(12, 3)), rng.normal(size=(12, 2))


@pytest.fixture(params=[IOKR, IOKRCV])
def estimator(request):
    """The class of an estimator."""
    return request.param


@pytest.fixture
def fitted(data):
    """A model of vectors with an output kernel, so that all methods apply."""
    return IOKR(RBF(0.5), output_kernel=RBF(0.5)).fit(*data)
