"""What a newcomer writes first and gets wrong: each error says what to write instead."""

import numpy as np
import pytest
from sklearn.model_selection import GridSearchCV

from iokr import (
    IOKR,
    IOKRCV,
    Functional,
    FunctionalCV,
    IOKRClassifier,
    IOKRRegressor,
    LinkPredictor,
    MultiTask,
    MultiTaskCV,
    OutputKernelForest,
    PairModel,
    QuantileCurves,
)
from iokr.decoders import MinimumRisk
from iokr.kernels import RBF, Delta, Nystroem, Tanimoto
from iokr.losses import Huber

SINGLE = [IOKRRegressor, IOKRCV, IOKR]
WITH_KERNELS = [*SINGLE, MultiTask, Functional, QuantileCurves]
LABELS = ["up", "down"] * 6
WORDS = ["abc", "bcd", "cde", "dea"] * 3
TAGS = [["sea"], ["sea", "sun"], []] * 4


def outputs_of(cls, Y):
    """What this estimator learns: labels, curves, one number for each row."""
    if cls is IOKRClassifier:
        return LABELS
    return Y if cls is Functional else Y[:, 0]


# ------------------------------------------------------------------------------------------------------------- outputs


@pytest.mark.parametrize("cls", SINGLE)
def test_labels_need_a_classifier(cls, data, refuses):
    pd = pytest.importorskip("pandas")
    for y in (LABELS, np.array(LABELS), pd.Series(LABELS), pd.Series(LABELS, dtype="category")):
        with refuses(ValueError, "y", "'up'", "IOKRClassifier", "output_kernel=Delta()"):
            cls().fit(data[0], y)


@pytest.mark.parametrize("cls", SINGLE)
@pytest.mark.parametrize("tags", [TAGS, [set(tags) for tags in TAGS]], ids=["lists", "sets"])
def test_sets_of_labels_need_an_output_kernel_or_indicators(cls, tags, data, refuses):
    with refuses(ValueError, "y", "MultiLabelBinarizer", 'MinimumRisk("f1")', "output_kernel=Jaccard()"):
        cls().fit(data[0], tags)


@pytest.mark.parametrize(
    "tags",
    [
        TAGS,
        [set(tags) for tags in TAGS],
        [tuple(tags) for tags in TAGS],
        [["sea", "sun"]] * 12,
        np.eye(12)[:, :3] + 0.0,
    ],
    ids=["lists", "sets", "tuples", "equal lengths", "indicators"],
)
def test_a_classifier_takes_one_label_for_each_row(tags, data, refuses):
    with refuses(ValueError, "y", "one label", "MultiLabelBinarizer", 'IOKRCV(decoder=MinimumRisk("f1"))'):
        IOKRClassifier().fit(data[0], tags)


def test_what_the_classifier_advises_for_tags_works(data):
    from sklearn.preprocessing import MultiLabelBinarizer

    indicators = MultiLabelBinarizer().fit_transform(TAGS)
    assert IOKRCV(decoder=MinimumRisk("f1")).fit(data[0], indicators).predict(data[0]).shape == indicators.shape


def test_numbers_need_a_regressor(data, refuses):
    with refuses(ValueError, "y", "continuous", "IOKRRegressor"):
        IOKRClassifier().fit(data[0], data[1][:, 0])


@pytest.mark.parametrize("model", [IOKR(output_kernel=Delta()), OutputKernelForest(Delta())], ids=repr)
def test_equality_of_measured_numbers_is_warned_of(model, data):
    X, Y = data
    for y in (Y, Y[:, 0]):
        with pytest.warns(UserWarning, match=r"12 different numbers in 12 rows, and `Delta\(\)` compares.*leave"):
            model.fit(X, y)


@pytest.mark.filterwarnings("error")
def test_equality_of_labels_and_of_numbers_that_repeat_is_not_warned_of(data):
    for y in (LABELS, np.arange(12), np.arange(12.0), np.repeat([0.5, 1.5, 2.5], 4)):
        IOKR(output_kernel=Delta()).fit(data[0], y)


# -------------------------------------------------------------------------------------------------------------- inputs


