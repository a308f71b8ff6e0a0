"""Trees in the feature space of the outputs."""
