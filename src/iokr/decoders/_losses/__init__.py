"""Losses Δ(y, z) between outputs, a file for each kind of outputs."""