@pytest.mark.parametrize("cls", [*WITH_KERNELS, IOKRClassifier])
@pytest.mark.parametrize("X", [WORDS, np.array(WORDS)], ids=["list", "array"])
def test_texts_as_inputs(cls, X, data, refuses):
    y = outputs_of(cls, data[1])
    with refuses(ValueError, "X", "'abc'", "kernel=Normalized(Spectrum(3))"):
        cls().fit(X, y)


@pytest.mark.parametrize("cls", [*WITH_KERNELS, IOKRClassifier])
def test_a_text_column_is_to_be_encoded(cls, data, table, refuses):
    X, Y = data
    y = outputs_of(cls, Y)
    with refuses(ValueError, "X", "Column 'city' of 2", "'abc'", "OneHotEncoder", "Columns(kernel, names)"):
        cls().fit(table({"a": X[:, 0], "city": WORDS}), y)
    mixed = np.column_stack([X[:, 0].astype(object), WORDS])
    with refuses(ValueError, "X", "column 1", "'abc'", "OneHotEncoder", "kernel"):
        cls().fit(mixed, y)


def test_a_forest_does_not_speak_of_kernels(data, table, refuses):
    X, _ = data
    forest = OutputKernelForest(Delta())
    mixed = np.column_stack([X[:, 0].astype(object), WORDS])
    for given, word in [
        (table({"a": X[:, 0], "city": WORDS}), "OneHotEncoder"),
        (mixed, "OneHotEncoder"),
        (WORDS, "CountVectorizer"),
    ]:
        with refuses(ValueError, "X", "'abc'", word) as caught:
            forest.fit(given, LABELS)
        assert "kernel" not in str(caught.value)


def test_dates_are_to_be_converted(data, refuses):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame({"a": data[0][:, 0], "day": pd.date_range("2020-01-01", periods=12)})
    with refuses(ValueError, "X", "'day'", "convert dates"):
        IOKRRegressor().fit(frame, data[1])


def test_tanimoto_of_sets_is_jaccard(data, refuses):
    sets = [set(tags) for tags in TAGS]
    with refuses(ValueError, "X", "Jaccard()"):
        IOKR(Tanimoto()).fit(sets, data[1])
    with refuses(ValueError, "y", "Jaccard()"):
        IOKR(output_kernel=Tanimoto()).fit(data[0], sets)
    with refuses(ValueError, "Jaccard()"):
        Tanimoto()(sets)


@pytest.mark.parametrize("cls", [*WITH_KERNELS, IOKRClassifier])
@pytest.mark.parametrize(("value", "kind"), [(np.nan, "NaN"), (np.inf, "infinity"), (-np.inf, "infinity")])
def test_entries_that_are_not_finite_have_a_place(cls, value, kind, data, table, refuses):
    X, Y = data
    y = outputs_of(cls, Y)
    bad = X.copy()
    bad[[3, 7], [1, 0]] = value
    advice = "SimpleImputer" if kind == "NaN" else "replace"
    frame = table(dict(zip("abc", bad.T, strict=True)))
    for given, column in ((bad, "column 1"), (bad.tolist(), "column 1"), (frame, "column 'b'")):
        with refuses(ValueError, f"`X` contains {kind} in row 3, {column} (2 in all)", advice, "drop their rows"):
            cls().fit(given, y)
    good = table(dict(zip("abc", X.T, strict=True)))
    with refuses(ValueError, f"`X` contains {kind} in row 3, column 'b' (2 in all)"):
        cls().fit(good, y).predict(frame)


def test_none_in_a_frame_has_a_place(data, refuses):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(data[0], columns=list("abc")).astype(object)
    frame.iloc[3, 1] = None
    with refuses(ValueError, "`X` contains NaN in row 3, column 'b' (1 in all)", "SimpleImputer"):
        IOKRRegressor().fit(frame, data[1])


def test_sparse_entries_that_are_not_finite_have_a_place(data, refuses):
    from scipy import sparse

    bad = data[0].copy()
    bad[[7, 3], [0, 1]] = np.nan
    for form in (sparse.csr_array, sparse.csc_matrix, sparse.coo_array):
        for model in (IOKR(RBF(0.5)), OutputKernelForest(RBF(0.5))):
            with refuses(ValueError, "`X` contains NaN in row 3, column 1 (2 in all)"):
                model.fit(form(bad), data[1])


