"""A plugin of pytest, `-p without_numba`: as if Numba were not installed."""

import sys

sys.modules["numba"] = None  # type: ignore[assignment]
