"""Molecules against cancer cell lines."""
