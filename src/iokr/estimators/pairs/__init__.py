"""Regression and classification of unordered pairs of nodes."""
