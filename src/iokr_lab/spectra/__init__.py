"""Metabolites from their spectra."""
