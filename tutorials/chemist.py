r"""
For a chemist: molecules of tandem mass spectra
===============================================

You have tandem mass spectra without a match in a library, and for each a list of
candidate molecules, from a database by formula or by mass. This tutorial ranks the
candidates, estimates the accuracy of the ranking, and sorts the spectra into three
groups: report, look again, leave.

.. math::

   p(y) = \frac{\exp(f(x, y)/T)}{\sum_{y'} \exp(f(x, y')/T)} \quad
   \text{over the candidates of } x

The spectra are simulated by ``iokr msms demo``: a peak for each fragment of a broken
bond, half of the peaks missing, and noise. Real spectra are harder; the commands are
the same. The tutorial needs the extra ``chem`` (RDKit):
``pip install '.[chem,report]'`` in a clone of the repository.
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
# unknowns. For your own files use its two commands:
#
# .. code-block:: console
#
#    $ iokr msms train -i library.mgf --candidates library_candidates.tsv
#    $ iokr msms identify -i unknowns.mgf --candidates candidates.tsv \
#                         -m model.safetensors -o results
#
# or, in Python:
#
# .. code-block:: python
#
#    from iokr.apps import msms
#
#    model = msms.train("library.mgf", "library_candidates.tsv")
#    result = msms.identify(model, "unknowns.mgf", "candidates.tsv")
#    result.report("results")

shell("iokr msms demo --quiet -o demo")
for name in ("unknowns.mgf", "candidates.tsv"):
    lines = (folder / "demo" / "data" / name).read_text().splitlines()[:7]
    print(name, *lines, sep="\n", end="\n\n")

# %%
# Accuracy
# --------
# ``iokr msms evaluate`` holds out each molecule of the library with all of its spectra,
# ranks its candidates, and compares the result with a library search.

shell(
    "iokr msms evaluate --quiet -i demo/data/library.mgf"
    " --candidates demo/data/library_candidates.tsv -o evaluated"
)

# %%
# The rows *library* are what is used without a model, on the same folds: the best hit
# of a library search by the cosine or modified cosine, which match peaks one to one as
# matchms does, or its ten best hits.
# *ridge on each bit* is scikit-learn's way, a regression for each bit of the
# fingerprints.
#
# Two results to check first. *top-1*, compared with *chance* and with the library
# search. And the fraction of correct predictions among those with a probability of 0.9
# or more: it should be close to the probability.
#
# Results for one spectrum
# ------------------------
# ``results/candidates.tsv`` has a row for each candidate. ``in_set`` marks the
# prediction set with 90 % coverage, provided that the true molecule is among the
# candidates; no model can detect that it is not. ``evidence`` lists the library spectra
# that contribute most to the score; examine them like the hits of a library search.

ranked = pd.read_table(folder / "demo" / "results" / "candidates.tsv")
first = ranked[ranked["rank"] == 1].set_index("spectrum_id")
doubtful = first.probability.idxmin()
columns = ["rank", "smiles", "probability", "in_set", "evidence"]
rows = ranked[ranked.spectrum_id == doubtful].head(4)[columns].copy()
rows["evidence"] = [text.split(":")[0] for text in rows.evidence]
print(f"{doubtful}, the least certain, with the strongest evidence for each:")
print(rows.round(2).to_string(index=False))

# %%
# Three groups
# ------------
# *Report* a prediction whose set has one molecule and whose probability is at least
# 0.9. *Look again* if the set has up to three molecules, or one with a lower
# probability: such molecules often differ in one part, and a standard, a second
# collision energy or a retention time distinguishes them. *Leave* the others.

sizes = ranked[ranked.in_set == "yes"].groupby("spectrum_id").size()
answers = first[["smiles", "formula", "probability"]].join(sizes.rename("set_size"))
answers["set_size"] = answers.set_size.fillna(0).astype(int)
answers["group"] = np.select(
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
# Evaluation
# ----------
# The true molecules of the simulated spectra are known. For real unknowns they are not;
# use ``evaluate`` instead.

truth = pd.read_table(folder / "demo" / "data" / "truth.tsv", index_col="spectrum_id")
answers["correct"] = answers.smiles == truth.smiles.reindex(answers.index)
print(answers.groupby("group").correct.agg(["sum", "size"]))
print(
    f"expected correct, by the probabilities: {answers.probability.sum():.1f}"
    f" of {len(answers)}; correct: {answers.correct.sum()}"
)

colors = {"report": "C0", "look again": "C1", "leave": "0.6"}
figure, axes = plt.subplots(figsize=(7, 4), layout="constrained")
for group, rows in answers.groupby("group"):
    positions = [len(answers) - 1 - answers.index.get_loc(name) for name in rows.index]
    axes.barh(positions, rows.probability, color=colors[group], label=group)
wrong = np.flatnonzero(~answers.correct)
axes.plot(
    answers.probability.iloc[wrong], len(answers) - 1 - wrong, "kx", label="wrong"
)
axes.set_yticks(range(len(answers)), answers.smiles[::-1])
axes.set(xlabel="probability of the best candidate", xlim=(0, 1))
axes.spines[["top", "right"]].set_visible(False)
axes.legend(frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
plt.show()
