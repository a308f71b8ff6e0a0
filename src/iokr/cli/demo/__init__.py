"""`iokr demo`: a network that it makes, reconstructed."""
