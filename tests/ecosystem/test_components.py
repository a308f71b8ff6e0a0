"""Estimators and components clone, pickle, print and take parameters as scikit-learn's do."""

import inspect
import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import NotFittedError

import iokr.embeddings
import iokr.kernels
import iokr.manifolds
import iokr.solvers
from iokr import IOKR, IOKRCV
from iokr.decoders import Candidates, Threshold
from iokr.kernels import (
    RBF,
    Centered,
    Cosine,
    Delta,
    Features,
    FromFunction,
    Laplacian,
    Linear,
    Normalized,
    Polynomial,
    Precomputed,
    Product,
    Scaled,
    Sum,
    Tanimoto,
)
from iokr.losses import Square
from iokr.manifolds import Given, Heat, IteratedLaplacian
from iokr.operator_kernels import Decomposable
from iokr.solvers import Auto, Cholesky, ManifoldEigen


def shared_letters(x, z):
    return float(len(set(x) & set(z)))


COMPONENTS = [
    Linear(),
    Polynomial(2, 0.5, 1.0),
    RBF(),
    RBF(0.5),
    Laplacian(0.5),
    Cosine(),
    Tanimoto(),
    Delta(),
    FromFunction(shared_letters),
    Precomputed(),
    Precomputed(np.eye(3)),
    RBF(0.5) + Linear(),
    RBF(0.5) * Linear(),
    2.0 * RBF(0.5),
    Normalized(Polynomial(2)),
    Centered(RBF(0.5)),
    Decomposable(RBF(0.5), np.eye(2)),
    iokr.embeddings.Identity(),
    iokr.embeddings.Implicit(),
    iokr.embeddings.Eigen(3, 1e-9),
    iokr.manifolds.Laplacian(0.1, 5),
    IteratedLaplacian(0.1, 2, 5),
    Heat(0.1, 1.0),
    Given(0.1, np.eye(3)),
    Square(),
    Auto(),
    iokr.solvers.Eigen(),
    Cholesky(),
    ManifoldEigen(),
    iokr.decoders.Identity(),
    Candidates("score"),
    Threshold(),
    IOKR(RBF(0.5), alpha=0.1),
    IOKRCV(RBF(0.5), alphas=(0.1, 1.0)),
]


def same(value, other):
    """Equality of parameters: arrays by value, components by their own parameters."""
    if isinstance(value, BaseEstimator):
        return type(value) is type(other) and same(value.get_params(False), other.get_params(False))
    if isinstance(value, dict):
        return value.keys() == other.keys() and all(same(value[key], other[key]) for key in value)
    if isinstance(value, np.ndarray):
        return np.array_equal(value, other)
    return value == other


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda v: type(v).__name__)
def test_clone_has_the_same_parameters(component):
    twin = clone(component)
    assert twin is not component
    assert same(twin, component)


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda v: type(v).__name__)
def test_pickle_has_the_same_parameters(component):
    assert same(pickle.loads(pickle.dumps(component)), component)


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda v: type(v).__name__)
def test_repr_names_the_class(component):
    assert repr(component).startswith(type(component).__name__ + "(")


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda v: type(v).__name__)
def test_notebooks_can_show_it(component):
    assert type(component).__name__ in component._repr_html_()


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda v: type(v).__name__)
def test_components_compare_by_identity(component):
    assert component == component
    assert component != clone(component)
    assert len({component, clone(component)}) == 2


@pytest.mark.parametrize("component", COMPONENTS, ids=lambda v: type(v).__name__)
def test_constructors_name_their_parameters(component):
    kinds = [parameter.kind for parameter in inspect.signature(type(component)).parameters.values()]
    assert inspect.Parameter.VAR_POSITIONAL not in kinds
    assert inspect.Parameter.VAR_KEYWORD not in kinds


def test_repr_can_be_read_back():
    model = IOKR(RBF(gamma=0.5) + 2.0 * Linear(), output_kernel=Polynomial(degree=2), alpha=0.25)
    text = repr(model)
    assert "RBF(gamma=0.5)" in text
    assert same(eval(text), model)


