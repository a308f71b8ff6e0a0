"""Kernels on strings, sequences, sets, rankings, graphs and series."""
