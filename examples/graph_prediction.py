r"""
Graph prediction from noisy measurements
========================================

Small graphs with coloured nodes stand for molecules; the input is a noisy vector of
measurements. The graphs to be predicted are not in the training set. With the
Weisfeiler–Lehman kernel the regression predicts which neighbourhoods of nodes a graph
has. These rank any list of candidates; without a list, ``GraphEdits`` improves the
nearest training graphs by edits of edges, nodes and colours.

.. math::

   k(y, z) = \text{cosine of the counts of neighbourhoods}, \qquad
   \hat{y} = \operatorname*{arg\,min}_y \lVert h(x) - \psi(y)\rVert^2
"""

import itertools

import matplotlib.pyplot as plt
import networkx as nx
import numpy as np

from iokr import IOKRCV
from iokr.decoders import GraphEdits
from iokr.kernels import Normalized, WeisfeilerLehman
from iokr.metrics import top_k_accuracy

# %%
# The data
# --------
# Random trees of five to eight nodes with three colours, some with an additional edge;
# all are different. The measurement counts pairs of nodes by colours and distance, with
# noise.

rng = np.random.default_rng(0)
KINDS = list(itertools.product(("CC", "CN", "CO", "NN", "NO", "OO"), range(1, 7)))


def random_graph():
    n = int(rng.integers(5, 9))
    graph = nx.Graph([(int(rng.integers(max(0, i - 3), i)), i) for i in range(1, n)])
    if rng.random() < 0.4:
        graph.add_edge(*rng.choice(n, size=2, replace=False).tolist())
    colours = rng.choice(["C", "N", "O"], size=n, p=[0.6, 0.2, 0.2])
    nx.set_node_attributes(graph, dict(enumerate(colours)), "label")
    return graph


def measure(graph):
    far = dict(nx.all_pairs_shortest_path_length(graph))
    label = graph.nodes(data="label")
    pairs = []
    for u, v in itertools.combinations(graph, 2):
        pairs.append(("".join(sorted(label[u] + label[v])), far[u][v]))
    counts = np.array([pairs.count(kind) for kind in KINDS])
    return counts + rng.normal(scale=0.2, size=len(KINDS))


graphs = {}
while len(graphs) < 500:
    graph = random_graph()
    graphs.setdefault(nx.weisfeiler_lehman_graph_hash(graph, node_attr="label"), graph)
y = np.empty(500, dtype=object)
y[:] = list(graphs.values())
X = np.array([measure(graph) for graph in y])
train, test = np.arange(400), np.arange(400, 500)

# %%
# The model
# ---------
# ``depth`` is the size of the neighbourhoods: a larger one distinguishes more graphs,
# but more has to be predicted. For each test vector all 500 graphs are ranked,
# including the training set.

models, ranks = {}, {}
for depth in (0, 1, 2, 3):
    outputs = Normalized(WeisfeilerLehman(depth))
    models[depth] = IOKRCV(output_kernel=outputs, decoder=GraphEdits())
    best, _ = models[depth].fit(X[train], y[train]).rank(X[test], y)
    ranks[depth] = 1 + np.argmax(best == test[:, None], axis=1)
    first, five = (top_k_accuracy(ranks[depth], k=k) for k in (1, 5))
    print(f"depth {depth}: top-1 {first:.0%}, top-5 {five:.0%}")

# %%
# With and without candidates
# ---------------------------
# The best training graph, the result of edits, and the best of all candidates, with
# their similarity to the true graph by the kernel of depth 2.

some = test[:20]
answers = {
    "training graph": models[1].predict(X[some], y[train]),
    "edited": models[1].predict(X[some]),
    "candidate": models[1].predict(X[some], y),
}
kernel = Normalized(WeisfeilerLehman(2)).fit(y)
similar = {name: np.diag(kernel(found, y[some])) for name, found in answers.items()}
for name, values in similar.items():
    print(f"{name}: similarity to the true graph {values.mean():.2f}")

# %%
# The figure
# ----------
# Left, the top-k accuracy. Right, the true graphs and the predictions for four
# measurements, with their similarities.


def draw(axes, graph):
    shades = {"C": "0.3", "N": "C0", "O": "C3"}
    colours = [shades[label] for _, label in graph.nodes(data="label")]
    places = nx.kamada_kawai_layout(graph)
    nx.draw(graph, places, axes, node_color=colours, node_size=40, edge_color="0.4")
    axes.margins(0.15)


figure = plt.figure(figsize=(10, 4.6), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1, 1.3))
axes = left.subplots()
for depth, found in ranks.items():
    shares = [top_k_accuracy(found, k=k) for k in range(1, 21)]
    axes.plot(range(1, 21), shares, color=f"C{depth}", label=f"depth {depth}")
axes.set(xlabel="k", ylabel="true graph among the first k of 500", ylim=(0, 1))
axes.set_xticks([1, 5, 10, 15, 20])
axes.legend(frameon=False, loc="lower right")
axes.spines[["top", "right"]].set_visible(False)
panels = right.subplots(4, 4)
for i, row in enumerate(panels):
    draw(row[0], y[some[i]])
    for cell, (name, found) in zip(row[1:], answers.items(), strict=True):
        draw(cell, found[i])
        value = f"{similar[name][i]:.2f}"
        cell.text(0.5, -0.12, value, color="0.4", ha="center", transform=cell.transAxes)
for cell, title in zip(panels[0], ("true", *answers), strict=True):
    cell.set_title(title, fontsize=10)
plt.show()
