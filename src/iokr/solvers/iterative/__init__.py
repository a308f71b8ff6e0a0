"""Iterative solvers with a certificate, for other losses and for products with the Gram only."""
