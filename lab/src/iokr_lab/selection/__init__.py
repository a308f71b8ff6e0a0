"""Parameters chosen: widths by gradients, and searches checked against loops."""
