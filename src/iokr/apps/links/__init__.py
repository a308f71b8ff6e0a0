"""Links of a network: read, compare, fit, score, explain, report."""
