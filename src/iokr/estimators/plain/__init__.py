"""Labels and numbers: `IOKR` in the shape that scikit-learn's classifiers and regressors have."""
