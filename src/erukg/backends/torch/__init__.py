"""The encoder on torch: many texts a pass, on a GPU or a CPU."""
