"""Calls from and to functions that Numba compiled."""
