"""
Image completion: the mean of what is possible, or one of them
==============================================================

The upper half of a handwritten digit is given, the lower half is asked for. As
vectors, halves are averaged: the answer is blurred where several are possible. Under a
Gaussian output kernel far away halves count nothing, and the answer is near one of
them: the nearest half seen in training, or a point between them that ``FixedPoint``
climbs to.

.. rst-class:: formula

| h(x) = Σ_i β_i(x) ψ(y_i)
| ŷ = argmin over images y of ‖h(x) − ψ(y)‖²
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from iokr import IOKRCV
from iokr.decoders import FixedPoint
from iokr.kernels import RBF
from iokr.metrics import rbf_loss

# %%
# The data
# --------
# Scikit-learn's digits, 8 × 8 pixels: 600 to learn from, 300 to test on.

images = load_digits().data / 16
upper, lower = images[:, :32], images[:, 32:]
train, test = slice(0, 600), slice(600, 900)

# %%
# Three ways back
# ---------------
# The same inputs; ``alpha`` by leave-one-out. Judged by the loss that belongs to the
# Gaussian output kernel, 0 for the true half and near 2 for one that has nothing to do
# with it.

inputs, outputs = [RBF(0.1), RBF(0.3)], RBF(0.5)
models = {
    "mean of halves": IOKRCV(inputs),
    "nearest half seen": IOKRCV(inputs, output_kernel=outputs),
    "between halves": IOKRCV(inputs, output_kernel=outputs, decoder=FixedPoint(3)),
}
answers, losses = {}, {}
for name, model in models.items():
    answers[name] = model.fit(upper[train], lower[train]).predict(upper[test])
    losses[name] = rbf_loss(lower[test], answers[name], gamma=0.5)
    print(f"{name}: Gaussian loss {losses[name]:.3f}")

# %%
# The figure
# ----------
# A row for each answer, below the true digits. The upper half, above the line, is what
# the models see.

shown = np.arange(0, 300, 25)
rows = {"truth": lower[test], **answers}
figure = plt.figure(figsize=(9.5, 3.3), layout="constrained")
panels = figure.subplots(len(rows), len(shown))
for (name, halves), line in zip(rows.items(), panels, strict=True):
    for axes, i in zip(line, shown, strict=True):
        image = np.concatenate([upper[test][i], halves[i]]).reshape(8, 8)
        axes.imshow(image, cmap="gray_r", vmin=0, vmax=1)
        axes.axhline(3.5, color="C1", linewidth=1)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color("0.8")
    title = name if name == "truth" else f"{name}\nloss {losses[name]:.2f}"
    line[0].set_ylabel(title, rotation=0, ha="right", va="center", labelpad=8)
plt.show()
