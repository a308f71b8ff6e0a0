r"""
Image completion
================

Predict the lower half of a handwritten digit from its upper half. As vectors, halves
are averaged, and the prediction is blurred where several are possible. With a Gaussian
output kernel only similar halves are averaged: the prediction is the nearest training
half, or a point between halves that ``FixedPoint`` finds by ascent.

.. math::

   h(x) = \sum_i \beta_i(x) \psi(y_i), \qquad
   \hat{y} = \operatorname*{arg\,min}_y \lVert h(x) - \psi(y)\rVert^2
   \text{ over images } y
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
# Digits of scikit-learn, 8 × 8 pixels: 600 for training, 300 for testing.

images = load_digits().data / 16
upper, lower = images[:, :32], images[:, 32:]
train, test = slice(0, 600), slice(600, 900)

# %%
# Three decoders
# --------------
# Kernel and ``alpha`` are selected by leave-one-out. The metric is the loss of the
# Gaussian output kernel: 0 for the true half, near 2 for an unrelated one. Its gamma,
# 1/2, is a standard deviation of 1 for 32 pixels between 0 and 1.

outputs = RBF(0.5)
models = {
    "mean of halves": IOKRCV(),
    "nearest training half": IOKRCV(output_kernel=outputs),
    "fixed point": IOKRCV(output_kernel=outputs, decoder=FixedPoint(3)),
}
answers, losses = {}, {}
for name, model in models.items():
    answers[name] = model.fit(upper[train], lower[train]).predict(upper[test])
    losses[name] = rbf_loss(lower[test], answers[name], gamma=0.5)
    print(f"{name}: Gaussian loss {losses[name]:.3f}")

# %%
# The figure
# ----------
# The true digits and a row of predictions per decoder. The upper half, above the line,
# is the input.

shown = np.arange(0, 300, 25)
rows = {"true": lower[test], **answers}
figure = plt.figure(figsize=(9.5, 3.3), layout="constrained")
panels = figure.subplots(len(rows), len(shown))
for (name, halves), line in zip(rows.items(), panels, strict=True):
    for axes, i in zip(line, shown, strict=True):
        image = np.concatenate([upper[test][i], halves[i]]).reshape(8, 8)
        axes.imshow(image, cmap="gray_r", vmin=0, vmax=1)
        axes.axhline(3.5, color="C1", linewidth=1)
        axes.set(xticks=[], yticks=[])
        axes.spines[:].set_color("0.8")
    title = name if name == "true" else f"{name}\nloss {losses[name]:.2f}"
    line[0].set_ylabel(title, rotation=0, ha="right", va="center", labelpad=8)
plt.show()
