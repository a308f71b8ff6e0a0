"""Quantiles at a continuum of levels."""
