"""Sums of products of small integers: linear layers whose weights are quantised, for numbers that are so at each call."""
