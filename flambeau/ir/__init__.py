"""The graph: SSA values, nodes of open kind, structured blocks, and their text."""

from flambeau.ir.clone import clone_graph
from flambeau.ir.constants import insert_constant
from flambeau.ir.draw import to_html, to_svg
from flambeau.ir.graph import Block, Graph, Node, Value
from flambeau.ir.parser import parse_ir
from flambeau.ir.printer import print_graph, print_node
from flambeau.ir.uses import Use

__all__ = [
    "Block",
    "Graph",
    "Node",
    "Use",
    "Value",
    "clone_graph",
    "insert_constant",
    "parse_ir",
    "print_graph",
    "print_node",
    "to_html",
    "to_svg",
]
