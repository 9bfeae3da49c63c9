"""Pieces of graphs: where they are found, and how they become one."""
