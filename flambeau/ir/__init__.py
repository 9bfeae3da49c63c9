"""The graph: SSA values, nodes of open kind, structured blocks, and their text."""
