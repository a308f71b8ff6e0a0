"""The leading components of centred outputs are scikit-learn's."""

import numpy as np
import pytest
from sklearn.decomposition import KernelPCA as Theirs

from iokr.embeddings import KernelPCA
from iokr.kernels import RBF
from reference import assert_close
from samples import vectors

Y, NEW = vectors(12, 3, seed=1), vectors(4, 3, seed=2)


@pytest.mark.parametrize("rank", [1, 4])
def test_components_are_those_of_scikit_learn(rank):
    ours = KernelPCA(n_components=rank)
    Z = ours.fit_transform(Y, RBF(0.5).fit(Y))
    theirs = Theirs(rank, kernel="rbf", gamma=0.5).fit(Y)
    assert_close(ours.eigenvalues_, theirs.eigenvalues_, 1e-10)
    assert_close(np.abs(Z), np.abs(theirs.transform(Y)), 1e-8)
    assert_close(np.abs(ours.transform(NEW)), np.abs(theirs.transform(NEW)), 1e-8)


def test_all_components_give_the_centred_kernel():
    embedding = KernelPCA()
    Z = embedding.fit_transform(Y, RBF(0.5).fit(Y))
    P = np.eye(12) - 1 / 12
    assert_close(Z @ Z.T, P @ RBF(0.5)(Y) @ P, 1e-10)
    assert_close(embedding.sq_norms(embedding.represent(Y)), np.sum(Z**2, axis=1), 1e-9)
