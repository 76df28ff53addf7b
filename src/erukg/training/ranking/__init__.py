"""Learning to rank absent phrases from titles: samples, trees, and the model folder that holds them."""
