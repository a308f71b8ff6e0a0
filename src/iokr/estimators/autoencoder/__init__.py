"""Codes of a few numbers between two layers of kernels."""
