r"""
Sequence labelling
==================

Rows of noisy digits, in which every digit is one or two more than the previous one.
Predicted one by one, many are wrong. With a weight :math:`τ > 0` the output kernel also
counts equal transitions between neighbouring digits; ``Positions`` then finds the best
of all :math:`10⁶` rows exactly, by dynamic programming (Viterbi).

.. math::

   k(y, z) = \sum_t 1_{y_t = z_t} + \tau \sum_t 1_{y_t = z_t,\; y_{t+1} = z_{t+1}}
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from iokr import IOKRCV
from iokr.decoders import Positions
from iokr.kernels import RBF, Delta, Positional
from iokr.metrics import character_accuracy, subset_accuracy

# %%
# The data
# --------
# Rows of six noisy digits of scikit-learn. Training and test rows use different images.

rng = np.random.default_rng(0)
digits = load_digits()


def rows_of_digits(n, images):
    steps = rng.integers(1, 3, size=(n, 5))
    labels = np.column_stack([rng.integers(10, size=n), steps]).cumsum(axis=1) % 10
    kinds = [images[digits.target[images] == digit] for digit in range(10)]
    chosen = [[rng.choice(kinds[digit]) for digit in row] for row in labels]
    pixels = digits.data[chosen] / 16
    words = np.array(["".join(map(str, row)) for row in labels], dtype=object)
    return pixels + rng.normal(scale=0.35, size=pixels.shape), words


X, y = rows_of_digits(300, np.arange(900))
X_test, y_test = rows_of_digits(200, np.arange(900, 1797))
print(X.shape, y[:3])

# %%
# The model
# ---------
# Inputs are compared image by image, with the median width. Output kernels with
# different τ have different feature spaces, whose errors are not comparable; the
# metrics are the fractions of correct digits and of correct rows.

weights = [0.0, 0.5, 1.0, 2.0]
answers = {}
for weight in weights:
    outputs = Positional(Delta(), transitions=weight)
    model = IOKRCV(Positional(RBF()), output_kernel=outputs, decoder=Positions())
    answers[weight] = model.fit(X, y).predict(X_test)
shares = {
    "digits": [character_accuracy(y_test, found) for found in answers.values()],
    "whole rows": [subset_accuracy(y_test, found) for found in answers.values()],
}
for weight, digit, row in zip(weights, *shares.values(), strict=True):
    print(
        f"τ = {weight:g}: {digit:.1%} of the digits, {row:.1%} of the rows are correct"
    )

# %%
# The figure
# ----------
# Test rows that only the model with transitions predicts correctly, with the
# predictions of both models.

better = np.flatnonzero((answers[1.0] == y_test) & (answers[0.0] != y_test))[:4]
figure = plt.figure(figsize=(10, 4.4), layout="constrained")
left, right = figure.subfigures(1, 2, width_ratios=(1, 1.7))
axes = left.subplots()
for (name, values), color in zip(shares.items(), ("0.6", "C0"), strict=True):
    axes.plot(weights, values, "o-", color=color, label=name)
axes.set(
    xlabel="τ, the weight of transitions",
    ylabel="correct, of 200 test rows",
    ylim=(0, 1),
)
axes.legend(frameon=False, loc="lower right")
axes.spines[["top", "right"]].set_visible(False)
panels = right.subplots(len(better), 6)
for line, i in zip(panels, better, strict=True):
    for t, cell in enumerate(line):
        cell.imshow(X_test[i, t].reshape(8, 8), cmap="gray_r", vmin=-0.3, vmax=1.2)
        for place, weight in enumerate((0.0, 1.0)):
            color = "C0" if answers[weight][i][t] == y_test[i][t] else "C3"
            cell.text(8, 2 + 4 * place, answers[weight][i][t], color=color, va="center")
        cell.set(xticks=[], yticks=[])
        cell.spines[:].set_color("0.8")
right.suptitle(
    "upper: digit by digit, lower: with transitions; errors are red", fontsize=10
)
plt.show()
