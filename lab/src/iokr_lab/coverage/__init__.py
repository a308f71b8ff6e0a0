"""Coverage of prediction sets."""
