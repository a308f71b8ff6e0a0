"""Other losses, and products alone: steps with a certificate."""
