"""Nodes and blocks, as most modules ask for them; they and graphs are one structure, `ir.graph`."""

from flambeau.ir.graph import PARAMETERS, RETURN, Block, Node

__all__ = ["PARAMETERS", "RETURN", "Block", "Node"]
