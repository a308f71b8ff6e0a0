"""How structured kernels hold their objects."""
