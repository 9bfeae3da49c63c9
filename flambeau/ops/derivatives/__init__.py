"""Derivatives: formulas of pointwise operators from their meaning per element, those of all others by kind."""
