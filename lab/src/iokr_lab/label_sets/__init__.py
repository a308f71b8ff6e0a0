"""Label sets on official splits."""
