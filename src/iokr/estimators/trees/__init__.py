"""Output-kernel trees, forests and boosting, on scikit-learn's trees."""
