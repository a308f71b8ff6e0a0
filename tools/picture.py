"""Draw docs/_static/network.png, the picture of the README and of the start page, by `iokr links predict`.

    python tools/picture.py        # seconds; the same seed gives the same picture

A ring of 300 nodes, linked if they are close; features are noisy functions of their positions, and the links among 100
nodes are known. The command ranks all other pairs; colours show which are links. Size, noise and radius were chosen for
the drawing: it illustrates the command, not its accuracy.
"""

import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import matplotlib

matplotlib.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.collections import LineCollection
from PIL import Image
from scipy.spatial.distance import pdist, squareform

HOME = Path(__file__).parents[1] / "docs" / "_static" / "network.png"
COMMAND = "links predict --nodes nodes.tsv --edges edges.tsv --labeled labelled.txt -q -o out --top"
BLUE, ORANGE, GREY, INK = "#2f6db3", "#e08a2c", "#c3c8d0", "#22262b"


def ring(n=300, labelled=100, seed=0):
    """Places, features, which pairs are linked, and the nodes whose links are known."""
    rng = np.random.default_rng(seed)
    angle, radius = 2 * np.pi * (np.arange(n) + rng.random(n)) / n, rng.uniform(0.6, 1.0, size=n)
    places = np.column_stack([radius * np.cos(angle), radius * np.sin(angle)])
    features = np.tanh(places @ rng.normal(size=(2, 30)) + rng.normal(size=30)) + rng.normal(scale=0.1, size=(n, 30))
    return places, features, squareform(pdist(places) < 0.2), np.sort(rng.permutation(n)[:labelled])


def answer(folder, features, edges, labelled, top):
    """The ranked pairs of the command, as rows of node numbers."""
    names = np.array([f"n{i}" for i in range(len(features))])
    pd.DataFrame(features, names).to_csv(folder / "nodes.tsv", sep="\t", index_label="id")
    pd.DataFrame(names[edges], columns=["source", "target"]).to_csv(folder / "edges.tsv", sep="\t", index=False)
    (folder / "labelled.txt").write_text("\n".join(names[labelled]) + "\n")
    words = [sys.executable, "-m", "iokr", *COMMAND.split(), str(top)]
    subprocess.run(words, cwd=folder, check=True, stdout=subprocess.DEVNULL)
    table = pd.read_table(folder / "out" / "edges.tsv")
    return np.column_stack([table[end].str[1:].astype(int) for end in ("source", "target")])


def main(path=HOME):
    """Simulate the network, run the command, and draw its input on the left and its output on the right."""
    places, features, linked, labelled = ring()
    n, pairs = len(places), np.argwhere(np.triu(linked))
    known = pairs[np.isin(pairs, labelled).all(axis=1)]
    hidden = len(pairs) - len(known)
    with TemporaryDirectory() as folder:
        found = answer(Path(folder), features, known, labelled, 600)
    right = linked[found[:, 0], found[:, 1]]
    chance = hidden / (n * (n - 1) / 2 - len(labelled) * (len(labelled) - 1) / 2)

    figure, (one, two) = plt.subplots(1, 2, figsize=(9, 5), layout="constrained")
    for axes, some, color in ((one, known, BLUE), (two, found[~right], ORANGE), (two, found[right], BLUE)):
        axes.add_collection(LineCollection(places[some], colors=color, linewidths=1.1))
    for axes, dark in ((one, labelled), (two, np.arange(n))):
        axes.scatter(*places.T, s=9, color=GREY, zorder=2)
        axes.scatter(*places[dark].T, s=12, color=INK, zorder=3)
        axes.set_aspect("equal")
        axes.axis("off")
    one.set_title(f"input: features of {n} nodes,\nthe {len(known)} links of {len(labelled)} of them")
    two.set_title(
        f"output: the {len(found)} best other pairs,\n{right.mean():.0%} are links (blue), at random {chance:.1%}"
    )
    figure.savefig(path, dpi=130, bbox_inches="tight")
    Image.open(path).convert("RGB").quantize(64).save(path, optimize=True)
    size = Path(path).stat().st_size / 1000
    print(f"{right.mean():.3f} of {len(found)} pairs are links, at random {chance:.4f}; {size:.0f} kB")


if __name__ == "__main__":
    main(*sys.argv[1:])
