"""A small fitted model of every public estimator, for every kind of output, with what it answers."""

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import networkx as nx
import numpy as np
from scipy import sparse
from sklearn.linear_model import Ridge
from sklearn.preprocessing import StandardScaler

import iokr
import members
import reference
from iokr import kernels, losses, manifolds, operator_kernels
from iokr.data.objects import as_objects
from iokr.decoders import (
    Assignment,
    FixedPoint,
    GraphBarycenter,
    GraphEdits,
    MinimumRisk,
    NGramPath,
    Positions,
    Threshold,
    TreeEdits,
)
from iokr.embeddings import Basis, Eigen, KernelPCA, Nystroem
from iokr_lab import baselines as rivals

N, M = 14, 5
LEVELS = (0.25, 0.5, 0.75)


@dataclass(frozen=True)
class Fitted:
    """A model, what it answers, and the parts that its file asks for."""

    model: Any
    answer: Callable[[Any], Any]
    parts: dict[str, Any]


def vectors(n=N, seed=0, p=4):
    return np.random.default_rng(seed).normal(size=(n, p))


def network_graphs(n, seed=0):
    """Graphs of NetworkX, labelled and not, with names of any kind for the nodes."""
    made = []
    for adjacency, labels in members.objects("graphs", n, seed):
        graph = nx.from_numpy_array(np.array(adjacency))
        nx.set_node_attributes(graph, dict(enumerate(labels)), "label")
        made.append(nx.relabel_nodes(graph, {0: "root", 1: (1, 2)}))
    return as_objects(made)


OUTPUTS = {  # the kind: outputs, a kernel on them
    "vectors": (vectors(seed=3, p=2), None),
    "one number": (vectors(seed=3)[:, 0], None),
    "sparse": (members.objects("sparse vectors", N), kernels.Linear()),
    "strings": (members.objects("strings", N), kernels.Spectrum(2)),
    "labels": (members.objects("labels", N), kernels.Delta()),
    "sets": (members.objects("sets", N), kernels.Jaccard()),
    "rankings": (members.objects("rankings", N), kernels.Kendall()),
    "sequences": (members.objects("sequences", N), kernels.Positional(kernels.Delta())),
    "graphs": (members.objects("graphs", N), kernels.WeisfeilerLehman(2)),
    "networkx": (network_graphs(N), kernels.ShortestPath()),
    "series": (members.objects("series", N), kernels.GlobalAlignment()),
    "fingerprints": (members.objects("fingerprints", N), kernels.Tanimoto()),
    "bags": (members.objects("bags", N), kernels.SetKernel(kernels.RBF(0.4))),
    "indices": (np.arange(N), kernels.Precomputed(members.KERNELS["Precomputed"][0][0].matrix)),
}
VECTORS = ("vectors", "one number")


def structured(make: Callable[..., Any], kind: str, **fixed: Any) -> Fitted:
    """A model of X and one kind of outputs; trees are told their output kernel too."""
    y, kernel = OUTPUTS[kind]
    model = make(output_kernel=kernel, **fixed).fit(vectors(), y)
    return Fitted(model, lambda m: (m.decision_function(vectors(M, 1)), m.predict(vectors(M, 1))), {})


def _network():
    links = np.triu(np.random.default_rng(2).uniform(size=(N, N)) < 0.35, k=1)
    return (links | links.T).astype(float)


def links(model: Any) -> Fitted:
    """A model of a network, of which the last nodes have features only."""
    if isinstance(model, rivals.KDE):
        return Fitted(model.fit(vectors(), _network()), lambda m: m.decision_function(vectors(M, 1)), {})
    fitted = model.fit(vectors(), _network(), labeled=np.arange(N - 3))
    return Fitted(fitted, lambda m: (m.decision_function(), m.decision_function(vectors(M, 1))), {})


def classified(model: Any) -> Fitted:
    """A rival around a classifier of scikit-learn, which its file does not hold."""
    case = links(model)
    return Fitted(case.model, case.answer, {"classifier": case.model.classifier_})


def pairs(model: Any) -> Fitted:
    ends = np.array([(i, j) for i in range(N) for j in range(i)])
    model = model.fit(vectors(), ends, _network()[ends[:, 0], ends[:, 1]])
    return Fitted(model, lambda m: (m.decision_function(ends), m.predict(ends[:7])), {})


