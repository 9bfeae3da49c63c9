"""Layers over images as machine code that serves every size: convolutions and their gradients, pooling, norms."""
