"""Objects that cannot be read are named by their index, in the argument that holds them."""

import pickle

import pytest

from iokr._objects import BadObject, BadObjectType, error_context
from iokr.kernels import Jaccard, Spectrum


def test_says_what_is_known_of_it():
    error = BadObject("String", 3, " is empty.")
    assert (error.kind, error.index, error.text, error.argument) == ("String", 3, " is empty.", None)
    assert str(error) == "String 3 is empty."
    assert str(BadObject("String", "3 of candidate set 2", " is empty.", "candidates")) == (
        "`candidates`: String 3 of candidate set 2 is empty."
    )


@pytest.mark.parametrize("cls", [BadObject, BadObjectType])
def test_pickles(cls):
    again = pickle.loads(pickle.dumps(cls("Set", 1, " is odd.", "y")))
    assert type(again) is cls
    assert str(again) == "`y`: Set 1 is odd."


def test_contexts_add_the_argument_once_and_every_renumbering():
    with (
        pytest.raises(BadObject, match=r"^`y`: String 23 is empty\.$"),
        error_context("X", lambda i: i + 10),
        error_context("y", lambda i: i + 10),
        error_context("y"),
    ):
        raise BadObject("String", 3, " is empty.")


def test_other_errors_pass_unchanged():
    with pytest.raises(ValueError, match=r"^String 3 is what it says\.$"), error_context("y", lambda i: i + 10):
        raise ValueError("String 3 is what it says.")


def test_kernels_raise_it():
    with pytest.raises(BadObject) as caught:
        Spectrum(2)(["ab", ""])
    assert (caught.value.kind, caught.value.index) == ("String", 1)
    with pytest.raises(TypeError) as caught:
        Jaccard()([{1}, 2.0])
    assert isinstance(caught.value, BadObjectType)
