"""Losses beside ridge: sparsity and robustness."""
