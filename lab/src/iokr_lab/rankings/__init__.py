"""Orders of labels from features."""