def test_forests_take_nan_but_not_infinity(data, refuses):
    X, Y = data
    for value in (np.nan, np.inf):
        bad = X.copy()
        bad[3, 1] = value
        if np.isnan(value):
            OutputKernelForest(n_estimators=3).fit(bad, Y)
            continue
        with refuses(ValueError, "`X` contains infinity in row 3, column 1 (1 in all)", "replace"):
            OutputKernelForest(n_estimators=3).fit(bad, Y)


# ------------------------------------------------------------------------------------------------ how parts are written


@pytest.mark.parametrize("cls", [*WITH_KERNELS, IOKRClassifier, LinkPredictor])
@pytest.mark.parametrize(
    ("kernel", "written"),
    [("rbf", "RBF()"), (RBF, "RBF()"), ("linear", "Linear()"), ("poly", "Polynomial()"), ("Spectrum", "Spectrum()")],
    ids=str,
)
def test_a_kernel_is_an_object(cls, kernel, written, data, refuses):
    y = LABELS if cls is IOKRClassifier else np.ones((12, 12)) if cls is LinkPredictor else data[1][:, 0]
    with refuses(TypeError, "`kernel`", f"write `{written}`", "from iokr.kernels import"):
        cls(kernel=kernel).fit(data[0], y)


def test_a_name_that_is_no_kernel(data, refuses):
    with refuses(TypeError, "`kernel`", "'sigmoid'", "such as `RBF()`"):
        IOKRCV("sigmoid").fit(*data)
    with refuses(TypeError, "`kernel`", "write `RBF()`"):
        IOKRCV([RBF(0.1), "rbf"]).fit(*data)


@pytest.mark.parametrize(
    ("parts", "written"),
    [
        ({"output_kernel": RBF}, "RBF()"),
        ({"output_kernel": "delta"}, "Delta()"),
        ({"loss": "huber"}, "Huber()"),
        ({"loss": Huber}, "Huber()"),
        ({"decoder": MinimumRisk}, "MinimumRisk(…)"),
        ({"manifold": "laplacian"}, "Laplacian()"),
        ({"solver": "cholesky"}, "Cholesky()"),
    ],
    ids=str,
)
def test_other_parts_are_objects(estimator, parts, written, data, refuses):
    with refuses(TypeError, f"`{next(iter(parts))}`", f"write `{written}`"):
        estimator(**parts).fit(*data)


@pytest.mark.parametrize("cls", [IOKR, IOKRCV, IOKRRegressor, IOKRClassifier])
def test_a_kernel_that_was_not_given_has_no_parameters(cls, data, refuses):
    with refuses(ValueError, "`kernel__gamma`", "None", f"write `{cls.__name__}(RBF())`"):
        cls().set_params(kernel__gamma=1.0)
    with refuses(ValueError, "`kernel__gamma`", f"write `{cls.__name__}(RBF())`"):
        GridSearchCV(cls(), {"kernel__gamma": [0.1, 1.0]}).fit(data[0], LABELS)


def test_a_grid_over_a_kernel_that_was_given(data):
    X, Y = data
    assert GridSearchCV(IOKR(RBF()), {"kernel__gamma": [0.1, 1.0]}, cv=2).fit(X, Y).best_params_
    model = IOKR().set_params(kernel=RBF(), kernel__gamma=2.0)
    assert model.kernel.gamma == 2.0


def test_parts_that_were_not_given_have_no_parameters(refuses):
    for name in ("output_kernel__gamma", "loss__kappa", "decoder__by"):
        with refuses(ValueError, f"`{name}`", f"Give `{name.partition('__')[0]}`"):
            IOKR().set_params(**{name: 1.0})


@pytest.mark.parametrize(
    ("cls", "params", "words"),
    [
        (IOKRCV, {"alpha": 0.5}, ("`alphas=[0.5]`", "`IOKR`")),
        (MultiTaskCV, {"alpha": 0.5}, ("`alphas=[0.5]`", "`MultiTask`")),
        (FunctionalCV, {"alpha": 0.5}, ("`alphas=[0.5]`", "`Functional`")),
        (IOKR, {"alphas": [0.5]}, ("`alpha`", "`IOKRCV` searches `alphas`")),
        (MultiTask, {"alphas": [0.5]}, ("`alpha`", "`MultiTaskCV` searches `alphas`")),
        (IOKR, {"cv": 5}, ("`cv`", "`IOKRCV` has it")),
        (IOKRRegressor, {"output_kernel": None}, ("`output_kernel`", "`IOKR` has it")),
        (IOKR, {"gamma": 2}, ("`gamma`", "`kernel=RBF(gamma=2)`")),
        (RBF, {"gama": 2}, ("`gama`", "do you mean `gamma`")),
        (RBF, {"width": 2}, ("`width`", "it has `gamma`")),
    ],
    ids=lambda value: getattr(value, "__name__", str(value)),
)
def test_parameters_that_a_class_does_not_have(cls, params, words, refuses):
    with refuses(TypeError, cls.__name__, *words):
        cls(**params)


