"""Everything that is offered to components outside is there, documented, and what the library itself uses."""

import inspect

import pytest

import iokr
from iokr import extend


@pytest.mark.parametrize("name", extend.__all__)
def test_every_name_is_documented_and_ours(name):
    member = getattr(extend, name)
    if name == "Array":  # any array of any library
        return
    assert (inspect.getdoc(member) or "").strip()
    assert member.__module__.startswith("iokr")


def test_the_bases_of_all_public_components_are_there():
    bases = {name for name in extend.__all__ if inspect.isclass(getattr(extend, name))}
    for folder in ("kernels", "embeddings", "losses", "manifolds", "decoders", "solvers", "operator_kernels"):
        module = __import__(f"iokr.{folder}", fromlist=["*"])
        for name in module.__all__:
            cls = getattr(module, name)
            if inspect.isclass(cls) and issubclass(cls, extend.Component):
                assert any(base.__name__ in bases for base in cls.__mro__), name


def test_it_is_not_loaded_by_the_library():
    assert "extend" not in iokr.__all__
