"""The derivative of a graph, as a graph: reverse mode through branches, loops, numbers and writes."""
