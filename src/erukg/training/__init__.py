"""Training: references to triplets, MLM warm-up, SPLADE, tag head, export (needs the extra `train`)."""
