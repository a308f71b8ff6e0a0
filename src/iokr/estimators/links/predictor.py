"""κ̂(u, v) = ⟨h(u), h(v)⟩: links between nodes, from their features and the links that are known."""

from __future__ import annotations

from dataclasses import KW_ONLY
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from iokr._array import Array, gemm, to_numpy
from iokr._component import component
from iokr._system.memory import check_matrix
from iokr._validation.arguments import check_computed
from iokr.data.objects import take
from iokr.estimators.inputs import adapt, check_isotropic, check_kernel
from iokr.estimators.links.base import SCORES, LinkModel
from iokr.estimators.links.network import LinkData, fit_output_kernel
from iokr.estimators.regression.base import left_out_values
from iokr.estimators.regression.iokr import IOKR
from iokr.kernels.base import Kernel
from iokr.losses.base import Loss
from iokr.manifolds.base import Manifold
from iokr.operator_kernels.base import OperatorKernel
from iokr.solvers.base import Solver

__all__ = ["LinkPredictor", "LinkRegression"]


class LinkRegression(LinkModel):
    """κ̂(u, v) = ⟨h(u), h(v)⟩: nodes in, h learned by kernel regression, pairs out."""

    loss: Loss | None
    solver: Solver | None

    def _prepare(self, X: Any, adjacency: Any, labeled: Any, kernels: list[Kernel | OperatorKernel]) -> LinkData:
        """What `fit` is given, checked, and whether the kernels act on implicit outputs."""
        data = self._check_nodes(X, adjacency, labeled, kernels[0])
        for kernel in kernels:
            if isinstance(kernel, OperatorKernel) and kernel.explicit_outputs:
                check_isotropic(kernel)
        return data

    def _set_fit(self, data: LinkData, output_kernel: Kernel, model: IOKR) -> None:
        """Keep the nodes, their network and the fitted regression."""
        self._set_nodes(data)
        self.output_kernel_ = output_kernel
        self.model_ = model

    def factors(self, X: Any = None, *, nodes: Any = None) -> tuple[Array, Array]:
        """h(u) in orthonormal coordinates, (m, r), twice: κ̂(u, v) = ⟨h(u), h(v)⟩.

        Of nodes X, of some nodes of `fit` by their numbers, or of all of them.
        """
        check_is_fitted(self)
        if X is not None:
            X = adapt(self, X, self.model_.kernel_, reset=False).X
        elif nodes is not None:
            X = take(self.nodes_, np.asarray(nodes))
        else:
            X = self.nodes_
        H = self.model_.decision_function(self.network_.columns(X) if self._pairwise else X)
        return H, H

    def unfitted(self) -> LinkPredictor:
        """A LinkPredictor with the parameters in use, to be fitted to other links."""
        return LinkPredictor(
            self.model_.kernel,
            output_kernel=clone(self.output_kernel_),
            loss=self.loss,
            alpha=self.model_.alpha,
            manifold=self.model_.manifold,
            solver=self.solver,
        )

    def loo_decision_function(self) -> Array:
        """κ̂ between labelled nodes, each without its own label: ⟨h₋ᵢ(x_i), h₋ⱼ(x_j)⟩, in closed form.

        An (n, n) array in the order of `labeled_`. K_Y is held fixed. It was computed from all known links, so it still
        knows those of the node left out, and metrics of these scores are optimistic: use them to choose, not to report.
        """
        check_is_fitted(self)
        check_matrix(len(self.labeled_), len(self.labeled_), self.nodes_, 2.0, SCORES)
        H = left_out_values(self.model_)
        return self._cast(check_computed(gemm(H, H), "Node", "⟨h(u), h(v)⟩"))

    def _held_out_pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Labelled pairs, in closed form for quadratic losses, else by folds of nodes."""
        if not self.model_.loss_.quadratic:
            return self._fold_pairs()
        check_matrix(len(self.labeled_), len(self.labeled_), self.nodes_, 4.0, SCORES)
        H = left_out_values(self.model_)
        rows, columns, linked = self.network_.pairs()
        return linked, to_numpy(gemm(H, H))[rows, columns]


@component
class LinkPredictor(LinkRegression):
    """κ̂(u, v) = ⟨h(u), h(v)⟩ with h : nodes → F learned on the labelled nodes, where ⟨ψ(i), ψ(j)⟩ = k_Y(i, j).

    The known links between labelled nodes give them an output kernel, by default heat diffusion along the links with
    unit diagonal. h is learned from the features of nodes to this kernel's feature space, by ridge regression or with a
    margin, and two nodes, seen or not, are linked when their images are close. A manifold penalty lets nodes without
    known links enter learning (semi-supervised); scores between nodes of `fit` are the transductive use.

    Parameters
    ----------
    kernel : Kernel, default=None
        On the features of nodes; None is `RBF()` with the median bandwidth. Several views: `Mean([...])`,
        `Aligned([...])`.
    output_kernel : Kernel, default=None
        On labelled nodes; None is `Normalized(Diffusion(1.0))`. Node kernels without a graph get that of the known
        links; a kernel with a graph of its own, and `Precomputed(matrix)`, must have a row for every node of X.
    loss : Loss, default=None
        None is `Square()`; `MaxMargin()` asks for unit diagonal of the output kernel.
    alpha, manifold, solver :
        As in `IOKR`; the manifold's penalty uses the unlabelled nodes.

    Attributes
    ----------
    labeled_ : array of shape (n,)
        Numbers of the labelled nodes.
    threshold_ : float
        After `best_threshold()`, which `predict_links` calls when it needs one: a pair with a larger score is called a
        link. The largest F1 on leave-one-out scores (optimistic, as K_Y holds the links), or by five node folds, each
        refitted on its own links, for losses without a closed form.
    model_ : IOKR
        The regression from features to the coordinates V of the labelled nodes, V Vᵀ = K_Y.
    output_kernel_ : Kernel
        Fitted on the labelled nodes.
    n_features_in_ : int
        When X is an array.

    Notes
    -----
    With B k_u the weights of u on the labelled nodes, κ̂(u, v) = k_uᵀ Bᵀ K_Y B k_v: the score matrix of any nodes is
    positive semi-definite. Costs: the factor of K_Y (an eigendecomposition of the Laplacian), n³/3 flops for K + λI,
    2n³ for V, then 2mn² + m²n for all pairs of m nodes. Papers: Brouard, d'Alché-Buc, Szafranski, ICML 2011 and JMLR
    2016 (its λ₁ is `alpha` for ridge, half of it for the margin; its λ₂ half, for the margin a quarter, of `weight`).

    Examples
    --------
    >>> import numpy as np
    >>> from iokr import LinkPredictor
    >>> X = np.array([[0.0], [0.1], [0.2], [5.0], [5.1], [5.2]])  # two groups; links known for two nodes of each
    >>> adjacency = np.array([[0, 1, 0, 0], [1, 0, 0, 0], [0, 0, 0, 1], [0, 0, 1, 0]])
    >>> model = LinkPredictor(alpha=0.1).fit(X, adjacency, labeled=[0, 1, 3, 4])
    >>> pairs, scores = model.predict_links(top=4)
    >>> sorted(pairs.tolist())
    [[0, 2], [1, 2], [3, 5], [4, 5]]
    >>> model.decision_function([[0.3]]).round(1)
    array([[0.8, 0.8, 0.8, 0.1, 0.1, 0. ]])
    """

    kernel: Kernel | OperatorKernel | None = None
    _: KW_ONLY
    output_kernel: Kernel | None = None
    loss: Loss | None = None
    alpha: float = 1.0
    manifold: Manifold | None = None
    solver: Solver | None = None

    def fit(self, X: Any, adjacency: Any, labeled: Any = None) -> LinkPredictor:
        """Learn h from the links between labelled nodes.

        Parameters
        ----------
        X : array, sparse matrix, or sequence of N nodes
            Features of all nodes, labelled or not.
        adjacency : array or sparse matrix of shape (n, n) or (N, N), `Network`, or NetworkX graph
            Symmetric weights of at least 0: over the labelled nodes in the order of `labeled`, or over all nodes, of
            which only rows and columns in `labeled` are read. Of a graph the nodes 0, 1, … are rows of X, others are
            found in the index of the frame X.
        labeled : integers of shape (n,), or mask of shape (N,), default=None
            The nodes all of whose mutual links are known; None is all.
        """
        kernel = check_kernel(self.kernel)
        data = self._prepare(X, adjacency, labeled, [kernel])
        parts: dict[str, Any] = {"loss": self.loss, "manifold": self.manifold, "solver": self.solver}
        model = IOKR(kernel, alpha=self.alpha, intercept=False, **parts)  # V are coordinates of an output kernel
        X_unlabeled = None if self.manifold is None else data.X_unlabeled
        output_kernel, V = fit_output_kernel(self.output_kernel, data.network)
        self._set_fit(data, output_kernel, model.fit(data.X_labeled, V, X_unlabeled=X_unlabeled))
        return self