def test_a_large_array_is_printed_by_its_shape():
    text = repr(IOKR(Precomputed(np.eye(50))))
    assert "0." not in text and len(text) < 120
    assert repr(Precomputed(np.eye(2))).count("1.") == 2, "a few numbers are shown"


def test_algebra_builds_the_named_kernels():
    kernel = RBF(0.5) + 3.0 * (Linear() * Cosine())
    assert isinstance(kernel, Sum)
    assert isinstance(kernel.right, Scaled)
    assert kernel.right.factor == 3.0
    assert isinstance(kernel.right.base, Product)
    assert kernel.get_params()["left__gamma"] == 0.5


def test_positional_order_of_fields():
    A = np.eye(2)
    assert Polynomial(2, 0.1, 3.0).get_params() == {"degree": 2, "gamma": 0.1, "coef0": 3.0}
    assert iokr.manifolds.Laplacian(0.1, 5).get_params() == {"weight": 0.1, "n_neighbors": 5}
    assert IteratedLaplacian(0.1, 3, 5).get_params() == {"weight": 0.1, "power": 3, "n_neighbors": 5}
    heat = Heat(0.1, 2.0, True)
    assert (heat.weight, heat.beta, heat.literal) == (0.1, 2.0, True)
    assert Given(0.1, A).matrix is A
    assert Decomposable(RBF(), A).A is A
    assert Auto(1e-3, 7).get_params() == {"tol": 1e-3, "max_iter": 7}


@pytest.mark.parametrize("estimator", [IOKR, IOKRCV])
def test_estimators_take_only_the_kernel_by_position(estimator):
    with pytest.raises(TypeError, match="positional"):
        estimator(RBF(), Linear())


def test_iokr_parameters_are_those_of_the_contract():
    assert list(inspect.signature(IOKR).parameters) == [
        *("kernel", "output_kernel", "embedding", "loss", "alpha", "manifold", "decoder", "solver", "intercept")
    ]
    names = ["kernel", "output_kernel", "embedding", "loss", "manifold", "decoder", "solver", "intercept"]
    assert IOKR().get_params(deep=False) == {**dict.fromkeys(names), "alpha": 1.0}
    assert {"kernel", "alphas", "manifold_weights", "cv"} <= set(inspect.signature(IOKRCV).parameters)
    assert "alpha" not in inspect.signature(IOKRCV).parameters


def test_iokrcv_tries_nineteen_alphas_by_default():
    alphas = IOKRCV().alphas
    assert isinstance(alphas, tuple)
    assert_allclose(alphas, np.logspace(-6, 3, 19), rtol=1e-5)


def test_set_params_reaches_nested_kernels():
    model = IOKR(2.0 * RBF(1.0), output_kernel=RBF(1.0))
    model.set_params(kernel__base__gamma=0.1, output_kernel__gamma=0.2, alpha=3.0)
    assert model.kernel.base.gamma == 0.1
    assert model.output_kernel.gamma == 0.2
    assert model.alpha == 3.0


def test_fit_changes_none_of_its_components():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(15, 3)), rng.normal(size=(15, 2))
    model = IOKR(
        RBF(),
        output_kernel=RBF(),
        embedding=iokr.embeddings.Implicit(),
        loss=Square(),
        manifold=iokr.manifolds.Laplacian(0.1),
        decoder=Candidates(),
        solver=Auto(),
    )
    parts = {name: part for name, part in model.get_params(deep=False).items() if name not in ("alpha", "intercept")}
    before = {name: dict(vars(part)) for name, part in parts.items()}
    model.fit(X, Y, X_unlabeled=rng.normal(size=(5, 3)))
    for name, attributes in before.items():
        assert vars(getattr(model, name)) == attributes, name
    assert model.kernel_ is not model.kernel


def test_clone_of_a_fitted_model_is_not_fitted():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(10, 3)), rng.normal(size=(10, 2))
    model = clone(IOKR().fit(X, Y))
    with pytest.raises(NotFittedError):
        model.predict(X)


