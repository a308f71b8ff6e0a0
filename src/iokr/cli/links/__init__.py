"""`iokr links`: links of a network, predicted from files."""
