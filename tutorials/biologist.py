r"""
For a biologist: ten interactions to test
=========================================

You have a list of known interactions, a table of measurements for each protein, and
resources for ten experiments. This tutorial goes from two files to a list of ten pairs,
with the expected number of true interactions among them: the sum of their calibrated
probabilities,

.. math::

   \mathbb{E}[\text{true pairs}] = \sum_{i=1}^{10} p_i

It uses the protein network of yeast if it is found (``IOKR_DATA``), otherwise a
simulated network of similar shape.
"""

import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from iokr.datasets import DataNotFound, find_data, make_communities

# %%
# Two files
# ---------
# A table of proteins: the first column is the name, the others are measurements, here
# the expression along a time course, with some missing values. And a list of trusted
# interactions.
#
# A third list, of interactions reported by other methods, is held out for the
# evaluation at the end.


def yeast():
    """Proteins with at least three trusted interactions."""
    data = np.load(find_data("yeast_ppi/yeast_ppi.npz"))
    names, trusted = data["orf"], data["edges"]
    keep = np.bincount(trusted.ravel(), minlength=len(names)) >= 3
    profiles = pd.DataFrame(data["expr_spellman"], names, data["cond_spellman"])
    held_out = np.concatenate([data["edges_medium"], data["edges_y2h_full"]])
    return profiles[keep], names[trusted[keep[trusted].all(axis=1)]], names[held_out]


def made():
    """200 simulated proteins in complexes; two thirds of the links are trusted."""
    network, rng = make_communities(200, seed=1), np.random.default_rng(1)
    names = np.array([f"P{i:03d}" for i in range(200)])
    hours = [f"t{10 * i}" for i in range(network.X.shape[1])]
    profiles = pd.DataFrame(network.X, names, hours).mask(
        rng.random(network.X.shape) < 0.02
    )
    trusted = rng.random(len(network.edges)) < 2 / 3
    return profiles, names[network.edges[trusted]], names[network.edges[~trusted]]


try:
    profiles, trusted, held_out = yeast()
except DataNotFound:
    profiles, trusted, held_out = made()

temporary = TemporaryDirectory()
folder = Path(temporary.name)
profiles.round(4).to_csv(folder / "proteins.tsv", sep="\t", index_label="protein")
pairs = pd.DataFrame(trusted, columns=["source", "target"])
pairs.to_csv(folder / "interactions.tsv", sep="\t", index=False)
for name in ("proteins.tsv", "interactions.tsv"):
    lines = (folder / name).read_text().splitlines()[:3]
    print(name, *(line[:60] for line in lines), sep="\n", end="\n\n")

# %%
# One command
# -----------
# ``iokr links predict`` reads both files. It compares two models and their combination
# on held-out proteins, uses the best, and ranks the pairs that are not known to
# interact. ``--missing mean`` imputes missing values; without it such proteins are
# rejected and listed. The command is shown after the ``$``. In Python:
#
# .. code-block:: python
#
#    from iokr.apps import links
#
#    network = links.read("proteins.tsv", "interactions.tsv", missing="mean")
#    result = links.predict(network, top=200)
#    result.report("links")


def shell(command):
    print("$", command)
    words = [sys.executable, "-m", *shlex.split(command)]
    pipe = subprocess.PIPE
    done = subprocess.run(words, cwd=folder, check=True, stdout=pipe, encoding="utf-8")
    print(done.stdout)


shell(
    "iokr links predict --nodes proteins.tsv --edges interactions.tsv"
    " --missing mean --top 200 -o links --quiet"
)

# %%
# Three results to check first. *Expected precision*: the expected fraction of true
# interactions among the first pairs, estimated on held-out pairs. *AUC-ROC* and
# *AUC-PR* for held-out proteins: a random ranking has 50 % and the prevalence of links,
# often below 1 %. *Input*: the numbers of rows that were used and rejected
# (``links/rejected.tsv``).
#
# ``links/report.html`` is an interactive page with the table, the network and the
# evidence for each pair. ``links/network.graphml`` opens in Cytoscape.
#
# Evidence for a pair
# -------------------
# ``edges.tsv`` opens in a spreadsheet. For each pair it has the probability, the number
# of shared partners and the similarity of the profiles. A high probability without
# shared partners is based on the measurements alone.

ranked = pd.read_table(folder / "links" / "edges.tsv")
columns = ["rank", "source", "target", "probability", "shared_partners", "similarity"]
print(ranked[columns].head(8).round(2).to_string(index=False))

# %%
# Ten pairs
# ---------
# The first ten pairs are rarely the best ten experiments: one protein may be in half of
# them, so that their errors are correlated. Select pairs in the order of the list such
# that no protein is in more than two of them.

selected, used = [], {}
for pair in ranked.itertuples():
    if max(used.get(pair.source, 0), used.get(pair.target, 0)) < 2:
        selected.append(pair)
        used[pair.source] = used.get(pair.source, 0) + 1
        used[pair.target] = used.get(pair.target, 0) + 1
    if len(selected) == 10:
        break
selected = pd.DataFrame(selected)[columns]
selected.to_csv(folder / "selected.tsv", sep="\t", index=False)
print(selected.round(2).to_string(index=False))

n = len(profiles)
possible = n * (n - 1) / 2 - len(trusted)
print(f"expected: {selected.probability.sum():.1f} of 10 true")

# %%
# This sum is the basis of the decision. If it is too low, restrict the list to the
# partners of a protein of interest (``--for NAME``), or add measurements: a second
# table is a second ``--nodes``, see :doc:`/guide/command_line`.
#
# Evaluation
# ----------
# The held-out list. For the yeast network it has pairs reported by less reliable
# experiments: many true interactions are missing and some are false, so the number of
# confirmed pairs is a lower bound. Compare it with a random selection.

seen = {frozenset(pair) for pair in held_out} - {frozenset(pair) for pair in trusted}
inside = {pair for pair in seen if pair <= set(profiles.index)}
confirmed = [
    frozenset(pair) in inside
    for pair in zip(selected.source, selected.target, strict=True)
]
chance = len(inside) / possible
print(f"in the held-out list: {sum(confirmed)} of 10, at random {10 * chance:.2f}")

found = np.cumsum(
    [
        frozenset(pair) in inside
        for pair in zip(ranked.source, ranked.target, strict=True)
    ]
)
positions = np.arange(1, len(ranked) + 1)
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.plot(positions, found, color="C0", label="in the held-out list")
axes.plot(
    positions,
    ranked.probability.cumsum(),
    color="C1",
    label="expected number of true pairs",
)
axes.plot(positions, positions * chance, color="0.6", label="held-out list, at random")
axes.set(
    xlabel="first pairs of the list",
    ylabel="pairs",
    xlim=(0, len(ranked)),
    ylim=(0, None),
)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
