"""Link prediction: ⟨h(u), h(v)⟩ as the score of a pair of nodes."""
