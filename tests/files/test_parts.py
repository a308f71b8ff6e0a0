"""Components of users in files: their parameters and fitted arrays are stored, their class is passed to `load`."""

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import iokr
from iokr.extend import Kernel, Loss, PairwiseKernel, check_vectors, component
from iokr.files import BadFile, describe
from iokr.kernels import RBF
from rewritten import joined, split

X, Y = np.random.default_rng(0).normal(size=(12, 3)), np.random.default_rng(1).normal(size=(12, 2))
NEW = np.random.default_rng(2).normal(size=(4, 3))


@component
class Ratio(Kernel):
    """k(x, z) = 1 / (1 + s‖x − z‖²), s fitted."""

    power: float = 1.0

    domain = "vectors"

    def fit(self, X):
        self.scale_ = np.var(self.represent(X), axis=0).sum()
        return self

    def represent(self, X):
        return check_vectors(X)

    def block(self, R, S):
        return 1 / (1 + np.sum((R[:, None] - S[None]) ** 2, axis=2) / self.scale_) ** self.power

    def diag(self, R):
        return np.ones(len(R))


@component
class Distance(PairwiseKernel):
    """k(x, z) = f(x, z) for a function among the parameters."""

    f: object = None

    domain = "vectors"

    def pair(self, x, z):
        return self.f(x, z)


@component
class Remembering(Ratio):
    """Holds a private array, which its own `state` stores."""

    def fit(self, X):
        self._far = np.full(1, 5.0)
        return super().fit(X)

    def block(self, R, S):
        return super().block(R, S) / self._far

    def diag(self, R):
        return super().diag(R) / self._far

    def state(self):
        kept = {name: value for name, value in vars(self).items() if name != "_far"}
        return {**kept, "far": self._far} if hasattr(self, "_far") else kept

    @classmethod
    def from_state(cls, state):
        made = super().from_state({name: value for name, value in state.items() if name != "far"})
        if "far" in state:
            made._far = state["far"]
        return made


@component
class Naming(Ratio):
    """Holds a private array, whose name in files `_stored` gives."""

    def _stored(self):
        return {"far": self._far}

    def fit(self, X):
        self._far = np.full(1, 5.0)
        return super().fit(X)

    def block(self, R, S):
        return super().block(R, S) / self._far

    def diag(self, R):
        return super().diag(R) / self._far


@component
class Forgetful(Ratio):
    """Holds a private array that has no name in files."""

    def fit(self, X):
        self._far = np.ones(1)
        return super().fit(X)


def inner(x, z):
    return float(x @ z)


def saved(model, path):
    with pytest.warns(UserWarning, match="does not hold"):
        iokr.save(model, path)
    return path


@pytest.fixture
def path(tmp_path):
    return saved(iokr.IOKR(0.5 * Ratio(2.0)).fit(X, Y), tmp_path / "m")


def renamed(path, change):
    """The file after its structure was changed."""
    header, structure, data = split(path.read_bytes())
    change(structure)
    path.write_bytes(joined(header, structure, data))


@pytest.mark.parametrize(
    "kernel", [Ratio(2.0), Remembering(1.5), Naming(1.5)], ids=["fitted value", "own state", "stored"]
)
def test_only_the_class_is_passed(kernel, tmp_path):
    model = iokr.IOKR(kernel, output_kernel=RBF()).fit(X, Y)
    again = iokr.load(saved(model, tmp_path / "m"), parts={"kernel": type(kernel)})
    assert_array_equal(again.decision_function(NEW), model.decision_function(NEW))
    assert repr(again) == repr(model)
    assert again.kernel_ is again.inputs_.kernel


def test_the_warning_names_the_class(tmp_path):
    with pytest.warns(UserWarning, match=r"`kernel__base`, the class \S*test_parts\.Ratio.*\{'kernel__base': Ratio\}"):
        iokr.save(iokr.IOKR(0.5 * Ratio()).fit(X, Y), tmp_path / "m")