@pytest.mark.parametrize("model", [IOKR(), IOKRCV(alphas=np.logspace(-3, 1, 6))], ids=["IOKR", "IOKRCV"])
def test_fitted_model_survives_pickling_and_stays_small(model):
    rng = np.random.default_rng(0)
    n = 400
    X, Y, new = rng.normal(size=(n, 5)), rng.normal(size=(n, 2)), rng.normal(size=(9, 5))
    model = clone(model).fit(X, Y)
    loo = model.loo_decision_function()
    data = pickle.dumps(model)
    read = pickle.loads(data)
    assert_array_equal(read.decision_function(new), model.decision_function(new))
    assert_allclose(read.loo_decision_function(), loo, rtol=1e-9, atol=1e-12)
    # X, Y and C are 28 kB; one n x n matrix would be 1280 kB.
    assert len(data) < 200_000


def test_fitted_model_with_an_output_kernel_pickles_one_matrix_at_most():
    rng = np.random.default_rng(0)
    n = 300
    X, Y = rng.normal(size=(n, 5)), rng.normal(size=(n, 2))
    model = IOKR(output_kernel=RBF()).fit(X, Y)
    data = pickle.dumps(model)
    assert_array_equal(pickle.loads(data).predict(X[:5]), model.predict(X[:5]))
    assert len(data) < 1.3 * 8 * n * n


def test_semi_supervised_model_survives_pickling():
    rng = np.random.default_rng(0)
    X, Y, new = rng.normal(size=(20, 3)), rng.normal(size=(20, 2)), rng.normal(size=(7, 3))
    model = IOKR(manifold=iokr.manifolds.Laplacian(0.1)).fit(X, Y, X_unlabeled=rng.normal(size=(30, 3)))
    read = pickle.loads(pickle.dumps(model))
    assert_array_equal(read.decision_function(new), model.decision_function(new))


def test_features_kernel_takes_a_transformer_and_clones_it():
    from sklearn.preprocessing import PolynomialFeatures

    kernel = Features(PolynomialFeatures(degree=2))
    model = IOKR(kernel).set_params(kernel__transformer__degree=3)
    assert clone(model).kernel.transformer.degree == 3
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(12, 2)), rng.normal(size=(12, 2))
    model.fit(X, Y)
    assert not hasattr(kernel.transformer, "n_output_features_")  # fit cloned it
    explicit = IOKR(Linear()).fit(PolynomialFeatures(degree=3).fit_transform(X), Y)
    assert_allclose(model.solution_.C, explicit.solution_.C, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("intercept", [False, True])
def test_fit_leaves_its_data_as_they_were(intercept):
    rng = np.random.default_rng(0)
    X, Y, new = rng.normal(size=(20, 3)), rng.normal(size=(20, 2)), rng.normal(size=(6, 3))
    weight, A = rng.uniform(0.5, 2.0, size=20), np.array([[2.0, 1.0], [1.0, 1.0]])
    K = RBF(0.5)(np.concatenate([X, new]))
    data = [X, Y, new, weight, A, K]
    copies = [array.copy() for array in data]
    embedding = iokr.embeddings.Identity()

    IOKR(Decomposable(RBF(0.5), A), embedding=embedding).fit(X, Y, sample_weight=weight).predict(new)
    IOKR(Precomputed(K), embedding=embedding).fit(np.arange(20), Y).loo_decision_function()
    IOKR(Precomputed(), embedding=embedding).fit(K[:20, :20], Y, sample_weight=weight).predict(K[20:, :20])
    IOKRCV(Precomputed(K), embedding=embedding).fit(np.arange(20), Y)
    IOKR(manifold=iokr.manifolds.Given(0.1, K), embedding=embedding).fit(X, Y, X_unlabeled=new)

    for array, copy in zip(data, copies, strict=True):
        assert_array_equal(array, copy)


def test_refitting_forgets_the_first_fit():
    rng = np.random.default_rng(0)
    X, Y = rng.normal(size=(20, 3)), rng.normal(size=(20, 2))
    twice = IOKR().fit(rng.normal(size=(30, 5)), rng.normal(size=30)).fit(X, Y)
    once = IOKR().fit(X, Y)
    assert_array_equal(twice.predict(X), once.predict(X))
    assert_array_equal(twice.loo_decision_function(), once.loo_decision_function())
    assert twice.n_features_in_ == 3
