"""Lower halves of digits from upper halves."""