def bags(model: Any) -> Fitted:
    """A model of sets of one to four vectors, with two labels."""
    rng = np.random.default_rng(4)
    sets = [rng.normal(size=(1 + i % 4, 3)) for i in range(N)]
    model = model.fit(sets, np.arange(N) % 3 == 0)
    return Fitted(model, lambda m: (m.decision_function(sets[:M]), m.predict(sets[:M])), {})


def tasks(model: Any) -> Fitted:
    return Fitted(model.fit(vectors(), vectors(seed=3, p=3)), lambda m: m.predict(vectors(M, 1)), {})


def curves(model: Any, gaps: bool = False, parts: Any = None) -> Fitted:
    y = np.cumsum(vectors(seed=5, p=7), axis=1)
    if gaps:
        y[0, 2] = y[3, 5] = np.nan
    return Fitted(model.fit(vectors(), y), lambda m: m.predict(vectors(M, 1)), parts or {})


def quantiles(model: Any) -> Fitted:
    """A model whose intervals were asked for: what they promise is in its file, the fits without a fold are not."""
    fitted = model.fit(vectors(), vectors(seed=3)[:, 0])
    fitted.interval(vectors(M, 1), coverage=0.5)
    return Fitted(fitted, lambda m: (m.predict(vectors(M, 1)), m.interval(vectors(M, 1), coverage=0.5)), {})


def levels(model: Any) -> Fitted:
    """A model of quantiles that was asked for no intervals: its answers need no further fit."""
    return Fitted(model.fit(vectors(), vectors(seed=3)[:, 0]), lambda m: m.predict(vectors(M, 1)), {})


def identification() -> Fitted:
    """Ranked candidates of new inputs, with probabilities."""
    bits = (np.random.default_rng(2).uniform(size=(N, 9)) < 0.4).astype(np.uint8)
    model = iokr.Identification(kernels.RBF(0.3), alphas=(0.1,), reverse_alphas=(1.0,)).fit(vectors(), bits)
    model.calibrate([np.array([0.1, 0.3]), np.array([0.2, 0.1])], [1, 0], ["a", "b"])
    sets = iokr.CandidateSets([bits[i : i + 4] for i in range(M)])
    return Fitted(model, lambda m: np.concatenate(m.predict_proba(vectors(M, 1), sets)), {})


def conformal(model: Any, **arguments: Any) -> Fitted:
    fitted = iokr.Conformal(model, **arguments).fit(vectors(), vectors(seed=3, p=2))
    return Fitted(fitted, lambda m: (m.predict(vectors(M, 1)), m.radius(vectors(M, 1), coverage=0.5)), {})


def partners(model: Any) -> Fitted:
    fitted = iokr.Conformal(model, method="split", random_state=0).fit(vectors(), _network())
    return Fitted(fitted, lambda m: m.predict_set(vectors(M, 1), coverage=0.5), {})


def surrogate(regressor: Any, own: bool) -> Fitted:
    """A regressor of others is a part that the file asks for."""
    model = iokr.Surrogate(regressor, output_kernel=kernels.Spectrum(2)).fit(vectors(), members.objects("strings", N))
    return Fitted(model, lambda m: m.predict(vectors(M, 1)), {} if own else {"regressor": model.regressor_})


def autoencoder(*y: Any, **parts: Any) -> Fitted:
    """Codes of new inputs, and what is predicted from them."""
    model = iokr.KernelAutoencoder(n_starts=2, random_state=0, **parts).fit(vectors(), *y)
    return Fitted(
        model, lambda m: (m.transform(vectors(M, 1)), m.decision_function(vectors(M, 1)), m.predict(vectors(M, 1))), {}
    )


def network() -> Fitted:
    model = iokr.NeuralRegressor(hidden=(4,), epochs=2, random_state=0).fit(vectors(), vectors(seed=3, p=2))
    return Fitted(model, lambda m: m.predict(vectors(M, 1)), {})


def decoded(decoder: Any, kind: str, kernel: Any) -> Fitted:
    model = iokr.IOKR(output_kernel=kernel, decoder=decoder).fit(vectors(), members.objects(kind, N))
    return Fitted(model, lambda m: m.predict(vectors(M, 1)), {})


def regression(kernel: Any = None, X: Any = None, new: Any = None, parts: Any = None, **arguments: Any) -> Fitted:
    X, new = (vectors() if X is None else X), (vectors(M, 1) if new is None else new)
    model = iokr.IOKR(kernel, **arguments).fit(X, vectors(seed=3))
    return Fitted(model, lambda m: (m.decision_function(new), m.loo_decision_function()), parts(model) if parts else {})


