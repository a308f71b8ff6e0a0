"""Searches that decoders share."""
