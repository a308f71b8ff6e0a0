"""Output kernel regression: h(x) = A Cᵀ k_x, its problem, and the choice of its parameters."""
