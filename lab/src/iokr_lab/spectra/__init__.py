"""Metabolites identified from their mass spectra."""