def bipartite(model: Any) -> Fitted:
    fitted = model.fit(vectors(), vectors(9, 1, 2), np.random.default_rng(2).random((N, 9)) < 0.3)
    new = vectors(M, 1), vectors(M, 2, 2)
    return Fitted(fitted, lambda m: (m.decision_function(*new), m.loo_decision_function("column")), {})


def labels(model: Any) -> Fitted:
    """A classifier, with its probabilities."""
    model = model.fit(vectors(), np.array(["ash", "birch", "cedar"])[np.arange(N) % 3])
    return Fitted(model, lambda m: (m.predict_proba(vectors(M, 1)), m.decision_function(vectors(M, 1))), {})


def regressor(model: Any) -> Fitted:
    model = model.fit(vectors(), vectors(seed=3)[:, 0])
    return Fitted(model, lambda m: m.predict(vectors(M, 1), return_std=True), {})


def semi(manifold: Any) -> Fitted:
    model = iokr.IOKR(manifold=manifold).fit(vectors(), vectors(seed=3, p=2), X_unlabeled=vectors(6, 4))
    return Fitted(model, lambda m: m.decision_function(vectors(M, 1)), {})


TREES = {
    "OutputKernelTree": {"random_state": 0},
    "OutputKernelForest": {"n_estimators": 3, "bootstrap": True, "random_state": 0},
    "OutputKernelBoosting": {"n_estimators": 3, "random_state": 0},
}
CASES: dict[str, Callable[[], Fitted]] = {}
for _kind in OUTPUTS:
    # equal weights make near ties of candidates, which the rounding of another process would decide
    _weights = "uniform" if _kind in VECTORS else "kernel"
    CASES[f"Neighbors {_kind}"] = lambda kind=_kind, weights=_weights: structured(
        iokr.Neighbors, kind, n_neighbors=(2, 4), weights=weights
    )
    CASES[f"IOKR {_kind}"] = lambda kind=_kind: structured(iokr.IOKR, kind)
    CASES[f"IOKRCV {_kind}"] = lambda kind=_kind: structured(iokr.IOKRCV, kind, alphas=(0.1, 1.0))
    for _name, _fixed in TREES.items():
        CASES[f"{_name} {_kind}"] = lambda name=_name, kind=_kind, fixed=_fixed: structured(
            getattr(iokr, name), kind, **fixed
        )
