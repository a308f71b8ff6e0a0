"""Molecules, fingerprints and drawings by RDKit. No other package imports it."""
