r"""
Any regressor for any output
============================

Predict the lower half of a digit from its upper half. ``Surrogate`` represents a
Gaussian output kernel by fifty coordinates, which any regressor can predict: a network,
a forest, neighbours. Predictions are decoded as in ``IOKRCV``, the closed form, which
is fitted to the same coordinates for comparison.

.. math::

   z(y) = L^{-1} k_Y(P, y), \quad L L^{\top} = k_Y(P, P), \qquad
   f(x) \approx z(y), \quad
   \hat{y} = \operatorname*{arg\,min}_y k_Y(y, y) - 2\langle f(x), z(y)\rangle
"""

import time

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.ensemble import RandomForestRegressor
from sklearn.neighbors import KNeighborsRegressor
from sklearn.neural_network import MLPRegressor

from iokr import IOKRCV, Surrogate
from iokr.embeddings import Nystroem
from iokr.kernels import RBF
from iokr.metrics import rbf_loss

# %%
# The data
# --------
# 8 × 8 pixels: four rows are the input, four the output.

images = load_digits().data / 16
order = np.random.default_rng(0).permutation(len(images))
X, Y = images[order, :32], images[order, 32:]
test = slice(1000, 1300)

# %%
# The models
# ----------
# All learn the same coordinates z(y). The gamma of the output kernel, 0.2, is near the
# inverse of the median squared distance of two halves. With PyTorch,
# ``NeuralRegressor()`` can replace scikit-learn's network.

outputs = {
    "output_kernel": RBF(0.2),
    "embedding": Nystroem(50, random_state=0),
}
models = {
    "closed form": IOKRCV(**outputs),
    "network": Surrogate(
        MLPRegressor(
            hidden_layer_sizes=(128,),
            learning_rate_init=0.01,
            max_iter=500,
            early_stopping=True,
            random_state=0,
        ),
        **outputs,
    ),
    "forest": Surrogate(
        RandomForestRegressor(30, max_features="sqrt", random_state=0), **outputs
    ),
    "neighbours": Surrogate(KNeighborsRegressor(5), **outputs),
}
sizes = (100, 300, 1000)
errors = {name: [] for name in models}
for n in sizes:
    for name, model in models.items():
        start = time.perf_counter()
        answers = model.fit(X[:n], Y[:n]).predict(X[test])
        seconds = time.perf_counter() - start
        errors[name].append(rbf_loss(Y[test], answers, gamma=0.2))
        print(f"{n:5} rows, {name:11}: loss {errors[name][-1]:.3f}, {seconds:.1f} s")

# %%
# The figure
# ----------
# With hundreds of rows the closed form performs well, and selects its own parameters.
# Other regressors are useful for inputs without a kernel and for many more rows.

figure = plt.figure(figsize=(10.5, 3.8), layout="constrained")
part, pictures = figure.subfigures(1, 2, width_ratios=(1, 1.2))
left = part.subplots()
for name, values in errors.items():
    left.plot(sizes, values, "o-", label=name)
left.set(xscale="log", xlabel="training rows", ylabel="loss 2 − 2 k_Y(y, ŷ), 300 tests")
left.set_xticks(sizes, sizes)
left.minorticks_off()
left.legend(fontsize=8)
shown = slice(test.start, test.start + 6)
rows = {"true": Y[shown]}
rows |= {name: np.asarray(model.predict(X[shown])) for name, model in models.items()}
grid = pictures.subplots(len(rows), 6)
for line, (name, halves) in zip(grid, rows.items(), strict=True):
    for axes, upper, lower in zip(line, X[shown], halves, strict=True):
        axes.imshow(np.concatenate([upper, lower]).reshape(8, 8), cmap="gray_r")
        axes.axhline(3.5, color="C1", linewidth=0.8)
        axes.set(xticks=[], yticks=[])
    line[0].set_ylabel(name, rotation=0, ha="right", va="center")
plt.show()
