"""Handwritten words and inflected forms of words."""
