"""Random networks of B16, Tables 8 and 9."""
