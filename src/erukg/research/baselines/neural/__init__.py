"""One sequence-to-sequence network that can copy words of its source, and what the baselines built on it share."""
