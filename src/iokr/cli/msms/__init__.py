"""Molecules of tandem mass spectra, from the command line."""
