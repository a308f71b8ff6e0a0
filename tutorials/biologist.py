"""
For a biologist: ten interactions worth testing
===============================================

You have a list of interactions and a table of measurements of each protein, and you can
afford ten experiments. Which ten? This tutorial goes from two files to that list, and
says beforehand how many of the ten should succeed.

.. rst-class:: formula

| links known among proteins, and a profile of each protein
| → pairs that are not known, best first, and how many of them to expect true

It runs on the protein network of yeast where that is found (``IOKR_DATA``), and on a
network made in its shape elsewhere. Nothing else differs.
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
# the expression along a time course. And a list of interactions that are trusted. Some
# cells of the table are empty, as they always are.
#
# A third list stays in the drawer: interactions seen by other methods, which the model
# never gets to know. We shall look at it once, at the end.


def yeast():
    """Proteins with three trusted interactions or more, to keep this short."""
    data = np.load(find_data("yeast_ppi/yeast_ppi.npz"))
    names, trusted = data["orf"], data["edges"]
    keep = np.bincount(trusted.ravel(), minlength=len(names)) >= 3
    profiles = pd.DataFrame(data["expr_spellman"], names, data["cond_spellman"])
    drawer = np.concatenate([data["edges_medium"], data["edges_y2h_full"]])
    return profiles[keep], names[trusted[keep[trusted].all(axis=1)]], names[drawer]


def made():
    """200 proteins in complexes; two in three of their interactions are trusted."""
    network, rng = make_communities(200, seed=1), np.random.default_rng(1)
    names = np.array([f"P{i:03d}" for i in range(200)])
    hours = [f"t{10 * i}" for i in range(network.X.shape[1])]
    profiles = pd.DataFrame(network.X, names, hours).mask(
        rng.random(network.X.shape) < 0.02
    )
    trusted = rng.random(len(network.edges)) < 2 / 3
    return profiles, names[network.edges[trusted]], names[network.edges[~trusted]]


try:
    profiles, trusted, drawer = yeast()
except DataNotFound:
    profiles, trusted, drawer = made()

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
# ``iokr links predict`` reads both files. It compares two models, and both together, by
# hiding proteins from them, takes the best, and lists the pairs that are not among the
# known ones. ``--missing mean`` fills the empty cells; without it such proteins are
# left out, and listed. In a terminal you type what stands after the ``$``.


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
# Read three things before the list itself. *Expected precision*: of so many first
# pairs, the fraction that should be true, estimated on pairs that were hidden from the
# model. *AUC-ROC* and *AUC-PR*, for proteins that the model had never seen: chance is
# 50 % for the first, and for the second the fraction of all pairs that are linked,
# often below 1 %. And the *input*: how many rows were used, and what became of the
# others (``links/rejected.tsv``).
#
# ``links/report.html`` is the page to work with: sort, filter, search, see the network,
# and ask why a pair is listed. ``links/network.graphml`` opens in Cytoscape.
#
# What speaks for a pair
# ----------------------
# ``edges.tsv`` opens in a spreadsheet. For each pair it says how likely it is, how many
# partners the two share already, and how similar their profiles are. A high probability
# with no shared partner is a claim from the measurements alone: bolder, and more of a
# discovery when it holds.

ranked = pd.read_table(folder / "links" / "edges.tsv")
columns = ["rank", "source", "target", "probability", "shared_partners", "similarity"]
print(ranked[columns].head(8).round(2).to_string(index=False))

# %%
# Ten bets
# --------
# The first ten pairs are seldom the best ten experiments: one busy protein may be in
# half of them, and if it was a poor choice all of these fail together. So go down the
# list and take a pair only if neither protein is in two bets already.

bets, used = [], {}
for pair in ranked.itertuples():
    if max(used.get(pair.source, 0), used.get(pair.target, 0)) < 2:
        bets.append(pair)
        used[pair.source] = used.get(pair.source, 0) + 1
        used[pair.target] = used.get(pair.target, 0) + 1
    if len(bets) == 10:
        break
bets = pd.DataFrame(bets)[columns]
bets.to_csv(folder / "bets.tsv", sep="\t", index=False)
print(bets.round(2).to_string(index=False))

n = len(profiles)
possible = n * (n - 1) / 2 - len(trusted)
print(f"to expect: {bets.probability.sum():.1f} of 10 true")

# %%
# That sum is the decision. If five of ten are worth the work, test them. If not, ask
# for the partners of the one protein that you care about (``--for NAME``), or bring
# more measurements: a second table is a second ``--nodes``, see
# :doc:`/guide/command_line`.
#
# The drawer
# ----------
# Now the list that the model has not seen. For the yeast network these are pairs that
# weaker experiments reported: many true ones are not in it and many in it are false, so
# it can only count too few. What matters is how much more often than by chance.

seen = {frozenset(pair) for pair in drawer} - {frozenset(pair) for pair in trusted}
inside = {pair for pair in seen if pair <= set(profiles.index)}
confirmed = [
    frozenset(pair) in inside for pair in zip(bets.source, bets.target, strict=True)
]
chance = len(inside) / possible
print(f"in the drawer: {sum(confirmed)} of our 10, by chance {10 * chance:.2f}")

found = np.cumsum(
    [
        frozenset(pair) in inside
        for pair in zip(ranked.source, ranked.target, strict=True)
    ]
)
places = np.arange(1, len(ranked) + 1)
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
axes.plot(places, found, color="C0", label="in the list that was hidden")
axes.plot(places, ranked.probability.cumsum(), color="C1", label="expected to be true")
axes.plot(places, places * chance, color="0.6", label="hidden list, by chance")
axes.set(
    xlabel="first pairs of the list",
    ylabel="pairs",
    xlim=(0, len(ranked)),
    ylim=(0, None),
)
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False)
plt.show()
