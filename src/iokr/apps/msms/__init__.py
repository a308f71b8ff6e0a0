"""Molecules of tandem mass spectra: train, identify, evaluate."""
