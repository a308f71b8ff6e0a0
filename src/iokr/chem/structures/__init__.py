"""Molecules through RDKit; the only package that imports it."""
