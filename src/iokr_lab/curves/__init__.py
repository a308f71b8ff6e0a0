"""Outputs that are functions."""