CASES |= {
    "IOKRCV folds": lambda: structured(
        lambda **k: iokr.IOKRCV([kernels.RBF(), kernels.Linear()], cv=3, loss=losses.Huber(), alphas=(0.1, 1.0), **k),
        "vectors",
    ),
    "IOKRClassifier": lambda: labels(iokr.IOKRClassifier()),
    "IOKRRegressor": lambda: regressor(iokr.IOKRRegressor(alphas=(0.1, 1.0))),
    "BipartitePredictor": lambda: bipartite(iokr.BipartitePredictor(alpha=(0.1, 1.0))),
    "LinkPredictor": lambda: links(iokr.LinkPredictor()),
    "LinkPredictor semi": lambda: links(iokr.LinkPredictor(manifold=manifolds.Laplacian(0.1, 3))),
    "LinkPredictorCV": lambda: links(iokr.LinkPredictorCV([kernels.RBF(), kernels.Linear()], alphas=(0.1, 1.0))),
    "PairLinkPredictor": lambda: links(iokr.PairLinkPredictor(mix=0.3)),
    "PairLinkPredictor local": lambda: links(iokr.PairLinkPredictor(strategy="local")),
    "PairLinkPredictorCV": lambda: links(
        iokr.PairLinkPredictorCV([kernels.RBF(), kernels.Linear()], alphas=(0.1, 1.0), mixes=(0.0, 0.3), cv=2)
    ),
    "LinkStack": lambda: links(iokr.LinkStack([iokr.LinkPredictor(), rivals.TPPK()], cv=3)),
    "LinkStack logits": lambda: links(iokr.LinkStack([iokr.LinkPredictor(), rivals.TPPK()], combine="logits", cv=3)),
    "KernelAutoencoder": lambda: autoencoder(),
    "KernelAutoencoder strings": lambda: autoencoder(*OUTPUTS["strings"][:1], output_kernel=OUTPUTS["strings"][1]),
    "KernelAutoencoder Huber": lambda: autoencoder(vectors(seed=3, p=2), loss=losses.Huber(0.5)),
    "SetModel": lambda: bags(iokr.SetModel(alpha=0.3)),
    "SetModel worst": lambda: bags(iokr.SetModel(alpha=0.3, worst=True)),
    "PairModel kernel": lambda: pairs(iokr.PairModel(mix=0.3)),
    "PairModel duplicate": lambda: pairs(iokr.PairModel(strategy="duplicate")),
    "PairModel local": lambda: pairs(iokr.PairModel(strategy="local", loss=losses.MaxMargin())),
    "PairModelCV": lambda: pairs(iokr.PairModelCV(mixes=(0.0, 0.3), alphas=(0.1, 1.0))),
    "PairModelCV local": lambda: pairs(iokr.PairModelCV(strategies=("local",), cv=3, alphas=(0.1, 1.0))),
    "MultiTask": lambda: tasks(iokr.MultiTask()),
    "MultiTask output": lambda: tasks(iokr.MultiTask(coupling="output")),
    "MultiTask learned": lambda: tasks(iokr.MultiTask(learn_tasks=True)),
    "MultiTaskCV": lambda: tasks(iokr.MultiTaskCV(alphas=(0.1, 1.0))),
    "Functional": lambda: curves(iokr.Functional()),
    "Functional gaps": lambda: curves(iokr.Functional(), gaps=True),
    "Functional bsplines": lambda: curves(iokr.Functional(basis=Basis.bsplines(5))),
    "Functional fourier": lambda: curves(iokr.Functional(basis=Basis.fourier(3))),
    "Functional principal": lambda: curves(iokr.Functional(basis=Basis.principal(2))),
    "Functional functions": lambda: curves(
        iokr.Functional(basis=Basis([np.sinc, np.i0])),
        parts={"basis__functions__0": np.sinc, "basis__functions__1": np.i0},
    ),
    "FunctionalCV": lambda: curves(iokr.FunctionalCV()),
    "QuantileCurves": lambda: quantiles(iokr.QuantileCurves(levels=LEVELS)),
    "QuantileCurves matrix": lambda: quantiles(iokr.QuantileCurves(level_kernel=np.eye(3), levels=LEVELS, crossing=0)),
    "QuantileCurvesCV": lambda: quantiles(
        iokr.QuantileCurvesCV(alphas=(0.1, 1.0), crossings=(0.05,), cv=3, levels=LEVELS)
    ),
    "QuantileCurves levels": lambda: levels(iokr.QuantileCurves(levels=LEVELS)),
    "QuantileCurvesCV levels": lambda: levels(
        iokr.QuantileCurvesCV(alphas=(0.1, 1.0), crossings=(0.05,), cv=3, levels=LEVELS)
    ),
    "Identification": lambda: identification(),
    "Conformal full": lambda: conformal(iokr.IOKR(), method="full"),
    "Conformal jackknife+": lambda: conformal(iokr.IOKR(), method="jackknife+"),
    "Conformal split": lambda: conformal(iokr.IOKR(), method="split"),
    "Conformal links": lambda: partners(iokr.LinkPredictor(kernels.RBF(0.3))),
    "decoder Threshold": lambda: decoded(Threshold(), "fingerprints", kernels.Linear()),
    "decoder Assignment": lambda: decoded(Assignment(), "rankings", kernels.Kendall()),
    "Surrogate": lambda: surrogate(Ridge(), own=False),
    "Surrogate network": lambda: surrogate(iokr.NeuralRegressor(hidden=(4,), epochs=2, random_state=0), own=True),
    "NeuralRegressor": network,
    "decoder MinimumRisk": lambda: decoded(MinimumRisk("edit"), "strings", kernels.Spectrum(2)),
    "decoder Positions": lambda: decoded(Positions(), "sequences", kernels.Positional(kernels.Delta())),
    "decoder NGramPath": lambda: decoded(NGramPath(), "strings", kernels.Spectrum(2)),
    "decoder FixedPoint": lambda: decoded(FixedPoint(), "vectors", kernels.RBF(0.4)),
    "decoder GraphBarycenter": lambda: decoded(GraphBarycenter(), "graphs", kernels.WeisfeilerLehman(2)),
    "decoder GraphBarycenter, soft": lambda: decoded(GraphBarycenter(rounded=False), "graphs", None),
    "decoder GraphEdits": lambda: decoded(GraphEdits(), "graphs", kernels.WeisfeilerLehman(2)),
    "decoder TreeEdits": lambda: decoded(TreeEdits(), "trees", kernels.Subtree(0.5)),
    "embedding Eigen": lambda: structured(iokr.IOKR, "strings", embedding=Eigen(n_components=3)),
    "embedding KernelPCA": lambda: structured(iokr.IOKR, "strings", embedding=KernelPCA()),
    "embedding Nystroem": lambda: structured(iokr.IOKR, "strings", embedding=Nystroem(n_components=3)),
    "embedding Identity": lambda: structured(iokr.IOKR, "vectors", intercept=True),
    "operator Covariance": lambda: structured(
        lambda **k: iokr.IOKR(operator_kernels.ConditionalCovariance(kernels.RBF()), **k), "strings"
    ),
    "operator Decomposable": lambda: structured(
        lambda **k: iokr.IOKR(operator_kernels.Decomposable(kernels.RBF(), np.array([[2.0, 1.0], [1.0, 2.0]])), **k),
        "vectors",
    ),
    "operator diagonal_regularization": lambda: regression(operator_kernels.diagonal_regularization(0.3)),
    "manifold Laplacian": lambda: semi(manifolds.Laplacian(0.1, 3)),
    "manifold Heat": lambda: semi(manifolds.Heat(0.1, 0.2)),
    "loss EpsilonInsensitive": lambda: structured(iokr.IOKR, "strings", loss=losses.EpsilonInsensitive(0.1)),
    "X strided": lambda: regression(X=np.repeat(vectors(), 2, axis=1)[:, ::2]),
    "X backwards": lambda: regression(X=vectors()[::-1, ::-1]),
    "X Fortran": lambda: regression(X=np.asfortranarray(vectors()), new=np.asfortranarray(vectors(M, 1))),
    "X read-only": lambda: regression(X=_read_only(vectors())),
    "X sparse": lambda: regression(X=sparse.csr_array(vectors()), new=sparse.csr_matrix(vectors(M, 1))),
    "X Nystroem": lambda: regression(kernels.Nystroem(kernels.RBF(0.3), n_components=5, random_state=0)),
    "X float32": lambda: regression(X=vectors().astype(np.float32)),
    "a function": lambda: regression(
        kernels.FromFunction(reference.linear), parts=lambda _: {"kernel__f": reference.linear}
    ),
    "a transformer": lambda: regression(
        0.5 * kernels.Features(StandardScaler()),
        parts=lambda model: {"kernel__base__transformer": model.kernel_.base_.transformer_},
    ),
}
for _name in rivals.__all__:
    if _name != "LinkBaseline":
        CASES[f"rivals.{_name}"] = lambda name=_name: links(getattr(rivals, name)())
