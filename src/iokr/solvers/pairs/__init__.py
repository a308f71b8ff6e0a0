"""Problems over pairs of nodes, without a matrix of pairs."""
