"""Lower halves of digits predicted from upper halves."""
