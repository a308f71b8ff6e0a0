"""What a user wants done, as Python functions that return values; the commands call these."""
