"""One search over a grid for every estimator that chooses its parameters."""
