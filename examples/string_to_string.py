r"""
String to string
================

The input is a string of digits, the output the Roman numeral: 147 is CXLVII. The model
only receives pairs of strings. The output kernel counts pairs of letters, so the model
predicts their counts; ``NGramPath`` constructs a string from them, usually one that is
not in the training set.

.. math::

   k(y, z) = \sum_u n_u(y) n_u(z) \text{ over pairs of letters } u, \qquad
   \hat{y} \approx \operatorname*{arg\,min}_y \lVert h(x) - \psi(y)\rVert^2
   \text{ over all strings}
"""

import matplotlib.pyplot as plt
import numpy as np

from iokr import IOKRCV
from iokr.decoders import NGramPath
from iokr.kernels import Delta, Positional, Spectrum
from iokr.metrics import edit_distance

# %%
# The data
# --------
# The numbers from 1 to 399 in random order; ``^`` and ``$`` mark the ends of a numeral.

UNITS = ["", "I", "II", "III", "IV", "V", "VI", "VII", "VIII", "IX"]
TENS = ["", "X", "XX", "XXX", "XL", "L", "LX", "LXX", "LXXX", "XC"]


def roman(number):
    return "C" * (number // 100) + TENS[number // 10 % 10] + UNITS[number % 10]


numbers = np.random.default_rng(0).permutation(np.arange(1, 400))
X = np.array([f"{number:03d}" for number in numbers], dtype=object)
Y = np.array([f"^{roman(number)}$" for number in numbers], dtype=object)
X_test, truth = X[-100:], np.array([text[1:-1] for text in Y[-100:]], dtype=object)

# %%
# The model
# ---------
# Inputs are compared by the digits at equal positions, and by pairs of positions. Three
# decoders: strings constructed from pairs of letters, the nearest training numeral, and
# the nearest of all numerals as candidates.

same = Positional(Delta())
inputs, outputs = same + 0.3 * same * same, Spectrum(2)
sizes = [25, 50, 100, 200]
right = {
    "constructed from pairs of letters": [],
    "nearest training numeral": [],
    "nearest of all numerals": [],
}
for n in sizes:
    model = IOKRCV(inputs, output_kernel=outputs, decoder=NGramPath()).fit(X[:n], Y[:n])
    for shares, candidates in zip(right.values(), (None, Y[:n], Y), strict=True):
        found = model.predict(X_test, candidates)
        answers = np.array([text.strip("^$") for text in found], dtype=object)
        shares.append(np.mean(answers == truth))
        if candidates is None:
            built = answers
for name, shares in right.items():
    print(f"{name}: {shares[-1]:.0%} correct with {n} training pairs")
print(
    f"mean edit distance of the constructed numerals: {edit_distance(truth, built):.2f}"
)

# %%
# The figure
# ----------
# Left, the fraction of exactly correct numerals. Right, some test numbers with their
# predictions, and the true numeral below wrong ones.

figure, (left, listed) = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
for (name, shares), color in zip(right.items(), ("C0", "0.6", "C1"), strict=True):
    left.plot(sizes, shares, "o-", color=color, label=name)
left.set(xlabel="training pairs", ylabel="correct numerals", xscale="log")
left.set_xticks(sizes, sizes)
left.minorticks_off()
left.legend(frameon=False, loc="lower left", bbox_to_anchor=(0, 1))
left.spines[["top", "right"]].set_visible(False)

fine, wrong = np.flatnonzero(built == truth)[:10], np.flatnonzero(built != truth)[:4]
for place, i in enumerate([*fine, *wrong]):
    x, y, color = 1.15 * (place // 7), -(place % 7), "C0" if i in fine else "C3"
    listed.text(x, y, X_test[i].lstrip("0"), ha="right", family="monospace")
    listed.text(x + 0.06, y, built[i], family="monospace", color=color)
    if i in wrong:
        listed.text(x + 0.06, y - 0.42, f"is {truth[i]}", color="0.5", fontsize=8)
listed.set(xlim=(-0.15, 2.1), ylim=(-6.8, 0.6), title="with 200 training pairs")
listed.axis("off")
plt.show()