def test_partial_fit_says_what_makes_it_available(data, refuses):
    X, Y = data
    with refuses(AttributeError, "IOKR", "`partial_fit`", "RBF()", "kernel=Nystroem(RBF(), n_components=…)"):
        IOKR().partial_fit(X, Y)
    assert not hasattr(IOKR(), "partial_fit")
    IOKR(Nystroem(RBF(), n_components=5)).partial_fit(X, Y)


# --------------------------------------------------------------------------------------------------- tables of pandas


@pytest.fixture
def named(data):
    """X (12, 3) and one output, of pandas, with the same names of rows."""
    pd = pytest.importorskip("pandas")
    names = [f"r{i}" for i in range(12)]
    return pd.DataFrame(data[0], columns=list("abc"), index=names), pd.Series(data[1][:, 0], index=names, name="y")


MODELS = [
    *(cls() for cls in (IOKRRegressor, IOKRCV, IOKR, MultiTask, Functional)),
    *(MultiTaskCV(alphas=[0.1]), FunctionalCV(alphas=[0.1]), QuantileCurves(levels=[0.5])),
    OutputKernelForest(n_estimators=3),
]


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
@pytest.mark.filterwarnings("ignore:X does not have valid feature names")
def test_rows_in_another_order_are_refused(model, named, refuses):
    X, y = named
    target = y.to_frame() if isinstance(model, (Functional, FunctionalCV)) else y
    words = ("X and y", "row 0 is 'r0' in X, but 'r11' in y", "y = y.loc[X.index]", "y.to_numpy()")
    with refuses(ValueError, *words):
        model.fit(X, target[::-1])
    with refuses(ValueError, *words):
        model.fit(X, target).score(X, target[::-1])
    for call in (model.fit, model.score):
        with refuses(ValueError, "sample_weight", "sample_weight.loc[X.index]"):
            call(X, target, sample_weight=abs(y)[::-1])
    model.fit(X, target, sample_weight=abs(y))


def test_labels_in_another_order_are_refused(named, refuses):
    X, y = named
    labels = y > 0
    model = IOKRClassifier()
    for call in (model.fit, model.fit(X, labels).score):
        with refuses(ValueError, "X and y", "y.loc[X.index]"):
            call(X, labels[::-1])


@pytest.mark.parametrize("cls", [IOKRCV, MultiTaskCV, FunctionalCV])
def test_groups_in_another_order_are_refused(cls, named, refuses):
    pd = pytest.importorskip("pandas")
    X, y = named
    groups = pd.Series(np.arange(12) // 3, index=X.index)
    cls(RBF(0.5)).fit(X, y.to_frame(), groups=groups)
    with refuses(ValueError, "X and groups", "groups.loc[X.index]"):
        cls(RBF(0.5)).fit(X, y.to_frame(), groups=groups[::-1])


def test_pairs_and_labels_in_another_order_are_refused(data, refuses):
    pd = pytest.importorskip("pandas")
    pairs = pd.DataFrame({"i": [0, 1, 2, 3], "j": [4, 5, 6, 7]}, index=list("pqrs"))
    y = pd.Series([1.0, 0.0, 1.0, 0.0], index=list("pqrs"))
    model = PairModel().fit(data[0], pairs, y)
    for call in (model.fit, model.score):
        with refuses(ValueError, "pairs and y", "y.loc[pairs.index]"):
            call(data[0], pairs, y[::-1])


def test_tables_with_other_names_pair_up_by_position(named):
    X, y = named
    found = IOKR().fit(X, y).predict(X)
    for other in (y.to_numpy(), y.reset_index(drop=True), y.rename(lambda name: f"{name}!")):
        np.testing.assert_array_equal(IOKR().fit(X, other).predict(X), found)
