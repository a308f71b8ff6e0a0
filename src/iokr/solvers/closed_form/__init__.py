"""Quadratic problems: one factorisation, every α, exact leave-one-out."""
