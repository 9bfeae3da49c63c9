"""Custom functions with gradients of their own, as programs."""
