"""Passes one after the other, and graphs cut by what a backend can do."""
