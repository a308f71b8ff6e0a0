"""Losses other than the square loss: sparsity and robustness."""
