r"""
Tree prediction
===============

The input is a formula such as a+b*c, observed symbol by symbol with noise; the output
is its tree, in which b*c is computed first. The model has no knowledge of the symbols
or the grammar. The output kernel counts labels and parent-child pairs, so the model
predicts their counts. ``TreeEdits`` starts from the nearest training trees and edits
labels, nodes and subtrees.

.. math::

   k(y, z) = \sum_t n_t(y) n_t(z) \text{ over labels } t
   \text{, and labels } t \text{ with those of their children}
"""

import ast
import itertools

import matplotlib.pyplot as plt
import numpy as np

from iokr import IOKRCV
from iokr.decoders import TreeEdits
from iokr.kernels import Subtree
from iokr.metrics import tree_edit_distance

# %%
# The data
# --------
# All formulas with three letters and two operations, in random order. Python's parser
# gives their trees. Each symbol is a noisy indicator vector of seven numbers.

SYMBOLS = "abc+-*/"
NAMES = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}


def tree(node):
    if isinstance(node, ast.Name):
        return node.id
    return NAMES[type(node.op)], tree(node.left), tree(node.right)


rng = np.random.default_rng(0)
texts = rng.permutation(
    ["".join(s) for s in itertools.product("abc", "+-*/", "abc", "+-*/", "abc")]
)
y = np.empty(len(texts), dtype=object)
y[:] = [tree(ast.parse(str(text), mode="eval").body) for text in texts]
X = np.array([[symbol == s for symbol in text for s in SYMBOLS] for text in texts])
X = X + rng.normal(scale=0.1, size=X.shape)
X_test, truth = X[-50:], y[-50:]

# %%
# The model
# ---------
# Three decoders: edits restricted to nodes with children as some training node has
# (``grammar``); the nearest training tree, which is never correct; and the nearest of
# all trees as candidates. Evaluated by accuracy and by the tree edit distance.
#
# The indicators have one unit, so they are not standardised: dividing rare symbols by
# their small deviations would amplify the noise.

sizes = [25, 50, 100, 200]
right = {
    "edited": [],
    "nearest training tree": [],
    "nearest of all trees": [],
}
for n in sizes:
    model = IOKRCV(
        standardize=False,
        output_kernel=Subtree(depth=1),
        decoder=TreeEdits(grammar=True),
    ).fit(X[:n], y[:n])
    for (name, shares), candidates in zip(right.items(), (None, y[:n], y), strict=True):
        found = model.predict(X_test, candidates)
        shares.append(np.mean([a == b for a, b in zip(found, truth, strict=True)]))
        edits = tree_edit_distance(truth, found)
        print(f"{n} trees, {name}: {shares[-1]:.0%} correct, edit distance {edits:.2f}")
        if candidates is None:
            answers = found

# %%
# The figure
# ----------
# Left, the fraction of exactly correct trees. Right, predictions with 200 training
# trees; wrong ones are red.


def draw(axes, node, place, width, color):
    label, *children = node if isinstance(node, tuple) else (node,)
    for child, side in zip(children, (-1, 1), strict=False):
        below = place[0] + side * width, place[1] - 1
        axes.plot(*zip(place, below, strict=True), color="0.7", lw=1, zorder=1)
        draw(axes, child, below, width / 2, color)
    box = {"boxstyle": "circle,pad=0.15", "color": "white"}
    axes.text(*place, label, ha="center", va="center", color=color, bbox=box)


figure = plt.figure(figsize=(10, 4), layout="constrained")
left, right_side = figure.subfigures(1, 2, width_ratios=(1, 1.3))
axes = left.subplots()
for (name, shares), color in zip(right.items(), ("C0", "0.6", "C1"), strict=True):
    axes.plot(sizes, shares, "o-", color=color, label=name)
axes.set(xlabel="training trees", ylabel="correct trees", xscale="log", ylim=(-0.05, 1))
axes.set_xticks(sizes, sizes)
axes.minorticks_off()
axes.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
axes.spines[["top", "right"]].set_visible(False)
fine = np.array([a == b for a, b in zip(answers, truth, strict=True)])
some = [*np.flatnonzero(fine)[:6], *np.flatnonzero(~fine)[:2]]
for cell, i in zip(right_side.subplots(2, 4).flat, some, strict=False):
    draw(cell, answers[i], (0, 0), 1.0, "C0" if fine[i] else "C3")
    cell.set(title=texts[-50:][i], xlim=(-1.8, 1.8), ylim=(-2.4, 0.5))
    cell.axis("off")
plt.show()
