"""Δ(y, z) between outputs, a kind of outputs a file."""
