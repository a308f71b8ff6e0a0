r"""
Hierarchical classification
===========================

Animals are classes of classes. A flat classifier treats all errors equally: predicting
trout for a wolf costs as much as for a salmon. With the number of shared ancestors as
output kernel, the squared distance of two classes is the path length between them in
the tree, so that both the regression and the decoding use the tree. Inner nodes are
outputs as well: an uncertain model may predict *bird*.

.. math::

   k(y, z) = \text{number of shared ancestors of } y \text{ and } z, \qquad
   \lVert\psi(y) - \psi(z)\rVert^2 = \text{path length from } y \text{ to } z
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.metrics import confusion_matrix

from iokr import IOKRCV
from iokr.kernels import Delta, FromFunction

# %%
# The tree
# --------
# A class is the path to it from the root; its ancestors are the prefixes of the path.

TREE = {
    "mammal": {"dog": ["wolf", "fox", "jackal"], "cat": ["lion", "lynx", "puma"]},
    "bird": {
        "songbird": ["finch", "robin", "wren"],
        "raptor": ["eagle", "hawk", "kite"],
    },
    "fish": {
        "salmonid": ["salmon", "trout", "char"],
        "cod": ["haddock", "hake", "ling"],
    },
}
leaves = []
for kind, families in TREE.items():
    for family, members in families.items():
        leaves += [f"{kind}/{family}/{member}" for member in members]
leaves = np.array(leaves, dtype=object)


def ancestors(y):
    """For *bird/raptor/kite*: *bird*, *bird/raptor* and the class itself."""
    names = y.split("/")
    return ["/".join(names[:depth]) for depth in range(1, len(names) + 1)]


def shared_ancestors(y, z):
    return float(len(set(ancestors(y)) & set(ancestors(z))))


def steps(y, z):
    return len(set(ancestors(y)) ^ set(ancestors(z)))


# %%
# The data
# --------
# Features follow the tree: each node contributes a random vector. Six examples per
# class.

rng = np.random.default_rng(5)
nodes = sorted({node for leaf in leaves for node in ancestors(leaf)})
look = {node: rng.normal(size=12) * (1.6, 1.1, 0.8)[node.count("/")] for node in nodes}


def animals(n_each):
    y = np.repeat(leaves, n_each)
    centres = np.array([sum(look[node] for node in ancestors(leaf)) for leaf in y])
    return centres + rng.normal(scale=1.6, size=centres.shape), y


X, y = animals(6)
X_test, y_test = animals(30)

# %%
# Flat and hierarchical models
# ----------------------------

flat = IOKRCV(output_kernel=Delta()).fit(X, y)
tree = IOKRCV(output_kernel=FromFunction(shared_ancestors)).fit(X, y)
answers = {
    "flat": flat.predict(X_test, leaves),
    "hierarchical": tree.predict(X_test, leaves),
    "hierarchical, with inner nodes": tree.predict(X_test, nodes),
}
far = {
    name: np.array([steps(a, b) for a, b in zip(y_test, found, strict=True)])
    for name, found in answers.items()
}
for name, distance in far.items():
    print(
        f"{name}: path length {distance.mean():.2f}, {np.mean(distance == 0):.0%} exact"
    )

# %%
# The figure
# ----------
# Confusion matrices, with classes in the order of the tree; lines separate mammals,
# birds and fish. Right, the distribution of path lengths between true and predicted
# classes.

names = [leaf.split("/")[-1] for leaf in leaves]
figure, panels = plt.subplots(1, 3, figsize=(11.5, 4.2), layout="constrained")
for axes, name in zip(panels, list(answers)[:2], strict=False):
    taken = confusion_matrix(y_test, answers[name], labels=leaves, normalize="true")
    axes.imshow(np.sqrt(taken), cmap="Blues", vmin=0, vmax=1)
    for edge in (5.5, 11.5):
        axes.axhline(edge, color="C1", linewidth=1)
        axes.axvline(edge, color="C1", linewidth=1)
    axes.set_xticks(range(18), names, rotation=90, fontsize=8)
    axes.set_yticks(range(18), names, fontsize=8)
    axes.set(title=name, xlabel="predicted")
panels[0].set_ylabel("true")
for place, (name, distance) in enumerate(far.items()):
    shares = [np.mean(distance == step) for step in range(7)]
    label = f"{name}: {distance.mean():.2f}"
    color = ("0.6", "C0", "C1")[place]
    panels[2].bar(
        np.arange(7) + 0.27 * (place - 1), shares, 0.27, color=color, label=label
    )
panels[2].set(xlabel="path length to the true class", ylabel="fraction of test animals")
panels[2].legend(title="mean path length", frameon=False, fontsize=8)
panels[2].spines[["top", "right"]].set_visible(False)
plt.show()
