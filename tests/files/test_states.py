"""States: what objects give to files, and are made from. Tests of `iokr._state` and `iokr.files.kinds`."""

import json
import re
from dataclasses import dataclass
from inspect import isabstract
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import iokr
import members
from fitted_models import CASES, fitted, flat
from iokr._state import Stateful, made_from, state_of, stored_names
from iokr.apps.links import baselines
from iokr.extend import Kernel, component
from iokr.files.container import open_container
from iokr.files.kinds import KINDS, PACKAGES
from iokr.files.model import read_structure
from iokr.files.objects import GRAPHS, SPARSE
from iokr.files.registry import class_of, name_of
from iokr.kernels import RBF, Normalized

GOLDEN = sorted((Path(__file__).parent / "golden" / "format2").glob("*.safetensors"))
GUIDE = Path(__file__).parents[2] / "docs" / "guide" / "model_files.rst"


@pytest.mark.parametrize("name", CASES)
def test_a_model_is_made_again_from_its_state(name):
    case = fitted(name)
    again = type(case.model).from_state(case.model.state())
    for left, right in zip(flat(case.answer(again)), flat(case.answer(case.model)), strict=True):
        assert np.all(np.asarray(left == right) | (np.asarray(left != left)))


@pytest.mark.parametrize("part", members.EVERYTHING, ids=members.label)
def test_a_component_is_made_again_from_its_state(part):
    if type(part).__name__ != "GraKeL":
        assert repr(type(part).from_state(part.state())) == repr(part)


def test_states_have_documented_names_only():
    kernel = Normalized(RBF(0.5)).fit(np.eye(3))
    assert set(kernel.state()) == {"base", "base_"}
    model = iokr.IOKR().fit(np.eye(3), np.eye(3))
    assert not [name for name in model.state() if name.startswith("_")]


def test_no_name_in_a_file_begins_with_an_underscore():
    names, classes = set(), set()
    for path in GOLDEN:
        with open_container(path) as file:
            text = json.dumps(read_structure(file)["objects"])
        objects = json.loads(text)
        names |= {name for entry in objects for name in entry["fields"]}
        classes |= set(re.findall(r'"class": "([^"]+)"', text))
    assert not [name for name in names if name.startswith("_")]
    public = classes - set(KINDS) - set(GRAPHS) - set(SPARSE)
    assert all(class_of(name).__name__ == name.rpartition(".")[2] for name in public)
    assert len(classes & set(KINDS)) > 20


def test_names_in_files_differ_from_parameters():
    for cls in [*KINDS.values(), *(type(fitted(name).model) for name in CASES)]:
        parameters = cls._get_param_names() if hasattr(cls, "_get_param_names") else ()
        assert set(stored_names(cls)).isdisjoint(parameters), cls


@dataclass
class Value:
    """As a class of a later version: `shift` was added, with what it was before as its default."""

    slope: float
    shift: float = 0.0

    def _stored(self):
        return {"slope": self.slope, "offset": self.shift}


def test_a_field_that_is_missing_has_its_default():
    assert made_from(Value, {"slope": 2.0}) == Value(2.0)
    assert state_of(Value(2.0, 1.0)) == {"slope": 2.0, "offset": 1.0}
    with pytest.raises(ValueError, match="Value needs 'slope'"):
        made_from(Value, {"offset": 1.0})
    with pytest.raises(ValueError, match="Value has no 'curvature'"):
        made_from(Value, {"slope": 1.0, "curvature": 1.0})


def test_a_parameter_that_is_missing_has_its_default(tmp_path, monkeypatch):
    """A file of before a parameter and a fitted value were added."""

    @component
    class Later(RBF):
        power: float = 1.0

        power_ = 1.0

    iokr.save(RBF(0.5).fit(np.eye(3)), tmp_path / "m")
    monkeypatch.setattr("iokr.files.reading.class_of", lambda name: Later)
    again = iokr.load(tmp_path / "m")
    assert (again.gamma, again.power, again.power_) == (0.5, 1.0, 1.0)
    assert again.get_params() == {"gamma": 0.5, "power": 1.0}


def test_an_attribute_without_a_name_is_refused():
    class Hiding(Kernel):
        block = diag = None

    hiding = Hiding()
    hiding._hidden = 1
    with pytest.raises(TypeError, match=r"`_hidden` of .*Hiding"):
        hiding.state()


def test_arrays_are_handed_over_and_not_copied():
    X = np.eye(3)
    model = iokr.IOKR().fit(X, X)
    assert model.from_state(model.state()).solution_ is model.solution_
    assert isinstance(model, Stateful)
    assert_array_equal(model.from_state(model.state()).predict(X), model.predict(X))


def rows():
    """The rows of the tables in the guide with two columns."""
    lines = [line.strip() for line in GUIDE.read_text().splitlines() if line.count(" | ") == 1]
    return [line.split(" | ") for line in lines]


def arguments(cls):
    """Parameters, of kinds that are public classes elsewhere."""
    return [name for name in cls.__init__.__annotations__ if name != "return"] if issubclass(cls, Stateful) else []


def test_the_guide_lists_every_kind_with_its_fields():
    listed = dict(rows())
    for kind, cls in KINDS.items():
        assert listed.get(kind) == ", ".join([*arguments(cls), *stored_names(cls)]), kind


def test_the_guide_lists_the_further_fields_of_public_classes():
    listed = {name: fields for names, fields in rows() for name in names.split(", ")}
    modules = [*PACKAGES.values(), baselines]
    found = {getattr(module, name) for module in modules for name in module.__all__}
    public = [cls for cls in found if isinstance(cls, type) and issubclass(cls, Stateful) and not isabstract(cls)]
    for cls in set(public) - set(KINDS.values()):
        assert listed.get(name_of(cls), "") == ", ".join(stored_names(cls)), name_of(cls)
