"""Quantiles at any level, learned jointly."""
