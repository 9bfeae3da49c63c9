"""Passes for graphs of operators of one kind."""
