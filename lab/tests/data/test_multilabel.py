"""The multi-label loader, on small files of the same form and on the real ones where they are."""

import numpy as np
import pytest
from scipy.sparse import csr_array, issparse

from iokr.datasets import DataNotFound
from iokr_lab.data import load_multilabel

Y = np.array([[1, 0, 1], [0, 0, 0], [0, 1, 0], [1, 1, 1]])


def write(folder, name="toy", dense=True, **changes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(4, 5)) if dense else (rng.random((4, 5)) < 0.5).astype(float)
    labels, features = csr_array(Y), csr_array(X)
    arrays = {
        "shape": np.array([4, 5, 3]),
        "n_train": np.array(3),
        "label_names": np.array(["red", "green", "blue"]),
        "Y_indptr": labels.indptr,
        "Y_indices": labels.indices,
    }
    arrays |= {"X": X} if dense else {"X_indptr": features.indptr, "X_indices": features.indices}
    arrays |= changes
    (folder / "multilabel").mkdir(exist_ok=True)
    np.savez(folder / "multilabel" / f"{name}.npz", **{key: a for key, a in arrays.items() if a is not None})
    return X


@pytest.fixture
def home(monkeypatch, tmp_path):
    monkeypatch.setenv("IOKR_DATA", str(tmp_path))
    return tmp_path


@pytest.mark.parametrize("dense", [True, False])
def test_features_and_labels(home, dense):
    X = write(home, dense=dense)
    data = load_multilabel("toy")
    assert issparse(data.X) is not dense
    np.testing.assert_array_equal(data.X if dense else data.X.toarray(), X)
    np.testing.assert_array_equal(data.Y, Y)
    assert data.Y.dtype == np.float64
    assert (data.n_train, data.label_names, data.order_libsvm) == (3, ("red", "green", "blue"), None)


def test_another_order_of_the_rows(home):
    X = write(home, order_libsvm=np.array([2, 0, 3, 1], np.int16))
    data = load_multilabel("toy")
    np.testing.assert_array_equal(data.X[data.order_libsvm], X[[2, 0, 3, 1]])


def test_not_there_says_what_is(home):
    with pytest.raises(DataNotFound, match="IOKR_DATA"):
        load_multilabel("yeast")
    write(home, "one")
    write(home, "two")
    for name in ("yeast", "../multilabel/one"):
        with pytest.raises(DataNotFound, match=f"{name}.npz is not in .*available sets: one, two"):
            load_multilabel(name)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"Y_indices": None}, "Y_indices"),
        ({"shape": np.array([4, 5])}, "not a multi-label file"),
        ({"shape": np.array([4, 6, 3])}, r"X must be \(4, 6\), got \(4, 5\)"),
        ({"label_names": np.array(["red"])}, "3 label names, got 1"),
        ({"n_train": np.array(9)}, "between 0 and 4, got 9"),
        ({"order_libsvm": np.array([0, 0, 1, 2])}, "each of the 4 rows once"),
        ({"Y_indices": np.array([0, 2, 1, 0, 1, 3])}, "not a multi-label file"),
        ({"Y_indptr": np.array([0, 2, 2])}, "not a multi-label file"),
    ],
)
def test_wrong_contents_are_named(home, changes, words):
    write(home, **changes)
    with pytest.raises(ValueError, match=words):
        load_multilabel("toy")


@pytest.mark.parametrize("contents", [b"not an archive", b"PK\x03\x04 cut short", b""])
def test_a_file_of_something_else_is_named(home, contents):
    (home / "multilabel").mkdir()
    (home / "multilabel" / "toy.npz").write_bytes(contents)
    with pytest.raises(ValueError, match=r"toy\.npz is not a multi-label file"):
        load_multilabel("toy")


@pytest.mark.parametrize(
    ("name", "shape", "n_train", "labels_a_row"),
    [
        ("bibtex", (7395, 1836, 159), 4880, 2.402),
        ("birds", (645, 260, 19), 322, 1.014),
        ("corel5k", (5000, 499, 374), 4500, 3.522),
        ("delicious", (16105, 500, 983), 12920, 19.020),
        ("emotions", (593, 72, 6), 391, 1.868),
        ("scene", (2407, 294, 6), 1211, 1.074),
        ("yeast", (2417, 103, 14), 1500, 4.237),
    ],
)
def test_the_real_files_have_their_published_statistics(name, shape, n_train, labels_a_row):
    try:
        data = load_multilabel(name)
    except DataNotFound as error:
        pytest.skip(str(error))
    assert (*data.X.shape, data.Y.shape[1]) == shape and data.n_train == n_train
    assert data.Y.sum() / len(data.Y) == pytest.approx(labels_a_row, abs=5e-4)
    assert (data.order_libsvm is None) == (name != "yeast")
