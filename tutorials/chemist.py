"""
For a chemist: which molecule is this spectrum of?
==================================================

You have tandem mass spectra that no library search explains. For each there is a list
of molecules that it could be, from a database by formula or by mass. This tutorial
ranks them, asks how often such a ranking is right, and ends with three piles: report,
look again, leave.

.. rst-class:: formula

| a library of spectra with structures, unknown spectra, candidates of each
| → candidates ranked, with probabilities and sets that hold the truth nine times in ten

The spectra are made by ``iokr msms demo``: rings, chains and ends, a peak for each part
that a broken bond leaves, half of the peaks lost, and noise. They are toys, so expect
real ones to be harder; the commands are those that you need. It takes the extra
``chem`` (RDKit): ``pip install '.[chem,report]'`` in a clone of the repository.
"""

import shlex
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

temporary = TemporaryDirectory()
folder = Path(temporary.name)


def shell(command):
    print("$", command)
    words = [sys.executable, "-m", *shlex.split(command)]
    pipe = subprocess.PIPE
    done = subprocess.run(words, cwd=folder, check=True, stdout=pipe, encoding="utf-8")
    print(done.stdout)


# %%
# Five files, two commands
# ------------------------
# ``iokr msms demo`` writes the files, trains on the library and identifies the
# unknowns. With your own files you type its two commands yourself:
#
# .. code-block:: console
#
#    $ iokr msms train -i library.mgf --candidates library_candidates.tsv
#    $ iokr msms identify -i unknowns.mgf --candidates candidates.tsv \
#                         -m model.safetensors -o results

shell("iokr msms demo --quiet -o demo")
for name in ("unknowns.mgf", "candidates.tsv"):
    lines = (folder / "demo" / "data" / name).read_text().splitlines()[:7]
    print(name, *lines, sep="\n", end="\n\n")

# %%
# How often is it right?
# ----------------------
# Before you believe any name above, ask what to expect. ``iokr msms evaluate`` hides
# each molecule of the library with all of its spectra, ranks its candidates as if it
# were unknown, and sets a library search beside that.

shell(
    "iokr msms evaluate --quiet -i demo/data/library.mgf"
    " --candidates demo/data/library_candidates.tsv -o evaluated"
)

# %%
# Two lines decide whether the rest is worth your time. *top-1* beside *chance* and
# beside the library search: is there anything to gain? And *of these right*: of the
# answers with a probability of 0.9 or more, how many were true? That number should be
# near the probability, or the probabilities mean nothing.
#
# What is said of one spectrum
# ----------------------------
# ``results/candidates.tsv`` has a row for each candidate. ``in_set`` marks the smallest
# set that holds the truth in nine of ten cases, provided that the truth is among the
# candidates: no model can know that it is not. ``evidence`` names the library spectra
# that speak for the candidate; look at them as you would at the hits of a search.

ranked = pd.read_table(folder / "demo" / "results" / "candidates.tsv")
first = ranked[ranked["rank"] == 1].set_index("spectrum_id")
doubtful = first.probability.idxmin()
columns = ["rank", "smiles", "probability", "in_set", "evidence"]
rows = ranked[ranked.spectrum_id == doubtful].head(4)[columns].copy()
rows["evidence"] = [text.split(":")[0] for text in rows.evidence]
print(f"{doubtful}, the least certain, with the first witness of each:")
print(rows.round(2).to_string(index=False))

# %%
# Three piles
# -----------
# *Report* an answer whose set holds one molecule and whose probability is at least 0.9.
# *Look again* where the set holds up to three, or one of a lower probability: such
# molecules often differ in one part, and a standard, a second collision energy or a
# retention time tells them apart. *Leave* the others.

sizes = ranked[ranked.in_set == "yes"].groupby("spectrum_id").size()
answers = first[["smiles", "formula", "probability"]].join(sizes.rename("set_size"))
answers["set_size"] = answers.set_size.fillna(0).astype(int)
answers["pile"] = np.select(
    [
        (answers.set_size == 1) & (answers.probability >= 0.9),
        answers.set_size.between(1, 3),
    ],
    ["report", "look again"],
    "leave",
)
answers = answers.sort_values("probability", ascending=False)
answers.to_csv(folder / "answers.tsv", sep="\t")
print(answers.round(3).to_string())

# %%
# Was that honest?
# ----------------
# The demo knows the truth, so here it can be counted. With your own unknowns you
# cannot, which is what ``evaluate`` is for.

truth = pd.read_table(folder / "demo" / "data" / "truth.tsv", index_col="spectrum_id")
answers["right"] = answers.smiles == truth.smiles.reindex(answers.index)
print(answers.groupby("pile").right.agg(["sum", "size"]))
print(
    f"expected right, by the probabilities: {answers.probability.sum():.1f}"
    f" of {len(answers)}; right: {answers.right.sum()}"
)

colors = {"report": "C0", "look again": "C1", "leave": "0.6"}
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for pile, rows in answers.groupby("pile"):
    places = [len(answers) - 1 - answers.index.get_loc(name) for name in rows.index]
    axes.barh(places, rows.probability, color=colors[pile], label=pile)
wrong = np.flatnonzero(~answers.right)
axes.plot(
    answers.probability.iloc[wrong], len(answers) - 1 - wrong, "kx", label="wrong"
)
axes.set_yticks(range(len(answers)), answers.smiles[::-1])
axes.set(xlabel="probability of the best candidate", xlim=(0, 1))
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
plt.show()
