"""What `iokr links` and `iokr demo` try."""

import numpy as np

__all__ = ["ALPHAS", "NEIGHBORS", "STRENGTHS", "WIDTHS"]

WIDTHS = (0.1, 0.3, 1.0, 3.0)  # of the Gaussian kernel: gamma in units of the median's
ALPHAS = tuple(float(f"{a:.6g}") for a in np.logspace(-4, 2, 13))
STRENGTHS = (1e-3, 1e-2, 3e-2, 0.1, 0.3, 1.0)
NEIGHBORS = 10
