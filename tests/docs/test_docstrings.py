"""Docstrings of public names: the parameters that they describe are those of the signature, with its defaults."""

import importlib
import inspect
import re
from pathlib import Path

import pytest

docscrape = pytest.importorskip("numpydoc.docscrape")

API = (Path(__file__).parents[2] / "docs" / "api" / "index.rst").read_text(encoding="utf-8")
MODULES = re.findall(r"^   (iokr\S*)$", API, flags=re.MULTILINE)


def callables():
    """Every public class and function, and every public method that is written in iokr, once."""
    found = {}
    for module in map(importlib.import_module, MODULES):
        for name in module.__all__:
            one = getattr(module, name)
            if inspect.isfunction(one) or inspect.isclass(one):
                found.setdefault(one, f"{module.__name__}.{name}")
            for method, function in inspect.getmembers(one, inspect.isfunction) if inspect.isclass(one) else ():
                if method[0] != "_" and function.__module__.startswith("iokr"):
                    found.setdefault(function, function.__qualname__)
    return sorted(((name, one) for one, name in found.items()), key=lambda pair: pair[0])


def described(one):
    """Name to type of the parameters that the docstring describes; several may share an entry."""
    entries = docscrape.NumpyDocString(inspect.getdoc(one) or "")["Parameters"]
    return {name.lstrip("*"): entry.type for entry in entries for name in re.split(r",\s*", entry.name)}


DESCRIBED = [(name, one) for name, one in callables() if described(one)]


def test_there_are_many():
    assert len(DESCRIBED) > 200


@pytest.mark.parametrize("one", [one for _, one in DESCRIBED], ids=[name for name, _ in DESCRIBED])
def test_parameters_are_those_of_the_signature(one):
    types, signature = described(one), dict(inspect.signature(one).parameters)
    assert set(types) == set(signature) - {"self"}
    for key, kind in types.items():
        if stated := re.search(r"default=(.+)$", kind):
            default = signature[key].default
            words = getattr(default, "__name__", None) or repr(default)
            assert stated[1] == words or "..." in stated[1] or eval(stated[1], {}) == default, f"{key}: {default!r}"
