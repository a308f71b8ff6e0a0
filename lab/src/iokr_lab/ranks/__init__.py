"""Fewer coordinates of the outputs."""
