"""Conditional quantiles at many levels."""
