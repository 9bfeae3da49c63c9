"""Whole graphs as one native function: control flow, scalars, element access, lists, and calls of kernels."""
