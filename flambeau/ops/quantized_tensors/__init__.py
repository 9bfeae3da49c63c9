"""Operators on quantised tensors, and the layers that are made of them."""
