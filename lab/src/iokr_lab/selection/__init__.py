"""Choice of parameters: widths by gradients, and searches compared with loops over single models."""
