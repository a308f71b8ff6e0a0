"""Link prediction as the papers ran it."""
