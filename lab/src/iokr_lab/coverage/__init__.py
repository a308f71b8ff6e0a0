"""Uncertainty: what is promised, measured."""
