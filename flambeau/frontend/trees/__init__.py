"""Trees of a program: what was written, each node with its place."""
