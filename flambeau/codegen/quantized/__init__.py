"""Sums of products of small integers: layers whose weights are quantised, and their inputs before or at each call."""
