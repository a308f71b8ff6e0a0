"""Outputs that are curves."""
