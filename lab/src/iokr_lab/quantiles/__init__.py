"""Quantiles at many levels."""
