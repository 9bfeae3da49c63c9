"""Convolutions and their gradients as machine code that serves every size: images in bands, windows read in place."""
