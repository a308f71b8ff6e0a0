"""The Gram of pairs of nodes, as products with the Gram of the nodes."""
