"""Codes between two layers of kernels."""
