"""Graphs from runs: what is recorded, fixed, guarded and checked."""