def test_what_load_asks_for_is_what_it_takes(path):
    with pytest.raises(ValueError, match=r"`kernel__base`, the class \S*test_parts\.Ratio.*\{'kernel__base': Ratio\}"):
        iokr.load(path)
    assert iokr.load(path, parts={"kernel__base": Ratio}).kernel.base.power == 2.0


def test_an_equal_object_is_taken_and_another_is_refused(path):
    model = iokr.load(path, parts={"kernel__base": Ratio(2.0)})
    assert_array_equal(model.predict(NEW), iokr.load(path, parts={"kernel__base": Ratio}).predict(NEW))
    with pytest.raises(ValueError, match=r"^`parts.*power=3\.0, but power=2\.0 is in the file.*Ratio itself") as caught:
        iokr.load(path, parts={"kernel__base": Ratio(3.0)})
    assert not isinstance(caught.value, BadFile)  # nothing is wrong with the file


@pytest.mark.parametrize("part", [Remembering, RBF, RBF(0.5), inner, "Ratio", np.ndarray, None])
def test_other_classes_and_objects_are_refused(part, path):
    with pytest.raises(TypeError, match=r"must be the class \S*test_parts\.Ratio, got"):
        iokr.load(path, parts={"kernel__base": part})


def test_a_class_of_another_role_is_refused(path):
    @component
    class Other(Loss):
        power: float = 1.0

    Other.__qualname__ = "Ratio"
    with pytest.raises(TypeError, match="must be a class derived from Kernel"):
        iokr.load(path, parts={"kernel__base": Other})


def test_parameters_that_the_class_does_not_take_are_refused(path):
    @component
    class Changed(Kernel):
        exponent: float = 1.0

    Changed.__qualname__ = "Ratio"
    with pytest.raises(ValueError, match=r"`parts\['kernel__base'\]` does not take the state.*no 'power'"):
        iokr.load(path, parts={"kernel__base": Changed})


def test_functions_of_a_component_are_parts_too(tmp_path):
    model = iokr.IOKR(Distance(inner)).fit(X, Y)
    path = saved(model, tmp_path / "m")
    again = iokr.load(path, parts={"kernel": Distance, "kernel__f": inner})
    assert_array_equal(again.predict(NEW), model.predict(NEW))


def test_one_class_is_asked_for_once(tmp_path):
    model = iokr.IOKRCV([Ratio(1.0), Ratio(2.0)]).fit(X, Y)
    again = iokr.load(saved(model, tmp_path / "m"), parts={"kernel__0": Ratio})
    assert_array_equal(again.predict(NEW), model.predict(NEW))


def test_a_private_value_outside_of_the_state_is_refused(tmp_path):
    with pytest.raises(TypeError, match=r"`_far` of \S*test_parts\.Forgetful.*add it to `_stored`"):
        iokr.save(iokr.IOKR(Forgetful()).fit(X, Y), tmp_path / "m")


def test_a_class_without_a_name_is_refused(tmp_path):
    @component
    class Local(Ratio):
        pass

    with pytest.raises(TypeError, match="has no name in its module"):
        iokr.save(iokr.IOKR(Local()).fit(X, Y), tmp_path / "m")


def test_a_file_is_described_without_the_class(path):
    assert describe(path)["Parameters"]["kernel"] == "Scaled(base=Ratio(power=2.0), factor=0.5)"
    assert describe(path)["To be given to load"]["kernel__base"] == f"class {__name__}.Ratio"


def test_a_class_is_not_imported_by_its_name_in_a_file(path):
    def point(structure):
        structure["holes"][0]["module"] = "os"
        structure["holes"][0]["name"] = "system"

    renamed(path, point)
    with pytest.raises(TypeError, match=r"the class os\.system"):
        iokr.load(path, parts={"kernel__base": Ratio})


def test_a_foreign_object_is_passed_fitted(tmp_path):
    from sklearn.preprocessing import StandardScaler

    from iokr.kernels import Features

    path = saved(iokr.IOKR(Features(StandardScaler())).fit(X, Y), tmp_path / "m")
    with pytest.raises(TypeError, match="must be the fitted StandardScaler, got the class"):
        iokr.load(path, parts={"kernel__transformer": StandardScaler})
