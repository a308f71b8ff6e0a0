"""Reduced rank: fewer components of the fitted values."""
