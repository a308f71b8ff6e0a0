"""Handwritten words and inflected forms."""