CASES["rivals.PairLinks"] = lambda: links(iokr.PairLinkPredictor())  # its name in files of format 1
CASES["rivals.PairClassifier"] = lambda: classified(rivals.PairClassifier(random_state=0))
CASES["rivals.OK3"] = lambda: links(rivals.OK3(n_estimators=3, random_state=0))


def _read_only(X):
    X.setflags(write=False)
    return X


def with_a_file() -> set[str]:
    """The public estimators and rivals that have a golden file each."""
    foreign = {"LinkBaseline", "PairClassifier"}  # what the latter learned is scikit-learn's, and not in its file
    foreign |= {"Surrogate", "NeuralRegressor"}  # a regressor of others, and float32 numbers of one machine
    names = {name for name in iokr.__all__ if hasattr(getattr(iokr, name), "fit")} - foreign
    names |= {f"rivals.{name}" for name in rivals.__all__ if name not in foreign}
    return names & {name.split()[0] for name in CASES}  # that each has a case is tested elsewhere


@cache
def fitted(name: str) -> Fitted:
    """The case of that name, fitted once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return CASES[name]()


def flat(answer: Any) -> list[Any]:
    """Answers as a list of comparable things; graphs by their nodes and edges."""
    if isinstance(answer, tuple) and any(isinstance(part, np.ndarray) for part in answer):
        return [x for part in answer for x in flat(part)]
    if isinstance(answer, np.ndarray) and answer.dtype == object:
        return [_plain(x) for x in answer]
    return [np.asarray(answer)]


def _plain(x: Any) -> Any:
    if isinstance(x, nx.Graph):
        return (list(x.nodes(data=True)), list(x.edges(data=True)))
    if isinstance(x, np.ndarray):
        return x.tolist()
    return tuple(map(_plain, x)) if isinstance(x, tuple) else x
