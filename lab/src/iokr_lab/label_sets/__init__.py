"""Sets of labels on official splits."""
