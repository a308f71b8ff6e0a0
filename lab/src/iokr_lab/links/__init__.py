"""Link prediction with the protocols of the papers."""
