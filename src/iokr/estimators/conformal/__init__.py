"""Sets of outputs that hold the truth as often as is asked for."""
