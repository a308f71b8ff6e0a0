"""Links as unordered pairs."""
