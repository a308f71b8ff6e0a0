"""Spectra in, ranked molecules out: forward and reverse regression, probabilities, sets."""
