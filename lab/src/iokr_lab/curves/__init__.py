"""Functional outputs: curves."""
